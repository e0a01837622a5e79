// CUDA C++ as a dialect: scalar code of one thread, vectors only where one access moves them. No includes.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { compound, operand, primary, printfArguments, scalarLiteral, textLiteral } from '@tsinductor/codegen';
import type {
  AccessText,
  ApplyText,
  Definition,
  Dialect,
  Expression,
  LiteralStyle,
  LoadText,
} from '@tsinductor/codegen';
import type { ScalarConstant, ValueType } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { PreludeName } from '@tsinductor/ops';
import { notWritten } from './errors.ts';
import { kernelFrame } from './kernel-frame.ts';
import { convert, reinterpret } from './prelude/cast-functions.ts';
import { fetchExpression } from './prelude/fetch-functions.ts';
import * as machine from './prelude/machine-functions.ts';
import * as matrix from './prelude/matrix-functions.ts';
import { opFunction } from './prelude/op-functions.ts';
import { elementDefinition, inlined, typeDefinition, unsignedOf } from './prelude/scalar-types.ts';
import { reservedWords } from './reserved-words.ts';

const call = (definition: Definition, args: readonly string[]): Expression =>
  primary(`${definition.name}(${args.join(', ')})`, [definition]);

const named = (definition: Definition): Expression => primary(definition.name, [definition]);

function never(what: string): never {
  throw notWritten(what);
}

export const cudaDialect: Dialect = {
  name: 'cuda',
  reserved: reservedWords,
  type: (type) => named(typeDefinition(type)),
  element: (dtype) => named(elementDefinition(dtype)),
  constant,
  apply: spellApply,
  target: ({ op }) => never(`an op of another machine, ${op}`),
  cast: (value, from, to) => convert(value, from.dtype, to.dtype),
  bitcast: (value, from, to) => reinterpret(value, from.dtype, to.dtype),
  broadcast: () => never('a broadcast to a vector'),
  half: () => never('half a vector'),
  rearranged: () => never('lanes in another order'),
  first: () => never('a mask of lanes'),
  ramp: () => never('a ramp of lanes'),
  indexCall: (name, args, type) => call(machine.indexFunction(name, type.dtype), args),
  indexScalar: (text) => text,
  load,
  store,
  check: ({ value, extent, site, wraps }) =>
    call(wraps ? machine.wrapFunction : machine.checkFunction, [value, extent, String(site), 'status']),
  transpose: () => never('a transpose within one thread'),
  sort: () => never('a sort within one thread'),
  fence: () => never('a fence of non-temporal stores'),
  prefetch: () => never('a prefetch'),
  scratch: ({ name, dtype, size, shared }) => {
    const element = elementDefinition(dtype);
    if (shared === undefined) return primary(`alignas(16) ${element.name} ${name}[${String(size)}]`, [element]);
    const place = shared === 0 ? 'shared_memory' : `(shared_memory + ${String(shared)})`;
    return primary(`${element.name} *const ${name} = (${element.name} *)${place}`, [element, machine.sharedMemory]);
  },
  unrollHint: (times) => `#pragma unroll ${String(times)}`,
  inlineFunction: (signature) => `${inlined} ${signature}`,
  longFunction: (signature) => `static __device__ __noinline__ ${signature}`,
  rareFunction: (signature) => `static __device__ __noinline__ ${signature}`,
  nowhere: (mask) => compound(`!${operand(mask)}`, mask.needs),
  parallelCall: () => never('a parallel loop of a runtime'),
  awaitTurn: () => never('a turn among threads of a runtime'),
  passTurn: () => never('a turn among threads of a runtime'),
  barrier: (scope) => primary(scope === 'block' ? '__syncthreads()' : '__syncwarp()'),
  shuffle: machine.shuffle,
  copyAsync: matrix.copyAsync,
  copies: matrix.copies,
  matrixLoad: matrix.matrixLoad,
  matrixMultiply: (multiply) => matrix.matrixMultiply(multiply) ?? never(`a matrix product of ${multiply.dtype}`),
  atomic: machine.atomic,
  fetch: (fetch) => fetchExpression(fetch, cudaDialect),
  fail: ({ message, file, line }) => {
    const name = textLiteral(file.slice(file.lastIndexOf('/') + 1));
    return call(machine.assertFail, [textLiteral(message), name, String(line), '__func__', '1']);
  },
  isOutside: () => {
    throw notWritten('check of bounds');
  },
  print: (line) => primary(`printf(${printfArguments(line).join(', ')})`),
  printLog: undefined,
  frame: kernelFrame,
};

function constant({ dtype }: ValueType, value: ScalarConstant): Expression {
  const text = scalarLiteral(dtype, value, literalStyle);
  return text.startsWith('-') ? compound(text) : primary(text);
}

const literalStyle: LiteralStyle = {
  long: 'LL',
  nonFinite: (dtype, value) => {
    const sign = value < 0 ? '-' : '';
    if (dtype === 'f32') return `${sign}__int_as_float(${Number.isNaN(value) ? '0x7fc00000' : '0x7f800000'})`;
    return `${sign}__longlong_as_double(${Number.isNaN(value) ? '0x7ff8000000000000LL' : '0x7ff0000000000000LL'})`;
  },
};

function spellApply({ op, type, operands, args }: ApplyText): Expression {
  const { c: spelling, arity } = pointwise[op];
  const { dtype } = at(operands, 0);
  if (spelling?.kind === 'infix') return infix(spelling.operator, { type, own: dtype, args });
  if (spelling?.kind === 'prefix') return prefix(spelling.operator, type, at(args, 0));
  if (spelling?.name === 'where_') {
    const [mask, x, y] = args.map(operand);
    return compound(`${String(mask)} ? ${String(x)} : ${String(y)}`);
  }
  const name = spelling?.name as Exclude<PreludeName, 'where_'>;
  return call(
    opFunction(name, dtype, arity),
    args.map(({ text }) => text),
  );
}

interface Infix {
  readonly type: ValueType;
  readonly own: DType;
  readonly args: readonly Expression[];
}

const overflows: ReadonlySet<string> = new Set(['+', '-', '*']);

/** Integers wrap: in unsigned arithmetic, or in the wider type that small ones are computed in. */
function infix(operator: string, { type, own, args }: Infix): Expression {
  const { dtype } = type;
  const { bytes } = dtypeInfo[own];
  const isPlain = isFloat(dtype) || dtype === 'bool' || own !== dtype;
  if (isPlain) return compound(args.map(operand).join(` ${operator} `));
  const definition = elementDefinition(dtype);
  if (bytes < 4) return primary(`(${dtype})(${args.map(operand).join(` ${operator} `)})`, [definition]);
  if (!overflows.has(operator)) return compound(args.map(operand).join(` ${operator} `));
  const unsigned = unsignedOf(dtype);
  const text = args.map((arg) => `(${unsigned.name})${operand(arg)}`).join(` ${operator} `);
  return primary(`(${dtype})(${text})`, [definition, unsigned]);
}

function prefix(operator: string, { dtype }: ValueType, arg: Expression): Expression {
  if (dtype === 'bool') return compound(`!${operand(arg)}`);
  if (isFloat(dtype)) return compound(`${operator}${operand(arg)}`);
  if (operator !== '-') return primary(`(${dtype})(${operator}${operand(arg)})`);
  const unsigned = unsignedOf(dtype);
  return primary(`(${dtype})(0 - (${unsigned.name})${operand(arg)})`, [unsigned]);
}

const address = ({ buffer, at: place }: AccessText): string => (place === '0' ? buffer : `${buffer} + ${place}`);

function load(access: AccessText, type: ValueType, { other }: LoadText): Expression {
  if (type.lanes > 1) return call(machine.loadWide(type), [address(access)]);
  const element = `${access.buffer}[${access.at}]`;
  const value = type.dtype === 'bool' ? `${element} != 0` : element;
  if (access.mask === undefined) return type.dtype === 'bool' ? compound(value) : primary(value);
  const rest = other ?? constant(type, 0);
  const chosen = `${access.mask} ? ${type.dtype === 'bool' ? `(${value})` : value} : ${operand(rest)}`;
  return compound(chosen, rest.needs);
}

function store(access: AccessText, type: ValueType, { text }: { readonly text: string }): Expression {
  if (type.lanes > 1) return call(machine.storeWide(type), [address(access), text]);
  const assignment = `${access.buffer}[${access.at}] = ${text}`;
  return primary(access.mask === undefined ? assignment : `if (${access.mask}) ${assignment}`);
}
