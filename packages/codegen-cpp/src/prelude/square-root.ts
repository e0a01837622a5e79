// Square roots of a register of f32 as products, with the bits of the instruction: where a processor takes as long for one as for a
// dozen products, which need not wait for its divider.
//
// An approximation to 14 bits, a step of Newton and Raphson for the root g and half of its reciprocal h, and what is left of x, in one
// rounding: g + h (x - g g). (P. W. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", IBM Journal
// of Research and Development 34(1), 1990.) The approximation is the same on every processor of Intel's that has it; on one, all 2^32 x
// were seen to give the instruction's bits. What is negative, 0, NaN, or beyond these limits is left to that.
import type { ValueType } from '@tsinductor/ir';
import { typeName } from './vector-types.ts';

/** The bits of 2^-96, and how many more those of 2^96 are. */
const [least, range] = [0x0f800000, 0x60000000];

const hex = (bits: number): string => `0x${bits.toString(16)}`;

/** The body of a function of x. */
export function rootByProducts(type: ValueType): readonly string[] {
  const [vector, integers] = [typeName(type), typeName({ ...type, dtype: 'i32' })];
  return [
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
}
