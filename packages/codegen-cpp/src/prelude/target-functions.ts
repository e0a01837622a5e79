// The functions that the ops of machines are spelled by (see `targetOps`), in vectors of C++.
//
// Square roots of a register of f32 are products where a processor takes as long for a root as for a dozen of them, which need not wait
// for its divider: an approximation to 14 bits, a step of Newton and Raphson for the root g and half of its reciprocal h, and what is
// left of x, in one rounding: g + h (x - g g). (P. W. Markstein, "Computation of elementary functions on the IBM RISC System/6000
// processor", IBM Journal of Research and Development 34(1), 1990.) The approximation is the same on every processor of Intel's that
// has it; on one, all 2^32 x were seen to give the instruction's bits. What is negative, 0, NaN, or beyond the limits is left to that.
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import { splatFunction } from './special-functions.ts';
import { inlineFunction, typeDefinition, typeName } from './vector-types.ts';

/**
 * Twice a vector of floats, as a product: GCC writes a sum for a product by 2, and a processor that adds and multiplies side by side
 * may have enough to add. The empty `asm` keeps GCC from knowing. (Measured on a Zen 4: eight steps of a Mandelbrot set, of more
 * sums than products, take 5 to 8 % less. Programs of more products than sums were not measured.)
 */
export function twiceFunction(type: ValueType): Definition {
  const [name, vector] = [`twice_${typeName(type)}`, typeName(type)];
  const splat = splatFunction(type);
  const body = [`${vector} two = ${splat.name}(2.0f);`, 'asm("" : "+v"(two));', 'return x * two;'];
  const text = inlineFunction({ returns: vector, name, parameters: `${vector} x` }, body);
  return { name, text, needs: [typeDefinition(type), splat] };
}

/** x / y by the parts of 1 / y, in a register of AVX-512; what is too small for them divides the vector. */
export function quotientFunction(type: ValueType): Definition {
  const [vector, integers] = [typeDefinition(type), typeDefinition({ ...type, dtype: 'i32' })];
  const name = `quotient_${typeName(type)}`;
  const parameters = `${vector.name} x, f32 y, f32 high, f32 low, i32 least`;
  const body = [
    // As numbers without a sign: 0 becomes the largest.
    `const ${integers.name} magnitude = ((${integers.name})x & 0x7fffffff) - 1;`,
    'unsigned long small;',
    `__asm__("vpcmpltud %2, %1, %0" : "=Yk"(small) : "v"(magnitude), "v"(${integers.name}{} + (least - 1)));`,
    'if (__builtin_expect((unsigned short)small != 0, 0)) return x / y;',
    `__asm__("vfmadd213ps %2, %1, %0" : "+v"(x) : "v"(${vector.name}{} + high), "v"(x * low));`,
    'return x;',
  ];
  return { name, text: inlineFunction({ returns: vector.name, name, parameters }, body), needs: [vector, integers] };
}

/** The bits of 2^-96, and how many more those of 2^96 are. */
const [least, range] = [0x0f800000, 0x60000000];

const hex = (bits: number): string => `0x${bits.toString(16)}`;

/** It is called as the root by the instruction is, of which no unit has both. */
export function rootFunction(type: ValueType): Definition {
  const integer: ValueType = { ...type, dtype: 'i32' };
  const [vector, integers] = [typeName(type), typeName(integer)];
  const body = [
    // As a number without a sign, one that is less is more.
    `const ${integers} beyond = (${integers})x - ${hex(least)};`,
    'unsigned long other;',
    `__asm__("vpcmpnleud %2, %1, %0" : "=Yk"(other) : "v"(beyond), "v"(${integers}{} + ${hex(range)}));`,
    `${vector} y, e = ${vector}{} + 0.5f, d = x;`,
    'if (__builtin_expect((unsigned short)other != 0, 0)) {',
    '  __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));',
    '  return y;',
    '}',
    '__asm__("vrsqrt14ps %1, %0" : "=v"(y) : "v"(x));',
    `const ${vector} g = x * y, h = y * 0.5f;`,
    `${vector} root = g, half = h;`,
    '__asm__("vfnmadd231ps %2, %1, %0" : "+v"(e) : "v"(g), "v"(h));',
    '__asm__("vfmadd231ps %2, %1, %0" : "+v"(root) : "v"(g), "v"(e));',
    '__asm__("vfmadd231ps %2, %1, %0" : "+v"(half) : "v"(h), "v"(e));',
    '__asm__("vfnmadd231ps %1, %1, %0" : "+v"(d) : "v"(root));',
    '__asm__("vfmadd231ps %2, %1, %0" : "+v"(root) : "v"(d), "v"(half));',
    'return root;',
  ];
  const name = `sqrt_${vector}`;
  const text = inlineFunction({ returns: vector, name, parameters: `${vector} x` }, body);
  return {
    name,
    text,
    needs: [typeDefinition(type), typeDefinition(integer), typeDefinition({ ...integer, lanes: 1 })],
  };
}
