// Combinations of clusters in an order that respects data dependence: of those that can run, the one whose first node
// came first. Linear but for a heap's logarithm.
import { at, invariant } from '@tsinductor/base';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { PriorityQueue } from './priority-queue.ts';

/** What runs as one kernel. */
type Combination = readonly Cluster[];

export function orderCombinations(combinations: readonly Combination[], facts: Facts): readonly Combination[] {
  const owner = ownersOf(combinations);
  const waits = new Map(combinations.map((all) => [all, makersOf(all, owner, facts)]));
  const readers = new Map<Combination, Combination[]>();
  for (const [all, makers] of waits) {
    for (const maker of makers) {
      const known = readers.get(maker);
      if (known === undefined) readers.set(maker, [all]);
      else known.push(all);
    }
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

/** The owners of the nodes that make what clusters read or wait for, but for that of the clusters themselves. */
export function makersOf<Owner>(all: Combination, owner: ReadonlyMap<number, Owner>, facts: Facts): Set<Owner> {
  const own = owner.get(firstOf(all));
  const makers = new Set<Owner>();
  for (const { nodes } of all) {
    for (const { position } of nodes) {
      for (const buffer of facts.needs(position)) addOwners(facts.writers(buffer), owner, makers);
    }
  }
  if (own !== undefined) makers.delete(own);
  return makers;
}

function addOwners<Owner>(positions: readonly number[], owner: ReadonlyMap<number, Owner>, owners: Set<Owner>): void {
  for (const position of positions) {
    const one = owner.get(position);
    if (one !== undefined) owners.add(one);
  }
}
