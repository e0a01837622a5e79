// Whether a reader computes a map at every point at which the map would be stored. In: a reader, and a map of which it reads. Out: yes
// or no. A map that checks something is only computed inside its readers where one of them does: else an index that nobody reads
// the element of would go unnoticed.
import { at } from '@tsinductor/base';
import {
  add,
  axisIndex,
  denseLayout,
  equal,
  freeAxes,
  hasIndirects,
  int,
  maskBounds,
  product,
  substitute,
  subtract,
} from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, Load, LoopNode, MapNode } from '@tsinductor/ir';
import { loopsOf, pointBody } from './node-access.ts';

export function readsAll(reader: LoopNode, producer: MapNode, buffer: BufferId): boolean {
  const body = pointBody(reader);
  const count = product(producer.axes.map(({ extent }) => extent));
  return (
    body?.nodes.some((node) => {
      if (node.kind !== 'load' || node.buffer !== buffer || hasIndirects(node.at)) return false;
      const read = denseRead(node, body, loopsOf(reader));
      return read !== undefined && equal(read, count);
    }) === true
  );
}

/** How many elements from the first on a load reads in the course of the loops; undefined where it leaves some out. */
function denseRead(load: Load, body: Body, loops: readonly Axis[]): Index | undefined {
  const { axes, place } = unmasked(load, body, loops);
  const used = axes.filter(({ name }) => freeAxes(place).has(name));
  const layout = denseLayout({ axes: used, write: place });
  if (layout === undefined || !equal(layout.offset, int(0))) return undefined;
  return product(used.map(({ extent }) => extent));
}

/** The loops within the bounds that the load's mask puts on them. */
function unmasked(
  { at: place, mask }: Load,
  { nodes }: Body,
  loops: readonly Axis[],
): { readonly axes: readonly Axis[]; readonly place: Index } {
  if (mask === undefined) return { axes: loops, place };
  const bounds = new Map(maskBounds((id) => at(nodes, id), mask).map((bound) => [bound.axis.name, bound]));
  const inside = new Map<string, Index>();
  const axes = loops.map((axis) => {
    const bound = bounds.get(axis.name);
    if (bound === undefined) return axis;
    const { lower = int(0), upper = axis.extent } = bound;
    const within = { name: axis.name, extent: subtract(upper, lower) };
    inside.set(axis.name, add(axisIndex(within), lower));
    return within;
  });
  return { axes, place: substitute(place, inside) };
}
