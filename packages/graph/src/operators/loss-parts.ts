// What losses share: their reduction, their common parameters, and losses of two tensors point by point. Half types are
// computed in f32 and rounded once.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { floats } from '../define.ts';
import { argumentValue, dtypeUnsupported, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { expandedShape, range, sameShape } from '../shape.ts';
import { wideMean } from './reductions.ts';

export const REDUCTIONS: readonly string[] = ['none', 'mean', 'sum', 'batchmean'];

/** Applies `reduction` to a wide loss, and casts it. */
export function reduceLoss(c: Composer, a: ArgumentReader, loss: { value: ValueRef; dtype: DType }): ValueRef {
  const reduction = a.string('reduction');
  if (!REDUCTIONS.includes(reduction))
    throw argumentValue(a.operator.name, `reduction ${reduction}`, 'use none, mean or sum');
  const all = { dims: range(c.rank(loss.value)), keepdim: false };
  const { value } = loss;
  if (reduction === 'mean' && !isFloat(loss.dtype)) throw dtypeUnsupported(a.operator.name, loss.dtype, floats);
  if (reduction === 'none') return c.cast(value, loss.dtype);
  if (reduction === 'mean') return c.cast(wideMean(c, c.toFloat(value), all), loss.dtype);
  const summed = c.reduce('sum', value);
  return c.cast(
    reduction === 'sum' ? summed : c.op('div', summed, c.sizeOperand(c.size(value, 0), c.dtype(value))),
    loss.dtype,
  );
}

export const REDUCE = "reduction: 'none' | 'mean' | 'sum' = 'mean'";
export const OLD = 'sizeAverage: bool? = null, reduce: bool? = null';

export interface Pair {
  /** Wide. */
  readonly x: ValueRef;
  readonly y: ValueRef;
}

export function requireSameShape(c: Composer, operator: string, [x, y]: readonly [ValueRef, ValueRef]): void {
  if (!sameShape(c.sizes, c.shape(x), c.shape(y)))
    throw shapeMismatch(
      `${operator}: ${printShape(c.shape(x))} and ${printShape(c.shape(y))} differ`,
      'the shapes must be equal',
    );
}

export const square = (c: Composer, x: ValueRef): ValueRef => c.op('mul', x, x);

export const weighted = (c: Composer, loss: ValueRef, weight: ValueRef | undefined): ValueRef =>
  weight === undefined ? loss : c.op('mul', loss, c.cast(weight, c.dtype(loss)));

export const floatOf = (dtype: DType): DType => (isFloat(dtype) ? dtype : 'f32');

export const relu = (c: Composer, x: ValueRef): ValueRef => c.op('maximum', x, 0);

export const WEIGHTED = `weight: tensor? = null, sizeAverage: bool? = null`;

/** A loss of `input` and `target` whose result has shape and dtype of `input`: the target may broadcast to it. */
export function fixedPairLoss(c: Composer, a: ArgumentReader, point: (pair: Pair) => ValueRef): ValueRef {
  const [x, y] = [a.tensor('input'), a.tensor('target')];
  if (!isFloat(c.dtype(x))) throw dtypeUnsupported(a.operator.name, c.dtype(x), floats);
  expandedShape(c.sizes, c.shape(y), c.shape(x));
  return reduceLoss(c, a, { value: point({ x: c.widen(x), y: c.widen(y) }), dtype: c.dtype(x) });
}

/** A loss of `input` and `target`, broadcast together. */
export function pairLoss(c: Composer, a: ArgumentReader, point: (pair: Pair) => ValueRef): ValueRef {
  const [x, y] = [a.tensor('input'), a.tensor('target')];
  const value = point({ x: c.widen(x), y: c.widen(y) });
  const dtype = promoteTypes(c.dtype(x), c.dtype(y));
  return reduceLoss(c, a, { value, dtype: isFloat(dtype) ? dtype : c.dtype(value) });
}
