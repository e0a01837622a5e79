// Greedy fusion. Every node starts as a cluster of its own; then, in program order, each is joined with the clusters
// that make what it reads, the largest value first; then clusters that read the same buffer in the same way. A join has
// to be legal (no path from one to the other but the direct one, aligned loops, no value crossing iterations) and good.
import { at, dtypeInfo } from '@tsinductor/base';
import { int, multiply, printIndex } from '@tsinductor/ir';
import type { Axis, BufferId, Decision, Index, LoopNode } from '@tsinductor/ir';
import { joinClusters, refusal, singleCluster, success } from './cluster.ts';
import type { Cluster, Link, Outcome } from './cluster.ts';
import { isEmptyAxis } from './empty-nodes.ts';
import type { Facts } from './facts.ts';
import { buffersRead } from './node-access.ts';
import { unprofitable } from './profit.ts';
import { placeStages } from './stages.ts';

export interface Fused {
  readonly clusters: readonly Cluster[];
  readonly decisions: readonly Decision[];
}

/** How many partners are tried for each reader of a shared buffer. */
const MAX_PARTNERS = 8;

export function fuseNodes(
  nodes: readonly LoopNode[],
  facts: Facts,
  { maxNodes }: { readonly maxNodes: number },
): Fused {
  const fusion = new Fusion(nodes, facts, maxNodes);
  nodes.forEach((node, position) => {
    fusion.joinMakers(node, position);
  });
  for (const { id } of facts.program.buffers) fusion.joinReaders(id);
  return fusion.finish();
}

class Fusion {
  readonly #nodes: readonly LoopNode[];
  readonly #facts: Facts;
  readonly #maxNodes: number;
  readonly #clusters: Cluster[];
  /** By pairs of buffers' names: the last reason why they were not joined. */
  readonly #refusals = new Map<string, { readonly positions: readonly [number, number]; readonly reason: string }>();
  readonly #fused: { readonly position: number; readonly reason: string; readonly bytes: Index }[] = [];
  #axes = 0;

  constructor(nodes: readonly LoopNode[], facts: Facts, maxNodes: number) {
    this.#nodes = nodes;
    this.#facts = facts;
    this.#maxNodes = maxNodes;
    this.#clusters = nodes.map(singleCluster);
  }

  /** Joins the node's cluster with those that make what it reads. */
  joinMakers(node: LoopNode, position: number): void {
    const made = buffersRead(node).filter((buffer) => this.#facts.writers(buffer).length > 0);
    for (const buffer of this.#bySize(made)) {
      for (const writer of this.#facts.writers(buffer)) this.#try(writer, position, { kind: 'flow', buffer });
    }
  }

  /** Joins clusters that read a buffer in the same way. */
  joinReaders(buffer: BufferId): void {
    const readers = this.#facts.readers(buffer);
    readers.forEach((left, index) => {
      for (const right of readers.slice(index + 1, index + 1 + MAX_PARTNERS)) {
        if (this.#bothRead(left, right)) this.#try(left, right, { kind: 'share', buffer });
      }
    });
  }

  finish(): Fused {
    const clusters = [...new Set(this.#clusters)];
    const fused = this.#fused.map(({ position, reason, bytes }): Decision => {
      const nodes = at(this.#clusters, position).nodes.map(({ node }) => this.#facts.nameOf(node));
      return { kind: 'fused', nodes, reason, bytesSaved: printIndex(bytes) };
    });
    const rejected = [...this.#refusals.values()]
      .filter(({ positions: [left, right] }) => at(this.#clusters, left) !== at(this.#clusters, right))
      .map(({ positions, reason }): Decision => ({
        kind: 'rejected',
        nodes: positions.map((position) => this.#facts.nameOf(at(this.#nodes, position))),
        reason,
      }));
    return { clusters, decisions: [...fused, ...rejected] };
  }

  #bothRead(left: number, right: number): boolean {
    return at(this.#nodes, left).kind !== 'contract' && at(this.#nodes, right).kind !== 'contract';
  }

  #try(left: number, right: number, link: Link): void {
    const [a, b] = [at(this.#clusters, left), at(this.#clusters, right)];
    if (a === b) return;
    const joined = this.#join(a, b, link);
    const name = this.#facts.decl(link.buffer).name;
    if (!joined.ok) {
      // What a sibling could not share is not worth a line.
      if (link.kind === 'flow')
        this.#refusals.set(`${String(left)} ${String(right)}`, {
          positions: [left, right],
          reason: `${name}: ${joined.reason}`,
        });
      return;
    }
    for (const { position } of joined.value.nodes) this.#clusters[position] = joined.value;
    const reason = link.kind === 'flow' ? `${name} is used where it is made` : `${name} is read once for both`;
    this.#fused.push({ position: right, reason, bytes: this.#bytes(link.buffer) });
  }

  #join(a: Cluster, b: Cluster, link: Link): Outcome<Cluster> {
    const kinds = [...a.nodes, ...b.nodes].map(({ node }) => aloneBecause(node)).find((reason) => reason !== undefined);
    if (kinds !== undefined) return refusal(kinds);
    if (a.nodes.length + b.nodes.length > this.#maxNodes)
      return refusal(`the group would have more than ${String(this.#maxNodes)} nodes`);
    if (this.#hasPath(a, b, link.kind === 'share') || (link.kind === 'share' && this.#hasPath(b, a, true))) {
      return refusal('another group has to run between them');
    }
    const joined = joinClusters(a, b, { link, fresh: (extent) => this.#freshAxis(extent) });
    if (!joined.ok) return joined;
    const reason = unprofitable(joined.value, placeStages(joined.value));
    return reason === undefined ? success(joined.value) : refusal(reason);
  }

  /** Whether `to` depends on `from` through other clusters (or, with `direct`, at all). */
  #hasPath(from: Cluster, to: Cluster, direct: boolean): boolean {
    const seen = new Set<Cluster>([from]);
    const queue = this.#successors(from).filter((next) => direct || next !== to);
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (next === to) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push(...this.#successors(next));
    }
    return false;
  }

  #successors(cluster: Cluster): Cluster[] {
    const readers = cluster.nodes.flatMap(({ node }) => node.outs.flatMap((out) => this.#facts.readers(out)));
    return [...new Set(readers.map((reader) => at(this.#clusters, reader)))].filter((next) => next !== cluster);
  }

  /** Larger buffers first; those of unknown size before all, in the order given. */
  #bySize(buffers: readonly BufferId[]): readonly BufferId[] {
    const size = (buffer: BufferId): number => {
      const bytes = this.#bytes(buffer);
      return bytes.kind === 'int' ? bytes.value : Infinity;
    };
    return [...buffers].sort((a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)));
  }

  #bytes(buffer: BufferId): Index {
    const { size, dtype } = this.#facts.decl(buffer);
    return multiply(size, int(dtypeInfo[dtype].bytes));
  }

  #freshAxis(extent: Index): Axis {
    const name = `f${String(this.#axes)}`;
    this.#axes += 1;
    return { name, extent };
  }
}

/** Kinds of nodes that are kernels of their own. */
function aloneBecause(node: LoopNode): string | undefined {
  if (node.axes.some(isEmptyAxis)) return 'it is empty';
  switch (node.kind) {
    case 'map':
    case 'reduce':
      return undefined;
    case 'scan':
      return 'a scan is a kernel of its own';
    case 'scatter':
      return 'a scatter is a kernel of its own';
    case 'contract':
      return 'a matrix product is a kernel of its own';
  }
}
