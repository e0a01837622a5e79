// A product as one of a chain (see product-chains.ts): below loops over rows that other nodes share. In: a cluster of one product and maps
// at its elements. Out: the same over the loops of the others, or nothing where its rows are not theirs.
//
// A product reads what the loops over rows make in one of two ways. By rows, each of its rows needs one of them. By sums, it
// sums over the rows, as the gradient of a second operand does: then the loop over rows is the one that it sums over.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { axisIndex, coefficientOf, equal, int, substitute } from '@tsinductor/ir';
import type { Axis, BufferDecl, BufferId, ContractOperand, LoopNode } from '@tsinductor/ir';
import { alignAxes, denseAxes, splitMap } from './align.ts';
import { refuseSplits, splitCluster } from './cluster.ts';
import type { Cluster, Joining, Member } from './cluster.ts';
import type { Facts } from './facts.ts';
import { hasAxis, isUnit, reindex, renameContract, renaming, resultAxes } from './node-access.ts';

export type Contract = LoopNode & { readonly kind: 'contract' };

/** Of which products of processors rows are chained. */
interface ChainedRows {
  /** The second operands are read again for every few rows. */
  readonly leastRows: number;
  /** Where sums are over rows, threads share the matrices alone. */
  readonly leastMatrices: number;
  /** The most bytes of a row where products meet or sum over rows: the rows of a register tile lie on the stack of a thread, some of them twice. */
  readonly rowBytes: number;
}

export const chainedRows: ChainedRows = { leastRows: 16, leastMatrices: 4, rowBytes: 32 << 10 };

/** The same with the fewest bytes of all rows together; undefined where the settings chain no rows. */
export const chainedRowsOf = ({ cpp }: Config): (ChainedRows & { readonly leastBytes: number }) | undefined =>
  cpp.attentionFusion ? { ...chainedRows, leastBytes: cpp.attentionFusionBytes } : undefined;

/** What may be one kernel of a target. */
export interface ChainLimits {
  /** The most bytes of a second operand for one point of the batch, where they are known. */
  readonly operandBytes: number;
  /** Whether sizes may be symbols. */
  readonly anySize: boolean;
  /** Why there is no kernel of these nodes below these loops; undefined: there is one. Absent: there is one for all. */
  readonly refuse?: (chain: ChainedNodes) => string | undefined;
}

/** What would be one kernel. */
export interface ChainedNodes {
  /** In execution order. */
  readonly nodes: readonly LoopNode[];
  /** The loops that all of them share. */
  readonly outer: readonly Axis[];
  readonly decl: (buffer: BufferId) => BufferDecl;
  /** Whether somebody else reads a buffer. */
  readonly isStored: (buffer: BufferId) => boolean;
}

/** Those of processors: the second operand is read from a cache for every block of rows. */
export const processorLimits: ChainLimits = { operandBytes: 8 << 20, anySize: true };

/** The same where products meet or sum over rows: their sizes are known. */
export const branchedLimits: ChainLimits = { ...processorLimits, anySize: false };

/** The product of a cluster that has one, and maps beside it at most. */
export const productOf = ({ nodes }: Cluster): Contract | undefined => {
  const products = nodes.flatMap(({ node }) => (node.kind === 'contract' ? [node] : []));
  const [product] = products;
  const isOne = products.length === 1 && nodes.every(({ node }) => node.kind === 'contract' || node.kind === 'map');
  return isOne ? product : undefined;
};

/** A product and the maps at its elements, below its batch and rows alone. */
export function withRowsOutside(cluster: Cluster): Cluster | undefined {
  const product = productOf(cluster);
  if (product === undefined || isUnit(product.m) || isUnit(product.n)) return undefined;
  const outer = cluster.outer.filter(({ name }) => name !== product.n.name);
  return outer.length === cluster.outer.length ? undefined : { ...cluster, outer, elementwise: false };
}

/** Whether a product is of a size at which its rows are worth to be chained. */
export function isWorthwhile(product: Contract, facts: Facts, { operandBytes, anySize }: ChainLimits): boolean {
  const { m, n, over, axes, b, accumulate, writes } = product;
  const [rows, columns, depth] = [sizeOf(m), sizeOf(n), sizeOf(at(over, 0))];
  const step = coefficientOf(at(writes, 0), n);
  const isKnown = [...axes, ...over].every(({ extent }) => extent.kind === 'int');
  if ((!isKnown && !anySize) || over.length > 1) return false;
  const bytes = columns * depth * Math.max(dtypeInfo[accumulate].bytes, dtypeInfo[facts.decl(b.buffer).dtype].bytes);
  const areFew = !Number.isFinite(bytes) || bytes <= operandBytes;
  const fits = columns > 1 && depth > 0 && areFew && b.element === undefined;
  return rows >= chainedRows.leastRows && fits && step !== undefined && equal(step, int(1));
}

/** The same of a product that sums over the rows: its result stays in a cache, to which every block of rows adds. */
export function isWorthwhileSum({ m, n, over, axes, a, b, accumulate, writes }: Contract): boolean {
  if ([...axes, ...over].some(({ extent }) => extent.kind !== 'int') || over.length > 1) return false;
  const [rows, columns, depth] = [sizeOf(m), sizeOf(n), sizeOf(at(over, 0))];
  const step = coefficientOf(at(writes, 0), n);
  const isPlain = a.element === undefined && b.element === undefined;
  const fits =
    Math.min(rows, columns) > 1 && rows * columns * dtypeInfo[accumulate].bytes <= processorLimits.operandBytes;
  return isPlain && fits && depth >= chainedRows.leastRows && step !== undefined && equal(step, int(1));
}

/** A size that is a symbol is beyond all limits. */
const sizeOf = ({ extent }: Axis): number => (extent.kind === 'int' ? extent.value : Infinity);

interface IntoLoops extends Omit<Joining, 'link'> {
  /** The loops that all share: the batch and the rows. */
  readonly outer: readonly Axis[];
}

/** The last cluster in the loops of what makes its first operand; undefined where a row of it needs more than one of these. */
export function intoLoopsOf(made: LoopNode, whole: Cluster, joining: IntoLoops): readonly Member[] | undefined {
  const found = readBy(made, whole, { ...joining, operandOf: ({ a }) => a, outside: ({ m }) => m });
  if (found === undefined) return undefined;
  // The axis that is summed over keeps its name: it is a loop of its own.
  const { last, names, product } = found;
  return membersWithin(last, names, { outer: joining.outer, own: at(product.over, 0) });
}

/** A product that sums over the rows of what makes one of its operands; undefined where it does not. */
export function intoSumOf(
  made: LoopNode,
  whole: Cluster,
  { rows, ...joining }: IntoLoops & { readonly rows: Axis },
): readonly Member[] | undefined {
  const isFirst = productOf(whole)?.a.buffer === at(made.outs, 0);
  const found = readBy(made, whole, {
    ...joining,
    operandOf: ({ a, b }) => (isFirst ? a : b),
    outside: ({ m, n }) => (isFirst ? m : n),
  });
  if (found === undefined) return undefined;
  const { last, names, product } = found;
  if (names.get(at(product.over, 0).name)?.name !== rows.name) return undefined;
  return membersWithin(last, names, { outer: joining.outer, own: isFirst ? product.m : product.n });
}

interface Reading extends Omit<Joining, 'link'> {
  /** The operand that is what another node makes, and its axis outside of the batch and the sum. */
  readonly operandOf: (product: Contract) => ContractOperand;
  readonly outside: (product: Contract) => Axis;
}

interface Read {
  readonly last: Cluster;
  readonly product: Contract;
  /** The loops of the node that makes the operand, by the product's axes. */
  readonly names: ReadonlyMap<string, Axis>;
}

function readBy(made: LoopNode, whole: Cluster, reading: Reading): Read | undefined {
  const last = splitAs(made, whole, reading);
  const product = last && productOf(last);
  const names = product && correspondence(made, product, reading);
  if (last === undefined || product === undefined || names === undefined || isUnit(product.m) || isUnit(product.n))
    return undefined;
  const place = substitute(reading.operandOf(product).at, renaming([...names]));
  return equal(place, at(made.writes, 0)) ? { last, product, names } : undefined;
}

interface Sharing extends Pick<IntoLoops, 'outer'> {
  /** The axis that is no loop of the others. */
  readonly own: Axis;
}

/** A cluster over the loops that it shares. */
function membersWithin(
  last: Cluster,
  names: ReadonlyMap<string, Axis>,
  { outer, own }: Sharing,
): readonly Member[] | undefined {
  const inner = names.get(own.name);
  const shared = new Map([...names].filter(([name]) => name !== own.name));
  const fits =
    inner !== undefined && !hasAxis(outer, inner) && [...shared.values()].every((axis) => hasAxis(outer, axis));
  return fits ? last.nodes.map(({ node, position }) => ({ position, node: renamed(node, shared) })) : undefined;
}

const axesRead = (product: Contract, { outside }: Pick<Reading, 'outside'>): readonly Axis[] => [
  ...product.batch,
  outside(product),
  ...product.over,
];

/** A cluster with the batch of its product in as many loops as the node has that makes an operand. */
function splitAs(made: LoopNode, last: Cluster, { fresh, maySplit, ...reading }: Reading): Cluster | undefined {
  const product = productOf(last);
  const here = denseAxes(at(made.writes, 0), resultAxes(made));
  const there = product && denseAxes(reading.operandOf(product).at, axesRead(product, reading));
  const aligned = here && there && alignAxes(here, there, fresh);
  if (aligned === undefined || splitMap(aligned.left).size > 0) return undefined;
  const splits = new Map([...aligned.right].filter(([, pieces]) => pieces.length > 1));
  return refuseSplits(last, splits, { maySplit }) === undefined ? splitCluster(last, splits) : undefined;
}

/** The loops of a node for the axes of a product that reads all that it writes as an operand, element by element. */
function correspondence(
  made: LoopNode,
  product: Contract,
  reading: Pick<Reading, 'operandOf' | 'outside'>,
): ReadonlyMap<string, Axis> | undefined {
  const here = denseAxes(at(made.writes, 0), resultAxes(made));
  const there = denseAxes(reading.operandOf(product).at, axesRead(product, reading));
  const own = product.batch.filter((axis) => !isUnit(axis)).length + 2;
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

/** The axis of a row of a buffer, where rows, one for each point of the loops over rows, lie one behind another. */
export function rowAxisOf(
  buffer: BufferId,
  { chained, rows }: { readonly chained: Cluster; readonly rows: Axis },
): Axis | undefined {
  const { nodes, outer } = chained;
  const maker = nodes.find(({ node }) => node.outs.includes(buffer))?.node;
  if (maker === undefined) return undefined;
  const [axis, ...others] = resultAxes(maker).filter((own) => !hasAxis(outer, own) && !isUnit(own));
  if (axis === undefined || others.length > 0) return undefined;
  const write = at(maker.writes, maker.outs.indexOf(buffer));
  const [apart, step] = [coefficientOf(write, rows), coefficientOf(write, axis)];
  const isDense = apart !== undefined && equal(apart, axis.extent) && step !== undefined && equal(step, int(1));
  return isDense ? axis : undefined;
}
