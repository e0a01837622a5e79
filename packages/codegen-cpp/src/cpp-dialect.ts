// C++ as a dialect: GCC's vector extension and an inlined prelude, no includes.
import { at, dtypeInfo, invariant, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { compound, operand, primary, scalarLiteral } from '@tsinductor/codegen';
import type {
  AccessText,
  ApplyText,
  Definition,
  Dialect,
  Expression,
  LiteralStyle,
  LoadText,
  TargetText,
  TransposeText,
} from '@tsinductor/codegen';
import type { ScalarConstant, TargetOpName, ValueType } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { PreludeName } from '@tsinductor/ops';
import type { Isa } from './machine/isa.ts';
import { conversion } from './prelude/cast-functions.ts';
import * as memory from './prelude/memory-functions.ts';
import { isOutside } from './prelude/bounds-functions.ts';
import { failUnit, printLine, printLogType } from './prelude/print-functions.ts';
import { Prelude } from './prelude/prelude.ts';
import * as special from './prelude/special-functions.ts';
import { sortCall } from './prelude/sort-call.ts';
import { loadSpreadFunction, loadSpreadMaskedFunction } from './prelude/spread-functions.ts';
import * as machine from './prelude/target-functions.ts';
import { elementDefinition, inlined, typeDefinition, typeName } from './prelude/vector-types.ts';
import { kernelFrame } from './kernel-frame.ts';
import { fetchExpression } from './prelude/fetch-functions.ts';
import { reservedWords } from './reserved-words.ts';

const call = (definition: Definition, args: readonly string[]): Expression =>
  primary(`${definition.name}(${args.join(', ')})`, [definition]);

const named = (definition: Definition): Expression => primary(definition.name, [definition]);

export const cppDialect = (isa: Isa): Dialect => dialectOf(new Prelude(isa));

const rearranged: Dialect['rearranged'] = (value, other, order) => ({
  text: `__builtin_shufflevector(${[value.text, other.text, ...order].join(', ')})`,
  primary: true,
  needs: [...value.needs, ...other.needs],
});

const dialectOf = (prelude: Prelude): Dialect => ({
  name: 'c++',
  reserved: reservedWords,
  type: (type) => named(prelude.of(typeDefinition, type)),
  element: (dtype) => named(elementDefinition(dtype)),
  constant: (type, value) => constant(type, value, prelude),
  apply: (apply) => spellApply(apply, prelude),
  target: (target) => targetSpellings[target.op](target, prelude),
  cast: (value, from, to) => cast(value, { from, to, isa: prelude.isa }),
  bitcast: (value, from, to) => bitcast(value, from, to),
  broadcast: (value, to) => call(prelude.of(special.splatFunction, to), [value.text]),
  half: (value, from, part) => call(prelude.of(special.halfFunction, from, part), [value.text]),
  rearranged,
  first: (count, type) => call(prelude.of(memory.firstFunction, type), [count]),
  ramp: (type) => named(prelude.of(special.rampDefinition, type)),
  indexCall: (name, args, type) => {
    const wide = type.lanes === 1 ? args : args.map((arg) => `${typeName(type)}{} + (${arg})`);
    return call(special.indexFunction(name, type), wide);
  },
  indexScalar: (text, type) => (type.dtype === 'i32' ? `(i32)${/^\w+$/.test(text) ? text : `(${text})`}` : text),
  load: (access, type, how) => load(access, type, { ...how, prelude }),
  store: (access, type, value) => store(access, type, { ...value, prelude }),
  check: (check) => checked(check, prelude),
  transpose: (tile) => transpose(tile, prelude.isa),
  sort: sortCall,
  fence: () => {
    invariant(prelude.isa === 'avx512' || prelude.isa === 'avx2', 'a fence where there are no non-temporal stores');
    return primary('__asm__ volatile("sfence" ::: "memory")');
  },
  prefetch: (address, { intent, into }) =>
    primary(`__builtin_prefetch(${address}, ${intent === 'read' ? '0' : '1'}${into === 'second' ? ', 2' : ''})`),
  scratch,
  unrollHint: (times) => `#pragma GCC unroll ${String(times)}`,
  inlineFunction: (signature) => `${inlined} ${signature}`,
  longFunction: (signature) => `static ${signature}`,
  rareFunction: (signature) => `static __attribute__((noinline, cold)) ${signature}`,
  nowhere: (mask, type) =>
    type.lanes === 1
      ? compound(`!${operand(mask)}`)
      : call(prelude.of(special.nowhereFunction, type, prelude.isa), [mask.text]),
  parallelCall: ({ kernel, body, total, grain }) =>
    call(special.parallelFunction, ['runtime', body, `const_cast<${kernel}_args *>(&args)`, total, grain]),
  awaitTurn: ({ turn, unit }) => call(special.awaitTurnFunction, [turn, unit]),
  passTurn: ({ turn, unit }) => call(special.passTurnFunction, [turn, unit]),
  ...onlyForLaunches,
  fetch: (fetch) => fetchExpression(fetch, dialectOf(prelude)),
  print: printLine,
  fail: failUnit,
  isOutside: (bounds) => isOutside(bounds, prelude),
  printLog: named(printLogType),
  frame: kernelFrame,
});

function checked(
  { type, value, extent, site, wraps, count }: Parameters<Dialect['check']>[0],
  prelude: Prelude,
): Expression {
  const lanes = type.lanes === 1 ? [] : [count ?? String(type.lanes)];
  const definition = prelude.of(wraps ? special.wrapFunction : special.checkFunction, type, prelude.isa);
  return call(definition, [value, extent, ...lanes, String(site), 'status']);
}

function cast(value: Expression, types: Parameters<typeof conversion>[0]): Expression {
  const needs: Definition[] = [];
  const text = conversion(types, operand(value), needs);
  return compound(text, needs);
}

function scratch({ name, dtype, size, shared }: Parameters<Dialect['scratch']>[0]): Expression {
  invariant(shared === undefined, 'a kernel for a CPU has no shared memory');
  const element = elementDefinition(dtype);
  return primary(`alignas(64) ${element.name} ${name}[${String(size)}]`, [element]);
}

/** What only kernels with a launch ask for. */
const onlyForLaunches: Pick<
  Dialect,
  'barrier' | 'shuffle' | 'copyAsync' | 'copies' | 'matrixLoad' | 'matrixMultiply' | 'atomic'
> = {
  barrier: () => onlyLaunched('barrier'),
  shuffle: () => onlyLaunched('shuffle'),
  copyAsync: () => onlyLaunched('asynchronous copy'),
  copies: () => onlyLaunched('wait for asynchronous copies'),
  matrixLoad: () => onlyLaunched('load of matrices by a warp'),
  matrixMultiply: () => onlyLaunched('product of matrices by a warp'),
  atomic: () => onlyLaunched('atomic update'),
};

/** A thread of a parallel loop meets no other until the loop ends. */
function onlyLaunched(what: string): Expression {
  invariant(false, `a ${what} stands in a kernel for a CPU`);
}

/** A number as C++ writes it: floats in decimal where that is exact and short, else in hexadecimal. */
function constant(type: ValueType, value: ScalarConstant, prelude: Prelude): Expression {
  const scalar = literal(type.dtype, value);
  if (type.lanes === 1) return scalar.startsWith('-') ? compound(scalar) : primary(scalar);
  return call(prelude.of(special.splatFunction, type), [scalar]);
}

const literalStyle: LiteralStyle = {
  long: 'L',
  nonFinite: (dtype, value) => {
    const f = dtype === 'f32' ? 'f' : '';
    if (Number.isNaN(value)) return `__builtin_nan${f}("")`;
    return value < 0 ? `-__builtin_inf${f}()` : `__builtin_inf${f}()`;
  },
};

export const literal = (dtype: DType, value: ScalarConstant): string => scalarLiteral(dtype, value, literalStyle);

function spellApply({ op, type, operands, args }: ApplyText, prelude: Prelude): Expression {
  const { c: spelling, arity } = pointwise[op];
  const own = at(operands, 0);
  if (spelling?.kind === 'infix') return infix({ operator: spelling.operator, type, own, args });
  if (spelling?.kind === 'prefix') return prefix(spelling.operator, { type, arg: at(args, 0) });
  if (spelling?.name === 'where_') return choose(type, args);
  const name = spelling?.name as Exclude<PreludeName, 'where_'>;
  return call(
    prelude.op(name, own, arity),
    args.map((arg) => arg.text),
  );
}

const textOf = (arg: Expression): string => arg.text;

const targetSpellings: Readonly<Record<TargetOpName, (target: TargetText, prelude: Prelude) => Expression>> = {
  twice: ({ type, args }, prelude) => call(prelude.of(machine.twiceFunction, type), args.map(textOf)),
  rootByProducts: ({ type, args }, prelude) => call(prelude.of(machine.rootFunction, type), args.map(textOf)),
  quotientByProducts: ({ type, args: [x, y], numbers: [high = 0, low = 0, least = 0] }, prelude) => {
    invariant(x !== undefined && y !== undefined, 'a quotient has two operands');
    const parts = [high, low].map((part) => literal(type.dtype, part));
    const exponent = String((least + 127) << 23);
    return call(prelude.of(machine.quotientFunction, type), [x.text, unsplat(y, type).text, ...parts, exponent]);
  },
};

interface Infix {
  readonly operator: string;
  readonly type: ValueType;
  readonly own: ValueType;
  readonly args: readonly Expression[];
}

/** Comparisons of vectors have lanes as wide as what they compare: they are brought to the width of bool lanes. */
function infix({ operator, type, own, args }: Infix): Expression {
  const shown = args.every(isSplat) ? args : args.map((arg) => unsplat(arg, own));
  const text = shown.map(operand).join(` ${operator} `);
  const needs = [typeDefinition(type)];
  if (type.dtype === 'bool' && own.dtype !== 'bool' && own.lanes > 1 && dtypeInfo[own.dtype].bytes !== 4)
    return primary(`__builtin_convertvector(${text}, ${typeName(type)})`, needs);
  if (type.lanes === 1 && !isFloat(type.dtype) && type.dtype !== 'bool' && dtypeInfo[type.dtype].bytes < 4)
    return primary(`(${typeName(type)})(${text})`, needs);
  return compound(text, needs);
}

const isSplat = (arg: Expression): boolean => arg.text.startsWith('splat_');

/** A constant beside a vector may stand as a scalar where its type is the lanes' own. */
function unsplat(arg: Expression, type: ValueType): Expression {
  if (type.lanes === 1 || dtypeInfo[type.dtype].bytes < 4 || type.dtype === 'bool') return arg;
  const match = /^splat_\w+\((-?[\w.+]+|-?0x[\w.+-]+)\)$/.exec(arg.text);
  return match?.[1] === undefined ? arg : { ...arg, text: match[1], primary: !match[1].startsWith('-') };
}

function prefix(operator: string, { type, arg }: { readonly type: ValueType; readonly arg: Expression }): Expression {
  if (type.dtype === 'bool') return compound(`${type.lanes === 1 ? '!' : '~'}${operand(arg)}`);
  const text = `${operator}${operand(arg)}`;
  if (type.lanes === 1 && dtypeInfo[type.dtype].bytes < 4) return primary(`(${typeName(type)})(${text})`);
  return compound(text);
}

/** mask ? x : y, the mask's lanes brought to the width of the chosen. */
function choose(type: ValueType, args: readonly Expression[]): Expression {
  const [mask, x, y] = [operand(at(args, 0)), operand(at(args, 1)), operand(at(args, 2))];
  const { bytes } = dtypeInfo[type.dtype];
  if (type.lanes === 1 || bytes === 4) return compound(`${mask} ? ${x} : ${y}`);
  const lanes: ValueType = { dtype: bytes === 8 ? 'i64' : bytes === 2 ? 'i16' : 'i8', lanes: type.lanes };
  return compound(`__builtin_convertvector(${mask}, ${typeName(lanes)}) ? ${x} : ${y}`, [typeDefinition(lanes)]);
}

function bitcast(value: Expression, from: ValueType, to: ValueType): Expression {
  const needs = [typeDefinition(to)];
  if (from.lanes > 1) return compound(`(${typeName(to)})${operand(value)}`, needs);
  return primary(`__builtin_bit_cast(${typeName(to)}, ${value.text})`, needs);
}

interface LoadContext extends LoadText {
  readonly prelude: Prelude;
}

const address = ({ buffer, at: place }: AccessText): string => (place === '0' ? buffer : `${buffer} + ${place}`);

function load(access: AccessText, type: ValueType, how: LoadContext): Expression {
  const { prelude } = how;
  if (type.lanes === 1) return loadScalar(access, type, how);
  const p = address(access);
  const { layout, count } = access;
  if (layout === 'contiguous' && access.mask === undefined) {
    return count === undefined
      ? call(prelude.of(memory.loadFunction, type), [p])
      : call(prelude.of(memory.loadFirstFunction, type, prelude.isa), [p, count]);
  }
  const mask = maskOf(access, type, prelude);
  const step = permutedStep(how);
  const place = layout === 'contiguous' || step !== undefined ? [p] : [p, access.step];
  if (mask === undefined)
    return call(
      step === undefined
        ? partialLoad(access, type, { ...how, masked: false })
        : prelude.of(loadSpreadFunction, type, step),
      place,
    );
  const rest = how.other ?? constant(type, 0, prelude);
  const expression = call(partialLoad(access, type, { ...how, masked: true }), [...place, mask.text, rest.text]);
  return { ...expression, needs: [...expression.needs, ...mask.needs, ...rest.needs] };
}

/** The step of lanes that are permuted out of the vectors that they lie in. */
const permutedStep = ({ by, step }: LoadContext): number | undefined => (by === 'permute' ? step : undefined);

interface PartialLoad extends LoadContext {
  readonly masked: boolean;
}

function partialLoad(access: AccessText, type: ValueType, { masked, by, step, prelude }: PartialLoad): Definition {
  if (by === 'permute' && step !== undefined) return prelude.of(loadSpreadMaskedFunction, type, step, prelude.isa);
  switch (access.layout) {
    case 'contiguous':
      return prelude.of(memory.loadMaskedFunction, type, prelude.isa);
    case 'strided':
      return prelude.of(memory.loadStridedFunction, type, masked);
    case 'gather':
      return memory.gatherFunction(type, access.offsets ?? type, { masked, isOne: by === 'gather' });
  }
}

/** The lanes of an access, where not all: those of its mask among the first that there are. */
function maskOf({ count, mask }: AccessText, { lanes }: ValueType, prelude: Prelude): Expression | undefined {
  if (count === undefined) return mask === undefined ? undefined : primary(mask);
  const first = call(prelude.of(memory.firstFunction, { dtype: 'bool', lanes }), [count]);
  return mask === undefined ? first : primary(`(${mask} & ${first.text})`, first.needs);
}

function loadScalar(access: AccessText, type: ValueType, { other, prelude }: LoadContext): Expression {
  const element = `${access.buffer}[${access.at}]`;
  const value = type.dtype === 'bool' ? `${element} != 0` : element;
  if (access.mask === undefined) return type.dtype === 'bool' ? compound(value) : primary(value);
  const rest = other ?? constant(type, 0, prelude);
  return compound(`${access.mask} ? ${type.dtype === 'bool' ? `(${value})` : value} : ${rest.text}`, rest.needs);
}

function transpose({ dtype, from, fromStep, to, toStep, rows, columns, ...how }: TransposeText, isa: Isa): Expression {
  const { tile, whole, isNonTemporal } = how;
  const way = { tile, isNonTemporal };
  return whole
    ? call(special.transposeTile(dtype, way, isa), [from, fromStep, to, toStep])
    : call(special.transposeAny(dtype, way, isa), [from, fromStep, to, toStep, rows, columns]);
}

interface StoreContext {
  readonly text: string;
  readonly hint: 'non-temporal' | undefined;
  readonly prelude: Prelude;
}

function store(access: AccessText, type: ValueType, { text, hint, prelude }: StoreContext): Expression {
  const { count, mask, layout, step } = access;
  if (type.lanes === 1) {
    const assignment = `${access.buffer}[${access.at}] = ${text}`;
    return primary(mask === undefined ? assignment : `if (${mask}) ${assignment}`);
  }
  const p = address(access);
  const lanes = maskOf(access, type, prelude);
  const contiguous = layout === 'contiguous';
  if (layout === 'gather') return storeAtOffsets(access, type, { text, lanes });
  if (lanes === undefined) {
    if (!contiguous) return call(prelude.of(memory.storeStridedFunction, type), [p, step, text]);
    const stored =
      hint === 'non-temporal'
        ? prelude.of(memory.nonTemporalStoreFunction, type, prelude.isa)
        : prelude.of(memory.storeFunction, type);
    return call(stored, [p, text]);
  }
  if (mask === undefined && contiguous && count !== undefined)
    return call(prelude.of(memory.storeFirstFunction, type, prelude.isa), [p, count, text]);
  const expression = call(prelude.of(memory.storeMaskedFunction, type), [p, contiguous ? '1' : step, lanes.text, text]);
  return { ...expression, needs: [...expression.needs, ...lanes.needs] };
}

/** Lanes to offsets, those that `lanes` has where it is given. */
function storeAtOffsets(
  access: AccessText,
  type: ValueType,
  { text, lanes }: { readonly text: string; readonly lanes: Expression | undefined },
): Expression {
  const scatter = memory.scatterFunction(type, access.offsets ?? type, lanes !== undefined);
  const expression = call(scatter, [address(access), access.step, ...(lanes === undefined ? [] : [lanes.text]), text]);
  return { ...expression, needs: [...expression.needs, ...(lanes?.needs ?? [])] };
}
