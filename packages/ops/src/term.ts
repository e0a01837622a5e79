// Terms: the one language of decompositions, gradients and rewrite rules. Plain data.
//
// Typing: the operands of a call have one dtype (but for the condition of a `select`, which is bool); the result's
// follows from the op's rule. Nothing is promoted inside a term: `cast` says where the dtype changes. A literal takes
// the dtype of its siblings, or else that of its context.
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

/** What term constructors accept: numbers become literals. */
export type TermLike = Term | number;

export const wild = (name: string): Term => ({ kind: 'wild', name });
export const literal = (value: number): Term => ({ kind: 'literal', value });
export const bits = (dtype: DType, hex: string): Term => ({ kind: 'bits', dtype, hex });
export const toTerm = (value: TermLike): Term => (typeof value === 'number' ? literal(value) : value);
export const cast = (to: DType, value: TermLike): Term => ({ kind: 'cast', to, value: toTerm(value) });
export const bitcast = (to: DType, value: TermLike): Term => ({ kind: 'bitcast', to, value: toTerm(value) });
export const call = (op: PointwiseName, args: readonly TermLike[]): Term => ({
  kind: 'call',
  op,
  args: args.map(toTerm),
});

/** A term as text, for messages and tests: `add(x, mul(2, y))`. */
export function printTerm(term: Term): string {
  switch (term.kind) {
    case 'wild':
      return term.name;
    case 'literal':
      return Object.is(term.value, -0) ? '-0' : String(term.value);
    case 'bits':
      return `${term.dtype}:0x${term.hex}`;
    case 'cast':
    case 'bitcast':
      return `${term.kind}<${term.to}>(${printTerm(term.value)})`;
    case 'call':
      return `${term.op}(${term.args.map(printTerm).join(', ')})`;
  }
}
