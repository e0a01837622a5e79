// Combinations of clusters in an order that respects data dependence: of those that can run, the one whose first node
// came first. Linear but for a heap's logarithm.
import { at, invariant } from '@tsinductor/base';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { buffersRead } from './node-access.ts';
import { PriorityQueue } from './priority-queue.ts';

/** What runs as one kernel. */
export type Combination = readonly Cluster[];

export function orderCombinations(combinations: readonly Combination[], facts: Facts): readonly Combination[] {
  const owner = ownersOf(combinations);
  const waits = new Map(
    combinations.map((all) => [all, new Set(all.flatMap((one) => [...makersOf(one, owner, facts)]))]),
  );
  const readers = new Map<Combination, Combination[]>();
  for (const [all, makers] of waits) {
    makers.delete(all);
    for (const maker of makers) readers.set(maker, [...(readers.get(maker) ?? []), all]);
  }
  const ready = new PriorityQueue<Combination>((a, b) => firstOf(a) - firstOf(b));
  for (const [all, makers] of waits) if (makers.size === 0) ready.push(all);
  const ordered: Combination[] = [];
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    ordered.push(next);
    for (const reader of readers.get(next) ?? []) {
      const left = waits.get(reader);
      if (left?.delete(next) === true && left.size === 0) ready.push(reader);
    }
  }
  invariant(ordered.length === combinations.length, 'fusion made groups that wait for each other');
  return ordered;
}

const firstOf = (all: Combination): number => at(at(all, 0).nodes, 0).position;

/** The combination of each node, by the node's place in the program. */
function ownersOf(combinations: readonly Combination[]): ReadonlyMap<number, Combination> {
  return new Map(
    combinations.flatMap((all) =>
      all.flatMap(({ nodes }) => nodes.map(({ position }): readonly [number, Combination] => [position, all])),
    ),
  );
}

/** The owners of the nodes that make what a cluster reads, but for the cluster's own. */
export function makersOf<Owner>(cluster: Cluster, owner: ReadonlyMap<number, Owner>, facts: Facts): Set<Owner> {
  const own = owner.get(at(cluster.nodes, 0).position);
  const makers = new Set<Owner>();
  for (const { node } of cluster.nodes) {
    for (const buffer of buffersRead(node)) {
      for (const writer of facts.writers(buffer)) {
        const maker = owner.get(writer);
        if (maker !== undefined && maker !== own) makers.add(maker);
      }
    }
  }
  return makers;
}
