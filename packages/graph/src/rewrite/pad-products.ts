// Products whose operands lie in rows of uneven length, as a padding with zeros, a product and a slice: PyTorch's pad_mm
// (torch/_inductor/fx_passes/pad_mm.py). In and out: a graph of primitives.
//
//   bmm(a, b) = bmm(pad(a), pad(b))[:, :rows, :columns]
//
// A row is even where it is a multiple of 16 bytes, which is what one asynchronous copy or one wide load of a GPU moves. Only sizes along
// which elements of an operand are side by side are padded: others have no part in where its rows begin.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { equal, int, printIndex } from '@tsinductor/ir';
import type { Decision, Index } from '@tsinductor/ir';
import { isValue, valuesOf } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import type { Graph, Meta, NodeId, ValueRef } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { one, zero } from '../shape.ts';
import { metaIn, partGraph } from './part.ts';
import type { PartContext } from './part.ts';
import { rewritten } from './replace.ts';
import type { Replaced } from './replace.ts';

/** A product of [batch, rows, depth] by [batch, depth, columns]. */
export interface UnevenProduct {
  readonly dtype: DType;
  /** Batch, rows, depth, columns; undefined where a call says them. */
  readonly sizes: readonly [number, number, number, number] | undefined;
  /** Whether rows of an operand begin within words of 4 bytes. */
  readonly isOdd: boolean;
  /** Whether its first operand comes of another product through sums of rows, as in attention. */
  readonly isChained: () => boolean;
  /** The product as it is and padded, as graphs over its operands; fewer where there is none. */
  readonly ways: () => readonly Graph[];
}

/** Whether a product is padded, and why or why not. */
export interface PaddingVerdict {
  readonly isPadded: boolean;
  readonly reason: string;
}

const rule = 'shape_padding';
const rowBytes = 16;

/** The graph with those products padded that `judge` says so of; its decisions say what became of every uneven one. */
export function padProducts(
  graph: Graph,
  context: PartContext,
  judge: (product: UnevenProduct) => PaddingVerdict,
): Graph {
  const [parts, left]: [Replaced[], Decision[]] = [[], []];
  const reasons = new Set<string>();
  for (const node of graph.nodes) {
    const product = node.kind === 'call' && node.target === 'bmm' ? productOf(graph, node) : undefined;
    if (product === undefined || unevenRows(product).length === 0) continue;
    const verdict = obstacleOf(graph, product) ?? judge(described(graph, product, context));
    const by = verdict.isPadded ? paddedPart(graph, product, context) : undefined;
    if (by === undefined) left.push(notPadded(product, verdict.reason));
    else {
      parts.push({ by, inputs: product.operands, outputs: [product.value], nodes: new Set([node.id]), rule });
      reasons.add(verdict.reason);
    }
  }
  const made = rewritten(graph, parts, { rule, reason: [...reasons].join('; ') });
  return left.length === 0 ? made : { ...made, decisions: [...(made.decisions ?? []), ...left] };
}

interface Product {
  readonly node: CallNode;
  readonly value: ValueRef;
  readonly operands: readonly [ValueRef, ValueRef];
  readonly metas: readonly [Meta, Meta];
  /** Elements of an even row. */
  readonly step: number;
}

function productOf(graph: Graph, node: CallNode): Product | undefined {
  const [a, b] = node.args;
  if (!isValue(a) || !isValue(b)) return undefined;
  const metas = [metaIn(graph, a), metaIn(graph, b)] as const;
  const [{ dtype }] = metas;
  const step = rowBytes / dtypeInfo[dtype].bytes;
  const isProduct = isFloat(dtype) && step > 1 && metas.every(({ shape }) => !shape.some((size) => equal(size, zero)));
  return isProduct
    ? { node, value: { kind: 'value', node: node.id, result: 0 }, operands: [a, b], metas, step }
    : undefined;
}

/** The axis along which elements of a batch's point are side by side. */
const alongOf = ({ strides }: Meta): 1 | 2 | undefined =>
  ([2, 1] as const).find((axis) => equal(at(strides, axis), one));

/** The sizes of rows that are not even, or not a number where a call says them. */
function unevenRows({ metas, step }: Product): readonly number[] {
  return metas.flatMap((meta) => {
    const along = alongOf(meta);
    const size = along === undefined ? undefined : at(meta.shape, along);
    const length = size?.kind === 'int' ? size.value : NaN;
    return size === undefined || length % step === 0 ? [] : [length];
  });
}

/** The product padded, over its operands. */
function paddedPart(graph: Graph, product: Product, context: PartContext): Graph | undefined {
  const { operands, metas, value, step } = product;
  const [a, b] = metas;
  /** By how much a size grows that rows of an operand have. */
  const more = (...places: readonly (readonly [Meta, 1 | 2])[]): Index => {
    const along = places.find(([meta, axis]) => alongOf(meta) === axis);
    const size = along && at(along[0].shape, along[1]);
    return size?.kind === 'int' ? int((step - (size.value % step)) % step) : zero;
  };
  const [rows, depth, columns] = [more([a, 1]), more([a, 2], [b, 1]), more([b, 2])];
  return partGraph(
    graph,
    { inputs: operands, outputs: [value] },
    {
      context,
      build: (c, [x = at(operands, 0), y = at(operands, 1)]) => {
        const whole = c.bmm(padded(c, x, [rows, depth]), padded(c, y, [depth, columns]));
        const high = equal(rows, zero) ? whole : c.slice(whole, 1, { end: at(a.shape, 1) });
        const part = equal(columns, zero) ? high : c.slice(high, 2, { end: at(b.shape, 2) });
        return [c.call('contiguous', [part])];
      },
    },
  );
}

const padded = (c: Composer, x: ValueRef, more: readonly [Index, Index]): ValueRef =>
  more.every((size) => equal(size, zero))
    ? x
    : c.pad(
        x,
        [zero, ...more].map((size) => [zero, size]),
      );

/** Views whose elements a padding would copy more than once. */
const repeating: readonly string[] = ['unfold', 'expand', 'asStrided', 'diagonal'];

function obstacleOf(graph: Graph, product: Product): PaddingVerdict | undefined {
  const { node, operands } = product;
  const refused = (reason: string): PaddingVerdict => ({ isPadded: false, reason });
  if (unevenRows(product).some(Number.isNaN)) return refused('its rows are as long as each call says');
  if (node.again !== undefined || node.after !== undefined) return refused('it is computed again as it was before');
  const repeats = ({ node: id }: ValueRef): boolean => {
    const maker = at(graph.nodes, id);
    if (maker.kind !== 'call') return false;
    const [from] = maker.args;
    const isView = ['reshape', 'permute', 'slice'].includes(maker.target);
    return repeating.includes(maker.target) || (isView && from !== undefined && isValue(from) && repeats(from));
  };
  return operands.some(repeats)
    ? refused('an operand is read in windows or repeated, which a padding would copy')
    : undefined;
}

function described(graph: Graph, product: Product, context: PartContext): UnevenProduct {
  const { operands, metas, value } = product;
  const [{ shape, dtype }, { shape: right }] = metas;
  const sizes = [...shape, at(right, 2)].map((size) => (size.kind === 'int' ? size.value : NaN));
  const aloneIn = (): Graph | undefined =>
    partGraph(
      graph,
      { inputs: operands, outputs: [value] },
      { context, build: (c, [x = at(operands, 0), y = at(operands, 1)]) => [c.bmm(x, y)] },
    );
  return {
    dtype,
    sizes: sizes.some(Number.isNaN) ? undefined : [at(sizes, 0), at(sizes, 1), at(sizes, 2), at(sizes, 3)],
    isOdd: unevenRows(product).some((size) => (size * dtypeInfo[dtype].bytes) % 4 !== 0),
    isChained: () => isChained(graph, at(operands, 0)),
    ways: () => [aloneIn(), paddedPart(graph, product, context)].flatMap((way) => way ?? []),
  };
}

/** Whether what makes a value, up to the next products, has a product and a sum or a maximum of rows. */
function isChained({ nodes }: Graph, value: ValueRef): boolean {
  const seen = new Set<NodeId>();
  const open = [value.node];
  let [products, reductions] = [0, 0];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const node = at(nodes, id);
    if (node.kind !== 'call' || seen.has(id)) continue;
    seen.add(id);
    if (node.target === 'bmm') products += 1;
    else open.push(...valuesOf(node.args).map((from) => from.node));
    if ('keepdim' in node.attrs) reductions += 1;
  }
  return products > 0 && reductions > 0;
}

function notPadded({ metas, step }: Product, reason: string): Decision {
  const [a, b] = metas.map(({ shape }) => `[${shape.map((size) => printIndex(size)).join(', ')}]`);
  return {
    kind: 'padded',
    stage: 'pad-products',
    buffer: `product of ${metas[0].dtype} ${a ?? ''} by ${b ?? ''}`,
    isDone: false,
    strides: `multiples of ${String(step)}`,
    reason,
  };
}
