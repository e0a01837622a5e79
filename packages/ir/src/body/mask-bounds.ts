// What masks say about loops. In: a mask of a body. Out: the bounds that it puts on single axes.
import type { PointwiseName } from '@tsinductor/ops';
import { maximum, minimum } from '../arithmetic/extremum.ts';
import { axisIndex, int, subtract } from '../arithmetic/polynomial.ts';
import { axesOf, freeAxes } from '../arithmetic/query.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { Scalar, ScalarId } from '../scalar.ts';
import { constantToValue } from './constant.ts';

/** What a mask requires of an axis: lower <= axis < upper. */
export interface MaskBounds {
  readonly axis: Axis;
  readonly lower?: Index;
  readonly upper?: Index;
}

/** The node of a body that has an id. */
type NodeOf = (id: ScalarId) => Scalar;

/** What a mask requires of single axes, each once. */
export const maskBounds = (nodeOf: NodeOf, mask: ScalarId): readonly MaskBounds[] => joinBounds(boundsOf(nodeOf, mask));

/** What `index op bound` says about the index, for the comparisons that lowering builds masks of. */
const sides: Partial<Record<PointwiseName, 'lower' | 'upper'>> = { ge: 'lower', lt: 'upper' };
const conjunction: PointwiseName = 'logicalAnd';

/** The bounds that a conjunction of comparisons puts on single axes. */
function boundsOf(nodeOf: NodeOf, mask: ScalarId): readonly MaskBounds[] {
  const node = nodeOf(mask);
  if (node.kind !== 'apply') return [];
  if (node.op === conjunction) return node.args.flatMap((arg) => boundsOf(nodeOf, arg));
  const side = sides[node.op];
  const [index, bound] = node.args.map((arg) => indexOf(nodeOf, arg));
  if (side === undefined || index === undefined || bound === undefined || freeAxes(bound).size > 0) return [];
  const [axis, ...others] = axesOf(index).values();
  if (axis === undefined || others.length > 0) return [];
  const offset = subtract(index, axisIndex(axis));
  return freeAxes(offset).size > 0 ? [] : [{ axis, [side]: subtract(bound, offset) }];
}

/** The index expression that an i64 value is. */
function indexOf(nodeOf: NodeOf, id: ScalarId): Index | undefined {
  const node = nodeOf(id);
  if (node.kind === 'index') return node.value;
  return node.kind === 'constant' ? int(Number(constantToValue(node.value, 'i64'))) : undefined;
}

/** The tightest that is known of each axis. */
function joinBounds(all: readonly MaskBounds[]): readonly MaskBounds[] {
  const joined = new Map<string, MaskBounds>();
  for (const { axis, lower, upper } of all) {
    const known = joined.get(axis.name);
    const low = lower === undefined ? known?.lower : maximum(lower, known?.lower ?? lower);
    const high = upper === undefined ? known?.upper : minimum(upper, known?.upper ?? upper);
    joined.set(axis.name, { axis, ...(low && { lower: low }), ...(high && { upper: high }) });
  }
  return [...joined.values()];
}
