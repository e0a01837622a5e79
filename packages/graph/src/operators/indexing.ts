// Reading by index: gather and its relatives, and subscripts. Reads by tensors end in the primitives `gather`,
// `indexSelect` and `index`, which check every index at run time.
import { at } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { isSizeAttr } from '../argument-reader.ts';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dataDependent, dtypeMismatch, indexOutOfRange, shapeMismatch } from '../errors.ts';
import type { Attr, ValueRef } from '../graph.ts';
import type { Performance } from '../performer.ts';
import { broadcastShapes, one, range } from '../shape.ts';
import { size } from '../composer.ts';
import { valueLike } from './creation.ts';

/** A 0-d tensor counts as a vector of one element. */
export const atLeastVector = (c: Composer, x: ValueRef): ValueRef => (c.rank(x) === 0 ? c.reshape(x, [one]) : x);

/** An index in i64: i32 is accepted where PyTorch does so. */
export function asIndex(c: Composer, operator: string, index: ValueRef): ValueRef {
  const dtype = c.dtype(index);
  if (dtype === 'bool' || dtype === 'u8') {
    throw dataDependent(
      operator,
      'the number of elements a mask selects',
      'use where or maskedFill, or integer indices',
    );
  }
  if (dtype !== 'i64' && dtype !== 'i32') throw dtypeMismatch(operator, `an index is ${dtype}, it must be i64`);
  return c.cast(index, 'i64');
}

/** Elements at indices, broadcast together, of the named axes (ascending); the result's axes stand as in PyTorch. */
function advancedIndex(c: Composer, x: ValueRef, indices: ReadonlyMap<number, ValueRef>): ValueRef {
  const dims = [...indices.keys()].sort((a, b) => a - b);
  const rest = range(c.rank(x)).filter((axis) => !dims.includes(axis));
  const values = dims.map((dim) => indices.get(dim)).filter((value) => value !== undefined);
  const result = c.index(c.permute(x, [...dims, ...rest]), values);
  const isRun = dims.every((dim, i) => dim === at(dims, 0) + i);
  const before = isRun ? at(dims, 0) : 0;
  const width = c.rank(result) - rest.length;
  return c.permute(result, [
    ...range(width + before, width),
    ...range(width),
    ...range(c.rank(result), width + before),
  ]);
}

/** A subscript's place: which axis comes next, and the axes that tensors index. */
interface Cursor {
  readonly x: ValueRef;
  readonly dim: number;
  /** Of the tensor that is read, the axis that comes next. */
  readonly axis: number;
  readonly indices: ReadonlyMap<number, ValueRef>;
}

function subscript(c: Composer, a: ArgumentReader): ValueRef {
  const x = a.tensor('input');
  const items = a.attr('index') as readonly Attr[];
  const tensors = a.tensors('index');
  const used = items.filter((item) => item !== null && item !== 'ellipsis').length;
  if (used > c.rank(x))
    throw shapeMismatch(`${String(used)} indices for a tensor of rank ${String(c.rank(x))}`, 'use fewer indices');
  const skipped = c.rank(x) - used;
  const end = items.reduce<Cursor>((cursor, item) => step(c, cursor, { item, tensors, skipped }), {
    x,
    dim: 0,
    axis: 0,
    indices: new Map(),
  });
  return end.indices.size === 0 ? end.x : advancedIndex(c, end.x, end.indices);
}

function step(
  c: Composer,
  { x, dim, axis, indices }: Cursor,
  { item, tensors, skipped }: { item: Attr; tensors: readonly ValueRef[]; skipped: number },
): Cursor {
  if (item === null) return { x: c.unsqueeze(x, dim), dim: dim + 1, axis, indices };
  if (item === 'ellipsis') return { x, dim: dim + skipped, axis: axis + skipped, indices };
  const next = axis + 1;
  if (typeof item === 'number' || isSizeAttr(item)) {
    requireInside(item, axis, c.size(x, dim));
    return { x: c.call('select', [x], { dim, index: item }), dim, axis: next, indices };
  }
  const [kind, ...parts] = item as readonly Attr[];
  if (kind === 'slice') {
    const [start = null, end = null, stride = null] = parts;
    return { x: c.call('slice', [x], { dim, start, end, step: stride ?? 1 }), dim: dim + 1, axis: next, indices };
  }
  const index = kind === 'tensor' ? at(tensors, parts[0] as number) : indexList(c, parts as readonly number[]);
  return { x, dim: dim + 1, axis: next, indices: new Map([...indices, [dim, asIndex(c, 'index', index)]]) };
}

/** An index that is out of range is an error that names the axis of the tensor, which had more of them before. */
function requireInside(item: Attr, axis: number, extent: Index): void {
  if (typeof item !== 'number' || extent.kind !== 'int') return;
  if (item < -extent.value || item >= extent.value) throw indexOutOfRange(String(item), axis, String(extent.value));
}

/** Given numbers as an index tensor. */
function indexList(c: Composer, items: readonly number[]): ValueRef {
  if (items.length === 0) return c.full(0, [size(0)], 'i64');
  return c.cat(
    items.map((item) => c.full(item, [one], 'i64')),
    0,
  );
}

function gather(c: Composer, a: ArgumentReader): ValueRef {
  const [x, index] = [a.tensor('input'), a.tensor('index')];
  const dim = c.dim(x, a.int('dim'));
  // PyTorch looks at the dtype of an index only where it has elements.
  if (c.shape(index).some((extent) => c.sizes.isZero(extent))) return c.full(0, c.shape(index), c.dtype(x));
  if (c.dtype(index) !== 'i64') throw dtypeMismatch('gather', `the index is ${c.dtype(index)}, it must be i64`);
  if (c.rank(x) > 0 && c.rank(index) > 0) return c.gather(x, dim, index);
  return c.reshape(c.gather(atLeastVector(c, x), dim, atLeastVector(c, index)), c.shape(index));
}

function takeAlongDim(c: Composer, a: ArgumentReader): ValueRef {
  const [x, index] = [a.tensor('input'), a.tensor('indices')];
  const given = a.optionalInt('dim');
  if (given === undefined) return c.gather(c.flatten(x), 0, c.flatten(index));
  if (c.rank(x) !== c.rank(index))
    throw shapeMismatch('takeAlongDim: the ranks differ', 'give the index the rank of the tensor');
  if (c.rank(x) === 0) return c.gather(x, 0, index);
  const dim = c.dim(x, given);
  const together = broadcastShapes(c.sizes, [c.shape(x).with(dim, one), c.shape(index).with(dim, one)]);
  const expanded = (v: ValueRef): ValueRef => c.expand(v, together.with(dim, c.size(v, dim)));
  return c.gather(expanded(x), dim, expanded(index));
}

function maskedFill(c: Composer, a: ArgumentReader): ValueRef {
  const [x, mask] = [a.tensor('input'), a.tensor('mask')];
  // PyTorch's older masks are u8.
  if (c.dtype(mask) !== 'bool' && c.dtype(mask) !== 'u8')
    throw dtypeMismatch('maskedFill', `the mask is ${c.dtype(mask)}, it must be bool`);
  return c.where(mask, valueLike(c, x, { operator: 'maskedFill', value: a.operand('value') }), x);
}

function embedding(c: Composer, a: ArgumentReader): ValueRef {
  const [index, weight, limit] = [a.tensor('input'), a.tensor('weight'), a.optionalFloat('maxNorm')];
  if (c.rank(weight) !== 2)
    throw shapeMismatch('embedding: the weight is not a matrix', 'give [numEmbeddings, embeddingDim]');
  const table =
    limit === undefined ? weight : c.call('renorm', [weight], { p: a.float('normType'), dim: 0, maxnorm: limit });
  const padding = paddingRow(c, a, weight);
  const places = asIndex(c, 'embedding', index);
  const rows = c.rows(table, places);
  // The row that stands for nothing is not trained.
  return padding === undefined ? rows : c.where(c.unsqueeze(c.op('eq', places, padding), -1), c.detach(rows), rows);
}

/** The row that stands for nothing, one of the table: negative numbers count from its end. */
export function paddingRow(c: Composer, a: ArgumentReader, weight: ValueRef): number | undefined {
  const padding = a.optionalInt('paddingIdx');
  const count = c.size(weight, 0);
  if (padding === undefined) return undefined;
  if (count.kind === 'int' && (padding < -count.value || padding >= count.value))
    throw argumentValue(a.operator.name, `paddingIdx ${String(padding)}`, `the table has ${String(count.value)} rows`);
  return padding >= 0 ? padding : c.sizes.toNumber(count) + padding;
}

/** The rows of a table that were looked up keep the norm that was asked for, as PyTorch leaves them. */
export const renormUsedRows: Performance<void> = (c, a, performer) => {
  const [index, weight, limit] = [a.tensor('input'), a.tensor('weight'), a.optionalFloat('maxNorm')];
  if (limit === undefined) return;
  const none = c.full(false, [c.size(weight, 0)], 'bool');
  const looked = c.flatten(c.cast(index, 'i64'));
  const used = c.scatter(none, 0, { index: looked, source: c.full(true, c.shape(looked), 'bool'), mode: 'set' });
  const limited = c.call('renorm', [weight], { p: a.float('normType'), dim: 0, maxnorm: limit });
  performer.write(weight, c.where(c.unsqueeze(used, 1), limited, weight));
};

/** Without a number of classes, the largest one decides. */
const countClasses: Performance<ValueRef | undefined> = (c, a, performer) => {
  const x = a.tensor('input');
  if (a.int('numClasses') !== -1 || c.dtype(x) !== 'i64') return undefined;
  if (c.shape(x).some((extent) => c.sizes.isZero(extent)))
    throw argumentValue('oneHot', 'no classes in an empty tensor', 'give numClasses');
  const extremes = [c.reduce('amin', x), c.reduce('amax', x)];
  const [least = 0, largest = 0] = performer.numbers(extremes, 'oneHot without numClasses');
  if (least < 0) throw argumentValue('oneHot', `class ${String(least)}`, 'classes are whole numbers from 0');
  return c.cast(c.op('eq', c.unsqueeze(x, -1), performer.range(largest + 1)), 'i64');
};

function oneHot(c: Composer, a: ArgumentReader): ValueRef {
  const [x, classes] = [a.tensor('input'), a.int('numClasses')];
  if (c.dtype(x) !== 'i64') throw dtypeMismatch('oneHot', `the tensor is ${c.dtype(x)}, it must be i64`);
  if (classes < 1) throw dataDependent('oneHot', 'the number of classes', 'give numClasses');
  // Written, not compared: so every class is checked against the number of classes.
  const blank = c.full(0, [...c.shape(x), size(classes)], 'i64');
  const index = c.unsqueeze(x, -1);
  return c.scatter(blank, c.rank(x), { index, source: c.full(1, c.shape(index), 'i64'), mode: 'set' });
}

/** A 0-d tensor has one coordinate, as if it were a vector. */
const placesOf: Performance<readonly ValueRef[]> = (c, a, performer) =>
  performer.places(atLeastVector(c, a.tensor('condition')), 'where');

export const indexingEntries: readonly Entry[] = [
  composite(
    'getItem',
    {
      signature: 'input: tensor, index: index',
      doc: 'x[index]: integers, slices, null (a new axis), ellipsis and index tensors.',
      torch: 'Tensor.__getitem__',
      forms: ['method'],
    },
    subscript,
  ),
  composite(
    'gather',
    {
      signature: 'input: tensor, dim: int, index: tensor, *, sparseGrad: bool = false',
      doc: 'out[i][j] = input[index[i][j]][j], for dim 0.',
    },
    gather,
  ),
  composite(
    'indexSelectScalar',
    { signature: 'input: tensor, index: tensor', doc: 'indexSelect of a 0-d tensor.', torch: [], forms: [] },
    (c, a) => {
      const picked = c.rows(
        c.reshape(a.tensor('input'), [one]),
        asIndex(c, 'indexSelect', atLeastVector(c, a.tensor('index'))),
      );
      if (!c.sizes.isOne(c.count(picked)))
        throw shapeMismatch('indexSelect of a 0-d tensor by several indices', 'give one index');
      return c.reshape(picked, []);
    },
  ),
  composite(
    'takeAlongDim',
    {
      signature: 'input: tensor, indices: tensor, dim: int? = null',
      doc: 'gather, with broadcasting; without dim of the flattened tensor.',
    },
    takeAlongDim,
  ),
  composite('take', { signature: 'input: tensor, index: tensor', doc: 'Elements of the flattened tensor.' }, (c, a) =>
    c.index(c.flatten(a.tensor('input')), [asIndex(c, 'take', a.tensor('index'))]),
  ),
  composite(
    'maskedFill',
    {
      signature: 'input: tensor, mask: tensor, value: operand',
      doc: 'The value where the mask is true.',
      inPlace: true,
    },
    maskedFill,
  ),
  composite(
    'embedding',
    {
      signature:
        'input: tensor, weight: tensor, paddingIdx: int? = null, maxNorm: float? = null, normType: float = 2.0, scaleGradByFreq: bool = false, sparse: bool = false',
      doc: 'Rows of a table; those that are looked up are scaled down to maxNorm, in the table too.',
      torch: 'nn.functional.embedding',
      forms: ['function'],
      writes: renormUsedRows,
    },
    embedding,
  ),
  composite(
    'oneHot',
    {
      signature: 'input: tensor, numClasses: int = -1',
      doc: 'A new last axis with a 1 at the index.',
      torch: 'nn.functional.one_hot',
      reads: countClasses,
    },
    oneHot,
  ),
  composite(
    'wherePlaces',
    {
      signature: 'condition: tensor',
      doc: 'Where the condition is not zero: a vector of coordinates for each dim.',
      torch: [],
      forms: [],
      results: 'list',
      reads: placesOf,
    },
    () => {
      throw dataDependent('where', 'how many places there are', 'give it what to choose, too');
    },
  ),
];
