// Activation functions without attributes.
import type { DType } from '@tsinductor/base';
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, div, mul, neg, sub } from './arithmetic.ts';
import { atLeast, atMost, maximum, minimum } from './extrema.ts';
import { gt, le, logicalAnd, lt, where } from './comparison.ts';
import { floats, numbers } from './dtype-sets.ts';
import { ndtr } from './error-function.ts';
import { expBelowLimit } from './exponential-core.ts';
import { exp, expm1, log1p } from './exponential.ts';
import { tanh } from './hyperbolic.ts';
import { normalDistribution32 } from './normal-tail.ts';
import { referenceErfc } from '../reference/error-function.ts';

export const relu: Unary = unary('relu', {
  doc: 'x where it is positive, else 0.',
  torch: ['nn.functional.relu', 'relu'],
  hasInplaceOption: true,
  formula: 'max(x, 0)',
  rule: 'promote',
  reference: (x = 0) => Math.max(x, 0),
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1 },
  decompose: ({ x }, dtype) => (floats.includes(dtype) ? atLeast(x, 0) : maximum(x, 0)),
  piece: (x = 0) => Math.sign(x),
  gradient: ({ g, out }) => [where(gt(out, 0), g, 0)],
});

export const relu6: Unary = unary('relu6', {
  doc: 'x between 0 and 6.',
  torch: ['nn.functional.relu6'],
  hasInplaceOption: true,
  formula: 'min(max(x, 0), 6)',
  rule: 'promote',
  reference: (x = 0) => Math.min(Math.max(x, 0), 6),
  ulp: 0,
  accepts: numbers,
  traits: { cost: 2 },
  decompose: ({ x }, dtype) => (floats.includes(dtype) ? atMost(atLeast(x, 0), 6) : minimum(maximum(x, 0), 6)),
  piece: (x = 0) => (x > 0 && x < 6 ? 0.5 : Math.sign(x) + Math.sign(x - 6)),
  gradient: ({ g, x }) => [where(logicalAnd(gt(x, 0), lt(x, 6)), g, 0)],
});

/** 1 / (1 + e^-x), through e^-|x| so that nothing overflows and small results are kept. */
function logistic(x: Term, dtype: DType): Term {
  const e = expBelowLimit(neg(abs(x)), dtype);
  return div(where(lt(x, 0), e, 1), add(1, e));
}

export const sigmoid: Unary = unary('sigmoid', {
  doc: 'Logistic function.',
  torch: ['sigmoid', 'special.expit', 'nn.functional.sigmoid'],
  formula: '1 / (1 + e^-x)',
  rule: 'promoteToFloat',
  traits: { cost: 24 },
  decompose: ({ x }, dtype) => logistic(x, dtype),
  reference: (x = 0) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x))),
  ulp: 3,
  gradient: ({ g, out }) => [mul(g, mul(out, sub(1, out)))],
});

export const silu: Unary = unary('silu', {
  doc: 'x times its sigmoid.',
  torch: ['nn.functional.silu'],
  hasInplaceOption: true,
  formula: 'x / (1 + e^-x)',
  rule: 'promote',
  accepts: floats,
  traits: { cost: 25 },
  decompose: ({ x }, dtype) => mul(x, logistic(x, dtype)),
  reference: (x = 0) => (x < 0 ? (x * Math.exp(x)) / (1 + Math.exp(x)) : x / (1 + Math.exp(-x))),
  ulp: 4,
  absoluteError: 1e-42,
  gradient: ({ g, x }) => {
    const s = sigmoid(x);
    return [mul(g, mul(s, add(1, mul(x, sub(1, s)))))];
  },
});

export const logSigmoid: Unary = unary('logSigmoid', {
  doc: 'Logarithm of the sigmoid, without overflow.',
  torch: ['nn.functional.logsigmoid'],
  formula: '-log(1 + e^-x)',
  rule: 'promote',
  accepts: floats,
  traits: { cost: 55 },
  decompose: ({ x }, dtype) => sub(atMost(x, 0), log1p(expBelowLimit(neg(abs(x)), dtype))),
  reference: (x = 0) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
  ulp: 4,
  gradient: ({ g, x }) => [mul(g, sigmoid(neg(x)))],
});

export const gelu: Unary = unary('gelu', {
  doc: 'Gaussian error linear unit: x times the normal distribution function.',
  formula: 'x (1 + erf(x / sqrt(2))) / 2',
  rule: 'promote',
  scale: (x = 0) => Math.abs(x),
  reference: (x = 0) => (x * referenceErfc(-x * Math.SQRT1_2)) / 2,
  referenceError: 1e-12,
  ulp: 4,
  accepts: floats,
  traits: { cost: 26 },
  decompose: ({ x }, dtype) => mul(x, dtype === 'f32' ? normalDistribution32(x) : ndtr(x)),
  // Only the absolute error is bounded where x is negative: the tail's relative one grows.
  gradient: ({ g, x }) => {
    const density = mul(exp(mul(-0.5, mul(x, x))), 1 / Math.sqrt(2 * Math.PI));
    return [mul(g, add(ndtr(x), mul(x, density)))];
  },
});

const geluScale = Math.sqrt(2 / Math.PI);
const geluCubic = 0.044715;

export const geluTanh: Unary = unary('geluTanh', {
  doc: "GELU's approximation by tanh, written as x times a sigmoid.",
  formula: 'x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2',
  rule: 'promote',
  scale: (x = 0) => Math.abs(x),
  reference: (x = 0) => x / (1 + Math.exp(-1.5957691216057308 * (x + 0.044715 * x ** 3))),
  ulp: 4,
  accepts: floats,
  traits: { cost: 29 },
  decompose: ({ x }, dtype) => mul(x, logistic(mul(mul(x, 2 * geluScale), add(1, mul(geluCubic, mul(x, x)))), dtype)),
  gradient: ({ g, x }) => {
    const square = mul(x, x);
    const s = sigmoid(mul(mul(x, 2 * geluScale), add(1, mul(geluCubic, square))));
    const slope = mul(2 * geluScale, add(1, mul(3 * geluCubic, square)));
    return [mul(g, add(s, mul(mul(x, slope), mul(s, sub(1, s)))))];
  },
});

export const mish: Unary = unary('mish', {
  doc: 'x times tanh of its softplus.',
  torch: ['nn.functional.mish'],
  hasInplaceOption: true,
  formula: 'x tanh(log(1 + e^x))',
  rule: 'promote',
  accepts: floats,
  traits: { cost: 35 },
  // With e = e^-|x|, tanh(log(1 + e^x)) is a quotient of polynomials in e.
  decompose: ({ x }, dtype) => {
    const e = expBelowLimit(neg(abs(x)), dtype);
    const square = mul(e, e);
    const top = where(lt(x, 0), add(square, mul(2, e)), add(1, mul(2, e)));
    const bottom = where(lt(x, 0), add(top, 2), add(top, mul(2, square)));
    return mul(x, div(top, bottom));
  },
  reference: (x = 0) => {
    const n = Math.exp(Math.min(x, 30)) * (Math.exp(Math.min(x, 30)) + 2);
    return x * (n / (n + 2));
  },
  ulp: 4,
  absoluteError: 1e-42,
  gradient: ({ g, x }) => {
    const t = tanh(log1p(exp(x)));
    return [mul(g, add(t, mul(mul(x, sigmoid(x)), sub(1, mul(t, t)))))];
  },
});

/** Of floats; integers are divided by 1 + |x| in their own dtype, which the operator does. */
export const softsignOfFloats: Unary = unary('softsignOfFloats', {
  doc: 'x divided by one more than its magnitude.',
  internal: true,
  formula: 'x / (1 + |x|)',
  rule: 'promote',
  accepts: floats,
  reference: (x = 0) => x / (1 + Math.abs(x)),
  ulp: 2,
  traits: { cost: 10 },
  decompose: ({ x }) => div(x, add(1, abs(x))),
  gradient: ({ g, x }) => {
    const length = add(1, abs(x));
    return [div(g, mul(length, length))];
  },
});

export const tanhshrink: Unary = unary('tanhshrink', {
  doc: 'x minus its tanh.',
  torch: ['nn.functional.tanhshrink'],
  formula: 'x - tanh(x)',
  rule: 'promoteToFloat',
  reference: (x = 0) => x - Math.tanh(x),
  ulp: 4,
  scale: (x = 0) => Math.abs(x),
  traits: { cost: 27 },
  decompose: ({ x }) => sub(x, tanh(x)),
  gradient: ({ g, x }) => {
    const t = tanh(x);
    return [mul(g, mul(t, t))];
  },
});

export const hardsigmoid: Unary = unary('hardsigmoid', {
  doc: 'Piecewise linear sigmoid.',
  torch: ['nn.functional.hardsigmoid'],
  hasInplaceOption: true,
  formula: 'min(max(x + 3, 0), 6) / 6',
  rule: 'promote',
  reference: (x = 0) => Math.min(Math.max(x + 3, 0), 6) / 6,
  ulp: 2,
  scale: () => 1,
  accepts: floats,
  traits: { cost: 4 },
  decompose: ({ x }) => mul(atMost(atLeast(add(x, 3), 0), 6), 1 / 6),
  piece: (x = 0) => (Math.abs(x) < 3 ? 0 : Math.sign(x)),
  gradient: ({ g, x }) => [where(logicalAnd(gt(x, -3), lt(x, 3)), mul(g, 1 / 6), 0)],
});

export const hardswish: Unary = unary('hardswish', {
  doc: 'x times its piecewise linear sigmoid.',
  torch: ['nn.functional.hardswish'],
  hasInplaceOption: true,
  formula: 'x min(max(x + 3, 0), 6) / 6',
  rule: 'promote',
  measured: [2 ** -149, 2 ** 125],
  reference: (x = 0) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6,
  ulp: 3,
  scale: (x = 0) => Math.abs(x),
  accepts: floats,
  traits: { cost: 5 },
  decompose: ({ x }) => mul(mul(x, atMost(atLeast(add(x, 3), 0), 6)), 1 / 6),
  piece: (x = 0) => (Math.abs(x) < 3 ? 0 : Math.sign(x)),
  gradient: ({ g, x }) => [where(lt(x, -3), 0, where(le(x, 3), mul(g, add(div(x, 3), 0.5)), g))],
});

const seluScale = 1.0507009873554805;
const seluAlpha = 1.6732632423543772;

export const selu: Unary = unary('selu', {
  doc: 'Scaled exponential linear unit.',
  torch: ['nn.functional.selu', 'selu'],
  hasInplaceOption: true,
  rule: 'promote',
  reference: (x = 0) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
  ulp: 4,
  accepts: floats,
  traits: { cost: 20 },
  decompose: ({ x }) => where(gt(x, 0), mul(seluScale, x), mul(seluScale * seluAlpha, expm1(x))),
  piece: (x = 0) => Math.sign(x),
  gradient: ({ g, x, out }) => [where(gt(x, 0), mul(g, seluScale), mul(g, add(out, seluScale * seluAlpha)))],
});
