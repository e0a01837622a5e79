// The types of generated C++: one typedef per dtype and lane count, in GCC's vector extension, without any include.
//
// In registers a bool vector is an i32 vector of 0 and -1, a bool scalar is `bool`; f16 and bf16 are their bits (u16).
// In memory a bool is a byte.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';

const scalarTypes: Readonly<Record<DType, string>> = {
  f64: 'double',
  f32: 'float',
  f16: 'unsigned short',
  bf16: 'unsigned short',
  i64: 'long',
  i32: 'int',
  i16: 'short',
  i8: 'signed char',
  u8: 'unsigned char',
  bool: 'unsigned char',
};

/** `f32`, and `bool8` for a bool in memory. */
const elementName = (dtype: DType): string => (dtype === 'bool' ? 'bool8' : dtype);

export function elementDefinition(dtype: DType): Definition {
  const name = elementName(dtype);
  return { name, text: `typedef ${scalarTypes[dtype]} ${name};\n`, needs: [] };
}

/** The dtype whose vectors represent those of `dtype` in registers. */
const registerDType = (dtype: DType): DType => (dtype === 'bool' ? 'i32' : dtype);

export const typeName = ({ dtype, lanes }: ValueType): string =>
  lanes === 1 ? (dtype === 'bool' ? 'bool' : dtype) : `${dtype}x${String(lanes)}`;

/** Bytes of a value in a register. */
export const registerBytes = ({ dtype, lanes }: ValueType): number => dtypeInfo[registerDType(dtype)].bytes * lanes;

export function typeDefinition(type: ValueType): Definition {
  if (type.lanes === 1) {
    return type.dtype === 'bool' ? { name: 'bool', text: '', needs: [] } : elementDefinition(type.dtype);
  }
  const element = registerDType(type.dtype);
  const bytes = dtypeInfo[element].bytes * type.lanes;
  const name = typeName(type);
  const text = `typedef ${element} ${name} __attribute__((vector_size(${String(bytes)})));\n`;
  return { name, text, needs: [elementDefinition(element)] };
}

/** A vector of elements in memory at any address: `f32x16_at`. */
export function memoryType({ dtype, lanes }: ValueType): Definition {
  const element = elementDefinition(dtype);
  const bytes = dtypeInfo[dtype].bytes * lanes;
  const name = `${element.name}x${String(lanes)}_at`;
  const text = `typedef ${element.name} ${name} __attribute__((vector_size(${String(bytes)}), aligned(1), may_alias));\n`;
  return { name, text, needs: [element] };
}

/** Whether registers hold a dtype as bits only. */
export const isBitsOnly = (dtype: DType): boolean => dtype === 'f16' || dtype === 'bf16';

export const inlined: string = 'static inline __attribute__((always_inline))';

/** An inlined function of the prelude. */
export function inlineFunction(
  signature: { returns: string; name: string; parameters: string },
  body: readonly string[],
): string {
  const { returns, name, parameters } = signature;
  return [`${inlined} ${returns} ${name}(${parameters}) {`, ...body.map((line) => `  ${line}`), '}', ''].join('\n');
}
