// What exponentials and logarithms are made of: range reduction by powers of two, and polynomials on what is left.
// Coefficients are minimax (Chebyshev) fits on the interval that the reduction leaves.
import type { DType } from '@tsinductor/base';
import type { Term } from '../term.ts';
import { add, div, fma, mul, sub } from './arithmetic.ts';
import { exponent, scalbOrZero, significand } from './float-parts.ts';
import { horner } from './polynomial.ts';
import { round } from './rounding.ts';

/** Adding this to a float32 in [-2^22, 2^22] rounds it to an integer; taking it away leaves the integer. */
export const roundingShift = 12582912;
const ln2 = { high: 0.693145751953125, low: 1.4286068203094172e-6 };
const ln2Double = { high: 0.6931471803691238, low: 1.9082149292705877e-10 };

/** exp(r) = 1 + r + r^2 q(r) for |r| <= ln 2 / 2. */
const expTail32 = [0.5, 0.16666576266288757, 0.041666556149721146, 0.008363178931176662, 0.0013926184037700295];
const expTail64 = [
  0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748, 0.00019841269874820627,
  2.4801587325547743e-5, 2.7557255400206422e-6, 2.75572736431103e-7, 2.5105217004720745e-8, 2.0914686968086876e-9,
];

/** x = n ln 2 + r with |r| <= ln 2 / 2, for x within the range of exponents; below it n is below it too. */
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

/** Where exp has overflowed; a NaN comes through a clamp to it. */
export const expLimit = (dtype: DType): number => (dtype === 'f32' ? 89 : 710);

/** exp(x) for x of at most `expLimit`, as low as it may be: there n is, whatever becomes of r, and `scalbOrZero` gives 0. */
export function expBelowLimit(x: Term, dtype: DType): Term {
  const { n, r } = reduceByLn2(x, dtype);
  return scalbOrZero(expOfReduced(r, dtype), n);
}

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
export function logTail(f: Term, dtype: DType): Term {
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
