// The rules of memory traffic, in the order in which they are run. In: the plan of a region. Out: its traffic.
import type { TrafficRuleName } from '@tsinductor/config';
import type { BenchRow } from '../../machine/measure.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { adjacentRowsRule } from './adjacent-rows.ts';
import { columnRowsRule } from './column-rows.ts';
import { foldRules, planFolds } from './folds.ts';
import { nextRowRule } from './next-row.ts';
import { linesFurtherOnRule, longRowsRule, rowsBelowRule, rowsFurtherOnRule } from './passes.ts';
import { nonTemporalResultsRule, prefetchedResultsRule } from './results.ts';
import { rowRunsRule } from './row-runs.ts';
import { runRules } from './rule.ts';
import type { TrafficRule } from './rule.ts';
import { scatterRules } from './scatter.ts';
import { chunkRules } from './split.ts';
import { tilesRule } from './tiles.ts';
import { noTraffic } from './traffic.ts';
import type { RegionTraffic } from './traffic.ts';
import { windowsRule } from './windows.ts';

const regionRules: readonly TrafficRule<RegionPlan, RegionTraffic>[] = [
  nextRowRule,
  rowsBelowRule,
  linesFurtherOnRule,
  longRowsRule,
  rowsFurtherOnRule,
  windowsRule,
  rowRunsRule,
  adjacentRowsRule,
  columnRowsRule,
  tilesRule,
  prefetchedResultsRule,
  nonTemporalResultsRule,
];

export function planTraffic(planning: Planning, region: RegionPlan): RegionTraffic {
  const traffic = runRules(planning, regionRules, { region, none: noTraffic });
  const folds = planFolds(planning, region, traffic);
  const decisions = [...traffic.decisions, ...[...folds.values()].flatMap((fold) => fold.decisions)];
  return { ...traffic, folds, decisions };
}

/** What holds of results wherever in a kernel they are written, if no region says another thing. */
export const planKernelTraffic = (planning: Planning): RegionTraffic =>
  runRules(planning, [nonTemporalResultsRule], {
    region: { nodes: planning.group.nodes, tiles: undefined },
    none: noTraffic,
  });

const everyRule: readonly Pick<TrafficRule<never, never>, 'name' | 'doc' | 'measure'>[] = [
  ...regionRules,
  ...foldRules,
  ...scatterRules,
  ...chunkRules,
];

/** Every rule by its name: why it is one, and the rows that show it. Those of one name are one rule in several places. */
export const trafficRules: readonly {
  readonly name: TrafficRuleName;
  readonly doc: string;
  readonly measure: readonly BenchRow[];
}[] = everyRule
  .filter(({ name }, place) => everyRule.findIndex((other) => other.name === name) === place)
  .map(({ name, doc }) => ({
    name,
    doc,
    measure: [...new Set(everyRule.flatMap((rule) => (rule.name === name ? rule.measure : [])))],
  }));
