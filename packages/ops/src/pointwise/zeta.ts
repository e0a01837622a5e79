// The Hurwitz zeta function, at f64 also for f32 operands: Euler and Maclaurin's sum.
import { binary } from '../define.ts';
import type { Binary } from '../define.ts';
import type { Term } from '../term.ts';
import { add, div, mul, neg, sub } from './arithmetic.ts';
import { eq, le, logicalAnd, lt, ne, where } from './comparison.ts';
import { throughF64 } from './polynomial.ts';
import { pow } from './power.ts';
import { floor } from './rounding.ts';

/** Terms that are summed one by one. What is left is a series in 1/(y + directTerms). */
const directTerms = 10;
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

function zeta64(x: Term, y: Term): Term {
  let sum: Term = pow(y, neg(x));
  for (let k = 1; k < directTerms; k++) sum = add(sum, pow(add(y, k), neg(x)));
  const end = add(y, directTerms);
  const power = pow(end, neg(x));
  // Each factor of the series is the last one times (x + 2k - 1) (x + 2k) / end^2.
  let factor: Term = div(mul(x, power), end);
  let tail: Term = add(div(mul(power, end), sub(x, 1)), mul(0.5, power));
  for (const [k, weight] of bernoulli.entries()) {
    tail = add(tail, mul(weight, factor));
    factor = mul(factor, div(mul(add(x, 2 * k + 1), add(x, 2 * k + 2)), mul(end, end)));
  }
  return add(sum, tail);
}

function zetaWithPoles(x: Term, y: Term): Term {
  const atPole = where(eq(floor(y), y), Infinity, NaN);
  const beyond = where(logicalAnd(lt(y, 0), ne(floor(x), x)), NaN, zeta64(x, y));
  const value = where(le(y, 0), where(eq(floor(y), y), atPole, beyond), zeta64(x, y));
  return where(eq(x, 1), Infinity, where(lt(x, 1), NaN, value));
}

export const zeta: Binary = binary('zeta', {
  doc: 'Hurwitz zeta function: the sum of (y + k)^-x over k = 0, 1, 2 and so on. NaN for x < 1, infinite at x = 1.',
  rule: 'promoteToFloat',
  traits: { cost: 2000 },
  decompose: ({ x, y }, dtype) => (dtype === 'f32' ? throughF64(zetaWithPoles, x, y) : zetaWithPoles(x, y)),
});
