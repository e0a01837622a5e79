// Exponentials and logarithms, and what is directly made of them.
import { binary, unary } from '../define.ts';
import type { Binary, Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, div, fma, mul, neg, sub } from './arithmetic.ts';
import { atLeast, atMost } from './extrema.ts';
import { eq, gt, isfinite, isnan, le, logicalAnd, logicalOr, lt, where } from './comparison.ts';
import { floats } from './dtype-sets.ts';
import { exponent, scalb, scalbOrZero, significand } from './float-parts.ts';
import {
  expBelowLimit,
  expLimit,
  expm1OfReduced,
  expOfReduced,
  logOfMagnitude,
  logTail,
  reduceByLn2,
  roundingShift,
} from './exponential-core.ts';
import { horner } from './polynomial.ts';
import { round } from './rounding.ts';

export const exp: Unary = unary('exp', {
  doc: 'Exponential function.',
  formula: 'e^x',
  rule: 'promoteToFloat',
  traits: { cost: 13 },
  decompose: ({ x }, dtype) => expBelowLimit(atMost(x, expLimit(dtype)), dtype),
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
  torch: ['exp2', 'special.exp2'],
  formula: '2^x',
  rule: 'promoteToFloat',
  traits: { cost: 12 },
  decompose: ({ x }, dtype) => {
    const bounded = atMost(x, dtype === 'f32' ? 129 : 1025);
    const n = dtype === 'f32' ? sub(add(bounded, roundingShift), roundingShift) : round(bounded);
    const f = sub(bounded, n);
    const p = dtype === 'f32' ? horner(dtype, f, [1, ...exp2Tail32]) : expOfReduced(mul(f, Math.LN2), dtype);
    return scalbOrZero(p, n);
  },
  reference: (x = 0) => 2 ** x,
  ulp: 2,
  gradient: ({ g, out }) => [mul(g, mul(out, Math.LN2))],
});

export const expm1: Unary = unary('expm1', {
  doc: 'exp(x) - 1, accurate near 0.',
  torch: ['expm1', 'special.expm1'],
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

const log2OfE = { high: 1.4426950216293335, low: 1.9259629911266175e-8 };
const log2OfEDouble = { high: 1.4426950407214463, low: 1.6751713164886512e-10 };

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

const log10Of2 = { high: 0.3010292053222656, low: 7.9034151667661e-7 };
const log10Of2Double = { high: 0.30102999566361177, low: 3.694239077158931e-13 };

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
  torch: ['log1p', 'special.log1p'],
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
  reference: (x = 0, y = 0) => (x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))),
  ulp: 4,
  scale: (x = 0, y = 0) => Math.max(Math.abs(x), Math.abs(y), 1),
  accepts: floats,
  traits: { associative: true, cost: 55 },
  decompose: ({ x, y }) => logOfSum(x, y, (difference) => log1p(exp(difference))),
  gradient: ({ g, x, y, out }) => [mul(g, exp(sub(x, out))), mul(g, exp(sub(y, out)))],
});

export const logaddexp2: Binary = binary('logaddexp2', {
  doc: 'Logarithm to base 2 of the sum of powers of 2, without overflow.',
  formula: 'log2(2^x + 2^y)',
  rule: 'promote',
  reference: (x = 0, y = 0) => (x === y ? x + 1 : Math.max(x, y) + Math.log1p(2 ** -Math.abs(x - y)) / Math.LN2),
  ulp: 4,
  scale: (x = 0, y = 0) => Math.max(Math.abs(x), Math.abs(y), 1),
  accepts: floats,
  traits: { associative: true, cost: 55 },
  decompose: ({ x, y }) => logOfSum(x, y, (difference) => mul(log1p(exp2(difference)), Math.LOG2E)),
  gradient: ({ g, x, y, out }) => [mul(g, exp2(sub(x, out))), mul(g, exp2(sub(y, out)))],
});

export const xlogy: Binary = binary('xlogy', {
  doc: 'x times the logarithm of y; 0 where x is 0, unless y is NaN.',
  torch: ['xlogy', 'special.xlogy'],
  formula: 'x log(y)',
  rule: 'promoteToFloat',
  reference: (x = 0, y = 0) => (Number.isNaN(y) ? NaN : x === 0 ? 0 : x * Math.log(y)),
  ulp: 3,
  traits: { cost: 25 },
  decompose: ({ x, y }) => where(isnan(y), NaN, where(eq(x, 0), 0, mul(x, log(y)))),
  piece: (_, y = 0) => Math.sign(y),
  gradient: ({ g, x, y }) => [where(logicalAnd(eq(x, 0), le(y, 0)), 0, mul(g, log(y))), mul(g, div(x, y))],
});

export const xlog1py: Binary = binary('xlog1py', {
  doc: 'x times log1p(y); 0 where x is 0, unless y is NaN.',
  torch: ['special.xlog1py', 'xlog1py'],
  formula: 'x log(1 + y)',
  rule: 'promoteToFloat',
  reference: (x = 0, y = 0) => (Number.isNaN(y) ? NaN : x === 0 ? 0 : x * Math.log1p(y)),
  ulp: 4,
  traits: { cost: 40 },
  decompose: ({ x, y }) => where(isnan(y), NaN, where(eq(x, 0), 0, mul(x, log1p(y)))),
  piece: (_, y = 0) => Math.sign(y + 1),
  gradient: ({ g, x, y }) => [mul(g, log1p(y)), mul(g, div(x, add(y, 1)))],
});

export const entr: Unary = unary('entr', {
  doc: 'Entropy term; 0 at 0, minus infinity below.',
  torch: ['special.entr', 'entr'],
  formula: '-x log(x)',
  rule: 'promoteToFloat',
  reference: (x = 0) => (x < 0 ? -Infinity : x === 0 ? 0 : -x * Math.log(x)),
  ulp: 3,
  traits: { cost: 26 },
  decompose: ({ x }) => where(isnan(x), x, where(gt(x, 0), mul(neg(x), log(x)), where(eq(x, 0), 0, -Infinity))),
  gradient: ({ g, x }) => [mul(g, sub(neg(log(x)), 1))],
});

export const deg2rad: Unary = unary('deg2rad', {
  doc: 'Degrees to radians.',
  formula: 'x pi / 180',
  rule: 'promoteToFloat',
  reference: (x = 0) => (x / 180) * Math.PI,
  ulp: 1.5,
  traits: { cost: 1 },
  decompose: ({ x }) => mul(x, Math.PI / 180),
  gradient: ({ g }) => [mul(g, Math.PI / 180)],
});

export const rad2deg: Unary = unary('rad2deg', {
  doc: 'Radians to degrees.',
  formula: 'x 180 / pi',
  rule: 'promoteToFloat',
  reference: (x = 0) => (x * 180) / Math.PI,
  ulp: 1.5,
  traits: { cost: 1 },
  decompose: ({ x }) => mul(x, 180 / Math.PI),
  gradient: ({ g }) => [mul(g, 180 / Math.PI)],
});

export const logit: Unary = unary('logit', {
  doc: 'Inverse of the sigmoid.',
  formula: 'log(x / (1 - x))',
  rule: 'promoteToFloat',
  reference: (x = 0) => Math.log(x / (1 - x)),
  ulp: 4,
  scale: () => 1,
  traits: { cost: 32 },
  decompose: ({ x }) => log(div(x, sub(1, x))),
  gradient: ({ g, x }) => [where(logicalOr(lt(x, 0), gt(x, 1)), NaN, div(g, mul(x, sub(1, x))))],
});
