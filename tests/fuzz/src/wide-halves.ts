// A graph evaluated as if half precision were f32: what compiled code computes where it keeps every intermediate of a
// kernel wide. To round a value and then move it by a rounding stays among the halves; only this shows what lies between
// them (the sine of a multiple of pi, say, where halves are so far apart that all of them are whole numbers).
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Attr, Graph, GraphNode, Meta } from '@tsinductor/graph';
import { fromBuffer } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { isHalf } from './compare.ts';
import type { GraphEvaluator } from './evaluate-graph.ts';

/** The graph's outputs, in their own dtypes. */
export function evaluateWide(evaluator: GraphEvaluator, graph: Graph, inputs: readonly Tensor[]): readonly Tensor[] {
  const wide = { ...graph, nodes: graph.nodes.map(wideNode) };
  const given = inputs.map((input) => (isHalf(input.dtype) ? input.to('f32') : input));
  return evaluator.run(wide, given).map((result, output) => {
    const { node, result: place } = at(graph.outputs, output);
    return result.to(at(at(graph.nodes, node).results, place).dtype);
  });
}

const wideDType = (dtype: DType): DType => (isHalf(dtype) ? 'f32' : dtype);

function wideNode(node: GraphNode): GraphNode {
  const results = node.results.map((meta): Meta => ({ ...meta, dtype: wideDType(meta.dtype) }));
  if (node.kind === 'constant') return { ...node, results, data: wideData(node.data, at(node.results, 0).dtype) };
  if (node.kind !== 'call') return { ...node, results };
  return { ...node, results, attrs: Object.fromEntries(Object.entries(node.attrs).map(([name, attr]) => [name, wideAttr(attr)])) }; // prettier-ignore
}

function wideAttr(attr: Attr): Attr {
  if (Array.isArray(attr)) return (attr as readonly Attr[]).map(wideAttr);
  return typeof attr === 'object' && attr !== null && 'dtype' in attr ? { dtype: wideDType(attr.dtype) } : attr;
}

function wideData(data: string, dtype: DType): string {
  if (!isHalf(dtype)) return data;
  const bytes = Buffer.from(data, 'base64');
  const memory = Uint8Array.from(bytes).buffer;
  const values = fromBuffer(memory, { dtype, shape: [bytes.length / 2] })
    .to('f32')
    .toTypedArray() as Float32Array;
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
}
