// Hyperbolic functions and their inverses. At f32 all but tanh are computed at f64 and rounded once more.
import type { DType } from '@tsinductor/base';
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, copysign, div, fma, mul, sqrt, square, sub } from './arithmetic.ts';
import { atLeast, atMost } from './extrema.ts';
import { eq, gt, lt, where } from './comparison.ts';
import { expm1OfReduced, expOfReduced, logOfMagnitude, reduceByLn2 } from './exponential-core.ts';
import { expm1, log1p } from './exponential.ts';
import { scalb } from './float-parts.ts';
import { throughF64 } from './polynomial.ts';

/** e^|x| / 2, which overflows only where sinh and cosh do. */
function halfOfExp(x: Term): Term {
  const { n, r } = reduceByLn2(atMost(abs(x), 712), 'f64');
  return scalb(expOfReduced(r, 'f64'), sub(n, 1));
}

function sinh64(x: Term): Term {
  const half = halfOfExp(x);
  const small = expm1(atMost(abs(x), 1));
  const inner = mul(0.5, add(small, div(small, add(small, 1))));
  return copysign(where(gt(abs(x), 1), sub(half, div(0.25, half)), inner), x);
}

function cosh64(x: Term): Term {
  const half = halfOfExp(x);
  return add(half, div(0.25, half));
}

export const sinh: Unary = unary('sinh', {
  doc: 'Hyperbolic sine.',
  formula: '(e^x - e^-x) / 2',
  rule: 'promoteToFloat',
  traits: { cost: 100 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(sinh64, x) : sinh64(x)),
  reference: Math.sinh,
  ulp: 3,
  gradient: ({ g, x }) => [mul(g, cosh(x))],
});

export const cosh: Unary = unary('cosh', {
  doc: 'Hyperbolic cosine.',
  formula: '(e^x + e^-x) / 2',
  rule: 'promoteToFloat',
  traits: { cost: 50 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(cosh64, x) : cosh64(x)),
  reference: Math.cosh,
  ulp: 3,
  gradient: ({ g, x }) => [mul(g, sinh(x))],
});

/** Through e^2x - 1 = m: tanh x = m / (m + 2). */
function tanhThroughExpm1(x: Term, dtype: DType): Term {
  const limit = dtype === 'f32' ? 9.1 : 20;
  const { n, r } = reduceByLn2(mul(2, atMost(atLeast(x, -limit), limit)), dtype);
  const scale = scalb(1, n);
  const m =
    dtype === 'f32'
      ? fma(scale, expm1OfReduced(r, dtype), sub(scale, 1))
      : add(mul(scale, expm1OfReduced(r, dtype)), sub(scale, 1));
  return div(m, add(m, 2));
}

export const tanh: Unary = unary('tanh', {
  doc: 'Hyperbolic tangent.',
  torch: ['tanh', 'nn.functional.tanh'],
  formula: '(e^2x - 1) / (e^2x + 1)',
  rule: 'promoteToFloat',
  traits: { cost: 26 },
  decompose: ({ x }, dtype) => where(eq(x, 0), x, tanhThroughExpm1(x, dtype)),
  reference: Math.tanh,
  ulp: 3,
  gradient: ({ g, out }) => [mul(g, sub(1, mul(out, out)))],
});

function asinh64(x: Term): Term {
  const a = abs(x);
  const z = mul(a, a);
  const inner = log1p(add(a, div(z, add(1, sqrt(add(z, 1))))));
  const outer = add(logOfMagnitude(a, 'f64'), Math.LN2);
  return copysign(where(gt(a, 2 ** 28), outer, inner), x);
}

function acosh64(x: Term): Term {
  const t = sub(x, 1);
  const inner = log1p(add(t, sqrt(add(mul(2, t), mul(t, t)))));
  return where(gt(x, 2 ** 28), add(logOfMagnitude(x, 'f64'), Math.LN2), inner);
}

function atanh64(x: Term): Term {
  const a = abs(x);
  return copysign(mul(0.5, log1p(div(mul(2, a), sub(1, a)))), x);
}

export const asinh: Unary = unary('asinh', {
  doc: 'Inverse hyperbolic sine.',
  rule: 'promoteToFloat',
  traits: { cost: 150 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(asinh64, x) : asinh64(x)),
  reference: Math.asinh,
  ulp: 4,
  gradient: ({ g, x }) => [div(g, sqrt(add(square(x), 1)))],
});

export const acosh: Unary = unary('acosh', {
  doc: 'Inverse hyperbolic cosine; NaN below 1.',
  rule: 'promoteToFloat',
  traits: { cost: 150 },
  decompose: ({ x }, dtype) => where(lt(x, 1), NaN, dtype === 'f32' ? throughF64(acosh64, x) : acosh64(x)),
  reference: Math.acosh,
  ulp: 4,
  gradient: ({ g, x }) => [div(g, sqrt(sub(square(x), 1)))],
});

export const atanh: Unary = unary('atanh', {
  doc: 'Inverse hyperbolic tangent; NaN outside [-1, 1].',
  rule: 'promoteToFloat',
  traits: { cost: 120 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(atanh64, x) : atanh64(x)),
  reference: Math.atanh,
  ulp: 4,
  gradient: ({ g, x }) => [div(g, sub(1, square(x)))],
});
