// The Hurwitz zeta function, at f64 also for f32 operands: Euler and Maclaurin's sum.
import type { DType } from '@tsinductor/base';
import { binary } from '../define.ts';
import type { Binary } from '../define.ts';
import { cast } from '../term.ts';
import type { Term } from '../term.ts';
import { add, div, mul, neg, sub } from './arithmetic.ts';
import { atLeast, atMost } from './extrema.ts';
import { eq, gt, le, lt, ne, where } from './comparison.ts';
import { expBelowLimit, logOfMagnitude } from './exponential-core.ts';
import { pow } from './power.ts';
import { floor } from './rounding.ts';
import { referenceZeta } from '../reference/gamma.ts';

/** Terms that are summed one by one: enough for y >= 0. What is left is a series in 1 / (y + directTerms). */
const directTerms = 12;
/** B(2k) / (2k)! for k = 1.. */
const bernoulli = [
  1 / 12,
  -1 / 720,
  1 / 30240,
  -1 / 1209600,
  1 / 47900160,
  -691 / 1307674368000,
  1 / 74724249600,
  -3617 / 10670622842880000,
  43867 / 5109094217170944000,
];

/** A positive base to the power of -x: at f32's precision by a plain logarithm, as there are many of them. */
function inversePower(x: Term, dtype: DType): (base: Term) => Term {
  if (dtype === 'f64') return (base) => pow(base, neg(x));
  return (base) => {
    const exponent = mul(neg(x), logOfMagnitude(base, 'f64'));
    return expBelowLimit(atMost(atLeast(exponent, -740), 709), 'f64');
  };
}

/** The sum for y >= 0. */
function zetaSum(x: Term, y: Term, dtype: DType): Term {
  const power = inversePower(x, dtype);
  let sum = power(y);
  for (let k = 1; k < directTerms; k++) sum = add(sum, power(add(y, k)));
  const end = add(y, directTerms);
  const last = power(end);
  // Each factor of the series is the one before times (x + 2k - 1) (x + 2k) / end^2.
  const inverseSquare = div(1, mul(end, end));
  let factor = div(mul(x, last), end);
  let tail = add(div(mul(last, end), sub(x, 1)), mul(0.5, last));
  for (const [k, weight] of bernoulli.entries()) {
    tail = add(tail, mul(weight, factor));
    factor = mul(factor, mul(mul(add(x, 2 * k + 1), add(x, 2 * k + 2)), inverseSquare));
  }
  return add(sum, tail);
}

/**
 * The sum for any y, where x is whole if y is negative. The terms of a negative y = f - m are those of f in both directions,
 * less those before y: zeta(x, f) + (-1)^x zeta(x, 1 - f) - (-1)^x zeta(x, 1 - y). In this order, as the first two are
 * opposite at f = 1/2 if x is odd.
 */
function zetaOfReal(x: Term, y: Term, dtype: DType): Term {
  const [part, isPositive, half] = [sub(y, floor(y)), gt(y, 0), mul(x, 0.5)];
  const signed = (sum: Term): Term => where(ne(floor(half), half), neg(sum), sum);
  const onwards = zetaSum(x, where(isPositive, y, part), dtype);
  const back = signed(zetaSum(x, sub(1, part), dtype));
  const before = signed(zetaSum(x, sub(1, atMost(y, 0)), dtype));
  return where(isPositive, onwards, sub(add(onwards, back), before));
}

function zetaWithPoles(x: Term, y: Term, dtype: DType): Term {
  const sum = zetaOfReal(x, y, dtype);
  const ofNegative = where(eq(floor(y), y), Infinity, where(ne(floor(x), x), NaN, sum));
  return where(eq(x, 1), Infinity, where(lt(x, 1), NaN, where(le(y, 0), ofNegative, where(eq(y, Infinity), NaN, sum))));
}

export const zeta: Binary = binary('zeta', {
  doc: 'Hurwitz zeta function: the sum of (y + k)^-x over k = 0, 1, 2 and so on. NaN for x < 1, infinite at x = 1.',
  torch: ['special.zeta', 'zeta'],
  rule: 'promoteToFloat',
  reference: referenceZeta,
  referenceError: 1e-12,
  measured: [1e-6, 1e4],
  ulp: 4,
  traits: { cost: 1800 },
  decompose: ({ x, y }, dtype) =>
    dtype === 'f32' ? cast('f32', zetaWithPoles(cast('f64', x), cast('f64', y), dtype)) : zetaWithPoles(x, y, dtype),
  noGradient: 'the derivative in s has no closed form; PyTorch has none either',
  gradient: ({ g, x, y }) => [undefined, neg(mul(g, mul(x, zeta(add(x, 1), y))))],
});
