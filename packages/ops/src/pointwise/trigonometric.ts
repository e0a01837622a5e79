// Circular functions and their inverses.
//
// Note [argument reduction]: x = n pi/2 + r by Cody and Waite's method at f64, also for f32 operands (then exact enough up
// to 2^28 and beyond). pi/2 is split in parts whose products with n are exact. The bound to which a function keeps its
// accuracy is `reducibleRange`; beyond it results are those of the nearest multiple that the method finds.
import type { DType } from '@tsinductor/base';
import { binary, unary } from '../define.ts';
import type { Binary, Unary } from '../define.ts';
import { cast } from '../term.ts';
import type { Term } from '../term.ts';
import { abs, add, copysign, div, fma, mul, neg, sqrt, square, sub } from './arithmetic.ts';
import { eq, gt, isnan, logicalAnd, logicalOr, lt, ne, signbit, where } from './comparison.ts';
import { horner, throughF64 } from './polynomial.ts';
import { bitwiseAnd } from './bitwise.ts';
import { round } from './rounding.ts';

/** pi/2 in parts of 25, 25, 25 and 53 bits. */
const halfPi = [1.5707963109016418, 1.589325471229585e-8, 6.123233932053594e-17, 6.36831716351095e-25] as const;

interface Reduced {
  /** In [-pi/4, pi/4]. */
  readonly r: Term;
  /** The quadrant modulo 4, as i32. */
  readonly quadrant: Term;
}

function reduceByHalfPi(x: Term): Reduced {
  const n = round(mul(x, 2 / Math.PI));
  const r = halfPi.reduce<Term>((rest, part) => sub(rest, mul(n, part)), x);
  return { r, quadrant: cast('i32', sub(n, mul(4, round(mul(n, 0.25))))) };
}
