// Whether one cluster has to run after another: the question behind every join. Clusters change, what the nodes of a program
// read does not. So most answers come from a forest over the nodes, made once: the parent of a node is the last one that
// makes something it reads, and where a node stands below another there is a path. Only what the forest does not show is
// searched for among the clusters, no further down the program than a way back up can begin.
//
// In: the program's facts, which cluster a node is in now, and each join. Out: whether there is a path.
import { at } from '@tsinductor/base';
import type { LoopNode } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';

interface Dependences {
  readonly nodes: readonly LoopNode[];
  readonly facts: Facts;
  /** The cluster that holds the node at a position. */
  readonly clusterAt: (position: number) => Cluster;
}

/** From where to where; with `direct` a path may have no cluster between its ends. */
interface Ends {
  readonly from: Cluster;
  readonly to: Cluster;
  readonly direct: boolean;
}

export class DependencePaths {
  readonly #facts: Facts;
  readonly #clusterAt: Dependences['clusterAt'];
  /** For each node its number in a walk over the forest, parents first, and the last number below it. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  /** By cluster, the positions that read what it makes: they are the same as long as it exists. */
  readonly #readers = new WeakMap<Cluster, readonly number[]>();
  readonly #ends: FurthestEnds;

  constructor({ nodes, facts, clusterAt }: Dependences) {
    this.#facts = facts;
    this.#clusterAt = clusterAt;
    [this.#first, this.#last] = numberForest(parentsOf(nodes, facts));
    this.#ends = new FurthestEnds(nodes.length);
  }

  /** Takes note of a cluster that others were joined to. */
  add(joined: Cluster): void {
    this.#ends.add(at(joined.nodes, 0).position, lastOf(joined));
  }

  /** Whether `to` depends on `from` through other clusters (or, with `direct`, at all). */
  has({ from, to, direct }: Ends): boolean {
    if (direct && this.#isBelow(from, to)) return true;
    const last = this.#ends.by(lastOf(to));
    const seen = new Set<Cluster>([from]);
    const queue = this.#successors(from, last).filter((next) => direct || next !== to);
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (next === to) return true;
      if (seen.has(next)) continue;
      if (this.#isBelow(next, to)) return true;
      seen.add(next);
      queue.push(...this.#successors(next, last));
    }
    return false;
  }

  /** Whether a node of `to` stands below one of `from` in the forest: then a path leads there. */
  #isBelow(from: Cluster, to: Cluster): boolean {
    return from.nodes.some(({ position: above }) =>
      to.nodes.some(({ position }) => {
        const number = at(this.#first, position);
        return number > at(this.#first, above) && number <= at(this.#last, above);
      }),
    );
  }

  /** Clusters that read what `cluster` makes and begin by `last`. */
  #successors(cluster: Cluster, last: number): Cluster[] {
    const clusters = new Set<Cluster>();
    for (const reader of this.#readersOf(cluster)) {
      const next = this.#clusterAt(reader);
      if (next !== cluster && at(next.nodes, 0).position <= last) clusters.add(next);
    }
    return [...clusters];
  }

  #readersOf(cluster: Cluster): readonly number[] {
    const known = this.#readers.get(cluster);
    if (known !== undefined) return known;
    const readers = cluster.nodes.flatMap(({ node }) => node.outs.flatMap((out) => this.#facts.followers(out)));
    this.#readers.set(cluster, readers);
    return readers;
  }
}

const lastOf = ({ nodes }: Cluster): number => at(nodes, nodes.length - 1).position;

/**
 * How far down the program clusters reach that begin by a position. A path that goes beyond that position comes back only through
 * one of them, so what begins behind their ends is on no path to it. A Fenwick tree of maxima.
 */
class FurthestEnds {
  readonly #ends: Int32Array;

  constructor(positions: number) {
    // Nodes by themselves end where they begin.
    this.#ends = Int32Array.from({ length: positions + 1 }, (_, index) => index - 1);
  }

  add(begin: number, end: number): void {
    for (let index = begin + 1; index < this.#ends.length; index += index & -index)
      this.#ends[index] = Math.max(at(this.#ends, index), end);
  }

  by(position: number): number {
    let furthest = position;
    for (let index = position + 1; index > 0; index -= index & -index)
      furthest = Math.max(furthest, at(this.#ends, index));
    return furthest;
  }
}

/** For each node the last earlier one that makes something it reads or waits for; -1 where there is none. */
function parentsOf(nodes: readonly LoopNode[], facts: Facts): Int32Array {
  const parents = new Int32Array(nodes.length).fill(-1);
  nodes.forEach(({ outs }, position) => {
    for (const out of outs)
      for (const follower of facts.followers(out)) if (follower > position) parents[follower] = position;
  });
  return parents;
}

/** Numbers such that those below a node follow its own; parents stand before their children. */
function numberForest(parents: Int32Array): [Int32Array, Int32Array] {
  const sizes = new Int32Array(parents.length).fill(1);
  for (let position = parents.length - 1; position >= 0; position -= 1) {
    const parent = at(parents, position);
    if (parent >= 0) sizes[parent] = at(sizes, parent) + at(sizes, position);
  }
  const first = new Int32Array(parents.length);
  /** The next free number below each node. */
  const free = new Int32Array(parents.length);
  let roots = 0;
  parents.forEach((parent, position) => {
    const own = parent < 0 ? roots : at(free, parent);
    const next = own + at(sizes, position);
    if (parent < 0) roots = next;
    else free[parent] = next;
    first[position] = own;
    free[position] = own + 1;
  });
  const last = first.map((own, position) => own + at(sizes, position) - 1);
  return [first, last];
}
