// Two products with loops over rows between them, as in attention: scores, their softmax, and the weighted sum of values. Each row of
// the second product needs one row of the first, so all three can share the loops over rows: what lies between the products is then a
// few rows at a time, which stay in a cache, and never a whole matrix of scores. (FlashAttention does the same for the memory of GPUs,
// https://arxiv.org/abs/2205.14135; where whole rows fit into a cache, no rescaling of partial sums is needed.)
//
// Nothing but elements may be between them too, as between the layers of a small perceptron.
//
// In: clusters. Out: the same, some of them two or three in one, whose outer loops are the batch and the rows of the products. A target that
// has no strategy for such clusters is given none, and may say of each why it has none for this one.
import { at, dtypeInfo } from '@tsinductor/base';
import { add, int, multiply, printIndex } from '@tsinductor/ir';
import type { Axis, BufferId, Decision, LoopNode } from '@tsinductor/ir';
import type { FreshAxis } from './align.ts';
import { intoLoopsOf, isWorthwhile, productOf, rowAxisOf, withRowsOutside } from './chained-product.ts';
import type { ChainedNodes, ChainLimits, Contract } from './chained-product.ts';
import { joinClusters } from './cluster.ts';
import type { Cluster, Joining, Member } from './cluster.ts';
import type { Facts } from './facts.ts';
import { isUnit } from './node-access.ts';

export interface Chained {
  readonly clusters: readonly Cluster[];
  readonly decisions: readonly Decision[];
}

export interface Chaining extends Pick<Joining, 'maySplit' | 'mayReorder'> {
  /** Which are chained: products with loops over rows between them, and those with elements between them at most. */
  readonly throughRows: boolean;
  readonly throughElements: boolean;
  /** The fewest bytes of what the first product makes, where they are known, for those with loops over rows between them. */
  readonly leastBytes: number;
  readonly limits: ChainLimits;
}

export function chainProducts(clusters: readonly Cluster[], facts: Facts, chaining: Chaining): Chained {
  const { maySplit, mayReorder, limits } = chaining;
  let axes = 0;
  const fresh: FreshAxis = (extent) => ({ name: `c${String(axes++)}`, extent });
  const current = new Map<number, Cluster>();
  for (const cluster of clusters) for (const { position } of cluster.nodes) current.set(position, cluster);
  const decisions: Decision[] = [];
  for (const last of clusters) {
    const links = linksOf(last, { facts, clusterAt: (position) => current.get(position) });
    if (links === undefined || !isAskedFor(links, facts, chaining)) continue;
    const chained = chain(links, facts, { fresh, maySplit, mayReorder, limits });
    if (chained === undefined) continue;
    const refused = unprofitable(links, facts) ?? limits.refuse?.(nodesOf(chained, facts));
    if (refused !== undefined) {
      decisions.push({ kind: 'rejected', nodes: namesOf(chained, facts), reason: `not one kernel: ${refused}` });
      continue;
    }
    for (const { position } of chained.nodes) current.set(position, chained);
    decisions.push(decisionOf(links, chained, facts));
  }
  return {
    clusters: [...new Set(clusters.flatMap(({ nodes }) => current.get(at(nodes, 0).position) ?? []))],
    decisions,
  };
}

const namesOf = ({ nodes }: Cluster, facts: Facts): readonly string[] => nodes.map(({ node }) => facts.nameOf(node));

function nodesOf({ nodes, outer }: Cluster, facts: Facts): ChainedNodes {
  const own = new Set(nodes.map(({ position }) => position));
  const isStored = (buffer: BufferId): boolean =>
    facts.decl(buffer).role !== 'temporary' || facts.followers(buffer).some((follower) => !own.has(follower));
  return { nodes: nodes.map(({ node }) => node), outer, decl: (buffer) => facts.decl(buffer), isStored };
}

/** Two products and what is between them. */
interface Links {
  readonly first: Cluster;
  /** Undefined: the last reads what the first makes. */
  readonly middle: Cluster | undefined;
  readonly last: Cluster;
  /** What passes from the first to the middle, and from there to the last, as its first operand. */
  readonly scores: BufferId;
  readonly weights: BufferId;
}

function isAskedFor({ middle, scores }: Links, facts: Facts, chaining: Chaining): boolean {
  const bytes = bytesOf(scores, facts);
  if (middle === undefined) return chaining.throughElements && bytes !== undefined;
  const { leastBytes, throughRows } = chaining;
  return throughRows && (bytes === undefined || bytes >= leastBytes);
}

/**
 * Why products with elements between them had better be kernels of their own; undefined: one is as fast. Two write what is between them and
 * read it, one reads the second operands again for every block of rows.
 */
function unprofitable({ middle, first, last, scores }: Links, facts: Facts): string | undefined {
  if (middle !== undefined) return undefined;
  const [made, ...read] = [scores, ...[first, last].flatMap((one) => productOf(one)?.b.buffer ?? [])].map(
    (buffer) => bytesOf(buffer, facts) ?? Infinity,
  );
  const between = 2 * (made ?? 0);
  const again = read.reduce((sum, bytes) => sum + bytes, 0);
  return between < again
    ? `between them are ${String(between)} bytes to write and read, and every block of rows would read ${String(again)} again`
    : undefined;
}

/** Undefined where a call says how many. */
function bytesOf(buffer: BufferId, facts: Facts): number | undefined {
  const { size, dtype } = facts.decl(buffer);
  return size.kind === 'int' ? size.value * dtypeInfo[dtype].bytes : undefined;
}

interface Looking {
  readonly facts: Facts;
  readonly clusterAt: (position: number) => Cluster | undefined;
}

function linksOf(last: Cluster, looking: Looking): Links | undefined {
  const product = productOf(last);
  if (product === undefined || product.a.element !== undefined) return undefined;
  const weights = product.a.buffer;
  const maker = onlyWriter(weights, looking);
  if (maker === undefined || maker === last) return undefined;
  const links =
    productOf(maker) === undefined
      ? throughRows(maker, { last, weights }, looking)
      : { first: maker, middle: undefined, last, scores: weights, weights };
  return links && isAlike(links) && isPrivate(links, looking.facts) ? links : undefined;
}

/** What makes the weights of the last product as loops over the rows of another. */
function throughRows(
  middle: Cluster,
  { last, weights }: Pick<Links, 'last' | 'weights'>,
  looking: Looking,
): Links | undefined {
  if (!middle.nodes.every(({ node }) => isRowLoop(node))) return undefined;
  const read = [...new Set(middle.nodes.flatMap(({ position }) => looking.facts.reads(position)))];
  const links = read.flatMap((scores): readonly Links[] => {
    const first = onlyWriter(scores, looking);
    const isOther = first !== undefined && first !== middle && first !== last;
    return isOther && productOf(first) !== undefined ? [{ first, middle, last, scores, weights }] : [];
  });
  return links[0];
}

const isRowLoop = ({ kind }: LoopNode): boolean => kind === 'map' || kind === 'reduce';

function onlyWriter(buffer: BufferId, { facts, clusterAt }: Looking): Cluster | undefined {
  const [writer, ...others] = facts.writers(buffer);
  return writer === undefined || others.length > 0 ? undefined : clusterAt(writer);
}

/** Whether all of them, or none, compute again what was computed before. */
const isAlike = ({ first, middle = first, last }: Links): boolean =>
  new Set([first, middle, last].map(({ nodes }) => at(nodes, 0).node.again === undefined)).size === 1;

/** Whether nobody else reads what the first two make, so nothing has to run between the three; and rows of both are no results. */
function isPrivate({ first, middle, last, scores, weights }: Links, facts: Facts): boolean {
  const made = middle === undefined ? [first] : [first, middle];
  const own = new Set([...made, last].flatMap(({ nodes }) => nodes.map(({ position }) => position)));
  return made.every(({ nodes }) =>
    nodes.every(({ node }) =>
      node.outs.every(
        (out) =>
          (facts.decl(out).role === 'temporary' || (out !== scores && out !== weights)) &&
          facts.followers(out).every((follower) => own.has(follower)),
      ),
    ),
  );
}

/** The three as one cluster, where it is worth its while and their loops fit. */
function chain(
  links: Links,
  facts: Facts,
  { limits, ...joining }: Omit<Joining, 'link'> & Pick<Chaining, 'limits'>,
): Cluster | undefined {
  const { middle, last, scores, weights } = links;
  const [before, after] = [productOf(links.first), productOf(last)];
  if (before === undefined || after === undefined) return undefined;
  if (![before, after].every((one) => isWorthwhile(one, facts, limits))) return undefined;
  const first = withRowsOutside(links.first);
  const joined = first && withMiddle(first, middle, { ...joining, link: { kind: 'flow', buffer: scores } });
  if (joined === undefined) return undefined;
  const { outer, nodes } = joined;
  const made = nodes.find(({ node }) => node.outs.includes(weights))?.node;
  const moved = made && intoLoopsOf(made, last, { ...joining, outer });
  if (moved === undefined || !areAllBut(outer, nodes, before)) return undefined;
  const all = [...nodes, ...moved].sort((x, y) => x.position - y.position);
  const chained: Cluster = { nodes: all, outer, elementwise: false, streams: true };
  const kept = middle === undefined ? [weights] : [...before.outs, weights];
  return kept.every((buffer) => rowAxisOf(buffer, { chained, rows: before.m }) !== undefined) ? chained : undefined;
}

/** Whether loops are all those of a product, whose batch may be split since, but its columns. */
function areAllBut(outer: readonly Axis[], nodes: readonly Member[], { outs }: Contract): boolean {
  const now = nodes.find(({ node }) => node.outs.includes(at(outs, 0)))?.node;
  return now !== undefined && outer.length === now.axes.filter((axis) => !isUnit(axis)).length - 1;
}

/** The first product, and the loops that its rows go through, if there are any. */
function withMiddle(first: Cluster, middle: Cluster | undefined, joining: Joining): Cluster | undefined {
  if (middle === undefined) return first;
  const joined = joinClusters(first, middle, joining);
  return joined.ok ? joined.value : undefined;
}

function decisionOf({ scores, weights }: Links, chained: Cluster, facts: Facts): Decision {
  const bytes = [...new Set([scores, weights])]
    .map((buffer) => facts.decl(buffer))
    .map(({ size, dtype }) => multiply(size, int(dtypeInfo[dtype].bytes)));
  return {
    kind: 'fused',
    nodes: namesOf(chained, facts),
    reason: 'a row of the first product becomes a row of the second through the loops between them',
    bytesSaved: printIndex(bytes.reduce(add, int(0))),
  };
}
