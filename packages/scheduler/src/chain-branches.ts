// What hangs together with the rows of a product: the loops over rows that they go through, the other products that these read, and the
// products of what comes of them. In: clusters, and one of them to begin with. Out: the branches of a chain, if there are any
// (see branched-chains.ts).
import { at } from '@tsinductor/base';
import { equal } from '@tsinductor/ir';
import type { BufferId, Index } from '@tsinductor/ir';
import { productOf } from './chained-product.ts';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { bodyReads } from './node-access.ts';

/** Products whose rows meet in loops over rows, and those of what comes of them; each in program order. */
export interface Branches {
  readonly firsts: readonly Cluster[];
  readonly middles: readonly Cluster[];
  readonly lasts: readonly Cluster[];
  /** What has as many elements as the first of them makes: rows. */
  readonly rows: ReadonlySet<BufferId>;
}

interface Looking {
  readonly facts: Facts;
  readonly clusterAt: (position: number) => Cluster | undefined;
  /** Whether other loops that make rows which these read belong to the chain as well. */
  readonly through: boolean;
}

type IsRow = (buffer: BufferId) => boolean;

/** What hangs together with rows of the product of `seed`, which has so many elements. */
export function branchesFrom(seed: Cluster, size: Index, looking: Looking): Branches {
  const { facts, clusterAt } = looking;
  const [firsts, middles, lasts] = [new Set([seed]), new Set<Cluster>(), new Set<Cluster>()];
  const rows = new Set<BufferId>();
  const isKnown = (cluster: Cluster): boolean => [firsts, middles, lasts].some((all) => all.has(cluster));
  const isRow: IsRow = (buffer) => {
    const { role, size: own } = facts.decl(buffer);
    return role === 'temporary' && equal(own, size) && facts.writers(buffer).length === 1;
  };
  const open = [seed];
  const take = (into: Set<Cluster>, cluster: Cluster): void => {
    into.add(cluster);
    if (into !== lasts) open.push(cluster);
  };
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const buffer of next.nodes.flatMap(({ node }) => node.outs).filter(isRow)) {
      rows.add(buffer);
      for (const reader of facts.readers(buffer).flatMap((position) => clusterAt(position) ?? [])) {
        const form = isKnown(reader) ? undefined : formOf(reader, buffer);
        if (form !== undefined) take({ firsts, middles, lasts }[form], reader);
      }
    }
    for (const maker of makersFor(next, looking, isRow)) {
      if (isKnown(maker)) continue;
      if (productOf(maker) !== undefined) take(firsts, maker);
      else if (looking.through && isMadeOfProducts(maker, looking, isRow)) take(middles, maker);
    }
  }
  return { firsts: inOrder(firsts), middles: inOrder(middles), lasts: inOrder(lasts), rows };
}

/** As what a cluster that reads rows belongs to the chain: a product of them is one of the last, others are loops over rows. */
function formOf(reader: Cluster, buffer: BufferId): 'firsts' | 'middles' | 'lasts' | undefined {
  const product = productOf(reader);
  if (product !== undefined)
    return [product.a, product.b].some((operand) => operand.buffer === buffer) ? 'lasts' : 'firsts';
  return reader.nodes.every(({ node: { kind } }) => kind === 'map' || kind === 'reduce') ? 'middles' : undefined;
}

/** What makes rows that a cluster reads. */
function makersFor({ nodes }: Cluster, { facts, clusterAt }: Looking, isRow: IsRow): readonly Cluster[] {
  const read = new Set(nodes.flatMap(({ node }) => bodyReads(node).map(({ buffer }) => buffer)));
  return [...read].filter(isRow).flatMap((buffer) => clusterAt(at(facts.writers(buffer), 0)) ?? []);
}

/** Whether loops over rows come down to rows of a product: others, as those that draw a mask, only leave what is read. */
function isMadeOfProducts(cluster: Cluster, looking: Looking, isRow: IsRow): boolean {
  const seen = new Set([cluster]);
  const open = [cluster];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (productOf(next) !== undefined) return true;
    for (const maker of makersFor(next, looking, isRow)) {
      if (seen.has(maker)) continue;
      seen.add(maker);
      open.push(maker);
    }
  }
  return false;
}

const inOrder = (all: ReadonlySet<Cluster>): readonly Cluster[] =>
  [...all].sort((a, b) => at(a.nodes, 0).position - at(b.nodes, 0).position);
