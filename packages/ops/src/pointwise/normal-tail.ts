// The lower tail of the normal distribution at f32, for GELU: no division, no branch.
import type { Binary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, sub } from './arithmetic.ts';
import { lt, where } from './comparison.ts';
import { roundingShift } from './exponential-core.ts';
import { scalb, scalbOrZero } from './float-parts.ts';
import { horner } from './polynomial.ts';

/** 2^f for |f| <= 1/2 to about 28 bits. */
const exp2Polynomial = [
  1, 0.6931471824645996, 0.24022647738456726, 0.05550359934568405, 0.009618505835533142, 0.0013390806270763278,
  0.0001532646274426952,
];

/** 2^v for float32 v in [-126, 128]; at most 128 where it is scaled by `scalbOrZero`. */
export function exp2Of(v: Term, scaled: Binary = scalb): Term {
  const n = sub(add(v, roundingShift), roundingShift);
  return scaled(horner('f32', sub(v, n), exp2Polynomial), n);
}

/**
 * log2 of the tail beyond a, for 0 <= a <= 5.6 to 2^-25 of 1 - tail and 2^-21 of the tail. Beyond, where the tail is under
 * 1e-8, it falls steeply and steadily to nothing.
 */
const tailExponent = [
  -1, -1.151105523109436, -0.4592059552669525, -0.05249471962451935, 0.007034742273390293, -7.665045268367976e-5,
  -0.0002413489273749292, 6.514031701954082e-5, -9.018042874231469e-6, 6.78056494507473e-7, -2.186547831684038e-8,
];

/** The normal distribution function to about 1e-7 absolutely. */
export function normalDistribution32(x: Term): Term {
  const tail = exp2Of(horner('f32', abs(x), tailExponent), scalbOrZero);
  return where(lt(x, 0), tail, sub(1, tail));
}
