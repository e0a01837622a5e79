// Joining and splitting: in terms of cat and slice.
import { at, invariant } from '@tsinductor/base';
import { add, ceilDivide, int, multiply, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { composite } from '../define.ts';
import type { Decomposition, Description, Entry } from '../define.ts';
import { argumentValue, dataDependent, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import type { Performance } from '../performer.ts';
import { normalizeDim, one, product, range, sameShape, zero } from '../shape.ts';
import { sameDType } from './contraction.ts';
import { atLeast } from './views.ts';

function stack(c: Composer, items: readonly ValueRef[], dim: number): ValueRef {
  const first = items[0];
  if (first === undefined) throw argumentValue('stack', 'the list of tensors is empty', 'give at least one tensor');
  const other = items.find((x) => !sameShape(c.sizes, c.shape(x), c.shape(first)));
  if (other !== undefined)
    throw shapeMismatch(
      `stack of ${printShape(c.shape(first))} and ${printShape(c.shape(other))}`,
      'the shapes must be equal',
    );
  const axis = normalizeDim(dim, c.rank(first) + 1);
  return c.call('cat', [items.map((x) => c.unsqueeze(x, axis))], { dim: axis });
}

/** Consecutive pieces of an axis, of these sizes. */
function pieces(
  c: Composer,
  x: ValueRef,
  { dim, sizes }: { dim: number; sizes: readonly number[] },
): readonly ValueRef[] {
  const ends = sizes.reduce<number[]>((all, size) => [...all, (all.at(-1) ?? 0) + size], []);
  return sizes.map((size, i) => c.slice(x, dim, { start: at(ends, i) - size, end: at(ends, i) }));
}

interface EqualPieces {
  readonly dim: number;
  /** Of each piece but the last, which may be smaller. */
  readonly size: Index;
  /** How many there are at most, where that is known. */
  readonly most?: number;
}

/** Equal pieces of an axis that is not empty. Where sizes are symbols it is their number that is guarded. */
function equalPieces(c: Composer, x: ValueRef, { dim, size, most }: EqualPieces): readonly ValueRef[] {
  const extent = c.size(x, dim);
  const count = Math.ceil(c.sizes.hint(extent) / c.sizes.hint(size));
  const startOf = (piece: number): Index => multiply(size, int(piece));
  const isSo =
    c.sizes.atMost(add(startOf(count - 1), one), extent) && (count === most || c.sizes.atMost(extent, startOf(count)));
  invariant(isSo, 'so many pieces there are for the sizes of this call');
  return range(count).map((piece) => {
    const end = piece === count - 1 ? extent : startOf(piece + 1);
    return c.slice(x, dim, { start: startOf(piece), end });
  });
}

/** Pieces of an axis that is empty. */
const emptyPieces = (c: Composer, x: ValueRef, { dim, count }: { dim: number; count: number }): readonly ValueRef[] =>
  pieces(c, x, { dim, sizes: range(count).map(() => 0) });

function requireDims(c: Composer, a: ArgumentReader, x: ValueRef): number {
  if (c.rank(x) === 0) throw shapeMismatch(`${a.operator.name} of a 0-d tensor`, 'it has no dims');
  return c.dim(x, a.int('dim'));
}

function splitSizes(
  c: Composer,
  x: ValueRef,
  { dim, sizes }: { dim: number; sizes: readonly number[] },
): readonly ValueRef[] {
  const extent = c.sizes.toNumber(c.size(x, dim));
  const sum = sizes.reduce((all, size) => all + size, 0);
  if (sum !== extent || sizes.some((size) => size < 0)) {
    throw argumentValue(
      'split',
      `sizes ${JSON.stringify(sizes)} of an axis of ${String(extent)}`,
      'the sizes must add up to that of the axis',
    );
  }
  return pieces(c, x, { dim, sizes });
}

function split(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const x = a.tensor('input');
  const dim = requireDims(c, a, x);
  const size = a.attr('splitSizeOrSections');
  if (typeof size !== 'number') return splitSizes(c, x, { dim, sizes: a.ints('splitSizeOrSections') });
  const isEmpty = c.sizes.isZero(c.size(x, dim));
  if (size < 0 || (size === 0 && !isEmpty)) throw argumentValue('split', `size ${String(size)}`, 'use a positive size');
  return isEmpty ? emptyPieces(c, x, { dim, count: 1 }) : equalPieces(c, x, { dim, size: int(size) });
}

function chunk(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const x = a.tensor('input');
  const [dim, chunks] = [requireDims(c, a, x), a.int('chunks')];
  if (chunks < 1) throw argumentValue('chunk', `${String(chunks)} chunks`, 'use a positive number');
  const extent = c.size(x, dim);
  return c.sizes.isZero(extent)
    ? emptyPieces(c, x, { dim, count: chunks })
    : equalPieces(c, x, { dim, size: ceilDivide(extent, int(chunks)), most: chunks });
}

/** Pieces between indices, or a number of nearly equal pieces, the first ones larger. */
function tensorSplit(
  c: Composer,
  x: ValueRef,
  { dim, how }: { dim: number; how: number | readonly number[] },
): readonly ValueRef[] {
  const extent = c.sizes.toNumber(c.size(x, dim));
  if (typeof how === 'number') {
    if (how < 1) throw argumentValue('tensorSplit', `${String(how)} sections`, 'use a positive number');
    const [small, larger] = [Math.floor(extent / how), extent % how];
    return pieces(c, x, { dim, sizes: range(how).map((i) => small + (i < larger ? 1 : 0)) });
  }
  const bounds = [0, ...how, extent];
  return range(bounds.length - 1).map((i) => {
    const [start, end] = [i === 0 ? 0 : at(bounds, i), i + 2 === bounds.length ? extent : at(bounds, i + 1)];
    return c.slice(x, dim, { start, end });
  });
}

/** hsplit, vsplit and dsplit: tensorSplit along a fixed dim, in equal pieces. */
function fixedSplit(name: string, dimOf: (rank: number) => number, least: number): Entry {
  const description: Description = {
    signature: 'input: tensor, indicesOrSections: ints',
    doc: `Splits along a fixed dim: see tensorSplit.`,
    kind: 'view',
    results: 'list',
  };
  return composite(name, description, (c, a) => {
    const x = a.tensor('input');
    if (c.rank(x) < least)
      throw shapeMismatch(`${name} of ${printShape(c.shape(x))}`, `it needs at least ${String(least)} dims`);
    const dim = dimOf(c.rank(x));
    const how = a.attr('indicesOrSections');
    const extent = c.sizes.toNumber(c.size(x, dim));
    if (typeof how === 'number' && (how < 1 || extent % how !== 0))
      throw argumentValue(name, `${String(how)} pieces of an axis of ${String(extent)}`, 'use a divisor');
    return tensorSplit(c, x, { dim, how: typeof how === 'number' ? how : a.ints('indicesOrSections') });
  });
}

const listOp = (name: string, doc: string, body: (c: Composer, items: readonly ValueRef[]) => ValueRef): Entry =>
  composite(name, { signature: 'tensors: tensors', doc, forms: ['function'] }, (c, a) => {
    if (a.tensors('tensors').length === 0)
      throw argumentValue(name, 'the list of tensors is empty', 'give at least one tensor');
    return body(c, a.tensors('tensors'));
  });

const join = (c: Composer, items: readonly ValueRef[], dim: number): ValueRef => c.call('cat', [items], { dim });

function blockDiag(c: Composer, items: readonly ValueRef[]): ValueRef {
  const matrices = items.map((x) => atLeast(c, x, 2));
  if (matrices.some((x) => c.rank(x) > 2))
    throw shapeMismatch('blockDiag of a tensor with more than 2 dims', 'give matrices, vectors or numbers');
  const dtype = matrices.map((x) => c.dtype(x)).reduce(promoteTypes);
  const width = matrices.map((x) => c.size(x, 1)).reduce(add, zero);
  let before: Index = zero;
  const rows = matrices.map((x) => {
    const start = before;
    before = add(before, c.size(x, 1));
    return c.pad(c.cast(x, dtype), [
      [zero, zero],
      [start, subtract(width, before)],
    ]);
  });
  return join(c, rows, 0);
}

function cartesianProd(c: Composer, vectors: readonly ValueRef[]): ValueRef {
  if (vectors.some((x) => c.rank(x) !== 1))
    throw shapeMismatch('cartesianProd of tensors that are not vectors', 'give vectors');
  sameDType(c, 'cartesianProd', vectors);
  if (vectors.length === 1) return at(vectors, 0);
  const shape = vectors.map((x) => c.count(x));
  const grids = vectors.map((x, axis) => c.reshape(c.expand(c.along(x, axis, shape.length), shape), [product(shape)]));
  return stack(c, grids, 1);
}

/** The sum of the counts from each place on; behind the last it is 0. */
function sumsFrom(counts: readonly number[]): readonly number[] {
  const sums = [0];
  for (const count of counts.toReversed()) sums.push(at(sums, sums.length - 1) + count);
  return sums.reverse();
}

/**
 * In lexicographic order those of r elements that begin with one element go on as those of r - 1 do that begin behind it, which are the last
 * of all of these: n slices for each element of a row, and not one for each element of the result.
 */
function combinations(c: Composer, a: ArgumentReader): ValueRef {
  const [x, r, repeats] = [a.tensor('input'), a.int('r'), a.bool('withReplacement')];
  if (c.rank(x) !== 1) throw shapeMismatch(`combinations of ${printShape(c.shape(x))}`, 'give a vector');
  if (r < 0) throw argumentValue('combinations', `r is ${String(r)}`, 'it is not negative');
  if (r === 0) return c.full(0, [zero], c.dtype(x));
  const n = c.sizes.toNumber(c.size(x, 0));
  let rows = c.reshape(x, [int(n), one]);
  // How many rows begin with an element from each place on.
  let from = sumsFrom(range(n).map(() => 1));
  for (let length = 2; length <= r; length += 1) {
    const following = range(n).map((first) => at(from, repeats ? first : first + 1));
    const pieces = following.flatMap((count, first): readonly ValueRef[] => {
      if (count === 0) return [];
      const head = c.expand(c.slice(x, 0, { start: first, end: first + 1 }), [int(count)]);
      return [join(c, [c.reshape(head, [int(count), one]), c.slice(rows, 0, { start: at(from, 0) - count })], 1)];
    });
    if (pieces.length === 0) return c.full(0, [zero, int(r)], c.dtype(x));
    rows = join(c, pieces, 0);
    from = sumsFrom(following);
  }
  return rows;
}

const views = (name: string, description: Description, decomposition: Decomposition): Entry =>
  composite(name, { kind: 'view', results: 'list', ...description }, decomposition);

/** Places that a tensor holds are read. */
const splitAtTensor: Performance<readonly ValueRef[]> = (c, a, performer) => {
  const [x, how, dim] = [a.tensor('input'), a.tensor('indicesOrSections'), a.int('dim')];
  if (c.dtype(how) !== 'i64' || c.rank(how) > 1)
    throw argumentValue('tensorSplit', 'the places are neither a number nor a vector', 'give whole numbers in i64');
  const places = c.rank(how) === 0 ? [how] : range(c.sizes.toNumber(c.size(how, 0))).map((k) => c.select(how, 0, k));
  const numbers = performer.numbers(places, 'tensorSplit at a tensor');
  return c.callAll('tensorSplit', [x], { indicesOrSections: c.rank(how) === 0 ? at(numbers, 0) : numbers, dim });
};

export const joiningEntries: readonly Entry[] = [
  composite(
    'stack',
    { signature: 'tensors: tensors, dim: int = 0', doc: 'Joins tensors along a new axis.', forms: ['function'] },
    (c, a) => stack(c, a.tensors('tensors'), a.int('dim')),
  ),
  views(
    'split',
    {
      signature: 'input: tensor, splitSizeOrSections: ints, dim: int = 0',
      doc: 'Pieces of a size, or of several sizes.',
    },
    split,
  ),
  views(
    'splitWithSizes',
    { signature: 'input: tensor, splitSizes: ints, dim: int = 0', doc: 'Pieces of several sizes.' },
    (c, a) =>
      splitSizes(c, a.tensor('input'), { dim: requireDims(c, a, a.tensor('input')), sizes: a.ints('splitSizes') }),
  ),
  views(
    'chunk',
    { signature: 'input: tensor, chunks: int, dim: int = 0', doc: 'At most that many pieces of one size.' },
    chunk,
  ),
  views('unbind', { signature: 'input: tensor, dim: int = 0', doc: 'The slices along an axis.' }, (c, a) => {
    const x = a.tensor('input');
    const dim = requireDims(c, a, x);
    return range(c.sizes.toNumber(c.size(x, dim))).map((i) => c.select(x, dim, i));
  }),
  views(
    'tensorSplit',
    {
      signature: 'input: tensor, indicesOrSections: ints, dim: int = 0',
      doc: 'Pieces between indices, or nearly equal ones.',
      overloads: ['tensorSplitAt'],
    },
    (c, a) => {
      const how = a.attr('indicesOrSections');
      return tensorSplit(c, a.tensor('input'), {
        dim: requireDims(c, a, a.tensor('input')),
        how: typeof how === 'number' ? how : a.ints('indicesOrSections'),
      });
    },
  ),
  composite(
    'tensorSplitAt',
    {
      signature: 'input: tensor, indicesOrSections: tensor, dim: int = 0',
      doc: 'tensorSplit at places that a tensor holds, or into as many pieces as a 0-d tensor says.',
      torch: [],
      forms: [],
      results: 'list',
      reads: splitAtTensor,
    },
    () => {
      throw dataDependent('tensorSplit', 'the number and the sizes of the pieces', 'give the places as integers');
    },
  ),
  fixedSplit('hsplit', (rank) => (rank === 1 ? 0 : 1), 1),
  fixedSplit('vsplit', () => 0, 2),
  fixedSplit('dsplit', () => 2, 3),
  listOp('hstack', 'Joins tensors along their second axis (vectors along the first).', (c, items) => {
    const raised = items.map((x) => atLeast(c, x, 1));
    return join(c, raised, c.rank(at(raised, 0)) === 1 ? 0 : 1);
  }),
  listOp('vstack', 'Joins tensors along their first axis, vectors as rows.', (c, items) =>
    join(
      c,
      items.map((x) => atLeast(c, x, 2)),
      0,
    ),
  ),
  listOp('dstack', 'Joins tensors along their third axis.', (c, items) =>
    join(
      c,
      items.map((x) => atLeast(c, x, 3)),
      2,
    ),
  ),
  listOp('columnStack', 'Joins tensors along their second axis, vectors as columns.', (c, items) =>
    join(
      c,
      items.map((x) => (c.rank(x) < 2 ? c.reshape(x, [c.count(x), one]) : x)),
      1,
    ),
  ),
  composite(
    'blockDiag',
    { signature: '...tensors: tensors', doc: 'Matrices along the diagonal of one.', forms: ['function'] },
    (c, a) => blockDiag(c, a.tensors('tensors')),
  ),
  composite(
    'cartesianProd',
    {
      signature: '...tensors: tensors',
      doc: 'All tuples of elements of vectors.',
      forms: ['function'],
      mayAlias: true,
    },
    (c, a) => cartesianProd(c, a.tensors('tensors')),
  ),
  composite(
    'combinations',
    {
      signature: 'input: tensor, r: int = 2, withReplacement: bool = false',
      doc: 'All choices of r elements of a vector.',
    },
    combinations,
  ),
];
