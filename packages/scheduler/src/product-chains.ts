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
import { add, axisIndex, coefficientOf, equal, int, multiply, printIndex, substitute } from '@tsinductor/ir';
import type { Axis, BufferDecl, BufferId, Decision, LoopNode } from '@tsinductor/ir';
import { alignAxes, denseAxes, splitMap } from './align.ts';
import type { FreshAxis } from './align.ts';
import { joinClusters, refuseSplits, splitCluster } from './cluster.ts';
import type { Cluster, Joining, Member } from './cluster.ts';
import type { Facts } from './facts.ts';
import { hasAxis, isUnit, reindex, renameContract, renaming, resultAxes } from './node-access.ts';

type Contract = LoopNode & { readonly kind: 'contract' };

interface Chained {
  readonly clusters: readonly Cluster[];
  readonly decisions: readonly Decision[];
}

/** The fewest rows of products whose rows are chained: the second operands are read again for every few of them. */
const LEAST_ROWS = 16;

/** What may be one kernel of a target. Sizes that are symbols are beyond all limits but infinite ones. */
export interface ChainLimits {
  /** The most bytes of a row that is kept; Infinity: none is kept whole. */
  readonly rowBytes: number;
  /** The most bytes of a second operand for one point of the batch. */
  readonly operandBytes: number;
  /** Why there is no kernel of these nodes below these loops; undefined: there is one. Absent: there is one for all. */
  readonly refuse?: (chain: ChainedNodes) => string | undefined;
}

/** What would be one kernel. */
interface ChainedNodes {
  /** In execution order. */
  readonly nodes: readonly LoopNode[];
  /** The loops that all of them share. */
  readonly outer: readonly Axis[];
  readonly decl: (buffer: BufferId) => BufferDecl;
  /** Whether somebody else reads a buffer. */
  readonly isStored: (buffer: BufferId) => boolean;
}

/**
 * Those of processors: the rows of a register tile lie on the stack of a thread, twice where two are kept, and the second operand is read
 * from a cache for every block of rows.
 */
export const processorLimits: ChainLimits = { rowBytes: 32 << 10, operandBytes: 8 << 20 };

interface Chaining extends Pick<Joining, 'maySplit' | 'mayReorder'> {
  /** Which are chained: products with loops over rows between them, and those with elements between them at most. */
  readonly throughRows: boolean;
  readonly throughElements: boolean;
  /** The fewest bytes of what the first product makes, for those with loops over rows between them. */
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
    const refused = limits.refuse?.(nodesOf(chained, facts));
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
  if (middle === undefined) return chaining.throughElements;
  const { size, dtype } = facts.decl(scores);
  const { leastBytes, throughRows } = chaining;
  const isLarge = leastBytes === 0 || (size.kind === 'int' && size.value * dtypeInfo[dtype].bytes >= leastBytes);
  return throughRows && isLarge;
}

interface Looking {
  readonly facts: Facts;
  readonly clusterAt: (position: number) => Cluster | undefined;
}

const productOf = ({ nodes }: Cluster): Contract | undefined => {
  const products = nodes.flatMap(({ node }) => (node.kind === 'contract' ? [node] : []));
  const [product] = products;
  const isOne = products.length === 1 && nodes.every(({ node }) => node.kind === 'contract' || node.kind === 'map');
  return isOne ? product : undefined;
};

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
  const chained: Cluster = { nodes: all, outer, elementwise: false, streams: limits.rowBytes === Infinity };
  const kept = middle === undefined ? [weights] : [...before.outs, weights];
  const areShort = kept.every((buffer) => rowBytesOf(buffer, { chained, rows: before.m }, facts) <= limits.rowBytes);
  return areShort ? chained : undefined;
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

/** A product and the maps at its elements, below its batch and rows alone. */
function withRowsOutside(cluster: Cluster): Cluster | undefined {
  const product = productOf(cluster);
  if (product === undefined || isUnit(product.m) || isUnit(product.n)) return undefined;
  const outer = cluster.outer.filter(({ name }) => name !== product.n.name);
  return outer.length === cluster.outer.length ? undefined : { ...cluster, outer, elementwise: false };
}

function isWorthwhile(product: Contract, facts: Facts, { operandBytes }: ChainLimits): boolean {
  const { m, n, over, axes, b, accumulate, writes } = product;
  const sizeOf = ({ extent }: Axis): number => (extent.kind === 'int' ? extent.value : Infinity);
  const [rows, columns, depth] = [sizeOf(m), sizeOf(n), sizeOf(at(over, 0))];
  const step = coefficientOf(at(writes, 0), n);
  const isKnown = axes.every(({ extent }) => extent.kind === 'int') || operandBytes === Infinity;
  if (!isKnown || over.length > 1) return false;
  const bytes = columns * depth * Math.max(dtypeInfo[accumulate].bytes, dtypeInfo[facts.decl(b.buffer).dtype].bytes);
  const fits = columns > 1 && depth > 0 && bytes <= operandBytes && b.element === undefined;
  return rows >= LEAST_ROWS && fits && step !== undefined && equal(step, int(1));
}

/** The last cluster in the loops of what makes its first operand; undefined where a row of it needs more than one of these. */
function intoLoopsOf(
  made: LoopNode,
  whole: Cluster,
  { outer, ...joining }: Omit<Joining, 'link'> & { readonly outer: readonly Axis[] },
): readonly Member[] | undefined {
  const last = splitAs(made, whole, joining);
  const product = last && productOf(last);
  const names = product && correspondence(made, product);
  if (last === undefined || product === undefined || names === undefined || isUnit(product.m) || isUnit(product.n))
    return undefined;
  if (!equal(substitute(product.a.at, renaming([...names])), at(made.writes, 0))) return undefined;
  // The axis that is summed over keeps its name: it is a loop of its own.
  const summed = at(product.over, 0).name;
  const inner = names.get(summed);
  const shared = new Map([...names].filter(([name]) => name !== summed));
  const fits =
    inner !== undefined && !hasAxis(outer, inner) && [...shared.values()].every((axis) => hasAxis(outer, axis));
  return fits ? last.nodes.map(({ node, position }) => ({ position, node: renamed(node, shared) })) : undefined;
}

/** A cluster with the batch of its product in as many loops as the node has that makes the first operand. */
function splitAs(made: LoopNode, last: Cluster, { fresh, maySplit }: Omit<Joining, 'link'>): Cluster | undefined {
  const product = productOf(last);
  const here = denseAxes(at(made.writes, 0), resultAxes(made));
  const there = product && denseAxes(product.a.at, [...product.batch, product.m, ...product.over]);
  const aligned = here && there && alignAxes(here, there, fresh);
  if (aligned === undefined || splitMap(aligned.left).size > 0) return undefined;
  const splits = new Map([...aligned.right].filter(([, pieces]) => pieces.length > 1));
  return refuseSplits(last, splits, { maySplit }) === undefined ? splitCluster(last, splits) : undefined;
}

/** The loops of a node for the axes of a product that reads all that it writes as its first operand, element by element. */
function correspondence(made: LoopNode, { a, batch, m, over }: Contract): ReadonlyMap<string, Axis> | undefined {
  const here = denseAxes(at(made.writes, 0), resultAxes(made));
  const there = denseAxes(a.at, [...batch, m, ...over]);
  const own = batch.filter((axis) => !isUnit(axis)).length + 2;
  if (made.outs.length !== 1 || here?.length !== own || there?.length !== own) return undefined;
  const isSame = there.every((axis, place) => equal(axis.extent, at(here, place).extent));
  return isSame ? new Map(there.map((axis, place) => [axis.name, at(here, place)])) : undefined;
}

function renamed(node: LoopNode, names: ReadonlyMap<string, Axis>): LoopNode {
  const rename = (axes: readonly Axis[]): readonly Axis[] => axes.map((axis) => names.get(axis.name) ?? axis);
  const map = new Map([...names].map(([name, axis]) => [name, axisIndex(axis)]));
  return node.kind === 'contract'
    ? renameContract(node, map, rename)
    : reindex(node, { map, axes: rename(node.axes), over: [] });
}

/** The bytes of a row of a buffer, where rows, one for each point of the loops over rows, lie one behind another; else NaN. */
function rowBytesOf(
  buffer: BufferId,
  { chained, rows }: { readonly chained: Cluster; readonly rows: Axis },
  facts: Facts,
): number {
  const { nodes, outer } = chained;
  const maker = nodes.find(({ node }) => node.outs.includes(buffer))?.node;
  if (maker === undefined) return NaN;
  const [axis, ...others] = resultAxes(maker).filter((own) => !hasAxis(outer, own) && !isUnit(own));
  if (axis === undefined || others.length > 0) return NaN;
  const write = at(maker.writes, maker.outs.indexOf(buffer));
  const [apart, step] = [coefficientOf(write, rows), coefficientOf(write, axis)];
  const isDense = apart !== undefined && equal(apart, axis.extent) && step !== undefined && equal(step, int(1));
  const elements = axis.extent.kind === 'int' ? axis.extent.value : Infinity;
  return isDense ? elements * dtypeInfo[facts.decl(buffer).dtype].bytes : NaN;
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
