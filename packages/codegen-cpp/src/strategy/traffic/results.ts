// How whole vectors of results are written that the caches will not have in the end. In: the plan of a region. Out: for each such
// result, whether its lines are prefetched a while before they are written, or its stores are non-temporal.
//
// A core has few places for lines on their way to or from memory, and on some processors a non-temporal store holds one until memory has
// taken the line. Its second-level cache has many more, so few cores write faster by way of it, though memory then reads every
// line before it is written. That needs loops that write in the order of memory, or nearly.
import { hasIndirect, isLeaf, staticValue, strideAlong } from '@tsinductor/codegen';
import { bodiesOf, coefficientOf } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree } from '@tsinductor/ir';
import { registerModels } from '../../machine/isa.ts';
import { memoryBound } from '../../machine/measure.ts';
import { isNonTemporal, nodesOf, sizeInBytes } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import { leavesOf } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { loadsOf } from '../plan/rows.ts';
import { namesOf } from './rule.ts';
import type { TrafficRule } from './rule.ts';
import type { RegionTraffic, ResultWrite } from './traffic.ts';

/** Whether the lines of large results are prefetched before they are written, and not written by non-temporal stores. */
export const prefetchesResults = ({
  threads,
  choices,
}: Pick<Planning, 'choices'> & { readonly threads: number }): boolean =>
  choices.prefetchesResults && threads <= choices.resultPrefetch.mostThreads;

/** Results that a region writes, each with the way in which it does. */
const withResults = (traffic: RegionTraffic, results: readonly BufferId[], write: ResultWrite): RegionTraffic => ({
  ...traffic,
  results: new Map([...traffic.results, ...results.map((each) => [each, write] as const)]),
});

export const prefetchedResultsRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'prefetched results',
  doc: 'few cores write faster by way of the caches, where a non-temporal store holds up a core until memory has the line',
  measure: memoryBound('in memory', 'gelu(x*s+b)*sigmoid(z)', 'softmax', 'gather of rows'),
  applies: (planning, { tiles, columns }) =>
    prefetchesResults({ ...planning, threads: planning.target.threads }) &&
    tiles === undefined &&
    columns === undefined,
  plan: (planning, region, traffic) => {
    const { resultPrefetch, memoryBytes } = planning.choices;
    const { tree, nodes } = region;
    const isResult = (buffer: BufferId): boolean => bytesOf(planning, [buffer]) >= memoryBytes;
    const results = nodes.flatMap((node) => node.outs).filter(isResult);
    const loaded = nodes.flatMap(loadsOf).map(({ buffer }) => buffer);
    if (bytesOf(planning, loaded) > resultPrefetch.mostReads * bytesOf(planning, results)) return undefined;
    const prefetched = leavesOf(tree).flatMap((leaf) => writtenInOrder(planning, leaf, region).filter(isResult));
    if (prefetched.length === 0) return undefined;
    const { distance } = resultPrefetch;
    return {
      traffic: withResults(traffic, prefetched, { kind: 'prefetched', distance }),
      what: `${namesOf(planning, prefetched)}: written into lines that are prefetched`,
    };
  },
};

/** Bytes of the buffers in memory among `buffers`, of those whose size is known. */
const bytesOf = ({ memory }: Planning, buffers: readonly BufferId[]): number =>
  [...new Set(buffers)].reduce(
    (sum, buffer) => sum + (memory.isVirtual(buffer) ? 0 : sizeInBytes(memory.decl(buffer))),
    0,
  );

/** What a leaf writes in the order of memory, or nearly. */
function writtenInOrder(planning: Planning, leaf: LoopTree, region: RegionPlan): readonly BufferId[] {
  const nodes = nodesOf(planning, leaf);
  const lane = region.shared.axis ?? region.below.get(leaf)?.shared.axis;
  if (lane === undefined) return [];
  const others = leaf === region.tree ? region.order : [...region.tree.loops, ...leaf.loops];
  const reduced = isLeaf(region.tree) ? leaf.loops.filter(({ role }) => role === 'reduction') : [];
  const loops = [...others, ...reduced].map(({ axis }) => axis).filter(({ name }) => name !== lane.name);
  const axes = [lane, ...loops.toReversed()];
  const { distance } = planning.choices.resultPrefetch;
  return nodes.flatMap((node) =>
    node.outs.filter((buffer, slot) => {
      const position = node.writes[slot];
      const bytes = planning.memory.bytesOf(buffer);
      return position !== undefined && comesSoon(position, axes, { bytes, distance });
    }),
  );
}

interface Reaching {
  readonly bytes: number;
  readonly distance: number;
}

/** Whether loops, the innermost first, soon come to what they prefetch. */
function comesSoon(position: Index, [lane, ...others]: readonly Axis[], { bytes, distance }: Reaching): boolean {
  if (lane === undefined || hasIndirect(position) || strideAlong(position, lane.name) !== 1) return false;
  let reach = bytes * (staticValue(lane.extent) ?? 0);
  for (const axis of others) {
    if (reach >= distance) return true;
    const step = bytes * strideOf(position, axis);
    if (step === 0 || step > distance) return false;
    reach = step * (staticValue(axis.extent) ?? 0);
  }
  return reach >= distance;
}

function strideOf(position: Index, axis: Axis): number {
  const step = coefficientOf(position, axis);
  return step === undefined ? Infinity : (staticValue(step) ?? Infinity);
}

/**
 * Parts of a line that are written by non-temporal stores with work between them may each go to memory alone; some processors combine
 * halves that follow one another, but not in tiles, whose rows are written in turn.
 */
export const nonTemporalResultsRule: TrafficRule<Pick<RegionPlan, 'nodes' | 'tiles'>, RegionTraffic> = {
  name: 'non-temporal results',
  doc: 'the caches will not have the result in the end, and memory need not read what is written as a whole',
  measure: memoryBound(
    'in memory',
    'gelu(x*s+b)*sigmoid(z)',
    'softmax',
    'cat along columns',
    'bf16 sum and scale',
    'image normalise and halve',
  ),
  applies: ({ target }) => registerModels[target.isa].vectorBytes > 0,
  plan: (planning, { nodes, tiles }, traffic) => {
    const outs = nodes.flatMap((node) => node.outs);
    const results = outs.filter((out) => !traffic.results.has(out) && outgrowsCaches(planning, out));
    if (results.length === 0) return undefined;
    const leastBytes = leastStore(planning, tiles === undefined ? 'rows' : 'tiles');
    return {
      traffic: withResults(traffic, results, { kind: 'non-temporal', leastBytes }),
      what: `${namesOf(planning, results)}: written by non-temporal stores`,
    };
  },
};

/** Bytes of a non-temporal store at least. */
function leastStore({ target, choices }: Planning, written: 'rows' | 'tiles'): number {
  const { vectorBytes } = registerModels[target.isa];
  return written === 'tiles' ? vectorBytes : Math.min(vectorBytes, choices.leastNonTemporalStore);
}

/**
 * Whether the caches will not have a result in the end: it is far larger than they are, or large in a kernel that reads whole
 * arrays of far more in all.
 */
function outgrowsCaches(planning: Planning, buffer: BufferId): boolean {
  const { memory, choices, group } = planning;
  if (isNonTemporal(planning, buffer)) return true;
  const { bytes, moved } = choices.nonTemporalSmaller;
  if (sizeInBytes(memory.decl(buffer)) < bytes) return false;
  if (group.reads.includes(buffer) || group.nodes.some(choosesPlaces)) return false;
  const all = [...new Set([...group.reads, ...group.writes])].filter((each) => !memory.isVirtual(each));
  return all.reduce((sum, each) => sum + sizeInBytes(memory.decl(each)), 0) >= moved;
}

/** Whether loaded values choose what a node reads: it may be far less than the array. */
const choosesPlaces = (node: LoopNode): boolean =>
  bodiesOf(node).some(({ nodes }) => nodes.some((one) => one.kind === 'load' && hasIndirect(one.at)));
