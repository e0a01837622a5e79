// Integer index arithmetic: the only home of symbolic shapes.
//
// An Index is an integer expression over loop axes, symbolic sizes and loaded indices. It is built only by the
// constructors of this package (`add`, `multiply`, `floorDivide` ...), which keep it canonical: sums are flat, ordered
// and have their constant last; products are flat and have their coefficient first; what range analysis can decide
// (`(i*4 + j) / 4` with 0 <= j < 4) is decided at construction. Two canonical expressions that print alike are equal.
// Division is floor division by a positive divisor; all axes and sizes are non-negative. A kernel that is about to be printed may have
// divisions that round toward zero instead, where that is the same (`truncateDivisions`).
import type { ScalarId } from './scalar.ts';

/** A loop axis: 0 <= axis < extent. Names are unique within a LoopProgram. */
export interface Axis {
  readonly name: string;
  readonly extent: Index;
}

export type Index =
  | { readonly kind: 'int'; readonly value: number }
  /** A symbolic size, known to lie in [min, max] (max may be Infinity, written null in JSON), and reckoned with as `typical`, if that is there. */
  | {
      readonly kind: 'size';
      readonly name: string;
      readonly min: number;
      readonly max: number | null;
      readonly typical?: number;
    }
  | { readonly kind: 'axis'; readonly axis: Axis }
  | { readonly kind: 'sum' | 'product' | 'min' | 'max'; readonly items: readonly Index[] }
  | {
      readonly kind: 'floorDiv' | 'mod';
      readonly dividend: Index;
      readonly divisor: Index;
      /** That of machines, and of the remainder beside it; down to the next integer if absent. */
      readonly rounding?: 'toZero';
    }
  /** A loaded index, in [0, extent): `value` is an i64 node of the same Body. Its bounds check is a node of the Body. */
  | { readonly kind: 'indirect'; readonly value: ScalarId; readonly extent: Index };

/** A half-open or closed fact about an Index: both ends inclusive, null where unbounded. */
export interface IndexRange {
  readonly min: number | null;
  readonly max: number | null;
}
