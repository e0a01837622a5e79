// Rows of memory that several passes read, one row after another: the first pass waits for memory while the others compute. In: a region
// of several innermost trees. Out: what the last pass that reads a row prefetches, vector by vector as it goes, so that the first pass
// finds the next row in the caches; a later row where it goes by way of the second-level cache, which has room for more, and is of one
// array.
import { isLeaf, parallelBands } from '@tsinductor/codegen';
import type { Axis, BufferId, LoopTree } from '@tsinductor/ir';
import { memoryBound } from '../../machine/measure.ts';
import { exceedsCaches } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan, TreePlan } from '../plan/region.ts';
import { loadsOf, rowFurtherOn, rowsAhead } from '../plan/rows.ts';
import { operationsOf } from '../plan/work.ts';
import { gatheredRows } from './gathered-rows.ts';
import { prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import { namesOf } from './rule.ts';
import type { Outcome, TrafficRule } from './rule.ts';
import { withPrefetches } from './traffic.ts';
import type { RegionTraffic } from './traffic.ts';

export const nextRowRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'next row',
  doc: 'the last pass over a row prefetches the next one, so that memory works while the passes compute',
  measure: [
    ...memoryBound(['in L3', 'in memory'], 'softmax', 'layer norm', 'RMS norm'),
    ...memoryBound(
      'in memory',
      'softmax backward',
      'layer norm backward',
      'RMS norm backward',
      'group norm',
      'bf16 softmax',
    ),
  ],
  applies: (_, { shared, tree }) => shared.axis === undefined && !isLeaf(tree) && parallelBands(tree).length > 0,
  plan: planNextRows,
};

interface Reading {
  readonly leaf: LoopTree;
  readonly prefetch: PlannedPrefetch;
}

function planNextRows(
  planning: Planning,
  { tree, below }: RegionPlan,
  traffic: RegionTraffic,
): Outcome<RegionTraffic> | undefined {
  const row = parallelBands(tree).at(-1)?.axis;
  if (row === undefined) return undefined;
  const lastOnes = (isAlone: boolean): ReadonlyMap<BufferId, Reading> =>
    new Map(
      [...below.values()]
        .flatMap((leaf) => readingsOf(planning, leaf, { row, isAlone }))
        .map((reading) => [reading.prefetch.buffer, reading]),
    );
  const together = lastOnes(false);
  const arrays = [...together.values()].filter(({ prefetch }) => prefetch.later === undefined).length;
  const isFew = arrays <= planning.choices.nextRowArrays;
  const isMuch = operationsBelow(below) >= planning.choices.nextRowWork;
  const readings = [...(arrays === 1 ? lastOnes(true) : together).values()].filter(
    ({ prefetch }) => (isFew || prefetch.later !== undefined) && (isMuch || !exceedsCaches(planning, prefetch.buffer)),
  );
  if (readings.length === 0) return undefined;
  const names = namesOf(
    planning,
    readings.map(({ prefetch }) => prefetch.buffer),
  );
  return {
    traffic: readings.reduce((sum, { leaf, prefetch }) => withPrefetches(sum, leaf, [prefetch]), traffic),
    what: `rows of ${names} are prefetched along ${row.name}`,
  };
}

/** What all passes over a row compute for an element of it. */
const operationsBelow = (below: RegionPlan['below']): number =>
  [...below.values()].reduce(
    (sum, { nodes }) => nodes.reduce((operations, node) => operations + operationsOf(node), sum),
    0,
  );

/** What a leaf may prefetch of the rows of memory that it reads along its lanes: the next of each, or those that it finds later. */
function readingsOf(
  planning: Planning,
  { tree: leaf, nodes, shared: { axis } }: TreePlan,
  { row, isAlone }: { readonly row: Axis; readonly isAlone: boolean },
): readonly Reading[] {
  if (axis === undefined || !isLeaf(leaf)) return [];
  const axes = { along: axis, down: row };
  const limits = planning.choices.nextRow;
  return nodes
    .flatMap((node) => [
      ...loadsOf(node).flatMap((load) => {
        const rows = isAlone ? laterRow(planning, load.buffer, axis) : 1;
        return rowFurtherOn(planning, load, { ...axes, rows, limits }).map((next) => prefetchOf(planning, next));
      }),
      ...gatheredRows(planning, node, axes),
    ])
    .map((prefetch) => ({ leaf, prefetch }));
}

/** Which row of a lone array is prefetched: the next one, or a later one of memory where rows are short. */
const laterRow = (planning: Planning, buffer: BufferId, axis: Axis): number =>
  exceedsCaches(planning, buffer) ? Math.min(planning.choices.laterRow, rowsAhead(planning, buffer, axis)) : 1;
