// Exponents and significands of floats in C++, and products with powers of two: an instruction or two on AVX-512, elsewhere
// arithmetic on bits.
import type { DType } from '@tsinductor/base';
import { leastScale } from '@tsinductor/ops';
import { asmBinary, asmUnary, builtin, fillsRegister, intOf, intType, isVector, signMask, suffix } from './op-body.ts';
import type { Body, OpFunction } from './op-body.ts';
import { registerBytes, typeName } from './vector-types.ts';

/** The layout of a float: bits of the fraction, bias of the exponent. */
const layout = (dtype: DType): { fraction: number; bias: number; suffix: string } =>
  dtype === 'f64' ? { fraction: 52, bias: 1023, suffix: 'L' } : { fraction: 23, bias: 127, suffix: '' };

/** 1.5 times the unit of the fraction: added to an integral float below half of it, it puts the integer into the lowest bits. */
const magic = (dtype: DType): { readonly float: string; readonly bits: string } =>
  dtype === 'f64' ? { float: '0x1.8p52', bits: '0x4338000000000000L' } : { float: '0x1.8p23f', bits: '0x4b400000' };

const leastNormal = (dtype: DType): string => (dtype === 'f64' ? '0x1p-1022' : '0x1p-126f');
/** What makes every subnormal number normal. */
const raising = (dtype: DType): { readonly float: string; readonly exponent: number } =>
  dtype === 'f64' ? { float: '0x1p53', exponent: 53 } : { float: '0x1p24f', exponent: 24 };

/**
 * `r` is `x`, a text, times two powers of two, whose product is 2^y: a vector of them. The lowest bits of `n` are y and twice the
 * bias, so those of its halves are exponents; what is above them, the shifts push out.
 */
function scaledVector({ type }: OpFunction, x: string): readonly string[] {
  const { fraction, bias } = layout(type.dtype);
  const float = typeName(type);
  const power = (exponent: string): string => `(${float})(${exponent} << ${String(fraction)})`;
  return [
    // Few machines shift 64 bits with their sign.
    `typedef unsigned ${type.dtype === 'f64' ? 'long' : 'int'} words __attribute__((vector_size(${String(registerBytes(type))})));`,
    `const words n = (words)(y + (${magic(type.dtype).float} + ${String(2 * bias)})), half = n >> 1;`,
    `const ${float} r = ${x} * ${power('half')} * ${power('(n - half)')};`,
  ];
}

/** The same of scalars, returned. */
function scaledScalar({ type }: OpFunction): readonly string[] {
  const { fraction, bias } = layout(type.dtype);
  const int = intOf(type.dtype);
  const power = (exponent: string): string => `((${int})(${exponent} + ${String(bias)}) << ${String(fraction)})`;
  return [
    `const ${int} n = (${int})y, half = n >> 1;`,
    `const ${int} a = ${power('half')}, b = ${power('(n - half)')};`,
    `${type.dtype} first, second;`,
    '__builtin_memcpy(&first, &a, sizeof first);',
    '__builtin_memcpy(&second, &b, sizeof second);',
    'return x * first * second;',
  ];
}

export const scale: Body = (request) => {
  if (!isVector(request)) return ['if (y != y) return y;', ...scaledScalar(request)];
  if (request.isa === 'avx512' && fillsRegister(request))
    return [...asmBinary(request, `vscalef${suffix(request.type.dtype)}`, ['x', 'y']), 'return r;'];
  return [...scaledVector(request, 'x'), 'return y != y ? y : r;'];
};

/** Lanes below the limit are 0 before they are scaled, or not scaled at all, so that none underflows. */
export const scaleOrZero: Body = (request) => {
  const { type, isa } = request;
  const least = `${String(leastScale[type.dtype === 'f64' ? 'f64' : 'f32'])}${type.dtype === 'f64' ? '.0' : '.0f'}`;
  if (!isVector(request)) return [`if (!(y >= ${least})) return y < ${least} ? 0 : y;`, ...scaledScalar(request)];
  const [float, int] = [typeName(type), typeName(intType(type))];
  if (isa === 'avx512' && fillsRegister(request)) {
    const p = suffix(type.dtype);
    return [
      `unsigned ${type.lanes > 8 ? 'short' : 'char'} kept;`,
      `${float} r;`,
      // Not less than: a NaN is kept.
      `__asm__("vcmp${p} $5, %2, %1, %0" : "=Yk"(kept) : "v"(y), "vm"(${float}{} + ${least}));`,
      `__asm__("vscalef${p} %2, %1, %0%{%3%}%{z%}" : "=v"(r) : "v"(x), "vm"(y), "Yk"(kept));`,
      'return r;',
    ];
  }
  return [
    `const ${int} kept = ~(y < ${least});`,
    ...scaledVector(request, `(${float})((${int})x & kept)`),
    `return (${float})((${int})r & kept);`,
  ];
};

/** `magnitude` is |x|, `bits` those of |x| made normal, and `part` their fraction. */
function takenApart({ type }: OpFunction): readonly string[] {
  const { fraction, suffix: long } = layout(type.dtype);
  const [float, int] = [typeName(type), typeName(intType(type))];
  return [
    `const ${float} magnitude = (${float})((${int})x & ${signMask(type.dtype)});`,
    `const ${int} subnormal = magnitude < ${leastNormal(type.dtype)};`,
    `const ${int} bits = (${int})(subnormal ? magnitude * ${raising(type.dtype).float} : magnitude);`,
    `const ${int} part = bits & ${String((1n << BigInt(fraction)) - 1n)}${long};`,
  ];
}

const upperHalf = (dtype: DType): string => {
  const { fraction, suffix: long } = layout(dtype);
  return `(part >= ${String((1n << BigInt(fraction)) >> 1n)}${long})`;
};

export const significand: Body = (request) => {
  const { type } = request;
  const { fraction, bias, suffix: long } = layout(type.dtype);
  const infinity = `${builtin('inf', type.dtype)}()`;
  if (isVector(request)) {
    if (request.isa === 'avx512' && fillsRegister(request))
      return [...asmUnary(request, `vgetmant${suffix(type.dtype)}`, 7), 'return r;'];
    const float = typeName(type);
    return [
      ...takenApart(request),
      // A comparison that holds is -1.
      `const ${float} r = (${float})(part | (${upperHalf(type.dtype)} + ${String(bias)}) << ${String(fraction)});`,
      `const ${float} finite = (magnitude == 0) | (magnitude == ${infinity}) ? ${float}{} + 1 : r;`,
      'return x != x ? x : finite;',
    ];
  }
  const int = intOf(type.dtype);
  const one = 1n << BigInt(fraction);
  return [
    'if (x != x) return x;',
    `x = ${builtin('fabs', type.dtype)}(x);`,
    `if (x == 0 || x == ${infinity}) return 1;`,
    `if (x < ${leastNormal(type.dtype)}) x *= ${raising(type.dtype).float};`,
    `${int} bits;`,
    '__builtin_memcpy(&bits, &x, sizeof bits);',
    `bits &= ${String(one - 1n)}${long};`,
    `bits |= (${int})(bits >= ${String(one >> 1n)}${long} ? ${String(bias - 1)} : ${String(bias)}) << ${String(fraction)};`,
    '__builtin_memcpy(&x, &bits, sizeof bits);',
    'return x;',
  ];
};

export const exponent: Body = (request) => {
  const { type, isa } = request;
  const { fraction, bias, suffix: long } = layout(type.dtype);
  const infinity = `${builtin('inf', type.dtype)}()`;
  const raised = String(raising(type.dtype).exponent);
  if (isVector(request)) {
    const float = typeName(type);
    if (isa !== 'avx512' || !fillsRegister(request)) {
      const { float: shift, bits } = magic(type.dtype);
      return [
        ...takenApart(request),
        // A comparison that holds is -1.
        `const ${typeName(intType(type))} e = (bits >> ${String(fraction)}) - ${String(bias)} - ${upperHalf(type.dtype)} - (subnormal & ${raised});`,
        `const ${float} r = (${float})(e + ${bits}) - ${shift};`,
        `const ${float} finite = magnitude == 0 ? ${float}{} - ${infinity} : magnitude == ${infinity} ? magnitude : r;`,
        'return x != x ? x : finite;',
      ];
    }
    const p = suffix(type.dtype);
    return [
      `${float} e, m, f;`,
      `__asm__("vgetexp${p} %1, %0" : "=v"(e) : "v"(x));`,
      `__asm__("vgetmant${p} $7, %1, %0" : "=v"(m) : "v"(x));`,
      `__asm__("vgetexp${p} %1, %0" : "=v"(f) : "v"(m));`,
      'return e - f;',
    ];
  }
  const int = intOf(type.dtype);
  const one = 1n << BigInt(fraction);
  return [
    'if (x != x) return x;',
    `x = ${builtin('fabs', type.dtype)}(x);`,
    `if (x == ${infinity}) return x;`,
    `if (x == 0) return -${infinity};`,
    `const bool subnormal = x < ${leastNormal(type.dtype)};`,
    `if (subnormal) x *= ${raising(type.dtype).float};`,
    `${int} bits;`,
    '__builtin_memcpy(&bits, &x, sizeof bits);',
    `const ${int} upper = (bits & ${String(one - 1n)}${long}) >= ${String(one >> 1n)}${long};`,
    `return (${type.dtype})((bits >> ${String(fraction)}) - ${String(bias)} + upper - (subnormal ? ${raised} : 0));`,
  ];
};
