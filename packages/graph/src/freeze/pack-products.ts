// Products by frozen matrices, over panels of columns that are packed once. In and out: a graph of primitives.
//
//   bmm(a[1, M, K], b[1, K, N]) = columns of bmm(a[P, M, K] (one for all), panels[P, K, N / P])
//
// The products of tiles of a convolution (rewrite/winograd.ts) are so as well, each point of its batch for itself. Their matrices are larger
// than the weight that they are made of, and kept all the same.
//
// A register tile reads one panel from end to end, each row of it in one or two vectors, so a call neither packs the matrix nor
// walks it in strides. Products of one to three rows read the matrix once, as it lies, and gain nothing. All products by one matrix,
// as the steps of a recurrent network are, share its panels.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isValue, valueKey } from '../argument-reader.ts';
import type { Attrs, Graph, Meta, ValueRef } from '../graph.ts';
import { rebuild } from '../passes/rebuild.ts';
import type { CallNode, NodeList } from '../passes/rebuild.ts';
import { isOfWinograd } from '../rewrite/winograd.ts';
import { contiguousMeta, one, sizesAttr } from '../shape.ts';
import { bytesOf, bytesOfInputs, cheaplyMade, frozenNodes } from './frozen-nodes.ts';

export interface Packing {
  /** Columns of a panel in products of this dtype; undefined: their matrices stay as they are. */
  readonly panelColumns: (dtype: DType) => number | undefined;
  /** The fewest rows of a product that is packed, where they are known. */
  readonly leastRows: number;
}

interface PackedGraph {
  readonly graph: Graph;
  /** The panels, by `valueKey`. */
  readonly panels: ReadonlySet<string>;
}

/**
 * A matrix that is more than so many times as large as what it is cheaply made of stays as that lies, and is computed as it is read: of whole numbers of
 * eight and four bits, f32 has four and eight times the bytes. Of bf16 it has twice as many.
 */
const mostGrowth = 2;

export function packProducts(graph: Graph, isFrozen: (placeholder: number) => boolean, packing: Packing): PackedGraph {
  const frozen = frozenNodes(graph, isFrozen);
  const cheap = cheaplyMade(graph);
  const panels = new Map<string, ValueRef>();
  const isByFrozen = ({ id }: CallNode): boolean => {
    const node = at(graph.nodes, id);
    if (node.kind !== 'call' || node.target !== 'bmm') return false;
    const [a, b] = node.args;
    if (!isValue(a) || !isValue(b) || !frozen.has(b.node) || frozen.has(a.node)) return false;
    const matrix = at(at(graph.nodes, b.node).results, b.result);
    if (!cheap.has(b.node) || isOfWinograd(node)) return true;
    return bytesOf(matrix) <= mostGrowth * bytesOfInputs(graph, frozen.get(b.node) ?? []);
  };
  const packed = rebuild(graph, (node, list) => {
    const isPacked = isByFrozen(node);
    const sizes = isPacked ? packedSizes(node, list, packing) : undefined;
    if (sizes !== undefined) return productOfPanels(node, sizes, { list, panels });
    const [, b] = node.args;
    if (isPacked && isOfWinograd(node) && isValue(b)) panels.set(valueKey(b), b);
    return list.add(node);
  });
  return { graph: packed, panels: new Set([...panels.values()].map(valueKey)) };
}

interface PackedSizes {
  readonly batch: number;
  readonly rows: Index;
  readonly depth: number;
  readonly panels: number;
  readonly columns: number;
}

/** How a product is packed, if it is. */
function packedSizes(node: CallNode, list: NodeList, { panelColumns, leastRows }: Packing): PackedSizes | undefined {
  const [left, right] = [metaOf(list, node.args[0]), metaOf(list, node.args[1])];
  const columns = right && panelColumns(right.dtype);
  if (left === undefined || right === undefined || columns === undefined) return undefined;
  const sizes = right.shape.map(numberOf);
  const [batch, depth, width] = [at(sizes, 0), at(sizes, 1), at(sizes, 2)];
  const rows = at(left.shape, 1);
  const isSeveral = batch !== 1 && !isOfWinograd(node);
  if (isSeveral || sizes.includes(0) || isBelow(rows, leastRows)) return undefined;
  return width % columns === 0 ? { batch, rows, depth, panels: width / columns, columns } : undefined;
}

const numberOf = (size: Index): number => (size.kind === 'int' ? size.value : 0);
const isBelow = (size: Index, least: number): boolean => size.kind === 'int' && size.value < least;

const metaOf = (list: NodeList, arg: CallNode['args'][number] | undefined): Meta | undefined =>
  arg !== undefined && isValue(arg) ? at(at(list.nodes, arg.node).results, arg.result) : undefined;

function productOfPanels(
  node: CallNode,
  { batch, rows, depth, panels: count, columns }: PackedSizes,
  { list, panels }: { readonly list: NodeList; readonly panels: Map<string, ValueRef> },
): readonly ValueRef[] {
  const [a, b] = node.args;
  const { dtype } = at(node.results, 0);
  const call = (
    target: string,
    args: CallNode['args'],
    { shape, attrs }: { readonly shape: readonly Index[]; readonly attrs: Attrs },
  ): ValueRef => at(list.add({ ...node, target, args, attrs, results: [contiguousMeta(shape, dtype)] }), 0);
  const reshaped = (value: ValueRef, shape: readonly Index[]): ValueRef =>
    call('reshape', [value], { shape, attrs: { shape: sizesAttr(shape) } });
  const permuted = (value: ValueRef, shape: readonly Index[]): ValueRef =>
    call('permute', [value], { shape, attrs: { dims: [0, 2, 1, 3] } });
  if (!isValue(a) || !isValue(b)) return list.add(node);
  const [g, p, k, n, all] = [int(batch), int(count), int(depth), int(columns), int(batch * count)];
  const matrix = panels.get(valueKey(b)) ?? reshaped(permuted(reshaped(b, [g, k, p, n]), [g, p, k, n]), [all, k, n]);
  panels.set(valueKey(b), matrix);
  const shape = [g, p, rows, k];
  const once = reshaped(a, [g, one, rows, k]);
  const left = reshaped(call('expand', [once], { shape, attrs: { shape: sizesAttr(shape) } }), [all, rows, k]);
  const product = call('bmm', [left, matrix], { shape: [all, rows, n], attrs: {} });
  return [reshaped(permuted(reshaped(product, [g, p, rows, n]), [g, rows, p, n]), [g, rows, int(count * columns)])];
}
