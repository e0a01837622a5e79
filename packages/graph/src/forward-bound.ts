// How accurate an operator made of pointwise ops is at f32: a bound for each kind of call, what follows from what, and the
// true value that it is measured against. The bounds are derived from those of the parts, not from what was measured:
// a constant that is rounded to f32 counts 1, a rounded operation 0.5, and what a factor is off by counts twice in a
// product, whose last place may be half as large. `npm run ulp` measures them.
import { pointwise } from '@tsinductor/ops';
import type { PointwiseName, PointwiseOp } from '@tsinductor/ops';
import type { Attrs, ValueRef } from './graph.ts';
import type { Builder } from './operator.ts';

type Promised = Pick<PointwiseOp, 'reference' | 'ulp' | 'scale' | 'absoluteError' | 'measured' | 'exact'>;

export interface ForwardBound extends Promised {
  /** The calls that it is for: what stands here, at numbers that f32 does not hold where they are rounded. */
  readonly attrs: Attrs;
  /** How it follows from the parts. */
  readonly because: string;
  /** Where else than by magnitude the function is defined, or its intermediate values are representable. */
  readonly within?: (...x: number[]) => boolean;
  /** The dtype of the result, in whose units the bound counts: f32 if absent. */
  readonly format?: 'f64';
  /** The call on vectors of that many operands, where they do not stand in it one by one. */
  readonly form?: { readonly arity: 2; build(builder: Builder, operands: readonly ValueRef[]): ValueRef };
}

/** Of a call that is one op of the table: what that promises. */
export function boundOf(name: PointwiseName, attrs: Attrs = {}): ForwardBound {
  const { reference, ulp, scale, absoluteError, measured, exact } = pointwise[name];
  return {
    attrs,
    because: `it is ${name}`,
    ...(reference && { reference }),
    ...(ulp !== undefined && { ulp }),
    ...(scale && { scale }),
    ...(absoluteError !== undefined && { absoluteError }),
    ...(measured && { measured }),
    ...(exact !== undefined && { exact }),
  };
}

/** What an op of the table promises in units of the last place: a part of a bound. */
export const ulpOf = (name: PointwiseName): number => pointwise[name].ulp ?? 0;
