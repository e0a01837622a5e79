// The primitives of sorting: rows in order, or what stands at some places of the order. Both have two results, the elements and where
// in their rows they were. What comes first among equals is what came first, NaN is the largest, 0 and -0 are equal.
import { at } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import { primitive } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch } from '../errors.ts';
import type { Meta } from '../graph.ts';
import type { InferContext } from '../operator.ts';
import { contiguousMeta, normalizeDim } from '../shape.ts';
import type { Shape } from '../shape.ts';

const bothResults = (shape: Shape, { dtype }: Meta): readonly Meta[] => [
  contiguousMeta(shape, dtype),
  contiguousMeta(shape, 'i64'),
];

/** The dim that is ordered, from 0. */
function orderedDim(operator: string, a: ArgumentReader, { shape }: Meta): number {
  if (shape.length === 0) throw argumentValue(operator, 'the tensor has no dims', 'use reshape([1]) first');
  return normalizeDim(a.int('dim'), shape.length);
}

const sorted = primitive(
  'sorted',
  {
    signature: 'input: tensor, dim: int, count: index, descending: bool',
    doc: 'The first elements of rows in order, and where they were.',
    torch: [],
    forms: [],
    results: 2,
  },
  {
    levels: ['primitive'],
    infer: (context, a) => {
      const meta = context.metaOf(a.tensor('input'));
      const dim = orderedDim('sorted', a, meta);
      const count = a.size('count');
      if (!context.sizes.atMost(count, at(meta.shape, dim)))
        throw argumentValue('sorted', `a row has no ${String(context.sizes.hint(count))} elements`, 'ask for fewer');
      return bothResults(meta.shape.with(dim, count), meta);
    },
  },
);

/** Rows of places that belong to rows of elements. */
function requireRows(context: InferContext, [input, places]: readonly [Meta, Meta], dim: number): void {
  if (places.dtype !== 'i64') throw dtypeMismatch('ranked', `the places are ${places.dtype}, they must be i64`);
  const fits =
    places.shape.length === input.shape.length &&
    places.shape.every((size, axis) => axis === dim || context.sizes.same(size, at(input.shape, axis)));
  if (!fits)
    throw shapeMismatch(
      `ranked: ${printShape(input.shape)} at places ${printShape(places.shape)}`,
      'sizes must agree except along dim',
    );
}

const ranked = primitive(
  'ranked',
  {
    signature: 'input: tensor, places: tensor, dim: int',
    doc: 'The elements that stand at places of the order of their rows, and where they were. A place out of range is the nearest one.',
    torch: [],
    forms: [],
    results: 2,
  },
  {
    levels: ['primitive'],
    infer: (context, a) => {
      const metas = [context.metaOf(a.tensor('input')), context.metaOf(a.tensor('places'))] as const;
      const dim = orderedDim('ranked', a, metas[0]);
      requireRows(context, metas, dim);
      return bothResults(metas[1].shape, metas[0]);
    },
  },
);

export const sortPrimitives: readonly Entry[] = [sorted, ranked];
