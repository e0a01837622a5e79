// Attention in a group: scores, their softmax, and the sum of values by its weights, as one record. In: nodes below shared loops. Out: the
// record; or why one kernel does not compute them all; undefined where they are not two products and what is between them.
import { at } from '@tsinductor/base';
import { columnBounds, staticValue } from '@tsinductor/codegen';
import type { ColumnBounds } from '@tsinductor/codegen';
import { axisIndex, equal, substitute } from '@tsinductor/ir';
import type { Axis, BufferDecl, BufferId, LoopNode } from '@tsinductor/ir';
import { isFollowed } from '../matrix/product.ts';
import { isUnit, softmaxOf } from './softmax.ts';
import type { Softmax } from './softmax.ts';

type Contract = LoopNode & { readonly kind: 'contract' };
type MapNode = LoopNode & { readonly kind: 'map' };

export interface Attention {
  /** Queries by keys: its columns are those of the scores. */
  readonly scores: Contract;
  /** Weights by values. */
  readonly values: Contract;
  readonly batch: readonly Axis[];
  readonly rows: Axis;
  readonly softmax: Softmax;
  /** What is computed of each element of the result, in order. */
  readonly maps: readonly MapNode[];
  /** Which columns a mask leaves of a row; undefined: it may be all. */
  readonly bounds: ColumnBounds | undefined;
}

/** Nodes in execution order, and the loops that all of them share. */
interface Chain {
  readonly nodes: readonly LoopNode[];
  readonly outer: readonly Axis[];
  readonly decl: (buffer: BufferId) => BufferDecl;
  /** Whether somebody else reads a buffer. */
  readonly isStored: (buffer: BufferId) => boolean;
}

/** Why a chain of two products is not one kernel; undefined: it is. */
export function refuseChain(chain: Chain): string | undefined {
  const attention = attentionOf(chain) ?? 'there are not two products';
  return typeof attention === 'string' ? attention : undefined;
}

/** Elements of a head at most: a tile of the result has all of them. */
const widestHead = 256;

export function attentionOf(given: Chain): Attention | string | undefined {
  const chain = { ...given, outer: given.outer.filter((axis) => !isUnit(axis)) };
  const products = chain.nodes.filter((node): node is Contract => node.kind === 'contract');
  const [scores, values] = products;
  if (scores === undefined || values === undefined || products.length > 2) return undefined;
  const refused = refusal({ scores, values }, chain);
  if (refused !== undefined) return refused;
  const maps = followers(values, chain);
  const nodes = chain.nodes.filter((node) => node !== scores && node !== values && !maps.includes(node as MapNode));
  if (!isFollowed({ nodes: [values, ...maps], locals: [] }, values, maps) || readsOthers(maps, nodes))
    return 'what follows the second product is not computed of its elements alone';
  const outer = new Set(chain.outer.map(({ name }) => name));
  const { isStored } = chain;
  const between = { nodes, outer, isStored, scores: at(scores.outs, 0), at: at(scores.writes, 0), columns: scores.n };
  const softmax = softmaxOf({ ...between, weights: values.a.buffer });
  if (typeof softmax === 'string') return softmax;
  const [rows, batch] = [scores.m, chain.outer.filter(({ name }) => name !== scores.m.name)];
  const still = new Set([...outer, ...nodes.flatMap(({ axes }) => axes.filter(isUnit).map(({ name }) => name))]);
  const columnsBetween = { nodes, rows, outer: still, columns: scores.n.extent, weights: [values.a.buffer] };
  const bounds = withinTile(columnBounds({ ...columnsBetween, isFinite: () => false }));
  return { scores, values, batch, rows, softmax, maps, bounds };
}

/** A program reads what a table says of its rows at once: those of more blocks go without, and of a number that is not known. */
function withinTile(found: ColumnBounds | undefined): ColumnBounds | undefined {
  const { table, ahead, behind } = found ?? {};
  const isSmall =
    table !== undefined &&
    (staticValue(table.columns.axis.extent) ?? Infinity) <= 1024 &&
    (table.rows?.size ?? 16) >= 16;
  const bounds = { ahead, behind, table: isSmall ? table : undefined };
  return Object.values(bounds).every((bound) => bound === undefined) ? undefined : bounds;
}

interface Products {
  readonly scores: Contract;
  readonly values: Contract;
}

/** What of the two products there is no form for. */
function refusal({ scores, values }: Products, { outer, decl, nodes }: Chain): string | undefined {
  if ([scores, values].some((node) => !hasForm(node, decl))) return 'products are not sums in f32 of f16, bf16 or f32';
  const computed = [scores, values].flatMap(({ a, b }) => [a.element, b.element]);
  if (computed.some((element) => element !== undefined)) return 'an operand of a product is computed as it is read';
  if ([at(scores.over, 0), values.n].some(({ extent }) => (staticValue(extent) ?? Infinity) > widestHead))
    return `heads are wider than ${String(widestHead)}`;
  if (!areAlike({ scores, values }, outer)) return 'the products have other loops';
  const isSummed = readsWeights({ scores, values }, { nodes, outer });
  return isSummed ? undefined : 'the second product does not sum over the columns of the first';
}

function hasForm({ a, b, over, accumulate }: Contract, decl: Chain['decl']): boolean {
  const [left, right] = [decl(a.buffer).dtype, decl(b.buffer).dtype];
  const isKnown = left === 'f16' || left === 'bf16' || left === 'f32';
  return isKnown && left === right && accumulate === 'f32' && over.length === 1;
}

/** Whether both products are over the shared loops, rows among them, and one of their own. */
function areAlike({ scores, values }: Products, outer: readonly Axis[]): boolean {
  const names = new Set(outer.map(({ name }) => name));
  return (
    scores.m.name === values.m.name &&
    names.has(scores.m.name) &&
    [scores, values].every(({ axes, n }) => {
      const own = axes.filter((axis) => !isUnit(axis) && axis.name !== n.name);
      return !names.has(n.name) && own.length === names.size && own.every(({ name }) => names.has(name));
    })
  );
}

/** Whether the second product sums over what the weights of a row are written along. */
function readsWeights({ values: { a, over } }: Products, { nodes, outer }: Pick<Chain, 'nodes' | 'outer'>): boolean {
  const maker = nodes.find(({ outs }) => outs.includes(a.buffer));
  const column = maker?.axes.find((axis) => !isUnit(axis) && outer.every(({ name }) => name !== axis.name));
  const summed = at(over, 0);
  if (maker === undefined || column === undefined || !equal(column.extent, summed.extent)) return false;
  const place = at(maker.writes, maker.outs.indexOf(a.buffer));
  return equal(substitute(place, new Map([[column.name, axisIndex(summed)]])), a.at);
}

/** The maps that stand below the loop over a row of the second product. */
function followers({ n, outs }: Contract, { nodes }: Chain): readonly MapNode[] {
  const made = new Set<BufferId>(outs);
  return nodes.filter((node): node is MapNode => {
    const isOne =
      node.kind === 'map' &&
      node.axes.some(({ name }) => name === n.name) &&
      node.body.nodes.some((scalar) => scalar.kind === 'load' && made.has(scalar.buffer));
    if (isOne) node.outs.forEach((out) => made.add(out));
    return isOne;
  });
}

/** Whether maps read what other nodes make. */
function readsOthers(maps: readonly MapNode[], others: readonly LoopNode[]): boolean {
  const made = new Set(others.flatMap(({ outs }) => outs));
  return maps.some(({ body }) => body.nodes.some((scalar) => scalar.kind === 'load' && made.has(scalar.buffer)));
}
