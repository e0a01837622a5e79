// The table of pointwise ops, by name.
import type { PointwiseOp } from './define.ts';
import type { PointwiseName } from './names.ts';
import * as activation from './pointwise/activation.ts';
import * as argumentReduction from './pointwise/argument-reduction.ts';
import * as arithmetic from './pointwise/arithmetic.ts';
import * as extrema from './pointwise/extrema.ts';
import * as bitwise from './pointwise/bitwise.ts';
import * as comparison from './pointwise/comparison.ts';
import * as errorFunction from './pointwise/error-function.ts';
import * as exponential from './pointwise/exponential.ts';
import * as floatParts from './pointwise/float-parts.ts';
import * as hyperbolic from './pointwise/hyperbolic.ts';
import * as incompleteGamma from './pointwise/incomplete-gamma.ts';
import * as neighbour from './pointwise/neighbour.ts';
import * as power from './pointwise/power.ts';
import * as rounding from './pointwise/rounding.ts';
import * as trigonometric from './pointwise/trigonometric.ts';
import * as zeta from './pointwise/zeta.ts';
import * as quantile from './pointwise/quantile.ts';
import * as gamma from './pointwise/gamma.ts';
import * as bessel from './pointwise/bessel.ts';

const exported: Readonly<Record<PointwiseName, { readonly entry: () => PointwiseOp }>> = {
  ...arithmetic,
  ...extrema,
  ...comparison,
  ...bitwise,
  ...rounding,
  ...floatParts,
  ...neighbour,
  ...exponential,
  ...power,
  ...trigonometric,
  ...argumentReduction,
  ...hyperbolic,
  ...errorFunction,
  ...quantile,
  ...gamma,
  ...incompleteGamma,
  ...zeta,
  ...bessel,
  ...activation,
};

/** Every pointwise op. */
export const pointwise: Readonly<Record<PointwiseName, PointwiseOp>> = Object.fromEntries(
  Object.entries(exported).map(([name, { entry }]) => [name, entry()]),
) as Record<PointwiseName, PointwiseOp>;

/** Whether `name` is a pointwise op of the table. */
export const isPointwise = (name: string): name is PointwiseName => Object.hasOwn(pointwise, name);
