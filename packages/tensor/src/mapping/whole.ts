// Whole tensors of a level of vmap: those that have the samples along their first axis.
import { sizesAttr } from '@tsinductor/graph';
import { dispatchOne } from '../dispatch.ts';
import { indexesOf } from '../symbolic-shape.ts';
import type { Tensor } from '../tensor.ts';
import { mappedTensor, outside } from './level.ts';
import type { MapLevel } from './level.ts';

/** What is the same for every sample, with the samples along a first axis. */
export const repeated = (tensor: Tensor, { count }: MapLevel): Tensor =>
  dispatchOne('expand', [tensor, sizesAttr([count, ...indexesOf(tensor.shape)])]);

/** The tensor at the level, with memory of its own for each sample. */
export function differing(tensor: Tensor, level: MapLevel): Tensor {
  const { whole, differs } = outside(tensor, level);
  return differs ? tensor : mappedTensor(level, dispatchOne('clone', [repeated(whole, level)]), true);
}

/** The tensor with one axis at another place. */
export const movedAxis = (tensor: Tensor, from: number, to: number): Tensor =>
  from === to ? tensor : dispatchOne('movedim', [tensor, from, to]);
