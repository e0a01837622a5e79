// Chains of more than two products (see product-chains.ts): the loops over rows read several products, or products that sum over the rows
// read what they make. So it is in the gradient of attention: scores and the gradient of the weights are two products whose rows
// meet in the loops over rows, and the gradients of queries, keys and values are three of what comes of these, the latter two of
// which sum over the rows. (Dao, "FlashAttention-2", https://arxiv.org/abs/2307.08691, has the same products in blocks.)
//
// In: clusters. Out: the same, some of them one, whose outer loops are the batch and the rows. A product that sums over the rows has the loop
// over rows as its own reduced one. In such a cluster the first products come first, then the loops over rows, then the last products.
import { at, dtypeInfo, stableStringify } from '@tsinductor/base';
import { add, coefficientOf, equal, int, multiply, printIndex } from '@tsinductor/ir';
import type { Axis, BufferId, Decision, Index } from '@tsinductor/ir';
import type { FreshAxis } from './align.ts';
import { branchesFrom } from './chain-branches.ts';
import type { Branches } from './chain-branches.ts';
import {
  chainedRows,
  intoLoopsOf,
  intoSumOf,
  branchedLimits,
  isWorthwhile,
  rowAxisOf,
  isWorthwhileSum,
  productOf,
  withRowsOutside,
} from './chained-product.ts';
import { isAxis, isSameElement, joinClusters, overLoopsOf, pointOf, refusal, success } from './cluster.ts';
import type { Cluster, Joining, Member, Outcome } from './cluster.ts';
import type { Facts } from './facts.ts';
import { bodyReads, hasAxis, isUnit } from './node-access.ts';
import type { Chained, Chaining } from './product-chains.ts';

export function branchChains(clusters: readonly Cluster[], facts: Facts, chaining: Chaining): Chained {
  if (!chaining.throughRows) return { clusters, decisions: [] };
  const { maySplit, mayReorder } = chaining;
  let axes = 0;
  const fresh: FreshAxis = (extent) => ({ name: `b${String(axes++)}`, extent });
  const current = new Map<number, Cluster>();
  const take = (cluster: Cluster): void => {
    for (const { position } of cluster.nodes) current.set(position, cluster);
  };
  clusters.forEach(take);
  const looking: Looking = { facts, clusterAt: (position) => current.get(position) };
  const decisions: Decision[] = [];
  for (const seed of clusters) {
    // With all that leads to the rows, or else with what follows them alone.
    for (const through of [true, false]) {
      const branches = branchesOf(seed, { ...looking, through }, chaining);
      if (branches === undefined) continue;
      const chained = chain(branches, looking, { fresh, maySplit, mayReorder });
      const decision = decisionOf(branches, chained, facts);
      if (!isSame(decision, decisions.at(-1))) decisions.push(decision);
      if (chained.ok) chained.value.forEach(take);
      if (chained.ok) break;
    }
  }
  return { clusters: [...new Set(current.values())], decisions };
}

interface Looking {
  readonly facts: Facts;
  readonly clusterAt: (position: number) => Cluster | undefined;
}

/** The branches that begin with a product; undefined where there are none, or where two products and loops are all there is. */
function branchesOf(
  seed: Cluster,
  { facts, clusterAt, through }: Looking & { readonly through: boolean },
  chaining: Chaining,
): Branches | undefined {
  const product = productOf(seed);
  if (product === undefined || clusterAt(at(seed.nodes, 0).position) !== seed) return undefined;
  const { size, dtype } = facts.decl(at(product.outs, 0));
  if (size.kind !== 'int' || size.value * dtypeInfo[dtype].bytes < chaining.leastBytes) return undefined;
  const branches = branchesFrom(seed, size, { facts, clusterAt, through });
  const { firsts, middles, lasts, rows } = branches;
  const sums = lasts.some((last) => sumsOverRows(last, rows));
  const isBranched = firsts.length > 1 || sums;
  return at(firsts, 0) === seed && middles.length > 0 && lasts.length > 0 && isBranched ? branches : undefined;
}

/** Whether a product may sum over rows: they are its second operand, or its first one read down columns. */
function sumsOverRows(last: Cluster, rows: ReadonlySet<BufferId>): boolean {
  const product = productOf(last);
  if (product === undefined) return false;
  const { a, b, over } = product;
  const along = coefficientOf(a.at, at(over, 0));
  return rows.has(b.buffer) || (rows.has(a.buffer) && !(along !== undefined && equal(along, int(1))));
}

/** The branches as one cluster, followed by what was cut off of them; or why not. */
function chain(branches: Branches, looking: Looking, joining: Omit<Joining, 'link'>): Outcome<readonly Cluster[]> {
  const others = refuseOthers(branches, looking);
  if (others !== undefined) return refusal(others);
  const joined = joinRows(branches, joining);
  if (!joined.ok) return joined;
  const { outer, nodes: above } = joined.value;
  const rows = rowsOf(joined.value, branches);
  if (rows === undefined) return refusal('the loops over rows differ');
  const placed: Placed[] = [];
  for (const last of branches.lasts) {
    const one = placeLast(last, looking.facts, { ...joining, outer, rows, above });
    if (!one.ok) return one;
    placed.push(one.value);
  }
  const isProduct = ({ node }: Member): boolean => node.kind === 'contract';
  const nodes = [
    ...above.filter(isProduct),
    ...above.filter((member) => !isProduct(member)),
    ...placed.flatMap(({ members }) => members),
  ];
  const chained: Cluster = { nodes: nodes.map(withoutOwnWaits(nodes)), outer, elementwise: false };
  const kept = [...branches.rows].filter((buffer) => passesProduct(buffer, branches));
  const fits = (buffer: BufferId): boolean => {
    const axis = rowAxisOf(buffer, { chained, rows });
    const { bytes } = dtypeInfo[looking.facts.decl(buffer).dtype];
    return axis?.extent.kind === 'int' && axis.extent.value * bytes <= chainedRows.rowBytes;
  };
  if (!kept.every(fits)) return refusal('rows do not lie one behind another, or are too long to be kept');
  if (!staysInRows(nodes, outer)) return refusal('what one row makes, another one reads');
  return success([chained, ...placed.flatMap(({ rest }) => (rest === undefined ? [] : [rest]))]);
}

/** What is one kernel runs in the order of its nodes: none of them has to wait for another. */
function withoutOwnWaits(nodes: readonly Member[]): (member: Member) => Member {
  const made = new Set(nodes.flatMap(({ node }) => node.outs));
  return (member) => {
    const { after, ...node } = member.node;
    const others = after?.filter((buffer) => !made.has(buffer)) ?? [];
    return { ...member, node: others.length === 0 ? node : { ...node, after: others } };
  };
}

/** Why somebody else stands in the way: who reads rows as well, or has to run between two of the nodes. */
function refuseOthers({ firsts, middles, lasts, rows }: Branches, { facts, clusterAt }: Looking): string | undefined {
  const all = [...firsts, ...middles, ...lasts];
  const isOwn = (position: number): boolean => all.some(({ nodes }) => nodes.some((own) => own.position === position));
  if (![...rows].every((buffer) => facts.followers(buffer).every(isOwn))) return 'rows are read by others as well';
  const inside = new Set(outsOf(all));
  const operandsOf = (cluster: Cluster): readonly BufferId[] => {
    const product = productOf(cluster);
    return product === undefined ? [] : [product.a.buffer, product.b.buffer];
  };
  const areApart = firsts.flatMap(operandsOf).every((buffer) => !inside.has(buffer));
  const areOfRows = lasts.map(operandsOf).every((both) => both.filter((buffer) => inside.has(buffer)).length === 1);
  const results = lasts.map((last) => new Set(outsOf([last])));
  const readsOthers = lasts.some(({ nodes }, place) =>
    nodes.some(({ node }) =>
      bodyReads(node).some((read) => results.some((made, other) => other !== place && made.has(read.buffer))),
    ),
  );
  if (!areApart || !areOfRows || readsOthers) return 'a product needs all rows of another';
  const seen = new Set<Cluster>(all);
  const followers = (clusters: readonly Cluster[]): readonly Cluster[] =>
    outsOf(clusters).flatMap((out) => facts.followers(out).flatMap((position) => clusterAt(position) ?? []));
  const open = followers(all).filter((cluster) => !seen.has(cluster));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (all.includes(next)) return 'another group has to run between them';
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...followers([next]));
  }
  return undefined;
}

const outsOf = (clusters: readonly Cluster[]): readonly BufferId[] =>
  clusters.flatMap(({ nodes }) => nodes.flatMap(({ node }) => node.outs));

/** The first products and the loops between, below the batch and the rows. */
function joinRows({ firsts, middles, rows }: Branches, joining: Omit<Joining, 'link'>): Outcome<Cluster> {
  const refused = refusal('the loops over rows differ');
  const [start, ...products] = firsts.map(withRowsOutside);
  if (start === undefined || products.includes(undefined)) return refused;
  let joined = start;
  let waiting: readonly Cluster[] = [...middles, ...products.flatMap((product) => product ?? [])];
  while (waiting.length > 0) {
    const next = waiting.map((cluster) => ({ cluster, order: orderOf(joined, cluster, rows) }));
    const found = next.find(({ order }) => order !== undefined);
    if (found?.order === undefined) return refused;
    const { left, right, buffer } = found.order;
    const link = { kind: 'flow', buffer } as const;
    const before = left === joined ? success(left) : overLoopsOf(left, right, { ...joining, link });
    if (!before.ok) return before;
    const both = joinClusters(before.value, right, { ...joining, link });
    if (!both.ok) return both;
    joined = both.value;
    waiting = waiting.filter((cluster) => cluster !== found.cluster);
  }
  return success(joined);
}

interface Order {
  readonly left: Cluster;
  readonly right: Cluster;
  /** The rows that pass from left to right. */
  readonly buffer: BufferId;
}

/** Which of two clusters makes rows that the other reads. */
function orderOf(joined: Cluster, cluster: Cluster, rows: ReadonlySet<BufferId>): Order | undefined {
  const passing = (left: Cluster, right: Cluster): readonly Order[] =>
    outsOf([left]).flatMap((buffer) =>
      rows.has(buffer) && right.nodes.some(({ node }) => bodyReads(node).some((read) => read.buffer === buffer))
        ? [{ left, right, buffer }]
        : [],
    );
  return [...passing(joined, cluster), ...passing(cluster, joined)][0];
}

/** The loop over rows, where the loops that all share are those of the first product but its columns. */
function rowsOf({ outer, nodes }: Cluster, { firsts }: Branches): Axis | undefined {
  const out = outsOf(firsts)[0];
  const product = nodes.find(({ node }) => node.kind === 'contract' && node.outs[0] === out)?.node;
  if (product?.kind !== 'contract') return undefined;
  const own = product.axes.filter((axis) => !isUnit(axis));
  return own.length === outer.length + 1 && own.every((axis) => axis.name === product.n.name || hasAxis(outer, axis))
    ? outer.find(({ name }) => name === product.m.name)
    : undefined;
}

interface Placing extends Omit<Joining, 'link'> {
  readonly outer: readonly Axis[];
  readonly rows: Axis;
  /** What stands above: the first products, and the loops between. */
  readonly above: readonly Member[];
}

interface Placed {
  readonly members: readonly Member[];
  /** What follows a sum over the rows at its elements can only run when that is complete: it is a kernel of its own. */
  readonly rest: Cluster | undefined;
}

/** One of the last products in the loops that all share. */
function placeLast(last: Cluster, facts: Facts, { above, rows, ...joining }: Placing): Outcome<Placed> {
  const product = productOf(last);
  const made = above.find(({ node: { outs } }) =>
    outs.some((out) => out === product?.a.buffer || out === product?.b.buffer),
  )?.node;
  if (product === undefined || made === undefined) return refusal('a product needs all rows of another');
  const isByRows = made.outs.includes(product.a.buffer) && isWorthwhile(product, facts, branchedLimits);
  const byRows = isByRows ? intoLoopsOf(made, last, joining) : undefined;
  if (byRows !== undefined) return success({ members: byRows, rest: undefined });
  const points = joining.outer.reduce((count, { extent }) => count * numberOf(extent), 1) / numberOf(rows.extent);
  if (!(points >= chainedRows.leastMatrices))
    return refusal(`the batch has fewer than ${String(chainedRows.leastMatrices)} points`);
  const [alone, ...maps] = last.nodes.toSorted((x, y) => rank(x) - rank(y));
  const whole = { ...last, nodes: alone === undefined ? [] : [alone] };
  const members = isWorthwhileSum(product) ? intoSumOf(made, whole, { ...joining, rows }) : undefined;
  if (members === undefined) return refusal('a product needs all rows of another');
  return success({ members, rest: maps.length === 0 ? undefined : { ...last, nodes: maps, elementwise: true } });
}

const rank = ({ node }: Member): number => (node.kind === 'contract' ? 0 : 1);
const numberOf = (extent: Index): number => (extent.kind === 'int' ? extent.value : NaN);

/** Whether rows are made by one of the first products, or read by one of the last. */
function passesProduct(buffer: BufferId, { firsts, lasts }: Branches): boolean {
  const operands = lasts.flatMap((last) => {
    const product = productOf(last);
    return product === undefined ? [] : [product.a.buffer, product.b.buffer];
  });
  return operands.includes(buffer) || firsts.some((first) => productOf(first)?.outs[0] === buffer);
}

/** Whether loops read what others of them make at the same point of those that all share. */
function staysInRows(nodes: readonly Member[], outer: readonly Axis[]): boolean {
  const makers = new Map(nodes.flatMap(({ node }) => node.outs.map((out) => [out, node] as const)));
  return nodes.every(({ node }) =>
    bodyReads(node).every((read) => {
      const maker = makers.get(read.buffer);
      if (maker === undefined || isSameElement(maker, read)) return true;
      const point = pointOf(maker, read);
      return point !== undefined && outer.every((axis) => isAxis(point, axis));
    }),
  );
}

const isSame = (one: Decision, other: Decision | undefined): boolean =>
  stableStringify(one) === stableStringify(other ?? null);

function decisionOf({ firsts, middles, lasts, rows }: Branches, chained: Outcome<unknown>, facts: Facts): Decision {
  const nodes = [...firsts, ...middles, ...lasts]
    .flatMap((cluster) => cluster.nodes)
    .map(({ node }) => facts.nameOf(node));
  if (!chained.ok) return { kind: 'rejected', nodes, reason: chained.reason };
  const bytes = [...rows]
    .map((buffer) => facts.decl(buffer))
    .map(({ size, dtype }) => multiply(size, int(dtypeInfo[dtype].bytes)));
  const reason = 'rows of several products meet in the loops over rows, and products sum over them';
  return { kind: 'fused', nodes, reason, bytesSaved: printIndex(bytes.reduce(add, int(0))) };
}
