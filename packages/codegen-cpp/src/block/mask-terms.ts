// Masks that are true for the first elements of a row: comparisons of an index that counts along the lanes with one that
// stands still, and conditions that stand still. A loop over such a row runs to the limit, not element by element.
import { at } from '@tsinductor/base';
import { sourceCoordinates, tileIndex } from '@tsinductor/codegen';
import { add, coefficientOf, int, printIndex, substitute, subtract } from '@tsinductor/ir';
import type { Index, TileId, TileOp } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import type { Binder } from './binder.ts';

/** A conjunction: the lane coordinate is below every limit, and every uniform condition holds. */
export interface MaskTerms {
  readonly limits: readonly Index[];
  /** Conditions that do not depend on the lanes. */
  readonly uniform: readonly { readonly tile: TileId; readonly coordinates: readonly Index[] }[];
  /** Equal for equal conjunctions. */
  readonly key: string;
}

interface Where {
  readonly binder: Binder;
  readonly point: { readonly lane: string | undefined };
}

/** The terms of a mask at a place, if it has this form. */
export function maskTerms(id: TileId, coordinates: readonly Index[], where: Where): MaskTerms | undefined {
  const { binder, point } = where;
  if (point.lane === undefined) return undefined;
  const lane = { name: point.lane, extent: int(2) };
  const stands = coordinates.every((index) => isNumber(coefficientOf(index, lane), 0));
  if (stands) return terms([], [{ tile: id, coordinates }]);
  const home = binder.home(id);
  return home.kind === 'virtual' || home.kind === 'pending' ? nodeTerms(home.node, coordinates, where) : undefined;
}

function nodeTerms(node: TileOp, coordinates: readonly Index[], where: Where): MaskTerms | undefined {
  if (node.op === 'broadcast' || node.op === 'reshape' || node.op === 'permute') {
    const source = sourceCoordinates(node, coordinates, where.binder);
    return source === undefined ? undefined : maskTerms(at(node.args, 0), source, where);
  }
  if (node.op !== 'apply') return undefined;
  if (node.attrs.op === 'logicalAnd' || node.attrs.op === 'bitwiseAnd') {
    const [left, right] = node.args.map((arg) => maskTerms(arg, coordinates, where));
    if (left === undefined || right === undefined) return undefined;
    return terms([...left.limits, ...right.limits], [...left.uniform, ...right.uniform]);
  }
  const comparison = comparisons[node.attrs.op];
  if (comparison === undefined) return undefined;
  const limit = comparisonLimit(node, coordinates, { ...where, comparison });
  return limit === undefined ? undefined : terms([limit], []);
}

interface Comparison {
  /** Which operand counts: 0 in `counting < still`. */
  readonly counting: 0 | 1;
  readonly isInclusive: boolean;
}

const comparisons: Readonly<Partial<Record<PointwiseName, Comparison>>> = {
  lt: { counting: 0, isInclusive: false },
  le: { counting: 0, isInclusive: true },
  gt: { counting: 1, isInclusive: false },
  ge: { counting: 1, isInclusive: true },
};

const isNumber = (index: Index | undefined, value: number): boolean => index?.kind === 'int' && index.value === value;

function terms(limits: readonly Index[], uniform: MaskTerms['uniform']): MaskTerms {
  const parts = [
    ...limits.map((index) => printIndex(index)),
    ...uniform.map(
      ({ tile, coordinates }) => `${String(tile)}@${coordinates.map((index) => printIndex(index)).join(' ')}`,
    ),
  ];
  const key = [...new Set(parts)].sort().join(' & ');
  return { limits, uniform, key };
}

/** `counting < still` and its kin: how many of the first elements it holds for. */
function comparisonLimit(
  node: TileOp,
  coordinates: readonly Index[],
  { binder, point, comparison }: Where & { readonly comparison: Comparison },
): Index | undefined {
  const sides = node.args.map((arg) => tileIndex(arg, coordinates, binder));
  const [counting, still] = [sides[comparison.counting], sides[1 - comparison.counting]];
  if (counting === undefined || still === undefined || point.lane === undefined) return undefined;
  if (!isNumber(coefficientOf(counting, point.lane), 1) || !isNumber(coefficientOf(still, point.lane), 0))
    return undefined;
  const limit = subtract(still, substitute(counting, new Map([[point.lane, int(0)]])));
  return comparison.isInclusive ? add(limit, int(1)) : limit;
}
