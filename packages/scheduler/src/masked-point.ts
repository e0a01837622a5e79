// Where a producer computes an element that is read under a mask. The mask says more about the loops than their extents
// do (0 <= j - 8 < 8, in the second part of a concatenation), and with that knowledge divisions disappear. Outside the
// mask the point may be any: nothing is read there.
import { add, axisIndex, freeAxes, int, maskBounds, pointAt, substitute, subtract } from '@tsinductor/ir';
import type { Axis, BodyBuilder, DenseLayout, Index, ScalarId } from '@tsinductor/ir';

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
