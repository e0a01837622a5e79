// What a single pass over memory prefetches that it reads itself. In: an innermost tree with lanes. Out: lines further on, or rows.
//
// A pass that computes and writes as it reads from end to end prefetches a little ahead of itself: processors foresee the lines, but
// not while they wait for arithmetic or for their own writes. A pass that reduces rows prefetches the rows after it: its own end is a
// time in which nothing is read.
import { isFloat } from '@tsinductor/base';
import { hasIndirect, isLeaf, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, int } from '@tsinductor/ir';
import type { Axis, BufferId, LoopNode } from '@tsinductor/ir';
import { memoryBound, rowsOf } from '../../machine/measure.ts';
import { exceedsCaches } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { isRowOf, loadsOf, rowFurtherOn, rowsAhead } from '../plan/rows.ts';
import { gatheredRows } from './gathered-rows.ts';
import { distinctPrefetches, prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import { namesOf } from './rule.ts';
import type { Outcome, TrafficRule } from './rule.ts';
import { withPrefetches } from './traffic.ts';
import type { RegionTraffic } from './traffic.ts';

/** A pass: an innermost tree with lanes of its own that is written as any vector loop. */
export const isPass = ({ tree, shared, tiles, columns }: RegionPlan): boolean =>
  isLeaf(tree) && shared.axis !== undefined && tiles === undefined && columns?.isScanned !== false;

/** The axis down which a pass reduces columns, one row after another. */
const downOf = ({ tree, shared }: RegionPlan): Axis | undefined => {
  const down = tree.loops.filter(({ role }) => role === 'reduction').at(-1)?.axis;
  return down?.name === shared.axis?.name ? undefined : down;
};

type PassRule = TrafficRule<RegionPlan, RegionTraffic>;

/** The traffic with what a pass prefetches. */
export function passOutcome(
  planning: Planning,
  { tree }: RegionPlan,
  { traffic, prefetches, how }: { traffic: RegionTraffic; prefetches: readonly PlannedPrefetch[]; how: string },
): Outcome<RegionTraffic> | undefined {
  if (prefetches.length === 0) return undefined;
  const names = namesOf(
    planning,
    prefetches.map(({ buffer }) => buffer),
  );
  return { traffic: withPrefetches(traffic, tree, prefetches), what: `${names}: prefetched ${how}` };
}

/** The arrays of memory whose columns are read downwards, as by a scan over rows, some rows further down. */
export const rowsBelowRule: PassRule = {
  name: 'rows below',
  doc: 'what columns have side by side is a few lines, too few for the hardware prefetcher',
  measure: memoryBound(['in L3', 'in memory'], 'cumulative sum of columns'),
  applies: (_, region) => isPass(region) && downOf(region) !== undefined,
  plan: (planning, region, traffic) => {
    const { nodes, shared, columns } = region;
    const [along, down] = [shared.axis, downOf(region)];
    const { ahead, least } = planning.choices.columnRows;
    if (along === undefined || down === undefined || (staticValue(down.extent) ?? 0) < least) return undefined;
    const rows = columns?.rows ?? ahead;
    const prefetches = nodes
      .flatMap(loadsOf)
      .flatMap((load) => rowFurtherOn(planning, load, { along, down, rows }))
      .map((load) => prefetchOf(planning, load));
    return passOutcome(planning, region, { traffic, prefetches, how: `${String(rows)} rows below` });
  },
};

interface Lines {
  readonly axis: Axis;
  readonly leastRow: number;
  /** How much further on. */
  readonly bytes: number;
}

function linesFurtherOn(
  planning: Planning,
  nodes: readonly LoopNode[],
  { axis, leastRow, bytes }: Lines,
): readonly PlannedPrefetch[] {
  const { choices, memory } = planning;
  const prefetches = new Map<BufferId, PlannedPrefetch>();
  for (const { buffer, position } of nodes.flatMap(loadsOf)) {
    const isLine = !hasIndirect(position) && strideAlong(position, axis.name) === 1;
    const isRow = (): boolean => isRowOf(planning, buffer, { axis, ...choices.prefetchedRows, leastRow });
    if (prefetches.has(buffer) || !isLine || !isRow()) continue;
    // Of wider elements as many as of f32: a loop comes to them as late.
    const elements = bytes / Math.min(memory.bytesOf(buffer), 4);
    prefetches.set(buffer, prefetchOf(planning, { buffer, position: add(position, int(elements)) }));
  }
  return [...prefetches.values()];
}

/** The arrays of memory that maps and scans read along the lanes' axis, some lines further on. */
export const linesFurtherOnRule: PassRule = {
  name: 'lines further on',
  doc: 'the hardware prefetcher stops where arithmetic or stores hold up the loads that it follows',
  measure: memoryBound('in memory', 'gelu(x*s+b)*sigmoid(z)', 'Adam'),
  applies: ({ choices }, region) => choices.prefetchesStreams && isPass(region) && downOf(region) === undefined,
  plan: (planning, region, traffic) => {
    const { nodes, shared } = region;
    const { lineDistance: bytes } = planning.choices;
    const isLoop = nodes.every(({ kind }) => kind === 'map' || kind === 'scan');
    if (shared.axis === undefined || !isLoop) return undefined;
    const prefetches = linesFurtherOn(planning, nodes, { axis: shared.axis, leastRow: bytes, bytes });
    return passOutcome(planning, region, { traffic, prefetches, how: `${String(bytes)} bytes further on` });
  },
};

/** What nodes of which some are reductions read along `axis` of rows too long to prefetch the next, or of chunks of one. */
export function longRowPrefetches(
  planning: Planning,
  nodes: readonly LoopNode[],
  axis: Axis,
): readonly PlannedPrefetch[] {
  const { passRows, longRowDistance: bytes } = planning.choices;
  return linesFurtherOn(planning, nodes, { axis, leastRow: passRows.mostRow + 1, bytes });
}

/** Rows too long to prefetch the next: what reductions read along the lanes' axis, some lines further on. */
export const longRowsRule: PassRule = {
  name: 'long rows',
  doc: 'rows that are too long to prefetch the next one are prefetched some lines further on',
  measure: rowsOf('choices', 'row sum [256,65536]'),
  applies: ({ choices }, region) =>
    choices.prefetchesStreams &&
    isPass(region) &&
    downOf(region) === undefined &&
    region.nodes.some(({ kind }) => kind === 'reduce'),
  plan: (planning, region, traffic) => {
    const { nodes, shared } = region;
    const prefetches = shared.axis === undefined ? [] : longRowPrefetches(planning, nodes, shared.axis);
    const how = `${String(planning.choices.longRowDistance)} bytes further on`;
    return passOutcome(planning, region, { traffic, prefetches, how });
  },
};

/**
 * The rows that one pass finds by loaded values or reduces, those some rows further on. Where lines are foreseen in the order of
 * their addresses alone, what is prefetched of one array disturbs that of the others: the rows by which elements are chosen are
 * prefetched with them.
 */
export const rowsFurtherOnRule: PassRule = {
  name: 'rows further on',
  doc: 'nothing foresees rows that indices choose, and the end of a reduced row is a time in which nothing is read',
  measure: memoryBound('in memory', 'row sum', 'argmax of rows', 'gather of rows', 'gather of elements'),
  applies: (_, region) => isPass(region) && downOf(region) === undefined,
  plan: (planning, region, traffic) => {
    const { tree, nodes, shared } = region;
    const along = shared.axis;
    const down = tree.loops.findLast(({ axis }) => axis.name !== along?.name)?.axis;
    const { columnRows, passRows, prefetchesStreams, prefetchesInAddressOrder } = planning.choices;
    if (along === undefined || down === undefined || (staticValue(down.extent) ?? 0) < columnRows.least)
      return undefined;
    const direct = nodes
      .flatMap(loadsOf)
      .flatMap((load) =>
        rowFurtherOn(planning, load, { along, down, rows: rowsAhead(planning, load.buffer, along), limits: passRows }),
      )
      .map((load) => prefetchOf(planning, load));
    const isFar = prefetchesInAddressOrder && direct.some(({ buffer }) => !isFloat(planning.memory.decl(buffer).dtype));
    const gathered = nodes.flatMap((node) => gatheredRows(planning, node, { along, down, isFar }));
    const disturbs =
      isFar && gathered.some(({ buffer, later }) => later === undefined && exceedsCaches(planning, buffer));
    const reduces = nodes.some(({ kind }) => kind === 'reduce');
    const own = (reduces && prefetchesStreams) || disturbs ? direct : [];
    const prefetches = distinctPrefetches([...gathered, ...own]);
    return passOutcome(planning, region, { traffic, prefetches, how: `some rows further on along ${down.name}` });
  },
};
