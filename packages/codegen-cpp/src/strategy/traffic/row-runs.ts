// Short rows of a result that are written in runs: what the next run is read from. In: the plan of a region. Out: the rows of the next
// run in the order of addresses, where they are contiguous memory.
import { hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, axisIndex, int, modulo, multiply } from '@tsinductor/ir';
import { memoryBound } from '../../machine/measure.ts';
import { exceedsCaches } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { loadsOf } from '../plan/rows.ts';
import { isPass, passOutcome } from './passes.ts';
import { prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import type { TrafficRule } from './rule.ts';
import type { RegionTraffic } from './traffic.ts';

export const rowRunsRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'row runs',
  doc: 'rows that are written in runs are read some lines here and some there, which no hardware prefetcher follows',
  measure: memoryBound('in memory', 'heads [b,s,h,d] to [b,h,s,d]'),
  applies: ({ choices }, region) => choices.prefetchesStreams && isPass(region) && region.runs !== undefined,
  plan: (planning, region, traffic) =>
    passOutcome(planning, region, { traffic, prefetches: nextRun(planning, region), how: 'a run further on' }),
};

function nextRun(planning: Planning, { runs, nodes, shared }: RegionPlan): readonly PlannedPrefetch[] {
  if (runs === undefined) return [];
  const { down, across, rows, width } = runs;
  const group = width * (staticValue(across.extent) ?? 0);
  const row = modulo(axisIndex(down), int(rows));
  return nodes.flatMap(loadsOf).flatMap(({ buffer, position }): readonly PlannedPrefetch[] => {
    const isContiguous =
      !hasIndirect(position) &&
      strideAlong(position, shared.axis?.name ?? '') === 1 &&
      strideAlong(position, across.name) === width &&
      strideAlong(position, down.name) === group;
    if (!isContiguous || !exceedsCaches(planning, buffer)) return [];
    // Row by row of the next run instead of all first rows of its groups, then all second ones.
    const next = add(position, int(rows * group));
    const along = add(multiply(axisIndex(across), int((rows - 1) * width)), multiply(row, int(width - group)));
    return [prefetchOf(planning, { buffer, position: add(next, along) }, { into: 'second' })];
  });
}
