// |x| = n pi/2 + r for large |x|, as ops with a guard: what sin, cos and tan need where their own short reduction ends.
import type { DType } from '@tsinductor/base';
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import { cast } from '../term.ts';
import type { Term } from '../term.ts';
import { abs, mul, sub } from './arithmetic.ts';
import { where } from './comparison.ts';
import { floats } from './dtype-sets.ts';
import { isLarge, reduceByHalfPi } from './reduce-by-half-pi.ts';
import { round } from './rounding.ts';

const widened = (x: Term, dtype: DType): Term => (dtype === 'f32' ? cast('f64', x) : x);
const narrowed = (x: Term, dtype: DType): Term => (dtype === 'f32' ? cast('f32', x) : x);

export const largeRemainder: Unary = unary('largeRemainder', {
  doc: 'For |x| from 2^16 (at f64: 2^47) on, |x| less the nearest multiple of pi/2; else 0.',
  rule: 'promote',
  accepts: floats,
  internal: true,
  traits: { cost: 100 },
  guard: ({ x }, dtype) => isLarge(x, dtype),
  decompose: ({ x }, dtype) => {
    const { r } = reduceByHalfPi(widened(abs(x), dtype), dtype);
    return where(isLarge(x, dtype), narrowed(r, dtype), 0);
  },
});

export const largeQuadrant: Unary = unary('largeQuadrant', {
  doc: 'For |x| from 2^16 (at f64: 2^47) on, which multiple of pi/2 is nearest to |x|, modulo 4 in [-2, 2]; else 0.',
  rule: 'promote',
  accepts: floats,
  internal: true,
  traits: { cost: 100 },
  guard: ({ x }, dtype) => isLarge(x, dtype),
  decompose: ({ x }, dtype) => {
    const { n } = reduceByHalfPi(widened(abs(x), dtype), dtype);
    return where(isLarge(x, dtype), narrowed(sub(n, mul(4, round(mul(n, 0.25)))), dtype), 0);
  },
});
