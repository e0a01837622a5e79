// The inverse of views: the input with other values where a view of it would read. Places are known, so that all but
// one are a `where`.
import { at } from '@tsinductor/base';
import { int, subtract } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { size } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { indexOutOfRange, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { range, sameShape, zero } from '../shape.ts';
import { requireInside } from './view-primitives.ts';

function selectScatter(c: Composer, a: ArgumentReader): ValueRef {
  const [x, src, index] = [a.tensor('input'), a.tensor('src'), a.int('index')];
  if (c.rank(x) === 0) throw shapeMismatch('selectScatter of a 0-d tensor', 'it has no dims');
  const dim = c.dim(x, a.int('dim'));
  const size = c.sizes.toNumber(c.size(x, dim));
  if (index < -size || index >= size) throw indexOutOfRange(String(index), dim, String(size));
  const wrapped = index < 0 ? c.sizes.toNumber(c.size(x, dim)) + index : index;
  const here = c.op('eq', c.along(c.iota(c.size(x, dim)), dim, c.rank(x)), wrapped);
  return c.where(here, c.cast(c.expand(c.unsqueeze(src, dim), c.shape(x)), c.dtype(x)), x);
}

function sliceScatter(c: Composer, a: ArgumentReader): ValueRef {
  const [x, src] = [a.tensor('input'), a.tensor('src')];
  const dim = c.dim(x, a.int('dim'));
  const n = c.sizes.toNumber(c.size(x, dim));
  const clip = (bound: number): number => Math.min(Math.max(bound < 0 ? bound + n : bound, 0), n);
  const [start, step] = [clip(a.optionalInt('start') ?? 0), a.int('step')];
  const end = Math.max(clip(a.optionalInt('end') ?? n), start);
  const count = Math.ceil((end - start) / step);
  if (!c.sizes.same(c.size(src, dim), size(count)))
    throw shapeMismatch(
      `sliceScatter of ${printShape(c.shape(src))} into ${String(count)} places`,
      'src must have the shape of the slice',
    );
  if (count === 0) return c.call('clone', [x]);
  const position = c.iota(size(n));
  const offset = c.op('sub', position, start);
  const place = c.op('minimum', c.op('maximum', c.op('divFloor', offset, step), 0), count - 1);
  const inside = c.fold('logicalAnd', [
    c.op('ge', position, start),
    c.op('lt', position, end),
    c.op('eq', c.op('remainder', offset, step), 0),
  ]);
  return c.where(c.along(inside, dim, c.rank(x)), c.cast(c.indexSelect(src, dim, place), c.dtype(x)), x);
}

function diagonalScatter(c: Composer, a: ArgumentReader): ValueRef {
  const [x, src, offset] = [a.tensor('input'), a.tensor('src'), a.int('offset')];
  const [dim1, dim2] = [c.dim(x, a.int('dim1')), c.dim(x, a.int('dim2'))];
  const wanted = c.shape(c.call('diagonal', [x], { offset, dim1, dim2 }));
  if (!sameShape(c.sizes, c.shape(src), wanted))
    throw shapeMismatch(`diagonalScatter: src is ${printShape(c.shape(src))}, the diagonal ${printShape(wanted)}`);
  const rest = range(c.rank(x)).filter((axis) => axis !== dim1 && axis !== dim2);
  const order = [...rest, dim1, dim2];
  const matrices = c.permute(x, order);
  const [rows, columns] = [c.size(matrices, -2), c.size(matrices, -1)];
  // Element i of the diagonal stands in row i above the main diagonal, in column i below it.
  const side = offset >= 0 ? rows : columns;
  const padded = c.pad(src, [...rest.map(() => [zero, zero] as const), [zero, subtract(side, c.size(src, -1))]]);
  const spread = c.cast(c.unsqueeze(padded, offset >= 0 ? -1 : -2), c.dtype(x));
  const distance = c.op('sub', c.iota(columns), c.unsqueeze(c.iota(rows), 1));
  const result = c.where(c.op('eq', distance, offset), spread, matrices);
  return c.permute(
    result,
    range(order.length).map((axis) => order.indexOf(axis)),
  );
}

/** Writes at the places that a layout names. */
function asStridedScatter(c: Composer, a: ArgumentReader): ValueRef {
  const [x, src] = [a.tensor('input'), a.tensor('src')];
  const [shape, strides, start] = [a.sizes('size'), a.sizes('stride'), a.optionalInt('storageOffset') ?? 0];
  requireInside(c.sizes, 'asStridedScatter', {
    shape: c.shape(x),
    size: shape,
    stride: strides,
    offset: int(start),
  });
  if (!sameShape(c.sizes, c.shape(src), shape))
    throw shapeMismatch(
      `asStridedScatter: src is ${printShape(c.shape(src))}, not ${printShape(shape)}`,
      'give an element for each place',
    );
  const places = shape.map((extent, axis) =>
    c.along(c.op('mul', c.iota(extent), c.sizeOperand(at(strides, axis))), axis, shape.length),
  );
  const base = c.full(start, [], 'i64');
  const index = c.expand(c.fold('add', [base, ...places]), shape);
  const flat = c.call('indexPut', [c.flatten(x), [index], c.cast(src, c.dtype(x))], {
    dims: [0],
    accumulate: false,
    wraps: false,
  });
  return c.reshape(flat, c.shape(x));
}

export const viewScatterEntries: readonly Entry[] = [
  composite(
    'selectScatter',
    { signature: 'input: tensor, src: tensor, dim: int, index: int', doc: 'The input with src as one slice.' },
    selectScatter,
  ),
  composite(
    'sliceScatter',
    {
      signature: 'input: tensor, src: tensor, dim: int = 0, start: int? = null, end: int? = null, step: int = 1',
      doc: 'The input with src in a slice.',
    },
    sliceScatter,
  ),
  composite(
    'diagonalScatter',
    {
      signature: 'input: tensor, src: tensor, offset: int = 0, dim1: int = 0, dim2: int = 1',
      doc: 'The input with src in a diagonal.',
    },
    diagonalScatter,
  ),
  composite(
    'asStridedScatter',
    {
      signature: 'input: tensor, src: tensor, size: sizes, stride: sizes, storageOffset: int? = null',
      doc: 'The input with src where asStrided reads.',
    },
    asStridedScatter,
  ),
];
