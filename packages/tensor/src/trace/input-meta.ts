// What a trace knows of an input. In: the tensor, and which of its axes may have other sizes in another call. Out: its meta,
// in which those axes are symbols.
import { contiguousStrides } from '@tsinductor/graph';
import type { Meta } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { metaOf } from '../eager/executor.ts';
import { badArgument } from '../errors.ts';
import { isRowMajor } from '../layout.ts';
import type { Tensor } from '../tensor.ts';

export interface DynamicAxis {
  readonly axis: number;
  readonly min?: number;
  readonly max?: number | null;
  /** The size to reckon with where a question is not decided; unless given, that of the tensor. */
  readonly hint?: number;
}

/** `declare` gives an axis its symbol. Throws UserError where a tensor with such axes is not contiguous. */
export function inputMeta(
  tensor: Tensor,
  dynamic: readonly DynamicAxis[],
  declare: (axis: DynamicAxis) => Index,
): Meta {
  const meta = metaOf(tensor);
  if (dynamic.length === 0) return meta;
  if (!isRowMajor(tensor))
    throw badArgument('trace', 'a dynamic axis of a tensor that is not contiguous', 'call contiguous() first');
  const shape = meta.shape.map((size, axis) => {
    const wanted = dynamic.find((candidate) => candidate.axis === axis);
    return wanted === undefined ? size : declare(wanted);
  });
  return { dtype: tensor.dtype, shape, strides: contiguousStrides(shape) };
}
