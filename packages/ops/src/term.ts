// Terms: the one language of decompositions, gradients and rewrite rules. Plain data.
import type { DType } from '@tsinductor/base';
import type { PointwiseName } from './names.ts';

export type Term =
  /** A parameter of the op (`x`, `y`, `z`; in gradients also `g` and `out`), or a pattern variable of a rule. */
  | { readonly kind: 'wild'; readonly name: string }
  /** A number in the dtype that its context asks for (that of its sibling operands). */
  | { readonly kind: 'literal'; readonly value: number }
  /** The value with these bits, written in hexadecimal: for constants that decimal cannot state exactly. */
  | { readonly kind: 'bits'; readonly dtype: DType; readonly hex: string }
  | { readonly kind: 'cast' | 'bitcast'; readonly to: DType; readonly value: Term }
  | { readonly kind: 'call'; readonly op: PointwiseName; readonly args: readonly Term[] };
