// Exponentials and logarithms. Coefficients are minimax (Chebyshev) fits on the interval that the reduction leaves.
import type { DType } from '@tsinductor/base';
import { binary, unary } from '../define.ts';
import type { Binary, Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, atLeast, atMost, div, fma, mul, neg, sub } from './arithmetic.ts';
import { eq, gt, isfinite, isnan, le, logicalAnd, logicalOr, lt, where } from './comparison.ts';
import { floats } from './dtype-sets.ts';
import { exponent, scalb, significand } from './float-parts.ts';
import { horner } from './polynomial.ts';
import { round } from './rounding.ts';

/** Adding this to a float32 in [-2^22, 2^22] rounds it to an integer; taking it away leaves the integer. */
const roundingShift = 12582912;
const ln2 = { high: 0.693145751953125, low: 1.4286068203094172e-6 };
const ln2Double = { high: 6.93147180369123816490e-1, low: 1.90821492927058770002e-10 };

/** exp(r) = 1 + r + r^2 q(r) for |r| <= ln 2 / 2. */
const expTail32 = [0.5, 0.16666576266288757, 0.041666556149721146, 0.008363178931176662, 0.0013926184037700295];
const expTail64 = [
  0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748, 0.00019841269874820627,
  2.4801587325547743e-5, 2.7557255400206422e-6, 2.75572736431103e-7, 2.5105217004720745e-8, 2.0914686968086876e-9,
];

/** x = n ln 2 + r with |r| <= ln 2 / 2, for x within the range of exponents. */
export function reduceByLn2(x: Term, dtype: DType): { readonly n: Term; readonly r: Term } {
  if (dtype === 'f32') {
    const n = sub(fma(x, Math.LOG2E, roundingShift), roundingShift);
    return { n, r: fma(n, -ln2.low, fma(n, -ln2.high, x)) };
  }
  const n = round(mul(x, Math.LOG2E));
  return { n, r: sub(sub(x, mul(n, ln2Double.high)), mul(n, ln2Double.low)) };
}

/** exp(r) for |r| <= ln 2 / 2. */
export const expOfReduced = (r: Term, dtype: DType): Term =>
  dtype === 'f32' ? horner(dtype, r, [1, 1, ...expTail32]) : add(1, expm1OfReduced(r, dtype));

/** exp(r) - 1 for |r| <= ln 2 / 2, with a small relative error. */
export const expm1OfReduced = (r: Term, dtype: DType): Term =>
  dtype === 'f32'
    ? fma(horner(dtype, r, expTail32), mul(r, r), r)
    : add(r, mul(mul(r, r), horner(dtype, r, expTail64)));

/** Where exp has over- and underflowed; a NaN comes through the clamps. */
const expRange = (dtype: DType): readonly [number, number] => (dtype === 'f32' ? [-104, 89] : [-746, 710]);

/** exp(x) for x already within `expRange`. */
export function expInRange(x: Term, dtype: DType): Term {
  const { n, r } = reduceByLn2(x, dtype);
  return scalb(expOfReduced(r, dtype), n);
}

/** exp(x) for x that is not positive: one clamp less. */
export const expOfNegative = (x: Term, dtype: DType): Term => expInRange(atLeast(x, expRange(dtype)[0]), dtype);

export const exp: Unary = unary('exp', {
  doc: 'Exponential function.',
  formula: 'e^x',
  rule: 'promoteToFloat',
  traits: { cost: 13 },
  decompose: ({ x }, dtype) => {
    const [low, high] = expRange(dtype);
    return expInRange(atMost(atLeast(x, low), high), dtype);
  },
  reference: Math.exp,
  ulp: 2,
  gradient: ({ g, out }) => [mul(g, out)],
});

/** 2^f = 1 + f p(f) for |f| <= 1/2. */
const exp2Tail32 = [
  0.6931471824645996, 0.24022650718688965, 0.055503569543361664, 0.009618083015084267, 0.001339086564257741,
  0.00015453164814971387,
];

export const exp2: Unary = unary('exp2', {
  doc: '2 to the power of x.',
  formula: '2^x',
  rule: 'promoteToFloat',
  traits: { cost: 12 },
  decompose: ({ x }, dtype) => {
    const [low, high] = dtype === 'f32' ? [-151, 129] : [-1076, 1025];
    const clamped = atMost(atLeast(x, low), high);
    const n = dtype === 'f32' ? sub(add(clamped, roundingShift), roundingShift) : round(clamped);
    const f = sub(clamped, n);
    const p = dtype === 'f32' ? horner(dtype, f, [1, ...exp2Tail32]) : expOfReduced(mul(f, Math.LN2), dtype);
    return scalb(p, n);
  },
  reference: (x = 0) => 2 ** x,
  ulp: 2,
  gradient: ({ g, out }) => [mul(g, mul(out, Math.LN2))],
});

export const expm1: Unary = unary('expm1', {
  doc: 'exp(x) - 1, accurate near 0.',
  formula: 'e^x - 1',
  rule: 'promoteToFloat',
  traits: { cost: 17 },
  decompose: ({ x }, dtype) => {
    const [low, high] = dtype === 'f32' ? [-18, 89] : [-40, 710];
    const { n, r } = reduceByLn2(atMost(atLeast(x, low), high), dtype);
    const sum = add(sub(1, scalb(1, neg(n))), expm1OfReduced(r, dtype));
    return where(eq(x, 0), x, scalb(sum, n));
  },
  reference: Math.expm1,
  ulp: 3,
  gradient: ({ g, out }) => [mul(g, add(out, 1))],
});

/** log(1 + f) = f - f^2/2 + f^3 q(f) on [-1/4, 1/2]. */
const logTail32 = [
  0.3333333432674408, -0.25000056624412537, 0.20000140368938446, -0.16660816967487335, 0.14268305897712708,
  -0.12639310956001282, 0.11680682003498077, -0.09561339765787125, 0.042871978133916855,
];
/** 2 atanh(s) = 2 s + s^3 q(s^2) for -1/7 <= s <= 1/5. */
const atanhTail64 = [
  0.6666666666666666, 0.3999999999999991, 0.2857142857149035, 0.22222222206441009, 0.18181820198587603,
  0.1538447089657833, 0.13339393783338313, 0.11617515331503465, 0.12423114056078084,
];

/** log(1 + f) - f for f in [-1/4, 1/2): small beside f, so that f can be added last. */
function logTail(f: Term, dtype: DType): Term {
  if (dtype === 'f32') {
    const z = mul(f, f);
    return fma(z, -0.5, mul(mul(horner(dtype, f, logTail32), f), z));
  }
  const s = div(f, add(2, f));
  const z = mul(s, s);
  const half = mul(0.5, mul(f, f));
  return sub(mul(s, add(half, mul(z, horner(dtype, z, atanhTail64)))), half);
}

/** log(x) = e ln 2 + log(1 + f): infinite at 0 and infinity by the infinite exponent; of |x| where x is negative. */
export function logOfMagnitude(x: Term, dtype: DType): Term {
  const e = exponent(x);
  const f = sub(significand(x), 1);
  const tail = logTail(f, dtype);
  if (dtype === 'f32') return fma(e, ln2.high, add(f, fma(e, ln2.low, tail)));
  return add(mul(e, ln2Double.high), add(f, add(mul(e, ln2Double.low), tail)));
}

/** `value`, but NaN where x is negative. */
const unlessNegative = (x: Term, value: Term): Term => where(lt(x, 0), NaN, value);

export const log: Unary = unary('log', {
  doc: 'Natural logarithm.',
  rule: 'promoteToFloat',
  traits: { cost: 22 },
  decompose: ({ x }, dtype) => unlessNegative(x, logOfMagnitude(x, dtype)),
  reference: Math.log,
  ulp: 2,
  gradient: ({ g, x }) => [div(g, x)],
});

const log2OfE = { high: 1.44269502162933349609375, low: 1.9259629911266174681e-8 };
const log2OfEDouble = { high: 1.44269504072144627571, low: 1.67517131648865118353e-10 };

export const log2: Unary = unary('log2', {
  doc: 'Logarithm to base 2.',
  rule: 'promoteToFloat',
  traits: { cost: 24 },
  decompose: ({ x }, dtype) => {
    const e = exponent(x);
    const f = sub(significand(x), 1);
    const ln = add(f, logTail(f, dtype));
    const value =
      dtype === 'f32'
        ? fma(ln, log2OfE.high, fma(ln, log2OfE.low, e))
        : add(e, add(mul(ln, log2OfEDouble.high), mul(ln, log2OfEDouble.low)));
    return unlessNegative(x, value);
  },
  reference: Math.log2,
  ulp: 3,
  gradient: ({ g, x }) => [div(g, mul(x, Math.LN2))],
});

const log10Of2 = { high: 0.30102920532226562, low: 7.9034151667661e-7 };
const log10Of2Double = { high: 3.01029995663611771306e-1, low: 3.69423907715893078616e-13 };

export const log10: Unary = unary('log10', {
  doc: 'Logarithm to base 10.',
  rule: 'promoteToFloat',
  traits: { cost: 24 },
  decompose: ({ x }, dtype) => {
    const e = exponent(x);
    const f = sub(significand(x), 1);
    const ln = add(f, logTail(f, dtype));
    const value =
      dtype === 'f32'
        ? fma(e, log10Of2.high, fma(ln, Math.LOG10E, mul(e, log10Of2.low)))
        : add(mul(e, log10Of2Double.high), add(mul(e, log10Of2Double.low), mul(ln, Math.LOG10E)));
    return unlessNegative(x, value);
  },
  reference: Math.log10,
  ulp: 3,
  gradient: ({ g, x }) => [div(g, mul(x, Math.LN10))],
});

export const log1p: Unary = unary('log1p', {
  doc: 'log(1 + x), accurate near 0.',
  rule: 'promoteToFloat',
  traits: { cost: 38 },
  decompose: ({ x }, dtype) => {
    const u = add(1, x);
    // What rounding took from 1 + x, brought back to first order.
    const lost = div(sub(x, sub(u, 1)), u);
    const corrected = add(logOfMagnitude(u, dtype), where(logicalAnd(gt(u, 0), isfinite(u)), lost, 0));
    return where(eq(x, 0), x, unlessNegative(u, corrected));
  },
  reference: Math.log1p,
  ulp: 3,
  gradient: ({ g, x }) => [div(g, add(x, 1))],
});

/** larger + f(smaller - larger); the larger alone where both are the same infinity, whose difference would be NaN. */
function logOfSum(x: Term, y: Term, tail: (difference: Term) => Term): Term {
  const larger = where(logicalOr(gt(y, x), isnan(y)), y, x);
  const sum = add(larger, tail(neg(abs(sub(x, y)))));
  return where(logicalAnd(eq(x, y), eq(abs(x), Infinity)), x, sum);
}

export const logaddexp: Binary = binary('logaddexp', {
  doc: 'Logarithm of the sum of exponentials, without overflow.',
  formula: 'log(e^x + e^y)',
  rule: 'promote',
  accepts: floats,
  traits: { associative: true, cost: 55 },
  decompose: ({ x, y }) => logOfSum(x, y, (difference) => log1p(exp(difference))),
  gradient: ({ g, x, y, out }) => [mul(g, exp(sub(x, out))), mul(g, exp(sub(y, out)))],
});

export const logaddexp2: Binary = binary('logaddexp2', {
  doc: 'Logarithm to base 2 of the sum of powers of 2, without overflow.',
  formula: 'log2(2^x + 2^y)',
  rule: 'promote',
  accepts: floats,
  traits: { associative: true, cost: 55 },
  decompose: ({ x, y }) => logOfSum(x, y, (difference) => mul(log1p(exp2(difference)), Math.LOG2E)),
  gradient: ({ g, x, y, out }) => [mul(g, exp2(sub(x, out))), mul(g, exp2(sub(y, out)))],
});

export const xlogy: Binary = binary('xlogy', {
  doc: 'x times the logarithm of y; 0 where x is 0, unless y is NaN.',
  formula: 'x log(y)',
  rule: 'promoteToFloat',
  traits: { cost: 25 },
  decompose: ({ x, y }) => where(isnan(y), NaN, where(eq(x, 0), 0, mul(x, log(y)))),
  gradient: ({ g, x, y }) => [
    where(logicalAnd(eq(x, 0), le(y, 0)), 0, mul(g, log(y))),
    mul(g, div(x, y)),
  ],
});

export const xlog1py: Binary = binary('xlog1py', {
  doc: 'x times log1p(y); 0 where x is 0, unless y is NaN.',
  formula: 'x log(1 + y)',
  rule: 'promoteToFloat',
  traits: { cost: 40 },
  decompose: ({ x, y }) => where(isnan(y), NaN, where(eq(x, 0), 0, mul(x, log1p(y)))),
  gradient: ({ g, x, y }) => [mul(g, log1p(y)), mul(g, div(x, add(y, 1)))],
});

export const entr: Unary = unary('entr', {
  doc: 'Entropy term; 0 at 0, minus infinity below.',
  formula: '-x log(x)',
  rule: 'promoteToFloat',
  traits: { cost: 26 },
  decompose: ({ x }) =>
    where(isnan(x), x, where(gt(x, 0), mul(neg(x), log(x)), where(eq(x, 0), 0, -Infinity))),
  gradient: ({ g, x }) => [mul(g, sub(neg(log(x)), 1))],
});

export const deg2rad: Unary = unary('deg2rad', {
  doc: 'Degrees to radians.',
  formula: 'x pi / 180',
  rule: 'promoteToFloat',
  traits: { cost: 1 },
  decompose: ({ x }) => mul(x, Math.PI / 180),
  gradient: ({ g }) => [mul(g, Math.PI / 180)],
});

export const rad2deg: Unary = unary('rad2deg', {
  doc: 'Radians to degrees.',
  formula: 'x 180 / pi',
  rule: 'promoteToFloat',
  traits: { cost: 1 },
  decompose: ({ x }) => mul(x, 180 / Math.PI),
  gradient: ({ g }) => [mul(g, 180 / Math.PI)],
});

export const logit: Unary = unary('logit', {
  doc: 'Inverse of the sigmoid.',
  formula: 'log(x / (1 - x))',
  rule: 'promoteToFloat',
  traits: { cost: 32 },
  decompose: ({ x }) => log(div(x, sub(1, x))),
  gradient: ({ g, x }) => [where(logicalOr(lt(x, 0), gt(x, 1)), NaN, div(g, mul(x, sub(1, x))))],
});
