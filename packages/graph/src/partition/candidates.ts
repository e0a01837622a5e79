// Partitions of a joint graph that are worth a closer look, from keeping all to keeping little. In: a joint graph. Out: lists of
// values that are kept; each partition follows from its list.
//
// - cut       the smallest cut, in bytes, where nothing heavy is computed again, and no reduction
// - cut at    the same, where heavy calls may be computed again too and every operation is worth so many bytes
// - knapsack  of what the cut keeps, no more than so many bytes: what costs most to compute again, for its size
// - segments  what crosses the borders of so many segments of the forward pass is kept, and what lies within is computed again
//             when the backward pass comes to the segment (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016);
//             the last ones may be kept whole
import { at } from '@tsinductor/base';
import type { NodeId } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { argumentsOf, rootsOf } from './joint-graph.ts';
import type { JointGraph } from './joint-graph.ts';
import { canRepeat, savedCut } from './saved-cut.ts';
import { costKindOf } from './cost-kind.ts';
import type { CostKind } from './cost-kind.ts';
import type { ValueCosts } from './value-costs.ts';

export interface RecomputeRules {
  /** Also cuts in which products, sorts, scans and random numbers have a price, and are computed again where memory is worth more. */
  readonly aggressive: boolean;
}

export interface Candidate {
  /** How it was found, for `explain`. */
  readonly origin: string;
  /** Nodes whose results are kept. */
  readonly saved: ReadonlySet<NodeId>;
}

/** How finely knapsacks and segments are tried. */
const CAPACITIES = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
const SEGMENTS = [2, 3, 4, 6, 8, 12];

/** Bytes that an operation is worth, where heavy calls have a price. */
const PRICES = [1 / 16, 1 / 64, 1 / 256, 1 / 1024];

/** A byte is cheaper to keep than so much time to compute it again costs: only to choose between cuts of equal size. */
const TIE = 1e-9;

export function candidatesFor(joint: JointGraph, costs: ValueCosts, rules: RecomputeRules): readonly Candidate[] {
  const kindOf = (id: NodeId): CostKind => {
    const node = at(joint.graph.nodes, id);
    return node.kind === 'call' ? costKindOf(node) : 'created';
  };
  const cutWith = (banned: readonly CostKind[], bytesPerOperation = TIE): ReadonlySet<NodeId> =>
    savedCut(joint, { costs, mayRepeat: (id) => !banned.includes(kindOf(id)), bytesPerOperation });
  const cut = cutWith(['heavy', 'reduction']);
  const items = [...cut].flatMap((id) => itemOf(joint, costs, id));
  const total = items.reduce((sum, { bytes }) => sum + bytes, 0);
  const knapsacks = CAPACITIES.map((share): Candidate => {
    const kept = keptWithin(items, share * total);
    const dropped = new Set(items.filter(({ id }) => !kept.has(id)).map(({ id }) => id));
    const saved = new Set([...cut].filter((id) => !dropped.has(id)));
    return { origin: `knapsack of ${String(100 * share)} %`, saved };
  });
  return [
    { origin: 'cut', saved: cut },
    ...(rules.aggressive ? PRICES : []).map((price) => ({
      origin: `cut at ${String(1 / price)} operations a byte`,
      saved: cutWith([], price),
    })),
    ...knapsacks,
    ...SEGMENTS.flatMap((count) => segmentsOf(joint, costs, { count, cut })),
  ];
}

/** A kept value that could be computed again. */
interface Item {
  readonly id: NodeId;
  readonly bytes: number;
  readonly time: number;
}

function itemOf(joint: JointGraph, costs: ValueCosts, id: NodeId): Item[] {
  const node = at(joint.graph.nodes, id);
  if (node.kind !== 'call' || !canRepeat(joint, id)) return [];
  const bytes = costs.bytes(node);
  return bytes === 0 ? [] : [{ id, bytes, time: costs.time(node) }];
}

/**
 * The items of at most `capacity` bytes that take longest to compute again: a 0-1 knapsack, by dynamic programming over bytes in
 * steps of a thousandth of all. Of equal ones those that come last are kept, as the backward pass needs these first.
 */
function keptWithin(items: readonly Item[], capacity: number): ReadonlySet<NodeId> {
  const step = Math.max(1, items.reduce((sum, { bytes }) => sum + bytes, 0) / 1000);
  const size = Math.floor(capacity / step);
  let best = new Float64Array(size + 1);
  const taken: Uint8Array[] = [];
  for (const { bytes, time } of items) {
    const units = Math.ceil(bytes / step);
    const next = best.slice();
    const takes = new Uint8Array(size + 1);
    for (let used = units; used <= size; used += 1) {
      const value = at(best, used - units) + time;
      if (value < at(best, used)) continue;
      next[used] = value;
      takes[used] = 1;
    }
    best = next;
    taken.push(takes);
  }
  const kept = new Set<NodeId>();
  let left = size;
  for (let index = items.length - 1; index >= 0; index -= 1) {
    const { id, bytes } = at(items, index);
    if (at(taken, index)[left] !== 1) continue;
    kept.add(id);
    left -= Math.ceil(bytes / step);
  }
  return kept;
}

interface Segmenting {
  readonly count: number;
  /** What is kept where nothing heavy is computed again. */
  readonly cut: ReadonlySet<NodeId>;
}

/** The forward pass in `count` segments of about equally many kept bytes: of these the first ones, all but the last, or all. */
function segmentsOf(joint: JointGraph, costs: ValueCosts, { count, cut }: Segmenting): readonly Candidate[] {
  const borders = bordersOf(joint, costs, { count, cut });
  if (borders.length + 1 < count) return [];
  const crossing = borders.map((border) => valuesAcross(joint, border));
  const places = placesOf(joint);
  const always = joint.graph.nodes.flatMap(({ id, kind }) => (kind !== 'call' || !canRepeat(joint, id) ? [id] : []));
  return [...new Set([Math.ceil(count / 2), count - 1, count])].map((repeated): Candidate => {
    const end = repeated === count ? Infinity : at(borders, repeated - 1);
    const later = [...cut].filter((id) => at(places, id) >= end);
    const saved = new Set([...always, ...crossing.slice(0, repeated).flat(), ...later]);
    return { origin: `${String(repeated)} of ${String(count)} segments computed again`, saved };
  });
}

/** Where segments begin: near every `count`th part of the kept bytes, at the number of the call at which least crosses. */
function bordersOf(joint: JointGraph, costs: ValueCosts, { count, cut }: Segmenting): readonly NodeId[] {
  const forward = joint.early.filter(({ origin }) => origin.pass !== 'residual');
  let sum = 0;
  const sums = forward.map((node) => (sum += cut.has(node.id) ? costs.bytes(node) : 0));
  if (sum === 0) return [];
  const bytesAt = bytesAcross(joint, costs, forward);
  const borders: NodeId[] = [];
  let from = 1;
  for (let part = 1; part < count; part += 1) {
    const [low, high] = [((part - 0.5) * sum) / count, ((part + 0.5) * sum) / count];
    let best: number | undefined;
    for (let place = from; place < forward.length && at(sums, place) <= high; place += 1) {
      if (at(sums, place) >= low && (best === undefined || at(bytesAt, place) < at(bytesAt, best))) best = place;
    }
    if (best === undefined) continue;
    borders.push(at(forward, best).id);
    from = best + 1;
  }
  return borders;
}

/** For each place in the forward pass, the bytes of what was made before and is used there or later in it. */
function bytesAcross(joint: JointGraph, costs: ValueCosts, forward: readonly CallNode[]): readonly number[] {
  const place = new Map(forward.map(({ id }, index) => [id, index]));
  const last = forward.map((_, index) => index);
  const roots = rootsOf(joint);
  forward.forEach((node, index) => {
    for (const { node: used } of argumentsOf(node)) {
      const made = place.get(at(roots, used));
      if (made !== undefined) last[made] = index;
    }
  });
  const changes = Array.from({ length: forward.length + 1 }, () => 0);
  forward.forEach((node, index) => {
    const bytes = costs.bytes(node);
    changes[index + 1] = (changes[index + 1] ?? 0) + bytes;
    const end = at(last, index) + 1;
    if (end < changes.length) changes[end] = at(changes, end) - bytes;
  });
  let live = 0;
  return changes.map((change) => (live += change));
}

/** The calls that are no views which later calls of the forward pass use across a border, directly or as a view. */
function valuesAcross(joint: JointGraph, border: NodeId): readonly NodeId[] {
  const roots = rootsOf(joint);
  const found = new Set<NodeId>();
  for (const node of joint.early) {
    if (node.id < border || node.origin.pass === 'residual' || costKindOf(node) === 'view') continue;
    for (const { node: used } of argumentsOf(node)) if (at(roots, used) < border) found.add(at(roots, used));
  }
  return [...found];
}

/** For each node where in the forward pass it belongs: its number, or for what the backward pass made, that of what it is made of. */
function placesOf({ graph: { nodes } }: JointGraph): readonly NodeId[] {
  const places: NodeId[] = [];
  for (const node of nodes) {
    const made = argumentsOf(node).map(({ node: used }) => at(places, used));
    places.push(node.origin.pass === 'residual' ? Math.max(0, ...made) : node.id);
  }
  return places;
}
