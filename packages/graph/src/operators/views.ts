// Views and rearrangements as PyTorch offers them, in terms of the primitive ones.
import { at, isFloat } from '@tsinductor/base';
import { add, int, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { MEMORY_FORMAT, composite } from '../define.ts';
import type { Decomposition, Description, Entry } from '../define.ts';
import { argumentValue, indexOutOfRange, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import {
  broadcastShapes,
  contiguousStrides,
  expandedShape,
  normalizeDims,
  one,
  product,
  range,
  reshapedShape,
  sameShape,
  viewedStrides,
  zero,
} from '../shape.ts';
import type { Shape } from '../shape.ts';

const view = (name: string, description: Description, decomposition: Decomposition): Entry =>
  composite(name, { kind: 'view', ...description }, decomposition);

/** A property of Tensor: an operator of the tensor alone. */
const property = (name: string, doc: string, decomposition: (c: Composer, x: ValueRef) => ValueRef): Entry =>
  view(name, { signature: 'input: tensor', doc, torch: `Tensor.${name}`, forms: ['method'] }, (c, a) =>
    decomposition(c, a.tensor('input')),
  );

const reversed = (c: Composer, x: ValueRef): ValueRef => c.permute(x, range(c.rank(x)).reverse());

function matrixTransposed(c: Composer, x: ValueRef): ValueRef {
  if (c.rank(x) < 2) throw shapeMismatch(`the tensor has shape ${printShape(c.shape(x))}`, 'it needs at least 2 dims');
  return c.transpose(x, -2, -1);
}

/** x in `shape`, sharing storage: throws where that needs a copy. */
function viewAs(c: Composer, x: ValueRef, target: Shape): ValueRef {
  const { shape, strides } = c.meta(x);
  const resolved = reshapedShape(c.sizes, shape, target);
  viewedStrides(c.sizes, { shape, strides, offset: zero }, resolved);
  return c.reshape(x, resolved);
}

function narrow(c: Composer, a: ArgumentReader): ValueRef {
  const [x, start, length] = [a.tensor('input'), a.size('start'), a.size('length')];
  if (c.rank(x) === 0) throw shapeMismatch('narrow of a 0-d tensor', 'it has no dims');
  const dim = c.dim(x, a.int('dim'));
  const extent = at(c.shape(x), dim);
  const first = isNegative(start) ? add(extent, start) : start;
  const end = add(first, length);
  if (isNegative(length) || !c.sizes.atMost(zero, first) || !c.sizes.atMost(end, extent)) {
    throw argumentValue(
      'narrow',
      `start ${printIndex(start)} and length ${printIndex(length)} leave ${printIndex(extent)}`,
      'stay inside the axis',
    );
  }
  return c.slice(x, dim, { start: first, end });
}

const isNegative = (size: Index): boolean => size.kind === 'int' && size.value < 0;

/** narrow from a start that a tensor holds: the length is known, so that it is a selection. */
function narrowFrom(c: Composer, a: ArgumentReader): ValueRef {
  const [x, start, length] = [a.tensor('input'), a.tensor('start'), a.int('length')];
  if (c.rank(start) !== 0 || isFloat(c.dtype(start)))
    throw argumentValue('narrow', 'start is not a 0-d integer tensor', 'give an integer');
  if (length < 0) throw argumentValue('narrow', `length ${String(length)}`, 'it is not negative');
  if (c.rank(x) === 0) throw shapeMismatch('narrow of a 0-d tensor', 'it has no dims');
  return c.indexSelect(x, a.int('dim'), c.op('add', c.iota(int(length)), c.cast(start, 'i64')));
}

function select(c: Composer, x: ValueRef, { dim, index }: { dim: number; index: Index }): ValueRef {
  if (c.rank(x) === 0) throw shapeMismatch('select of a 0-d tensor', 'it has no dims');
  const axis = c.dim(x, dim);
  const extent = at(c.shape(x), axis);
  const wrapped = isNegative(index) ? add(extent, index) : index;
  if (!c.sizes.atMost(zero, wrapped) || !c.sizes.atMost(add(wrapped, one), extent))
    throw indexOutOfRange(printIndex(index), axis, printIndex(extent));
  return c.select(x, axis, wrapped);
}

function squeeze(c: Composer, x: ValueRef, dims: readonly number[]): ValueRef {
  return c.squeeze(x, ...normalizeDims(dims, c.rank(x)).filter((dim) => c.sizes.isOne(at(c.shape(x), dim))));
}

function flatten(c: Composer, x: ValueRef, ends: { start: number; end: number }): ValueRef {
  const [start, end] = [c.dim(x, ends.start), c.dim(x, ends.end)];
  if (c.rank(x) === 0) return c.reshape(x, [one]);
  if (start > end) throw argumentValue('flatten', 'startDim comes after endDim', 'swap them');
  const shape = c.shape(x);
  return start === end
    ? x
    : c.reshape(x, [...shape.slice(0, start), product(shape.slice(start, end + 1)), ...shape.slice(end + 1)]);
}

function moveAll(
  c: Composer,
  x: ValueRef,
  move: { source: readonly number[]; destination: readonly number[] },
): ValueRef {
  const rank = c.rank(x);
  if (move.source.length !== move.destination.length) {
    throw argumentValue(
      'movedim',
      `${String(move.source.length)} source and ${String(move.destination.length)} destination dims`,
      'give as many of each',
    );
  }
  const [source, destination] = [normalizeDims(move.source, rank), normalizeDims(move.destination, rank)];
  const rest = range(rank).filter((axis) => !source.includes(axis));
  return c.permute(
    x,
    range(rank).map((axis) => source[destination.indexOf(axis)] ?? rest.shift() ?? axis),
  );
}

/** x with at least `rank` dims; the third goes last, as atleast_3d does. */
export function atLeast(c: Composer, x: ValueRef, rank: number): ValueRef {
  const shape = c.shape(x);
  if (shape.length >= rank) return x;
  if (rank < 3) return c.lead(x, rank);
  const matrix: Shape = [...new Array<Index>(2 - shape.length).fill(one), ...shape];
  return c.reshape(x, [...(shape.length === 2 ? shape : matrix), one]);
}

const atLeastEntry = (rank: number): readonly Entry[] => {
  const name = `atleast${String(rank)}d`;
  const torch = `atleast_${String(rank)}d`;
  const lists = `${name}List`;
  return [
    composite(
      name,
      {
        signature: 'input: tensor',
        doc: `The tensor with at least ${String(rank)} dims.`,
        torch,
        forms: ['function'],
        kind: 'view',
        overloads: [lists],
      },
      (c, a) => atLeast(c, a.tensor('input'), rank),
    ),
    composite(
      lists,
      {
        signature: '...tensors: tensors',
        doc: `Each tensor with at least ${String(rank)} dims.`,
        torch: [],
        forms: [],
        kind: 'view',
        results: 'list',
      },
      (c, a) => a.tensors('tensors').map((x) => atLeast(c, x, rank)),
    ),
  ];
};

const broadcastTensors = view(
  'broadcastTensors',
  {
    signature: '...tensors: tensors',
    doc: 'The tensors expanded to their common shape.',
    forms: ['function'],
    results: 'list',
  },
  (c, a) => {
    const shape = broadcastShapes(
      c.sizes,
      a.tensors('tensors').map((x) => c.shape(x)),
    );
    return a.tensors('tensors').map((x) => c.expand(x, shape));
  },
);

const meshgrid = view(
  'meshgrid',
  {
    signature: "...tensors: tensors, *, indexing: 'ij' | 'xy' = 'ij'",
    doc: 'Coordinate grids of vectors.',
    forms: ['function'],
    results: 'list',
  },
  (c, a) => {
    const vectors = a.tensors('tensors');
    if (vectors.some((x) => c.rank(x) > 1))
      throw shapeMismatch('meshgrid of tensors with more than one dim', 'give vectors');
    if (vectors.some((x) => c.dtype(x) !== c.dtype(at(vectors, 0))))
      throw argumentValue('meshgrid', 'the tensors have different dtypes', 'cast them to one');
    const swap = a.string('indexing') === 'xy' && vectors.length > 1;
    const shape = vectors.map((x) => c.count(x));
    const order = swap ? [1, 0, ...range(shape.length, 2)] : range(shape.length);
    const target = order.map((axis) => at(shape, axis));
    return vectors.map((x, axis) => c.expand(c.along(x, order.indexOf(axis), shape.length), target));
  },
);

const X = 'input: tensor';

export const viewEntries: readonly Entry[] = [
  view(
    'view',
    {
      signature: `${X}, ...shape: sizes`,
      doc: 'The same storage in another shape; throws where that needs a copy.',
      torch: 'Tensor.view',
      forms: ['method'],
    },
    (c, a) => viewAs(c, a.tensor('input'), a.sizes('shape')),
  ),
  view(
    'viewAs',
    {
      signature: `${X}, other: tensor`,
      doc: 'view to the shape of another tensor.',
      torch: 'Tensor.view_as',
      forms: ['method'],
    },
    (c, a) => viewAs(c, a.tensor('input'), c.shape(a.tensor('other'))),
  ),
  view(
    'reshapeAs',
    {
      signature: `${X}, other: tensor`,
      doc: 'reshape to the shape of another tensor.',
      torch: 'Tensor.reshape_as',
      forms: ['method'],
    },
    (c, a) =>
      c.reshape(a.tensor('input'), reshapedShape(c.sizes, c.shape(a.tensor('input')), c.shape(a.tensor('other')))),
  ),
  view(
    'expand',
    {
      signature: `${X}, ...size: sizes`,
      doc: 'Repeats axes of size 1 without copying; -1 keeps a size.',
      torch: 'Tensor.expand',
      forms: ['method'],
    },
    (c, a) => c.expand(a.tensor('input'), expandedShape(c.sizes, c.shape(a.tensor('input')), a.sizes('size'))),
  ),
  view('broadcastTo', { signature: `${X}, ...size: sizes`, doc: 'expand, as a function.' }, (c, a) =>
    c.expand(a.tensor('input'), expandedShape(c.sizes, c.shape(a.tensor('input')), a.sizes('size'))),
  ),
  view(
    'expandAs',
    {
      signature: `${X}, other: tensor`,
      doc: 'expand to the shape of another tensor.',
      torch: 'Tensor.expand_as',
      forms: ['method'],
    },
    (c, a) =>
      c.expand(a.tensor('input'), expandedShape(c.sizes, c.shape(a.tensor('input')), c.shape(a.tensor('other')))),
  ),
  view('transpose', { signature: `${X}, dim0: int, dim1: int`, doc: 'Swaps two axes.', torch: 'transpose' }, (c, a) =>
    c.transpose(a.tensor('input'), a.int('dim0'), a.int('dim1')),
  ),
  view('t', { signature: X, doc: 'The transposed matrix.' }, (c, a) => {
    const x = a.tensor('input');
    if (c.rank(x) > 2) throw shapeMismatch(`t of a tensor of rank ${String(c.rank(x))}`, 'use transpose(-2, -1)');
    return reversed(c, x);
  }),
  property('T', 'The axes in reverse order.', reversed),
  property('H', 'The transposed matrix.', (c, x) => {
    if (c.rank(x) !== 2 && c.rank(x) !== 0)
      throw shapeMismatch(`H of a tensor of rank ${String(c.rank(x))}`, 'use mH for batches');
    return reversed(c, x);
  }),
  property('mT', 'The last two axes swapped.', (c, x) => (c.rank(x) === 0 ? x : matrixTransposed(c, x))),
  property('mH', 'The last two axes swapped.', (c, x) => (c.rank(x) === 0 ? x : matrixTransposed(c, x))),
  view('unsqueeze', { signature: `${X}, dim: int`, doc: 'A new axis of size 1.' }, (c, a) =>
    c.unsqueeze(a.tensor('input'), a.int('dim')),
  ),
  view(
    'squeeze',
    { signature: `${X}, dim: dims = null`, doc: 'Without the axes of size 1, or those of them that `dim` names.' },
    (c, a) => squeeze(c, a.tensor('input'), a.dims('dim') ?? range(c.rank(a.tensor('input')))),
  ),
  view(
    'flatten',
    { signature: `${X}, startDim: int = 0, endDim: int = -1`, doc: 'Joins a run of axes into one.' },
    (c, a) => flatten(c, a.tensor('input'), { start: a.int('startDim'), end: a.int('endDim') }),
  ),
  view('ravel', { signature: X, doc: 'All elements in one axis.' }, (c, a) => c.flatten(a.tensor('input'))),
  view('unflatten', { signature: `${X}, dim: int, sizes: sizes`, doc: 'Splits one axis into several.' }, (c, a) => {
    const x = a.tensor('input');
    const dim = c.dim(x, a.int('dim'));
    if (c.rank(x) === 0) throw shapeMismatch('unflatten of a 0-d tensor', 'give a tensor with dims');
    if (a.sizes('sizes').length === 0) throw argumentValue('unflatten', 'no sizes', 'give one at least');
    const parts = reshapedShape(c.sizes, [at(c.shape(x), dim)], a.sizes('sizes'));
    return c.reshape(x, [...c.shape(x).slice(0, dim), ...parts, ...c.shape(x).slice(dim + 1)]);
  }),
  view('select', { signature: `${X}, dim: int, index: int`, doc: 'One index of an axis, which goes away.' }, (c, a) =>
    select(c, a.tensor('input'), { dim: a.int('dim'), index: a.size('index') }),
  ),
  view(
    'narrow',
    {
      signature: `${X}, dim: int, start: int, length: int`,
      doc: 'A run of indices of one axis.',
      overloads: ['narrowFrom'],
    },
    narrow,
  ),
  composite(
    'narrowFrom',
    {
      signature: `${X}, dim: int, start: tensor, length: int`,
      doc: 'narrow from a start that a tensor holds.',
      torch: [],
      forms: [],
    },
    narrowFrom,
  ),
  composite('narrowCopy', { signature: `${X}, dim: int, start: int, length: int`, doc: 'narrow, as a copy.' }, (c, a) =>
    c.call('clone', [narrow(c, a)]),
  ),
  view(
    'movedim',
    { signature: `${X}, source: dims, destination: dims`, doc: 'Moves axes to other places.', torch: 'movedim' },
    (c, a) => moveAll(c, a.tensor('input'), { source: a.ints('source'), destination: a.ints('destination') }),
  ),
  view(
    'unfold',
    {
      signature: `${X}, dimension: int, size: int, step: int`,
      doc: 'Windows along an axis, as a new last axis.',
      torch: 'Tensor.unfold',
      forms: ['method'],
    },
    (c, a) =>
      c.call('unfold', [a.tensor('input')], {
        dim: c.dim(a.tensor('input'), a.int('dimension')),
        size: a.int('size'),
        step: a.int('step'),
      }),
  ),
  view(
    'contiguous',
    {
      signature: `${X}, *, ${MEMORY_FORMAT}`,
      doc: 'The tensor in row-major order: itself if it is so already.',
      torch: 'Tensor.contiguous',
      forms: ['method'],
    },
    (c, a) => {
      const { shape, strides, dtype } = c.meta(a.tensor('input'));
      return sameShape(c.sizes, strides, contiguousStrides(shape))
        ? a.tensor('input')
        : c.call('cast', [a.tensor('input')], { dtype: { dtype } });
    },
  ),
  broadcastTensors,
  meshgrid,
  ...[1, 2, 3].flatMap(atLeastEntry),
];
