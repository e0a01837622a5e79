// What the functions of the prelude are written with: bodies of C++ in terms of x, y and z, for a scalar or a vector.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ValueType } from '@tsinductor/ir';
import type { PreludeName } from '@tsinductor/ops';
import type { Isa } from '../machine/isa.ts';
import { registerBytes, typeName } from './vector-types.ts';

export interface OpFunction {
  readonly name: PreludeName;
  readonly type: ValueType;
  readonly isa: Isa;
}

/** A body in terms of x, y, z for a type; `vector` says whether it is one. */
export type Body = (request: OpFunction, arity: number) => readonly string[];

export const intOf = (dtype: DType): DType => (dtypeInfo[dtype].bytes === 8 ? 'i64' : 'i32');
export const intType = ({ dtype, lanes }: ValueType): ValueType => ({ dtype: intOf(dtype), lanes });
export const isVector = ({ type }: OpFunction): boolean => type.lanes > 1;

/** Whether one register of the ISA holds the type, so that asm can name it. */
export const fillsRegister = ({ type, isa }: OpFunction): boolean => {
  const bytes = registerBytes(type);
  return (isa === 'avx512' && [16, 32, 64].includes(bytes)) || (isa === 'avx2' && [16, 32].includes(bytes));
};

export const suffix = (dtype: DType): string => (dtype === 'f64' ? 'pd' : 'ps');
export const constraint = (isa: Isa): string => (isa === 'avx512' ? 'v' : 'x');

/** r := instruction(x, y), operands in Intel's order of sources. */
export const asmBinary = (
  { type, isa }: OpFunction,
  mnemonic: string,
  [x, y]: readonly [string, string],
): readonly string[] => {
  const c = constraint(isa);
  return [`${typeName(type)} r;`, `__asm__("${mnemonic} %2, %1, %0" : "=${c}"(r) : "${c}"(${x}), "${c}m"(${y}));`];
};

export const asmUnary = ({ type, isa }: OpFunction, mnemonic: string, immediate?: number): readonly string[] => {
  const c = constraint(isa);
  const operand = immediate === undefined ? '' : `$${String(immediate)}, `;
  return [`${typeName(type)} r;`, `__asm__("${mnemonic} ${operand}%1, %0" : "=${c}"(r) : "${c}m"(x));`];
};

/** Lane by lane through the scalar function. */
export const lanewise = (request: OpFunction, arity: number): readonly string[] => {
  const { type, name } = request;
  const args = ['x', 'y', 'z'].slice(0, arity).map((arg) => `${arg}[lane]`);
  return [
    `${typeName(type)} r;`,
    `for (int lane = 0; lane < ${String(type.lanes)}; ++lane) r[lane] = ${name}${type.dtype}(${args.join(', ')});`,
    'return r;',
  ];
};

export const builtin = (name: string, dtype: DType): string => `__builtin_${name}${dtype === 'f32' ? 'f' : ''}`;

/** x with the bits that `mask` keeps, and so on: integers of the same width. */
export const signMask = (dtype: DType): string => (dtype === 'f64' ? '0x7fffffffffffffffL' : '0x7fffffff');
