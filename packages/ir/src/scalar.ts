// Pure scalar bodies: what one point of a loop nest computes, as a flat list in which ids index earlier nodes, so that
// sharing survives serialisation. A Body has no effects but the reads of its loads and the bounds checks of its `check`
// nodes; nothing is evaluated that a result does not need, and a masked load reads nothing where its mask is false.
//
// Laws: arithmetic happens in compute dtypes only (never f16 or bf16: those occur as the dtype of a load, a cast to
// them, or a cast from them). The arguments of `apply` have the dtype that the op's table entry asks for; lowering
// inserted the casts. Ops with a decomposition may occur undecomposed: interpreter and printers expand them alike.
import type { DType } from '@tsinductor/base';
import type { PointwiseName } from '@tsinductor/ops';
import type { Index } from './index-expr.ts';

export type ScalarId = number & { readonly brand?: 'ScalarId' };
export type BufferId = number & { readonly brand?: 'BufferId' };

export type Scalar = { readonly dtype: DType } & (
  | { readonly kind: 'constant'; readonly value: ScalarConstant }
  /** The value of an index expression, as i64. */
  | { readonly kind: 'index'; readonly value: Index }
  /** A reduction's or scan's state (step, merge, finish bodies only). */
  | { readonly kind: 'carried'; readonly slot: number }
  /** Element `at` of the buffer, in elements from its start; where `mask` is false, `other` (0 without it). */
  | {
      readonly kind: 'load';
      readonly buffer: BufferId;
      readonly at: Index;
      readonly mask?: ScalarId;
      readonly other?: ScalarId;
    }
  | { readonly kind: 'cast'; readonly value: ScalarId }
  | { readonly kind: 'bitcast'; readonly value: ScalarId }
  | { readonly kind: 'apply'; readonly op: PointwiseName; readonly args: readonly ScalarId[] }
  /**
   * A user's index (i64), required to lie in [0, extent); where it `wraps`, extent is added to a negative one before.
   * Otherwise the run fails with an index error of `site` (an index into LoopProgram.sites). The value is always in range,
   * so loads by it are safe.
   */
  | ({ readonly kind: 'check'; readonly value: ScalarId; readonly extent: Index } & IndexCheck)
);

/** Where an index is checked, and whether negative ones count from the end. */
export interface IndexCheck {
  readonly site: number;
  readonly wraps: boolean;
}

/** A constant's value: a number (NaN, infinities and -0 as their names), or an i64's digits. */
export type ScalarConstant = number | 'NaN' | 'Infinity' | '-Infinity' | '-0' | { readonly bigint: string };

export interface Body {
  readonly nodes: readonly Scalar[];
  readonly results: readonly ScalarId[];
}
