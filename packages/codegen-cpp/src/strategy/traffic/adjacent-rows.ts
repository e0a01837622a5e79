// Short rows of memory that a loop reads side by side, as the halves of a rotary embedding or the pairs of rows of an image that is
// halved. In: the maps of a part of an innermost loop and the axes around it. Out: what the loop prefetches, so that memory is read in
// the order of addresses: all rows of a later turn, from end to end.
//
// Rows that are read at once and lie one after the other, as those of the next turn do behind them, are a group. The hardware
// prefetcher of some processors sees a jump at every line there. A group of a page and more is prefetched along the
// way, some lines with every vector; of shorter ones, those of a page in a row at once.
import { difference, hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, axisIndex, coefficientOf, int, multiply, substitute } from '@tsinductor/ir';
import type { Axis, BufferId, Index } from '@tsinductor/ir';
import { lineBytes, pageBytes } from '../../machine/facts.ts';
import { memoryBound } from '../../machine/measure.ts';
import { exceedsCaches } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { PartPlan, RegionPlan, TreePlan } from '../plan/region.ts';
import { isFilledBefore, loadsOf, rowDistance, rowsWithin } from '../plan/rows.ts';
import { prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import { namesOf } from './rule.ts';
import type { Outcome, TrafficRule } from './rule.ts';
import type { PartTraffic, RegionTraffic, RowGroup } from './traffic.ts';

export const adjacentRowsRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'adjacent rows',
  doc: 'the hardware prefetcher follows lines in the order of their addresses alone: rows read side by side are prefetched in it',
  measure: memoryBound('in memory', 'image normalise and halve', 'rotary embedding'),
  applies: ({ choices }) => choices.prefetchesInAddressOrder,
  plan: planAdjacentRows,
};

function planAdjacentRows(
  planning: Planning,
  region: RegionPlan,
  traffic: RegionTraffic,
): Outcome<RegionTraffic> | undefined {
  const isPlain = region.tiles === undefined && region.columns === undefined;
  const trees: readonly TreePlan[] = [...(isPlain ? [region] : []), ...region.below.values()];
  const parts = new Map(traffic.parts);
  const buffers: BufferId[] = [];
  for (const tree of trees)
    for (const part of tree.isWhole ? tree.parts : []) {
      const found = rowsOfPart(planning, sideOf(tree, part));
      if (found.prefetches.length + found.bursts.length === 0) continue;
      parts.set(part, found);
      buffers.push(...[...found.prefetches, ...found.bursts].map(({ buffer }) => buffer));
    }
  if (buffers.length === 0) return undefined;
  return {
    traffic: { ...traffic, parts },
    what: `${namesOf(planning, buffers)}: rows side by side are prefetched one after another`,
  };
}

interface Side {
  readonly part: PartPlan;
  readonly along: Axis;
  readonly lanes: number;
  /** The axes around it, outermost first: groups follow each other along the last. */
  readonly around: readonly Axis[];
}

const sideOf = ({ order, shared }: TreePlan, part: PartPlan): Side => ({
  part,
  along: part.axis,
  lanes: shared.lanes,
  around: order.flatMap(({ axis }) => (axis.name === shared.axis?.name ? [] : [axis])),
});

const nothing: PartTraffic = { prefetches: [], bursts: [] };

function rowsOfPart(planning: Planning, side: Side): PartTraffic {
  const { nodes } = side.part;
  if (nodes.some(({ kind }) => kind !== 'map')) return nothing;
  const loads = nodes.flatMap(loadsOf);
  const buffers = [...new Set(loads.map(({ buffer }) => buffer))].filter(
    (buffer) => isFilledBefore(planning, buffer) && exceedsCaches(planning, buffer),
  );
  const groups = buffers.flatMap((buffer) =>
    groupOf(
      buffer,
      loads.flatMap((load) => (load.buffer === buffer ? [load.position] : [])),
      side,
    ),
  );
  const bytesOf = ({ buffer, elements }: RowGroup): number => elements * planning.memory.bytesOf(buffer);
  return {
    prefetches: groups
      .filter((group) => bytesOf(group) >= pageBytes)
      .flatMap((group) => linesOf(planning, group, side)),
    bursts: groups
      .filter((group) => bytesOf(group) < pageBytes)
      .map((group) => ({
        ...group,
        turns: Math.ceil(pageBytes / bytesOf(group)),
        into: rowDistance(planning, group.buffer).into,
      }))
      // Else a page would be prefetched again by each row of the next axis.
      .filter(({ down, turns }) => (staticValue(down.extent) ?? 1) % turns === 0),
  };
}

/** The group that is read at those places, if the next turn reads the one behind it. */
function groupOf(buffer: BufferId, places: readonly Index[], { along, around }: Side): readonly RowGroup[] {
  const dense = denseRows(places, along);
  const down = around.at(-1);
  if (dense === undefined || down === undefined) return [];
  const isNext = staticValue(coefficientOf(dense.start, down) ?? int(0)) === dense.elements;
  return isNext ? [{ buffer, ...dense, down }] : [];
}

/** Two rows or more that leave nothing between them: or some of what is prefetched would be prefetched in vain. */
function denseRows(places: readonly Index[], along: Axis): Pick<RowGroup, 'start' | 'elements'> | undefined {
  const length = staticValue(along.extent);
  const step = strideAlong(places[0] ?? int(0), along.name);
  const isEven = places.every((place) => !hasIndirect(place) && strideAlong(place, along.name) === step);
  if (length === undefined || step === undefined || step < 1 || !isEven) return undefined;
  const starts = places.map((place) => substitute(place, new Map([[along.name, int(0)]])));
  const offsets = starts.map((start) => staticValue(difference(start, starts[0] ?? int(0))) ?? Number.NaN);
  const least = Math.min(...offsets);
  const start = starts[offsets.indexOf(least)];
  const row = step * length;
  const rows = new Set(offsets.map((offset) => Math.floor((offset - least) / row)));
  const isFull = new Set(offsets).size === rows.size * step && Math.max(...rows) === rows.size - 1;
  const isDense = isFull && offsets.every((offset) => (offset - least) % row < step);
  return start === undefined || rows.size < 2 || !isDense ? undefined : { start, elements: rows.size * row };
}

/** The lines of a later group that belong to a vector, where that is whole lines. */
function linesOf(
  planning: Planning,
  { buffer, start, elements }: RowGroup,
  { along, lanes }: Side,
): readonly PlannedPrefetch[] {
  const bytes = planning.memory.bytesOf(buffer);
  const each = elements / (staticValue(along.extent) ?? 1);
  const lines = (each * lanes * bytes) / lineBytes;
  if (!Number.isInteger(lines)) return [];
  const turns = rowsWithin(planning, rowDistance(planning, buffer), elements * bytes);
  const first = add(add(start, int(elements * turns)), multiply(axisIndex(along), int(each)));
  return Array.from({ length: lines }, (_, line) =>
    prefetchOf(planning, { buffer, position: add(first, int((line * lineBytes) / bytes)) }),
  );
}
