// What an entry of the reductions table says. A reduction is a small automaton over scalars: a state, how an element joins
// it, how two states join, and what it says in the end. Everything is a term, so interpreter and back ends agree.
//
// Every member is a function of the dtype of the reduced tensor. Laws: `merge(init, s) = s`, and but for rounding neither
// the order nor the grouping of steps and merges matters. (Scans use `step` in order, and `finish` after each.)
import type { DType } from '@tsinductor/base';
import type { ReductionName } from './reductions/table.ts';
import type { Term } from './term.ts';

/** What positions of elements are counted in. */
export type PositionDType = 'i32' | 'i64';

export interface ReductionOp {
  readonly name: ReductionName;
  readonly doc: string;
  /** The tensor dtypes that are accepted; all if absent. */
  readonly accepts?: readonly DType[];
  /** Whether a reduction over no elements has a value (that of finish(init)). */
  readonly hasIdentity: boolean;
  /** The result's dtype, as PyTorch gives it by default. */
  readonly result: (dtype: DType) => DType;
  /** What elements are cast to before they join: `x` has this dtype. */
  readonly accumulate: (dtype: DType) => DType;
  /** Positions in it have the dtype that is given: one that holds the position of every element. */
  readonly state: (dtype: DType, position?: PositionDType) => readonly DType[];
  /** The empty state: terms without wilds. */
  readonly init: (dtype: DType) => readonly Term[];
  /** The next state, over `s0`.., the element `x` and its position `i` (from 0 in row-major order). */
  readonly step: (dtype: DType) => readonly Term[];
  /** Of a fold, the state that an element `x` alone makes: `step` of a state is `merge` of it with this. */
  readonly alone?: (dtype: DType) => readonly Term[];
  /** Two states joined, over `a0`.. (of the earlier positions) and `b0`.. */
  readonly merge: (dtype: DType) => readonly Term[];
  /** The result over `s0`.., in the compute dtype of `result`. */
  readonly finish: (dtype: DType) => Term;
  /** The primitive that says after each element along an axis what the reduction is so far, where there is one. */
  readonly scan?: string;
  /** What that primitive joins instead: the same, with a state of greater precision. */
  readonly running?: ReductionOp;
  /** About how many machine operations one step takes at f32. */
  readonly cost: number;
}

/** The dtypes of the wilds of each of a reduction's terms, for `compileTerms`. */
export function reductionParameters(op: ReductionOp, dtype: DType): Readonly<Record<string, DType>> {
  const states = op.state(dtype);
  const named = (letter: string): [string, DType][] => states.map((state, slot) => [`${letter}${String(slot)}`, state]);
  return Object.fromEntries([...named('s'), ...named('a'), ...named('b'), ['x', op.accumulate(dtype)], ['i', 'i64']]);
}
