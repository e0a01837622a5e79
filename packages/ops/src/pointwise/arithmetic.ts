// Arithmetic of two and three arguments, and the sign functions. At bool, sums and products are `or` and `and`.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import { binary, ternary, unary } from '../define.ts';
import type { Binary, Ternary, Unary } from '../define.ts';
import { fma32, fma64 } from '../fused.ts';
import { infix, levels, prefix, prelude } from '../prelude.ts';
import { bitwiseAnd, bitwiseOr } from './bitwise.ts';
import { eq, gt, logicalAnd, lt, ne, where } from './comparison.ts';
import { floats, integers, numbers } from './dtype-sets.ts';
import { floor, trunc } from './rounding.ts';
import { cast } from '../term.ts';
import type { Term } from '../term.ts';

export const add: Binary = binary('add', {
  doc: 'Sum of two tensors, with broadcasting.',
  formula: 'x + y',
  rule: 'promote',
  reference: (x = 0, y = 0) => x + y,
  ulp: 0.5,
  traits: { commutative: true, associative: true, identity: -0, otherZero: ['sign', 'sign'], cost: 1 },
  c: infix('+', levels.add),
  evaluate: { float: (x = 0, y = 0) => x + y, int: (x = 0, y = 0) => x + y, bigint: (x = 0n, y = 0n) => x + y },
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseOr(x, y) : undefined),
  gradient: ({ g }) => [g, g],
});

export const sub: Binary = binary('sub', {
  doc: 'Difference of two tensors, with broadcasting.',
  formula: 'x - y',
  rule: 'promote',
  reference: (x = 0, y = 0) => x - y,
  ulp: 0.5,
  accepts: numbers,
  traits: { cost: 1, identity: 0, otherZero: ['sign', 'sign'] },
  c: infix('-', levels.add),
  evaluate: { float: (x = 0, y = 0) => x - y, int: (x = 0, y = 0) => x - y, bigint: (x = 0n, y = 0n) => x - y },
  gradient: ({ g }) => [g, neg(g)],
});

export const mul: Binary = binary('mul', {
  doc: 'Product of two tensors, with broadcasting.',
  formula: 'x * y',
  rule: 'promote',
  reference: (x = 0, y = 0) => x * y,
  ulp: 0.5,
  traits: { commutative: true, associative: true, identity: 1, otherZero: ['sign', 'sign'], cost: 1 },
  c: infix('*', levels.multiply),
  evaluate: { float: (x = 0, y = 0) => x * y, int: Math.imul, bigint: (x = 0n, y = 0n) => x * y },
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseAnd(x, y) : undefined),
  gradient: ({ g, x, y }) => [mul(g, y), mul(g, x)],
});

export const div: Binary = binary('div', {
  doc: 'True quotient of two tensors, with broadcasting; integers are divided as floats.',
  formula: 'x / y',
  rule: 'promoteToFloat',
  reference: (x = 0, y = 0) => x / y,
  ulp: 0.5,
  traits: { identity: 1, otherZero: ['sign', 'any'], cost: 8 },
  c: infix('/', levels.multiply),
  evaluate: { float: (x = 0, y = 0) => x / y },
  gradient: ({ g, x, y }) => [div(g, y), mul(neg(g), div(div(x, y), y))],
});

export const divTrunc: Binary = binary('divTrunc', {
  doc: 'Quotient rounded towards zero. Integer division by zero gives 0.',
  formula: 'trunc(x / y)',
  rule: 'promote',
  exact: 'the rounded quotient, cut off',
  accepts: numbers,
  traits: { cost: 9 },
  c: prelude('div_'),
  evaluate: {
    int: (x = 0, y = 0) => (y === 0 ? 0 : Math.trunc(x / y)),
    bigint: (x = 0n, y = 0n) => (y === 0n ? 0n : x / y),
  },
  decompose: ({ x, y }, dtype) => (isFloat(dtype) ? trunc(div(x, y)) : undefined),
  piece: (x = 0, y = 0) => Math.trunc(x / y),
  gradient: () => [0, 0],
});

export const divFloor: Binary = binary('divFloor', {
  doc: 'Quotient rounded down, as // in Python. Integer division by zero gives 0.',
  formula: 'floor(x / y)',
  rule: 'promote',
  exact: 'the rounded quotient, cut off',
  accepts: numbers,
  traits: { cost: 20 },
  decompose: ({ x, y }, dtype) => {
    if (!dtypeInfo[dtype].signed) return divTrunc(x, y);
    const remains = fmod(x, y);
    const adjust = logicalAnd(ne(remains, 0), ne(lt(remains, 0), lt(y, 0)));
    if (!isFloat(dtype)) return where(adjust, sub(divTrunc(x, y), 1), divTrunc(x, y));
    const near = div(sub(x, remains), y);
    const quotient = where(adjust, sub(near, 1), near);
    const down = floor(quotient);
    const corrected = where(gt(sub(quotient, down), 0.5), add(down, 1), down);
    const signedZero = copysign(0, div(x, y));
    return where(eq(y, 0), div(x, y), where(eq(quotient, 0), signedZero, corrected));
  },
  piece: (x = 0, y = 0) => Math.floor(x / y),
  gradient: () => [0, 0],
});

export const fmod: Binary = binary('fmod', {
  doc: 'Remainder with the sign of the dividend, exact. An integer modulo zero is 0.',
  formula: 'x - trunc(x / y) * y',
  rule: 'promote',
  reference: (x = 0, y = 0) => x % y,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 20 },
  c: prelude('rem_'),
  evaluate: {
    float: (x = 0, y = 0) => x % y,
    int: (x = 0, y = 0) => (y === 0 ? 0 : x % y),
    bigint: (x = 0n, y = 0n) => (y === 0n ? 0n : x % y),
  },
  piece: (x = 0, y = 0) => Math.trunc(x / y),
  gradient: ({ g, x, y }) => [g, mul(neg(g), divTrunc(x, y))],
});

export const remainder: Binary = binary('remainder', {
  doc: 'Remainder with the sign of the divisor, as % in Python. An integer modulo zero is 0.',
  formula: 'x - floor(x / y) * y',
  rule: 'promote',
  reference: (x = 0, y = 0) => (x % y !== 0 && x % y < 0 !== y < 0 ? (x % y) + y : x % y),
  ulp: 0.5,
  accepts: numbers,
  traits: { cost: 24 },
  decompose: ({ x, y }, dtype) => {
    const remains = fmod(x, y);
    if (!dtypeInfo[dtype].signed) return remains;
    const adjust = logicalAnd(ne(remains, 0), ne(lt(remains, 0), lt(y, 0)));
    return where(adjust, add(remains, y), remains);
  },
  piece: (x = 0, y = 0) => Math.floor(x / y),
  gradient: ({ g, x, y }) => [g, mul(neg(g), divFloor(x, y))],
});

export const fma: Ternary = ternary('fma', {
  doc: 'Product and sum with one rounding.',
  formula: 'x * y + z',
  rule: 'promote',
  reference: (x = 0, y = 0, z = 0) => x * y + z,
  ulp: 0.5,
  accepts: numbers,
  traits: { cost: 1 },
  c: prelude('fma_'),
  evaluate: { float: fma64, f32: fma32 },
  decompose: ({ x, y, z }, dtype) => (isFloat(dtype) ? undefined : add(mul(x, y), z)),
  gradient: ({ g, x, y }) => [mul(g, y), mul(g, x), g],
});

export const neg: Unary = unary('neg', {
  doc: 'Negation.',
  formula: '-x',
  rule: 'promote',
  reference: (x = 0) => -x,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1, otherZero: ['sign'] },
  c: prefix('-'),
  evaluate: { float: (x = 0) => -x, int: (x = 0) => -x, bigint: (x = 0n) => -x },
  gradient: ({ g }) => [neg(g)],
});

export const positive: Unary = unary('positive', {
  doc: 'The tensor itself.',
  formula: 'x',
  rule: 'promote',
  reference: (x = 0) => x,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 0 },
  decompose: ({ x }) => x,
  gradient: ({ g }) => [g],
});

export const abs: Unary = unary('abs', {
  doc: 'Absolute value. The lowest integer stays as it is.',
  formula: '|x|',
  rule: 'promote',
  reference: Math.abs,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1, otherZero: ['same'] },
  c: prelude('abs_'),
  evaluate: { float: Math.abs, int: Math.abs, bigint: (x = 0n) => (x < 0n ? -x : x) },
  decompose: ({ x }, dtype) => (dtype === 'u8' ? x : undefined),
  piece: (x = 0) => Math.sign(x),
  gradient: ({ g, x }) => [mul(g, sign(x))],
});

export const sign: Unary = unary('sign', {
  doc: '-1, 0 or 1; 0 for NaN.',
  rule: 'promote',
  reference: (x = 0) => (x > 0 ? 1 : x < 0 ? -1 : 0),
  ulp: 0,
  traits: { cost: 3 },
  decompose: ({ x }, dtype) => (dtype === 'bool' ? x : where(gt(x, 0), 1, dtype === 'u8' ? 0 : where(lt(x, 0), -1, 0))),
  piece: (x = 0) => Math.sign(x),
  gradient: () => [0],
});

export const sgn: Unary = unary('sgn', {
  doc: 'The same as sign: they differ on complex numbers only.',
  rule: 'promote',
  reference: (x = 0) => (x > 0 ? 1 : x < 0 ? -1 : 0),
  ulp: 0,
  traits: { cost: 3 },
  decompose: ({ x }) => sign(x),
  piece: (x = 0) => Math.sign(x),
  gradient: () => [0],
});

export const copysign: Binary = binary('copysign', {
  doc: 'The magnitude of x with the sign of y.',
  rule: 'promoteToFloat',
  reference: (x = 0, y = 0) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x)),
  ulp: 0,
  traits: { cost: 1, readsSign: true },
  c: prelude('copysign_'),
  evaluate: {
    float: (x = 0, y = 0) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x)),
  },
  gradient: ({ g, x, out }) => [where(eq(x, 0), 0, mul(g, mul(sign(x), sign(out)))), 0],
});

export const square: Unary = unary('square', {
  doc: 'x times x.',
  formula: 'x^2',
  rule: 'promote',
  reference: (x = 0) => x * x,
  ulp: 0.5,
  boolAs: 'i64',
  traits: { cost: 1 },
  decompose: ({ x }) => mul(x, x),
  gradient: ({ g, x }) => [mul(g, mul(2, x))],
});

export const reciprocal: Unary = unary('reciprocal', {
  doc: '1 divided by x.',
  formula: '1 / x',
  rule: 'promoteToFloat',
  reference: (x = 0) => 1 / x,
  ulp: 0.5,
  traits: { cost: 8 },
  decompose: ({ x }) => div(1, x),
  gradient: ({ g, out }) => [mul(neg(g), mul(out, out))],
});

export const sqrt: Unary = unary('sqrt', {
  doc: 'Square root, correctly rounded.',
  rule: 'promoteToFloat',
  reference: Math.sqrt,
  ulp: 0.5,
  traits: { cost: 8 },
  c: prelude('sqrt_'),
  evaluate: { float: Math.sqrt },
  gradient: ({ g, out }) => [div(g, mul(2, out))],
});

export const rsqrt: Unary = unary('rsqrt', {
  doc: 'Reciprocal of the square root.',
  formula: '1 / sqrt(x)',
  rule: 'promoteToFloat',
  traits: { cost: 16 },
  decompose: ({ x }) => div(1, sqrt(x)),
  reference: (x = 0) => 1 / Math.sqrt(x),
  ulp: 2,
  gradient: ({ g, out }) => [mul(mul(-0.5, g), mul(out, mul(out, out)))],
});

export const lerp: Ternary = ternary('lerp', {
  doc: 'Linear interpolation from x to y by the weight z, exact at both ends.',
  signature: 'input: tensor, end: tensor, weight: operand',
  promotesNothing: true,
  formula: 'x + z (y - x)',
  rule: 'promote',
  measured: [2 ** -149, 2 ** 100],
  reference: (x = 0, y = 0, z = 0) => x + z * (y - x),
  ulp: 4,
  scale: (x = 0, y = 0, z = 0) => Math.abs(x) + (1 + Math.abs(z)) * (Math.abs(x) + Math.abs(y)),
  accepts: floats,
  traits: { cost: 7 },
  decompose: ({ x, y, z }) => where(lt(abs(z), 0.5), add(x, mul(z, sub(y, x))), sub(y, mul(sub(y, x), sub(1, z)))),
  gradient: ({ g, x, y, z }) => [mul(g, sub(1, z)), mul(g, z), mul(g, sub(y, x))],
});

export const heaviside: Binary = binary('heaviside', {
  doc: '0 where x is negative, y where x is 0, else 1; 0 for NaN.',
  rule: 'promote',
  reference: (x = 0, y = 0) => (x === 0 ? y : x > 0 ? 1 : 0),
  ulp: 0,
  traits: { cost: 4 },
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseOr(x, y) : where(eq(x, 0), y, where(gt(x, 0), 1, 0))),
  noGradient: 'it is constant but for its jump at 0',
});

export const gcd: Binary = binary('gcd', {
  doc: 'Greatest common divisor.',
  rule: 'promote',
  accepts: integers,
  traits: { commutative: true, associative: true, idempotent: false, cost: 100 },
  c: prelude('gcd_'),
  evaluate: {
    int: (x = 0, y = 0) => {
      let [a, b] = [Math.abs(x), Math.abs(y)];
      while (b !== 0) [a, b] = [b, a % b];
      return a;
    },
    bigint: (x = 0n, y = 0n) => {
      let [a, b] = [x < 0n ? -x : x, y < 0n ? -y : y];
      while (b !== 0n) [a, b] = [b, a % b];
      return a;
    },
  },
});

export const lcm: Binary = binary('lcm', {
  doc: 'Least common multiple; 0 if either is 0.',
  rule: 'promote',
  accepts: integers,
  traits: { commutative: true, cost: 110 },
  // Of short integers the product is made in i32, and wraps once at the end.
  decompose: ({ x, y }, dtype) => {
    const product = (a: Term, b: Term): Term => abs(mul(divTrunc(a, gcd(a, b)), b));
    return dtype === 'i8' || dtype === 'i16' ? cast(dtype, product(cast('i32', x), cast('i32', y))) : product(x, y);
  },
});
