// Two index expressions that run through the same elements, over different loops: the loops are split where the sizes
// differ, and identified one with one. So a value of shape [6] meets one of shape [2, 3], and a transposed one meets its
// original, without anything being said about shapes.
import { at } from '@tsinductor/base';
import { add, axisIndex, denseSteps, equal, int, linearForm, multiply } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import { exactQuotient } from './normalize-axes.ts';

/** Axes by name that are replaced: each is row-major over its new axes, outermost first. */
export type Splits = ReadonlyMap<string, readonly Axis[]>;

export interface Alignment {
  /** What the loops of either side become; loops that the index does not mention stay as they are. */
  readonly left: Splits;
  readonly right: Splits;
}

/** The axes that `index` runs through like an array in some order, outermost first; undefined where it has gaps. */
export function denseAxes(index: Index, axes: readonly Axis[]): readonly Axis[] | undefined {
  const linear = linearForm(index, axes);
  if (linear === undefined || !isZero(linear.rest)) return undefined;
  const used = axes.flatMap(({ name }) => linear.steps.get(name) ?? []);
  return denseSteps(used)?.map(({ axis }) => axis);
}

const isZero = (index: Index): boolean => index.kind === 'int' && index.value === 0;

/** A new axis of an extent, with a name that nothing else has. */
export type FreshAxis = (extent: Index) => Axis;

/** Splits both lists of axes into the same extents; undefined where the sizes have no common division. */
export function alignAxes(left: readonly Axis[], right: readonly Axis[], fresh: FreshAxis): Alignment | undefined {
  const [a, b] = [new Side(left), new Side(right)];
  while (!a.isDone && !b.isDone) {
    const common = commonPiece(a.rest, b.rest);
    if (common === undefined) return undefined;
    const axis = a.takes(common.piece) ?? b.takes(common.piece) ?? fresh(common.piece);
    a.take(axis, common.inA);
    b.take(axis, common.inB);
  }
  return a.isDone && b.isDone ? { left: a.splits(), right: b.splits() } : undefined;
}

/** The largest extent that divides both, where one of them is it; and what is left of either. */
function commonPiece(
  a: Index,
  b: Index,
): { readonly piece: Index; readonly inA: Index; readonly inB: Index } | undefined {
  const piece = !equal(a, b) && exactQuotient(a, b) !== undefined ? b : a;
  const [inA, inB] = [exactQuotient(a, piece), exactQuotient(b, piece)];
  const isUnit = piece.kind === 'int' && piece.value <= 1;
  return inA === undefined || inB === undefined || isUnit ? undefined : { piece, inA, inB };
}

/** One side of an alignment, consumed from the innermost axis outwards. */
class Side {
  readonly #axes: Axis[];
  readonly #splits = new Map<string, Axis[]>();
  #rest: Index;

  constructor(axes: readonly Axis[]) {
    this.#axes = [...axes];
    this.#rest = this.#axes.at(-1)?.extent ?? int(1);
  }

  get isDone(): boolean {
    return this.#axes.length === 0;
  }

  /** What is left of the innermost axis. */
  get rest(): Index {
    return this.#rest;
  }

  /** The innermost axis, where the piece is all of it. */
  takes(piece: Index): Axis | undefined {
    const axis = this.#axes.at(-1);
    return axis !== undefined && equal(axis.extent, piece) ? axis : undefined;
  }

  take(piece: Axis, rest: Index): void {
    const { name } = at(this.#axes, this.#axes.length - 1);
    const pieces = this.#splits.get(name) ?? [];
    pieces.unshift(piece);
    this.#splits.set(name, pieces);
    if (rest.kind === 'int' && rest.value === 1) {
      this.#axes.pop();
      this.#rest = this.#axes.at(-1)?.extent ?? int(1);
    } else this.#rest = rest;
  }

  splits(): Splits {
    return this.#splits;
  }
}

/** The value of an axis over the axes that replace it. */
const splitValue = (pieces: readonly Axis[]): Index =>
  pieces.reduce<Index>((total, piece) => add(multiply(total, piece.extent), axisIndex(piece)), int(0));

/** A list of axes with their replacements in place. */
export const splitList = (axes: readonly Axis[], splits: Splits): readonly Axis[] =>
  axes.flatMap((axis) => splits.get(axis.name) ?? [axis]);

/** The replacements as a substitution; axes that stay are left out. */
export const splitMap = (splits: Splits): ReadonlyMap<string, Index> =>
  new Map(
    [...splits]
      .filter(([name, pieces]) => !(pieces.length === 1 && pieces[0]?.name === name))
      .map(([name, pieces]) => [name, splitValue(pieces)]),
  );
