// The types of generated CUDA C++, without any include. f16 and bf16 are their bits; a bool is a byte in memory. Vectors
// occur as what one access moves: structs aligned to their size, so that it is one instruction.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';

const scalarTypes: Readonly<Record<DType, string>> = {
  f64: 'double',
  f32: 'float',
  f16: 'unsigned short',
  bf16: 'unsigned short',
  i64: 'long long',
  i32: 'int',
  i16: 'short',
  i8: 'signed char',
  u8: 'unsigned char',
  bool: 'unsigned char',
};

const typedef = (name: string, type: string): Definition => ({ name, text: `typedef ${type} ${name};\n`, needs: [] });

/** An element in memory: `f32`, and `bool8` for a bool. */
export const elementDefinition = (dtype: DType): Definition =>
  typedef(dtype === 'bool' ? 'bool8' : dtype, scalarTypes[dtype]);

const u32: Definition = typedef('u32', 'unsigned int');
export const u64: Definition = typedef('u64', 'unsigned long long');

/** The unsigned type in which an integer wraps. */
export const unsignedOf = (dtype: DType): Definition => (dtypeInfo[dtype].bytes === 8 ? u64 : u32);

export function typeDefinition({ dtype, lanes }: ValueType): Definition {
  if (lanes === 1) return dtype === 'bool' ? { name: 'bool', text: '', needs: [] } : elementDefinition(dtype);
  const element = elementDefinition(dtype);
  const bytes = dtypeInfo[dtype].bytes * lanes;
  const name = `${element.name}x${String(lanes)}`;
  const text = `struct alignas(${String(bytes)}) ${name} {\n  ${element.name} at[${String(lanes)}];\n};\n`;
  return { name, text, needs: [element] };
}

/** Whether registers hold a dtype as bits only. */
export const isBitsOnly = (dtype: DType): boolean => dtype === 'f16' || dtype === 'bf16';

export const inlined: string = 'static __device__ __forceinline__';

interface Signature {
  readonly returns: string;
  readonly name: string;
  readonly parameters: string;
  readonly template?: string;
}

/** A function of the prelude. */
export function deviceFunction({ returns, name, parameters, template }: Signature, body: readonly string[]): string {
  const open = `${inlined} ${returns} ${name}(${parameters}) {`;
  return [
    ...(template === undefined ? [] : [`template <${template}>`]),
    open,
    ...body.map((line) => `  ${line}`),
    '}',
    '',
  ].join('\n');
}

/** A function that stands for an instruction: where the code is emulated, the emulation brings its own. */
export const hardwareFunction = (signature: Signature, body: readonly string[]): string =>
  `#ifndef TSINDUCTOR_CUDA_EMULATION\n${deviceFunction(signature, body)}#endif\n`;
