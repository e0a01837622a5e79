// Writing by index, functionally: the result is the input with other values at some places. Ends in the primitives
// `scatter` and `indexPut`, or in `where` where the places are known.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import { isScalar, scalarNumber } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import type { Performance } from '../performer.ts';
import { expandedShape, one, range, sameShape } from '../shape.ts';
import { requireFits } from '../scalar-range.ts';
import { valueLike } from './creation.ts';
import { asIndex, atLeastVector } from './indexing.ts';

type Mode = 'set' | 'add' | 'multiply' | 'min' | 'max';

const REDUCE: Readonly<Record<string, Mode>> = {
  add: 'add',
  multiply: 'multiply',
  sum: 'add',
  prod: 'multiply',
  amin: 'min',
  amax: 'max',
  mean: 'add',
};

interface Update {
  readonly dim: number;
  readonly index: ValueRef;
  readonly source: ValueRef;
}

function updateOf(c: Composer, a: ArgumentReader, source: ValueRef | ScalarRef): Update & { x: ValueRef } {
  const index = a.tensor('index');
  const x = a.tensor('input');
  if (c.dtype(index) !== 'i64') throw dtypeMismatch(a.operator.name, `the index is ${c.dtype(index)}, it must be i64`);
  if (isScalar(source)) requireFits(a.operator.name, source, c.dtype(x));
  const values = isScalar(source) ? c.full(source, c.shape(index), c.dtype(x)) : source;
  if (c.dtype(values) !== c.dtype(x))
    throw dtypeMismatch(a.operator.name, `the tensor is ${c.dtype(x)}, src is ${c.dtype(values)}`);
  const rank = Math.max(c.rank(x), 1);
  if ([index, values].some((each) => Math.max(c.rank(each), 1) !== rank))
    throw shapeMismatch(
      `${a.operator.name}: index ${printShape(c.shape(index))} and src ${printShape(c.shape(values))} of ${printShape(c.shape(x))}`,
      'the three have one rank',
    );
  return {
    x: atLeastVector(c, x),
    dim: c.dim(x, a.int('dim')),
    index: atLeastVector(c, index),
    source: atLeastVector(c, values),
  };
}

/** Scatters in the dtype in which the tensor's arithmetic is done. */
function scatterWide(c: Composer, x: ValueRef, { dim, index, source, mode }: Update & { mode: Mode }): ValueRef {
  if (mode === 'set') return c.scatter(x, dim, { index, source, mode });
  return c.cast(c.scatter(c.widen(x), dim, { index, source: c.widen(source), mode }), c.dtype(x));
}

function scatter(c: Composer, a: ArgumentReader): ValueRef {
  const reduce = a.optionalString('reduce');
  const mode = reduce ?? 'set';
  if (mode !== 'set' && mode !== 'add' && mode !== 'multiply')
    throw argumentValue('scatter', `reduce ${mode}`, 'use add or multiply');
  const { x, ...update } = updateOf(c, a, a.operand('src'));
  return c.reshape(scatterWide(c, x, { ...update, mode }), c.shape(a.tensor('input')));
}

/** What a reduction over nothing gives, in the dtype. */
function identity(c: Composer, reduce: string, dtype: DType): ValueRef {
  if (reduce === 'prod') return c.full(1, [], dtype);
  if (reduce === 'sum' || reduce === 'mean') return c.full(0, [], dtype);
  const sign = reduce === 'amin' ? 1 : -1;
  return isFloat(dtype) ? c.full(float(sign * Infinity), [], dtype) : c.full(extremeOf(dtype, sign), [], dtype);
}

const BITS: Readonly<Partial<Record<DType, number>>> = { i8: 7, i16: 15, i32: 31, i64: 63 };

/** The largest or smallest integer of a dtype. */
function extremeOf(dtype: DType, sign: 1 | -1): ScalarRef {
  if (dtype === 'bool') return { kind: 'scalar', category: 'bool', value: sign === 1 };
  const bits = BITS[dtype];
  const value =
    bits === undefined ? (sign === 1 ? 255n : 0n) : sign === 1 ? 2n ** BigInt(bits) - 1n : -(2n ** BigInt(bits));
  return { kind: 'scalar', category: 'int', value: bits === 63 ? { bigint: String(value) } : Number(value) };
}

/** Reduces the source into places of x. Without `includeSelf`, what was there is forgotten first. */
function reduceInto(
  c: Composer,
  { x, ...update }: Update & { x: ValueRef },
  how: { reduce: string; includeSelf: boolean },
): ValueRef {
  const mode = REDUCE[how.reduce];
  if (mode === undefined)
    throw argumentValue('scatterReduce', `reduce ${how.reduce}`, 'use sum, prod, mean, amax or amin');
  const wide = c.widen(x);
  const source = c.widen(update.source);
  const blank = c.expand(identity(c, how.reduce, c.dtype(wide)), c.shape(update.index));
  const start = how.includeSelf
    ? wide
    : c.scatter(wide, update.dim, { index: update.index, source: blank, mode: 'set' });
  const result = c.scatter(start, update.dim, { index: update.index, source, mode });
  if (how.reduce !== 'mean') return c.cast(result, c.dtype(x));
  const counts = c.scatter(c.full(how.includeSelf ? 1 : 0, c.shape(x), c.dtype(wide)), update.dim, {
    index: update.index,
    source: c.full(1, c.shape(update.index), c.dtype(wide)),
    mode: 'add',
  });
  const divisor = c.op('maximum', counts, c.full(1, [], c.dtype(wide)));
  return c.cast(c.op(isFloat(c.dtype(x)) ? 'div' : 'divFloor', result, divisor), c.dtype(x));
}

function scatterReduce(c: Composer, a: ArgumentReader): ValueRef {
  const { x, ...update } = updateOf(c, a, a.tensor('src'));
  return c.reshape(
    reduceInto(c, { x, ...update }, { reduce: a.string('reduce'), includeSelf: a.bool('includeSelf') }),
    c.shape(a.tensor('input')),
  );
}

/** A vector of indices of one dim, and the slices that belong there. */
function slicesOf(c: Composer, a: ArgumentReader, source: ValueRef): Update & { x: ValueRef } {
  const [x, index] = [atLeastVector(c, a.tensor('input')), atLeastVector(c, a.tensor('index'))];
  const dim = c.dim(x, a.int('dim'));
  if (c.rank(index) !== 1)
    throw shapeMismatch(`${a.operator.name}: the index has shape ${printShape(c.shape(index))}`, 'give a vector');
  const slices = atLeastVector(c, source);
  if (c.dtype(slices) !== c.dtype(x))
    throw dtypeMismatch(a.operator.name, `the tensor is ${c.dtype(x)}, the source is ${c.dtype(slices)}`);
  const wanted = c.shape(x).with(dim, c.size(index, 0));
  if (!sameShape(c.sizes, c.shape(slices), wanted))
    throw shapeMismatch(`${a.operator.name}: the source is ${printShape(c.shape(slices))}, not ${printShape(wanted)}`);
  return { x, dim, index: asIndex(c, a.operator.name, index), source: slices };
}

/** Writes slices along a dim, through `indexPut` of that dim in front. */
function putSlices(c: Composer, { x, dim, index, source }: Update & { x: ValueRef }, accumulate: boolean): ValueRef {
  const [front, values] = [c.move(x, dim, 0), c.move(source, dim, 0)];
  return c.move(c.call('indexPut', [front, [index], values], { dims: [0], accumulate, wraps: false }), 0, dim);
}

function indexAdd(c: Composer, a: ArgumentReader): ValueRef {
  const alpha = a.scalar('alpha');
  const source =
    scalarNumber(alpha) === 1
      ? a.tensor('source')
      : c.op('mul', a.tensor('source'), c.full(alpha, [], c.dtype(a.tensor('source'))));
  const update = slicesOf(c, a, source);
  const wide = { ...update, x: c.widen(update.x), source: c.widen(update.source) };
  return c.reshape(c.cast(putSlices(c, wide, true), c.dtype(update.x)), c.shape(a.tensor('input')));
}

function indexReduce(c: Composer, a: ArgumentReader): ValueRef {
  const { x, dim, index, source } = slicesOf(c, a, a.tensor('source'));
  const spread = c.expand(c.along(index, dim, c.rank(x)), c.shape(source));
  const result = reduceInto(
    c,
    { x, dim, index: spread, source },
    { reduce: a.string('reduce'), includeSelf: a.bool('includeSelf') },
  );
  return c.reshape(result, c.shape(a.tensor('input')));
}

function indexFill(c: Composer, a: ArgumentReader): ValueRef {
  const x = atLeastVector(c, a.tensor('input'));
  const dim = c.dim(x, a.int('dim'));
  const index = asIndex(c, 'indexFill', atLeastVector(c, a.tensor('index')));
  if (c.rank(index) > 1)
    throw shapeMismatch(`indexFill: the index has shape ${printShape(c.shape(index))}`, 'give a vector');
  const none = c.full(false, [c.size(x, dim)], 'bool');
  const hit = c.call('indexPut', [none, [index], c.full(true, c.shape(index), 'bool')], {
    dims: [0],
    accumulate: false,
    wraps: true,
  });
  const filled = c.where(
    c.along(hit, dim, c.rank(x)),
    valueLike(c, x, { operator: 'indexFill', value: a.operand('value') }),
    x,
  );
  return c.reshape(filled, c.shape(a.tensor('input')));
}

/** A mask has the sizes of the dims that it stands for. */
function requireMask(c: Composer, { x, mask, first }: { x: ValueRef; mask: ValueRef; first: number }): void {
  if (sameShape(c.sizes, c.shape(mask), c.shape(x).slice(first, first + c.rank(mask)))) return;
  throw shapeMismatch(
    `indexPut: the mask is ${printShape(c.shape(mask))}, the tensor ${printShape(c.shape(x))}`,
    `the mask must have the sizes of the dims from ${String(first)} on`,
  );
}

/** x[mask] = values, or += them: the k-th place where the mask is true takes the k-th value, or the only one. */
function maskedPut(c: Composer, a: ArgumentReader, mask: ValueRef): ValueRef {
  const [x, values] = [a.tensor('input'), a.tensor('values')];
  if (c.dtype(values) !== c.dtype(x))
    throw dtypeMismatch('indexPut', `the tensor is ${c.dtype(x)}, the values are ${c.dtype(values)}`);
  const [lead = 0] = a.ints('indices');
  if (lead !== 0) throw argumentValue('indexPut', `a mask of dim ${String(lead)}`, 'give a mask of the leading dims');
  requireMask(c, { x, mask, first: 0 });
  const rest = c.shape(x).slice(c.rank(mask));
  if (c.shape(values).some((extent) => c.sizes.isZero(extent))) return c.call('clone', [x]);
  const isSingle = c.rank(values) <= rest.length || c.sizes.isOne(c.size(values, 0));
  const place = c.op('maximum', c.op('sub', c.call('cumsum', [c.cast(c.flatten(mask), 'i64')], { dim: 0 }), 1), 0);
  const picked = isSingle
    ? values
    : c.indexSelect(values, 0, c.op('minimum', place, c.op('sub', c.sizeOperand(c.size(values, 0)), 1)));
  const flat = c.reshape(x, [c.count(mask), ...rest]);
  const placed = c.expand(picked, expandedShape(c.sizes, c.shape(picked), c.shape(flat)));
  const test = c.reshape(mask, [c.count(mask), ...rest.map(() => one)]);
  return c.reshape(c.where(test, a.bool('accumulate') ? c.op('add', flat, placed) : placed, flat), c.shape(x));
}

/** x[indices] = values; null indices keep their dim. */
function indexPut(c: Composer, a: ArgumentReader): ValueRef {
  const [x, values] = [a.tensor('input'), a.tensor('values')];
  const [mask] = a.tensors('indices');
  if (mask !== undefined && a.tensors('indices').length === 1 && c.dtype(mask) === 'bool') return maskedPut(c, a, mask);
  const dims = a.ints('indices');
  const indices = a.tensors('indices').map((index) => asIndex(c, 'indexPut', index));
  if (c.dtype(values) !== c.dtype(x))
    throw dtypeMismatch('indexPut', `the tensor is ${c.dtype(x)}, the values are ${c.dtype(values)}`);
  if (dims.length === 0) throw argumentValue('indexPut', 'no indices', 'give at least one');
  if (dims.length > c.rank(x))
    throw argumentValue(
      'indexPut',
      `${String(dims.length)} indices for ${String(c.rank(x))} dims`,
      'give one for each dim at most',
    );
  const order = [...dims, ...range(c.rank(x)).filter((axis) => !dims.includes(axis))];
  const front = c.permute(x, order);
  const target = c.shape(c.index(front, indices));
  const placed = c.expand(values, expandedShape(c.sizes, c.shape(values), target));
  const result = c.call('indexPut', [front, indices, placed], {
    dims: range(dims.length),
    accumulate: a.bool('accumulate'),
    wraps: true,
  });
  return c.permute(
    result,
    range(order.length).map((axis) => order.indexOf(axis)),
  );
}

/** Masks become the indices of the places where they are true; one that takes a single value needs no places. */
const withoutIndexMasks: Performance<ValueRef | undefined> = (c, a, performer) => {
  const [x, indices, values] = [a.tensor('input'), a.tensors('indices'), a.tensor('values')];
  const isMask = (index: ValueRef): boolean => c.dtype(index) === 'bool' || c.dtype(index) === 'u8';
  if (!indices.some(isMask)) return undefined;
  const [mask] = indices;
  const isSingle = indices.length === 1 && mask !== undefined && c.dtype(mask) === 'bool';
  if (isSingle && c.rank(values) <= c.rank(x) - c.rank(mask)) return undefined;
  // A mask takes as many dims as it has, which moves those behind it.
  let moved = 0;
  const placed = a.ints('indices').flatMap((dim, position) => {
    const index = at(indices, position);
    const first = dim + moved;
    if (!isMask(index)) return [[first, index] as const];
    requireMask(c, { x, mask: index, first });
    moved += c.rank(index) - 1;
    return performer.places(index, 'indexPut with a mask').map((place, axis) => [first + axis, place] as const);
  });
  return c.call('indexPut', [x, placed.map(([, index]) => index), values], {
    indices: placed.map(([dim]) => dim),
    accumulate: a.bool('accumulate'),
  });
};

/** Writes elements of the flattened tensor. */
function put(c: Composer, a: ArgumentReader): ValueRef {
  const [x, index, source] = [a.tensor('input'), a.tensor('index'), a.tensor('source')];
  if (c.dtype(index) !== 'i64') throw dtypeMismatch('put', `the index is ${c.dtype(index)}, it must be i64`);
  if (c.dtype(source) !== c.dtype(x))
    throw dtypeMismatch('put', `the tensor is ${c.dtype(x)}, the source is ${c.dtype(source)}`);
  if (!c.sizes.same(c.count(index), c.count(source)))
    throw shapeMismatch('put: index and source differ in their numbers of elements');
  const flat = c.call('indexPut', [c.flatten(x), [c.flatten(asIndex(c, 'put', index))], c.flatten(source)], {
    dims: [0],
    accumulate: a.bool('accumulate'),
    wraps: true,
  });
  return c.reshape(flat, c.shape(x));
}

function maskedScatter(c: Composer, a: ArgumentReader): ValueRef {
  const [x, mask, source] = [a.tensor('input'), a.tensor('mask'), a.tensor('source')];
  // PyTorch's older masks are u8.
  if (c.dtype(mask) !== 'bool' && c.dtype(mask) !== 'u8')
    throw dtypeMismatch('maskedScatter', `the mask is ${c.dtype(mask)}, it must be bool`);
  if (c.dtype(source) !== c.dtype(x))
    throw dtypeMismatch('maskedScatter', `the tensor is ${c.dtype(x)}, the source is ${c.dtype(source)}`);
  const full = c.op('logicalAnd', mask, c.expand(c.full(true, [], 'bool'), c.shape(x)));
  const [flat, shape] = [c.flatten(full), c.shape(full)];
  const taken = c.reduce('sum', c.cast(flat, 'i64'));
  const checked = c.require(x, c.op('le', taken, c.sizeOperand(c.count(source))), {
    what: 'maskedScatter: the mask is true at more places than the source has elements',
    remedy: 'give a source with an element for each',
  });
  if (c.sizes.isZero(c.count(source))) return checked;
  const place = c.op('maximum', c.op('sub', c.call('cumsum', [c.cast(flat, 'i64')], { dim: 0 }), 1), 0);
  const last = c.op('sub', c.sizeOperand(c.count(source)), 1);
  const values = c.rows(c.flatten(source), c.op('minimum', place, last));
  return c.reshape(c.where(flat, values, c.flatten(c.expand(checked, shape))), shape);
}

const AT = 'input: tensor, dim: int, index: tensor';

export const scatterEntries: readonly Entry[] = [
  composite(
    'scatter',
    {
      signature: `${AT}, src: operand, *, reduce: 'add' | 'multiply' = null`,
      doc: 'The input with src[i][j] at [index[i][j]][j], for dim 0.',
      inPlace: true,
    },
    scatter,
  ),
  composite('scatterAdd', { signature: `${AT}, src: tensor`, doc: 'scatter, adding.', inPlace: true }, (c, a) => {
    const { x, ...update } = updateOf(c, a, a.tensor('src'));
    return c.reshape(scatterWide(c, x, { ...update, mode: 'add' }), c.shape(a.tensor('input')));
  }),
  composite(
    'scatterReduce',
    {
      signature: `${AT}, src: tensor, reduce: ${oneOf(Object.keys(REDUCE))}, *, includeSelf: bool = true`,
      doc: 'scatter, reducing by sum, prod, mean, amax or amin.',
      inPlace: true,
    },
    scatterReduce,
  ),
  composite(
    'indexAdd',
    { signature: `${AT}, source: tensor, *, alpha: scalar = 1`, doc: 'Adds slices at indices.', inPlace: true },
    indexAdd,
  ),
  composite(
    'indexCopy',
    { signature: `${AT}, source: tensor`, doc: 'Puts slices at indices.', inPlace: true },
    (c, a) => c.reshape(putSlices(c, slicesOf(c, a, a.tensor('source')), false), c.shape(a.tensor('input'))),
  ),
  composite(
    'indexFill',
    { signature: `${AT}, value: operand`, doc: 'One value in the slices at indices.', inPlace: true },
    indexFill,
  ),
  composite(
    'indexReduce',
    {
      signature: `${AT}, source: tensor, reduce: 'prod' | 'mean' | 'amax' | 'amin', *, includeSelf: bool = true`,
      doc: 'Reduces slices into those at indices.',
      inPlace: true,
    },
    indexReduce,
  ),
  composite(
    'indexPut',
    {
      signature: 'input: tensor, indices: indices, values: tensor, accumulate: bool = false',
      doc: 'x[indices] = values, or += them.',
      inPlace: true,
      reads: withoutIndexMasks,
    },
    indexPut,
  ),
  composite(
    'put',
    {
      signature: 'input: tensor, index: tensor, source: tensor, accumulate: bool = false',
      doc: 'Elements of the flattened tensor replaced.',
      inPlace: true,
    },
    put,
  ),
  composite(
    'maskedScatter',
    {
      signature: 'input: tensor, mask: tensor, source: tensor',
      doc: 'Elements of source, in order, where the mask is true.',
      inPlace: true,
    },
    maskedScatter,
  ),
];
