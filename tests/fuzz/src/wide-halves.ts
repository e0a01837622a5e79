// Calls as if half precision were f32: what compiled code computes where it keeps every intermediate of a kernel wide. To
// round a value and then move it by a rounding stays among the halves; only this shows what lies between them (the sine of a
// multiple of pi, say, where halves are so far apart that all of them are whole numbers).
import type { DType } from '@tsinductor/base';
import type { Attr, Meta } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { isHalf } from './compare.ts';
import type { CallNode } from './evaluate-graph.ts';

const wideDType = (dtype: DType): DType => (isHalf(dtype) ? 'f32' : dtype);

export const wideTensor = (tensor: Tensor): Tensor => (isHalf(tensor.dtype) ? tensor.to('f32') : tensor);

/** The call of wide operands, with a wide result. */
export const wideNode = (node: CallNode): CallNode => ({
  ...node,
  results: node.results.map((meta): Meta => ({ ...meta, dtype: wideDType(meta.dtype) })),
  attrs: Object.fromEntries(Object.entries(node.attrs).map(([name, attr]) => [name, wideAttr(attr)])),
});

function wideAttr(attr: Attr): Attr {
  if (Array.isArray(attr)) return (attr as readonly Attr[]).map(wideAttr);
  return typeof attr === 'object' && attr !== null && 'dtype' in attr ? { dtype: wideDType(attr.dtype) } : attr;
}
