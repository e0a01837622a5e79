// Products by frozen matrices, over panels of columns that are packed once. In and out: a graph of primitives.
//
//   bmm(a[1, M, K], b[1, K, N]) = columns of bmm(a[P, M, K] (one for all), panels[P, K, N / P])
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
    if (!cheap.has(b.node)) return true;
    return bytesOf(matrix) <= mostGrowth * bytesOfInputs(graph, frozen.get(b.node) ?? []);
  };
  const packed = rebuild(graph, (node, list) => {
    const sizes = isByFrozen(node) ? packedSizes(node, list, packing) : undefined;
    return sizes === undefined ? list.add(node) : productOfPanels(node, sizes, { list, panels });
  });
  return { graph: packed, panels: new Set([...panels.values()].map(valueKey)) };
}

interface PackedSizes {
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
  const [batch, depth = 0, width = 0] = right.shape.map(numberOf);
  const rows = at(left.shape, 1);
  const isThin = isBelow(rows, leastRows);
  if (batch !== 1 || depth === 0 || width === 0 || isThin) return undefined;
  return width % columns === 0 ? { rows, depth, panels: width / columns, columns } : undefined;
}

const numberOf = (size: Index): number => (size.kind === 'int' ? size.value : 0);
const isBelow = (size: Index, least: number): boolean => size.kind === 'int' && size.value < least;

const metaOf = (list: NodeList, arg: CallNode['args'][number] | undefined): Meta | undefined =>
  arg !== undefined && isValue(arg) ? at(at(list.nodes, arg.node).results, arg.result) : undefined;

function productOfPanels(
  node: CallNode,
  { rows, depth, panels: count, columns }: PackedSizes,
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
    call('permute', [value], { shape, attrs: { dims: [1, 0, 2] } });
  if (!isValue(a) || !isValue(b)) return list.add(node);
  const [p, k, n] = [int(count), int(depth), int(columns)];
  const matrix = panels.get(valueKey(b)) ?? permuted(reshaped(b, [k, p, n]), [p, k, n]);
  panels.set(valueKey(b), matrix);
  const shape = [p, rows, k];
  const left = call('expand', [a], { shape, attrs: { shape: sizesAttr(shape) } });
  const product = call('bmm', [left, matrix], { shape: [p, rows, n], attrs: {} });
  return [reshaped(permuted(product, [rows, p, n]), [one, rows, int(count * columns)])];
}
