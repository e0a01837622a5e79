// C++ as a dialect: GCC's vector extension and an inlined prelude, no includes.
import { at, dtypeInfo, invariant, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { compound, floatLiteral, operand, primary } from '@tsinductor/codegen';
import type { AccessText, ApplyText, Definition, Dialect, Expression } from '@tsinductor/codegen';
import type { ScalarConstant, ValueType } from '@tsinductor/ir';
import { f16ToBits, pointwise, toBfloat16Bits } from '@tsinductor/ops';
import type { PreludeName } from '@tsinductor/ops';
import { conversion } from './prelude/cast-functions.ts';
import * as memory from './prelude/memory-functions.ts';
import { opFunction } from './prelude/op-functions.ts';
import * as special from './prelude/special-functions.ts';
import { elementDefinition, inlined, typeDefinition, typeName } from './prelude/vector-types.ts';
import { kernelFrame } from './kernel-frame.ts';
import { fetchExpression } from './prelude/fetch-functions.ts';
import { reservedWords } from './reserved-words.ts';
import type { Isa } from './target.ts';

const call = (definition: Definition, args: readonly string[]): Expression =>
  primary(`${definition.name}(${args.join(', ')})`, [definition]);

const named = (definition: Definition): Expression => primary(definition.name, [definition]);

export const cppDialect = (isa: Isa): Dialect => ({
  name: 'c++',
  reserved: reservedWords,
  type: (type) => named(typeDefinition(type)),
  element: (dtype) => named(elementDefinition(dtype)),
  constant,
  apply: (apply) => spellApply(apply, isa),
  cast: (value, from, to) => {
    const needs: Definition[] = [];
    const text = conversion({ from, to, isa }, operand(value), needs);
    return compound(text, needs);
  },
  bitcast: (value, from, to) => bitcast(value, from, to),
  broadcast: (value, to) => call(special.splatFunction(to), [value.text]),
  half: (value, from, part) => call(special.halfFunction(from, part), [value.text]),
  first: (count, type) => call(memory.firstFunction(type), [count]),
  ramp: (type) => named(special.rampDefinition(type)),
  indexCall: (name, args, type) => {
    const wide = type.lanes === 1 ? args : args.map((arg) => `${typeName(type)}{} + (${arg})`);
    return call(special.indexFunction(name, type), wide);
  },
  indexScalar: (text, type) => (type.dtype === 'i32' ? `(i32)${/^\w+$/.test(text) ? text : `(${text})`}` : text),
  load: (access, type, other) => load(access, type, { other, isa }),
  store: (access, type, value) => store(access, type, { ...value, isa }),
  check: ({ type, value, extent, site, count }) => {
    const lanes = type.lanes === 1 ? [] : [count ?? String(type.lanes)];
    return call(special.checkFunction(type, isa), [value, extent, ...lanes, String(site), 'status']);
  },
  transpose: ({ dtype, from, fromStep, to, toStep, rows, columns, tile, whole }) =>
    whole
      ? call(special.transposeTile(dtype, tile), [from, fromStep, to, toStep])
      : call(special.transposeAny(dtype, tile), [from, fromStep, to, toStep, rows, columns]),
  fence: () =>
    isa === 'avx512' || isa === 'avx2'
      ? primary('__asm__ volatile("sfence" ::: "memory")')
      : primary('__atomic_thread_fence(__ATOMIC_SEQ_CST)'),
  prefetch: (address, intent) => primary(`__builtin_prefetch(${address}, ${intent === 'read' ? '0' : '1'})`),
  scratch: ({ name, dtype, size, shared }) => {
    invariant(shared === undefined, 'a kernel for a CPU has no shared memory');
    const element = elementDefinition(dtype);
    return primary(`alignas(64) ${element.name} ${name}[${String(size)}]`, [element]);
  },
  unrollHint: (times) => `#pragma GCC unroll ${String(times)}`,
  inlineFunction: (signature) => `${inlined} ${signature}`,
  longFunction: (signature) => `static ${signature}`,
  rareFunction: (signature) => `static __attribute__((noinline, cold)) ${signature}`,
  nowhere: (mask, type) =>
    type.lanes === 1 ? compound(`!${operand(mask)}`) : call(special.nowhereFunction(type, isa), [mask.text]),
  parallelCall: ({ kernel, body, total, grain }) =>
    call(special.parallelFunction, ['runtime', body, `const_cast<${kernel}_args *>(&args)`, total, grain]),
  barrier: () => onlyLaunched('barrier'),
  shuffle: () => onlyLaunched('shuffle'),
  copyAsync: () => onlyLaunched('asynchronous copy'),
  copies: () => onlyLaunched('wait for asynchronous copies'),
  matrixLoad: () => onlyLaunched('load of matrices by a warp'),
  matrixMultiply: () => onlyLaunched('product of matrices by a warp'),
  atomic: () => onlyLaunched('atomic update'),
  fetch: (fetch) => fetchExpression(fetch, cppDialect(isa)),
  frame: kernelFrame,
});

/** A thread of a parallel loop meets no other until the loop ends. */
function onlyLaunched(what: string): Expression {
  invariant(false, `a ${what} stands in a kernel for a CPU`);
}

/** A number as C++ writes it: floats in decimal where that is exact and short, else in hexadecimal. */
function constant(type: ValueType, value: ScalarConstant): Expression {
  const scalar = scalarLiteral(type.dtype, value);
  if (type.lanes === 1) return scalar.startsWith('-') ? compound(scalar) : primary(scalar);
  return call(special.splatFunction(type), [scalar]);
}

export function scalarLiteral(dtype: DType, value: ScalarConstant): string {
  if (typeof value === 'object') return integerLiteral(dtype, BigInt(value.bigint));
  const number = typeof value === 'string' ? Number(value) : value;
  if (dtype === 'bool') return number === 0 ? 'false' : 'true';
  if (!isFloat(dtype)) return integerLiteral(dtype, BigInt(number));
  if (dtype === 'f16') return String(f16ToBits(number));
  if (dtype === 'bf16') return String(toBfloat16Bits(number));
  return floatText(dtype, value === '-0' ? -0 : number);
}

function integerLiteral(dtype: DType, value: bigint): string {
  if (dtype !== 'i64') return value === -(2n ** 31n) ? '(-2147483647 - 1)' : String(value);
  return value === -(2n ** 63n) ? '(-9223372036854775807L - 1)' : `${String(value)}L`;
}

function floatText(dtype: DType, value: number): string {
  const f = dtype === 'f32' ? 'f' : '';
  if (Number.isNaN(value)) return `__builtin_nan${f}("")`;
  if (!Number.isFinite(value)) return value < 0 ? `-__builtin_inf${f}()` : `__builtin_inf${f}()`;
  return floatLiteral(dtype, value);
}

function spellApply({ op, type, operands, args }: ApplyText, isa: Isa): Expression {
  const { c: spelling, arity } = pointwise[op];
  const own = at(operands, 0);
  if (spelling?.kind === 'infix') return infix({ operator: spelling.operator, type, own, args });
  if (spelling?.kind === 'prefix') return prefix(spelling.operator, { type, arg: at(args, 0) });
  if (spelling?.name === 'where_') return choose(type, args);
  const name = spelling?.name as Exclude<PreludeName, 'where_'>;
  return call(
    opFunction({ name, type: own, isa }, arity),
    args.map((arg) => arg.text),
  );
}

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

interface LoadContext {
  readonly other: Expression | undefined;
  readonly isa: Isa;
}

const address = ({ buffer, at: place }: AccessText): string => (place === '0' ? buffer : `${buffer} + ${place}`);

function load(access: AccessText, type: ValueType, { other, isa }: LoadContext): Expression {
  if (type.lanes === 1) return loadScalar(access, type, other);
  const p = address(access);
  const { layout, step, count } = access;
  if (layout === 'contiguous' && access.mask === undefined) {
    return count === undefined
      ? call(memory.loadFunction(type), [p])
      : call(memory.loadFirstFunction(type, isa), [p, count]);
  }
  const mask = maskOf(access, type);
  const rest = other ?? constant(type, 0);
  const extra = mask === undefined ? [] : [mask.text, rest.text];
  const needs = mask === undefined ? [] : [...mask.needs, ...rest.needs];
  const place = layout === 'contiguous' ? [p] : [p, step];
  const expression = call(partialLoad(access, type, { masked: mask !== undefined, isa }), [...place, ...extra]);
  return { ...expression, needs: [...expression.needs, ...needs] };
}

function partialLoad(access: AccessText, type: ValueType, { masked, isa }: { masked: boolean; isa: Isa }): Definition {
  switch (access.layout) {
    case 'contiguous':
      return memory.loadMaskedFunction(type, isa);
    case 'strided':
      return memory.loadStridedFunction(type, masked);
    case 'gather':
      return memory.gatherFunction(type, access.offsets ?? type, { masked, isa });
  }
}

/** The lanes of an access, where not all: those of its mask among the first that there are. */
function maskOf({ count, mask }: AccessText, { lanes }: ValueType): Expression | undefined {
  if (count === undefined) return mask === undefined ? undefined : primary(mask);
  const first = call(memory.firstFunction({ dtype: 'bool', lanes }), [count]);
  return mask === undefined ? first : primary(`(${mask} & ${first.text})`, first.needs);
}

function loadScalar(access: AccessText, type: ValueType, other: Expression | undefined): Expression {
  const element = `${access.buffer}[${access.at}]`;
  const value = type.dtype === 'bool' ? `${element} != 0` : element;
  if (access.mask === undefined) return type.dtype === 'bool' ? compound(value) : primary(value);
  const rest = other ?? constant(type, 0);
  return compound(`${access.mask} ? ${type.dtype === 'bool' ? `(${value})` : value} : ${rest.text}`, rest.needs);
}

interface StoreContext {
  readonly text: string;
  readonly hint: 'stream' | undefined;
  readonly isa: Isa;
}

function store(access: AccessText, type: ValueType, { text, hint, isa }: StoreContext): Expression {
  const { count, mask, layout, step } = access;
  if (type.lanes === 1) {
    const assignment = `${access.buffer}[${access.at}] = ${text}`;
    return primary(mask === undefined ? assignment : `if (${mask}) ${assignment}`);
  }
  const p = address(access);
  const lanes = maskOf(access, type);
  const contiguous = layout === 'contiguous';
  if (lanes === undefined) {
    if (!contiguous) return call(memory.storeStridedFunction(type), [p, step, text]);
    const streams = hint === 'stream' && (isa === 'avx512' || isa === 'avx2');
    return call(streams ? memory.streamFunction(type) : memory.storeFunction(type), [p, text]);
  }
  if (mask === undefined && contiguous && count !== undefined)
    return call(memory.storeFirstFunction(type, isa), [p, count, text]);
  const expression = call(memory.storeMaskedFunction(type), [p, contiguous ? '1' : step, lanes.text, text]);
  return { ...expression, needs: [...expression.needs, ...lanes.needs] };
}
