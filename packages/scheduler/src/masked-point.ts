// Where a producer computes an element that is read under a mask. The mask says more about the loops than their extents
// do (0 <= j - 8 < 8, in the second part of a concatenation), and with that knowledge divisions disappear. Outside the
// mask the point may be any: nothing is read there.
import {
  add,
  axesOf,
  axisIndex,
  constantToValue,
  freeAxes,
  int,
  maximum,
  minimum,
  pointAt,
  substitute,
  subtract,
} from '@tsinductor/ir';
import type { Axis, BodyBuilder, DenseLayout, Index, Scalar, ScalarId } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';

/** What a mask requires of an axis: lower <= axis < upper. */
export interface Bounds {
  readonly axis: Axis;
  readonly lower?: Index;
  readonly upper?: Index;
}

/** The point at which a producer writes `place`, wherever `mask` holds. */
export function maskedPoint(
  producer: DenseLayout,
  place: Index,
  { builder, mask }: { readonly builder: BodyBuilder; readonly mask: ScalarId },
): ReadonlyMap<string, Index> {
  const bounds = maskBounds((id) => builder.node(id), mask).filter(({ axis }) => freeAxes(place).has(axis.name));
  if (bounds.length === 0) return pointAt(producer, place);
  const inside = new Map<string, Index>();
  const outside = new Map<string, Index>();
  for (const { axis, lower = int(0), upper = axis.extent } of bounds) {
    const within: Axis = { name: `within_${axis.name}`, extent: subtract(upper, lower) };
    inside.set(axis.name, add(axisIndex(within), lower));
    outside.set(within.name, subtract(axisIndex(axis), lower));
  }
  const point = pointAt(producer, substitute(place, inside));
  return new Map([...point].map(([name, coordinate]) => [name, substitute(coordinate, outside)]));
}

/** The node of a body that has an id. */
type NodeOf = (id: ScalarId) => Scalar;

/** What a mask requires of single axes, each once. */
export const maskBounds = (nodeOf: NodeOf, mask: ScalarId): readonly Bounds[] => joinBounds(boundsOf(nodeOf, mask));

/** What `index op bound` says about the index, for the comparisons that lowering builds masks of. */
const sides: Partial<Record<PointwiseName, 'lower' | 'upper'>> = { ge: 'lower', lt: 'upper' };
const conjunction: PointwiseName = 'logicalAnd';

/** The bounds that a conjunction of comparisons puts on single axes. */
function boundsOf(nodeOf: NodeOf, mask: ScalarId): readonly Bounds[] {
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
function joinBounds(all: readonly Bounds[]): readonly Bounds[] {
  const joined = new Map<string, Bounds>();
  for (const { axis, lower, upper } of all) {
    const known = joined.get(axis.name);
    const low = lower === undefined ? known?.lower : maximum(lower, known?.lower ?? lower);
    const high = upper === undefined ? known?.upper : minimum(upper, known?.upper ?? upper);
    joined.set(axis.name, { axis, ...(low && { lower: low }), ...(high && { upper: high }) });
  }
  return [...joined.values()];
}
