// The names of the pointwise ops: those of the exports of the table's modules. A module of ops is added here and in
// `table.ts`, where a missing one does not compile. Types only, so that the modules themselves can use the names.
import type * as activation from './pointwise/activation.ts';
import type * as argumentReduction from './pointwise/argument-reduction.ts';
import type * as arithmetic from './pointwise/arithmetic.ts';
import type * as extrema from './pointwise/extrema.ts';
import type * as bitwise from './pointwise/bitwise.ts';
import type * as comparison from './pointwise/comparison.ts';
import type * as errorFunction from './pointwise/error-function.ts';
import type * as exponential from './pointwise/exponential.ts';
import type * as floatParts from './pointwise/float-parts.ts';
import type * as hyperbolic from './pointwise/hyperbolic.ts';
import type * as incompleteGamma from './pointwise/incomplete-gamma.ts';
import type * as neighbour from './pointwise/neighbour.ts';
import type * as power from './pointwise/power.ts';
import type * as rounding from './pointwise/rounding.ts';
import type * as trigonometric from './pointwise/trigonometric.ts';
import type * as zeta from './pointwise/zeta.ts';
import type * as quantile from './pointwise/quantile.ts';
import type * as gamma from './pointwise/gamma.ts';
import type * as bessel from './pointwise/bessel.ts';

export type PointwiseName =
  | keyof typeof activation
  | keyof typeof argumentReduction
  | keyof typeof arithmetic
  | keyof typeof extrema
  | keyof typeof bessel
  | keyof typeof bitwise
  | keyof typeof comparison
  | keyof typeof errorFunction
  | keyof typeof exponential
  | keyof typeof floatParts
  | keyof typeof gamma
  | keyof typeof hyperbolic
  | keyof typeof incompleteGamma
  | keyof typeof neighbour
  | keyof typeof power
  | keyof typeof quantile
  | keyof typeof rounding
  | keyof typeof trigonometric
  | keyof typeof zeta;
