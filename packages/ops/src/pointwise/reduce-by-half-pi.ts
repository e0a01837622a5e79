// x = n pi/2 + r, at f64 also for f32 operands.
//
// Note [argument reduction]: Cody and Waite's method with fused steps. pi/2 stands as three doubles; each fused step is
// exact or rounds once far below r, as long as |x| < 2^52.
import type { DType } from '@tsinductor/base';
import { cast } from '../term.ts';
import type { Term } from '../term.ts';
import { fma, mul, neg, sub } from './arithmetic.ts';
import { round } from './rounding.ts';

/** pi/2 as a sum of three doubles. */
const halfPi = [1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33] as const;

export interface Reduced {
  /** In [-pi/4, pi/4], at f64. */
  readonly r: Term;
  /** The quadrant modulo 4, as i32. */
  readonly quadrant: Term;
}

export function reduceByHalfPi(x: Term, dtype: DType): Reduced {
  const wide = dtype === 'f32' ? cast('f64', x) : x;
  const n = round(mul(wide, 2 / Math.PI));
  const r = halfPi.reduce<Term>((rest, part) => fma(neg(n), part, rest), wide);
  return { r, quadrant: cast('i32', sub(n, mul(4, round(mul(n, 0.25))))) };
}
