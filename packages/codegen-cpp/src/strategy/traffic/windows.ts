// Rows of memory that a pass takes windows out of, as an image is halved: what it reads at the next point of the loop around it.
// In: the plan of a region. Out: for each of its vectors the lines that its windows lie in there, each once.
import { constantTerm, hasIndirect, strideAlong } from '@tsinductor/codegen';
import { add, int, printIndex, subtract } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import { memoryBound } from '../../machine/measure.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { furtherDown, isRowOf, loadsOf } from '../plan/rows.ts';
import type { Load } from '../plan/rows.ts';
import { isPass, passOutcome } from './passes.ts';
import { prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import type { TrafficRule } from './rule.ts';
import type { RegionTraffic } from './traffic.ts';

export const windowsRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'windows',
  doc: 'rows that windows are taken out of are read side by side, which the hardware prefetcher follows too late',
  measure: memoryBound('in memory', 'image normalise and halve'),
  applies: ({ choices }, region) =>
    choices.prefetchesWindows && isPass(region) && region.nodes.every(({ kind }) => kind === 'map'),
  plan: (planning, region, traffic) =>
    passOutcome(planning, region, {
      traffic,
      prefetches: windowsAhead(planning, region),
      how: 'a row of windows further on',
    }),
};

interface WindowLoad extends Load {
  readonly step: number;
}

function windowsAhead(planning: Planning, { tree, nodes, shared }: RegionPlan): readonly PlannedPrefetch[] {
  const { axis: along, lanes } = shared;
  const { windowStep, nextRow, memoryBytes } = planning.choices;
  const down = tree.loops.findLast(({ axis }) => axis.name !== along?.name)?.axis;
  if (along === undefined || down === undefined) return [];
  const loads = nodes.flatMap(loadsOf).flatMap(({ buffer, position }): readonly WindowLoad[] => {
    const step = strideAlong(position, along.name);
    const next = furtherDown(position, down, 1);
    if (next === undefined || step === undefined || step <= 1 || step > windowStep || hasIndirect(position)) return [];
    const isLarge = isRowOf(planning, buffer, { axis: along, ...nextRow, bufferBytes: memoryBytes });
    return isLarge ? [{ buffer, position: next, step }] : [];
  });
  return firsts(loads).flatMap(({ buffer, position, step }) => {
    const line = lineBytes / planning.memory.bytesOf(buffer);
    const count = Math.ceil((lanes * step) / line);
    return Array.from({ length: count }, (_, place) =>
      prefetchOf(planning, { buffer, position: add(position, int(place * line)) }),
    );
  });
}

/** Of loads that lie between one another the first. */
function firsts(loads: readonly WindowLoad[]): readonly WindowLoad[] {
  const inOrder = [...loads].sort((a, b) => constantTerm(a.position) - constantTerm(b.position));
  const last = new Map<string, number>();
  return inOrder.filter(({ buffer, position, step }) => {
    const offset = constantTerm(position);
    const rest = `${String(buffer)} ${String(step)} ${printIndex(subtract(position, int(offset)))}`;
    if (offset < (last.get(rest) ?? -Infinity) + step) return false;
    last.set(rest, offset);
    return true;
  });
}
