// Clusters in an order that respects data dependence: of those that can run, the one whose first node came first.
import { at, invariant } from '@tsinductor/base';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { buffersRead } from './node-access.ts';

export function orderClusters(clusters: readonly Cluster[], facts: Facts): readonly Cluster[] {
  const owner = new Map(
    clusters.flatMap((cluster) => cluster.nodes.map(({ position }) => [position, cluster] as const)),
  );
  const waits = new Map(clusters.map((cluster) => [cluster, makersOf(cluster, owner, facts)]));
  const readers = new Map<Cluster, Cluster[]>();
  for (const [cluster, makers] of waits)
    for (const maker of makers) readers.set(maker, [...(readers.get(maker) ?? []), cluster]);
  const first = (cluster: Cluster): number => at(cluster.nodes, 0).position;
  const ready = clusters.filter((cluster) => waits.get(cluster)?.size === 0);
  const ordered: Cluster[] = [];
  while (ready.length > 0) {
    ready.sort((a, b) => first(b) - first(a));
    const next = ready.pop();
    if (next === undefined) break;
    ordered.push(next);
    for (const reader of readers.get(next) ?? []) {
      const left = waits.get(reader);
      if (left?.delete(next) === true && left.size === 0) ready.push(reader);
    }
  }
  invariant(ordered.length === clusters.length, 'fusion made groups that wait for each other');
  return ordered;
}

function makersOf(cluster: Cluster, owner: ReadonlyMap<number, Cluster>, facts: Facts): Set<Cluster> {
  const makers = new Set<Cluster>();
  for (const { node } of cluster.nodes) {
    for (const buffer of buffersRead(node)) {
      for (const writer of facts.writers(buffer)) {
        const maker = owner.get(writer);
        if (maker !== undefined && maker !== cluster) makers.add(maker);
      }
    }
  }
  return makers;
}
