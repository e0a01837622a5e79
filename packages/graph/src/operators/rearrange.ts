// Rearrangements that copy: roll, rot90, triangles, diagonals, padding and pixel shuffles, in terms of views,
// cat, pad and where.
import { at } from '@tsinductor/base';
import { add, floorDivide, int, multiply, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import { scalar } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { size } from '../composer.ts';
import { composite, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, duplicateDim, printShape, shapeMismatch } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { normalizeDim, normalizeDims, range, zero } from '../shape.ts';
import { requireFits } from '../scalar-range.ts';

/** Shifts one axis around its end. */
function rollAxis(c: Composer, x: ValueRef, { dim, shift }: { dim: number; shift: number }): ValueRef {
  const extent = c.size(x, dim);
  if (c.sizes.isZero(extent)) return x;
  const n = c.sizes.toNumber(extent);
  const by = ((shift % n) + n) % n;
  if (by === 0) return x;
  return c.cat([c.slice(x, dim, { start: n - by }), c.slice(x, dim, { end: n - by })], dim);
}

function roll(
  c: Composer,
  x: ValueRef,
  { shifts, dims }: { shifts: readonly number[]; dims: readonly number[] },
): ValueRef {
  if (dims.length === 0 && shifts.length === 1) {
    return c.reshape(rollAxis(c, c.flatten(x), { dim: 0, shift: at(shifts, 0) }), c.shape(x));
  }
  if (shifts.length !== dims.length)
    throw argumentValue(
      'roll',
      `${String(shifts.length)} shifts and ${String(dims.length)} dims`,
      'give as many of each',
    );
  if (shifts.length === 0) throw argumentValue('roll', 'no shifts', 'give at least one');
  return dims.reduce((all, dim, i) => rollAxis(c, all, { dim: c.dim(x, dim), shift: at(shifts, i) }), x);
}

/** fftshift and ifftshift: rolls by half of each axis. */
const halfRoll = (name: string, half: (n: number) => number): Entry =>
  composite(
    name,
    {
      signature: 'input: tensor, dim: dims = null',
      doc: 'Moves the middle of each axis to its start, or back.',
      torch: `fft.${name.toLowerCase()}`,
      forms: ['function'],
    },
    (c, a) => {
      const x = a.tensor('input');
      const dims = a.dims('dim')?.map((dim) => c.dim(x, dim)) ?? range(c.rank(x));
      return dims.length === 0
        ? x
        : dims.reduce((all, dim) => rollAxis(c, all, { dim, shift: half(c.sizes.toNumber(c.size(x, dim))) }), x);
    },
  );

function rot90(c: Composer, a: ArgumentReader): ValueRef {
  const x = a.tensor('input');
  const dims = a.dims('dims') ?? [0, 1];
  if (dims.length !== 2) throw argumentValue('rot90', `${String(dims.length)} dims`, 'give two');
  if (c.rank(x) < 2) throw shapeMismatch(`rot90 of ${printShape(c.shape(x))}`, 'it needs at least 2 dims');
  const [first = 0, second = 1] = normalizeDims(dims, c.rank(x));
  const turns = ((a.int('k') % 4) + 4) % 4;
  if (turns === 0) return c.call('clone', [x]);
  if (turns === 2) return c.flip(x, [first, second]);
  return turns === 1
    ? c.transpose(c.flip(x, [second]), first, second)
    : c.flip(c.transpose(x, first, second), [second]);
}

/** tril and triu: keeps the elements on one side of a diagonal. */
const triangle = (name: 'tril' | 'triu', comparison: 'le' | 'ge'): Entry =>
  composite(
    name,
    {
      signature: 'input: tensor, diagonal: int = 0',
      doc: `The ${name === 'tril' ? 'lower' : 'upper'} triangle of matrices, zeros elsewhere.`,
      inPlace: true,
    },
    (c, a) => {
      const x = a.tensor('input');
      if (c.rank(x) < 2) throw shapeMismatch(`${name} of ${printShape(c.shape(x))}`, 'give a matrix');
      const [rows, columns] = [c.unsqueeze(c.iota(c.size(x, -2)), 1), c.iota(c.size(x, -1))];
      return c.where(c.op(comparison, c.op('sub', columns, rows), a.int('diagonal')), x, c.full(0, [], c.dtype(x)));
    },
  );

/** Last-axis vectors as diagonals of new matrices, whose axes become dim1 and dim2. */
function diagEmbed(c: Composer, x: ValueRef, place: { offset: number; dim1: number; dim2: number }): ValueRef {
  const rank = c.rank(x) + 1;
  const [dim1, dim2] = [normalizeDim(place.dim1, rank), normalizeDim(place.dim2, rank)];
  if (dim1 === dim2) throw duplicateDim(dim1);
  const shift = Math.abs(place.offset);
  const side = add(c.size(x, -1), size(shift));
  const before = range(c.rank(x) - 1).map((): readonly [Index, Index] => [zero, zero]);
  // The vector runs along the rows of a diagonal above the main one, along the columns of one below it.
  const padded = c.pad(x, [...before, [zero, size(shift)]]);
  const spread = c.unsqueeze(padded, place.offset >= 0 ? -1 : -2);
  const distance = c.op('sub', c.iota(side), c.unsqueeze(c.iota(side), 1));
  const matrices = c.where(c.op('eq', distance, place.offset), spread, c.full(0, [], c.dtype(x)));
  const rest = range(rank - 2);
  return c.permute(
    matrices,
    range(rank).map((axis) => (axis === dim1 ? rank - 2 : axis === dim2 ? rank - 1 : (rest.shift() ?? axis))),
  );
}

function diag(c: Composer, x: ValueRef, offset: number): ValueRef {
  if (c.rank(x) === 1) return diagEmbed(c, x, { offset, dim1: -2, dim2: -1 });
  if (c.rank(x) !== 2) throw shapeMismatch(`diag of ${printShape(c.shape(x))}`, 'give a vector or a matrix');
  return c.call('diagonal', [x], { offset, dim1: 0, dim2: 1 });
}

type Pair = readonly [number, number];

/** PyTorch's flat padding, which starts at the last axis, as a pair for each axis. */
function pairsOf(operator: string, rank: number, flat: readonly number[]): readonly Pair[] {
  if (flat.length % 2 !== 0) throw argumentValue(operator, `${String(flat.length)} pad sizes`, 'give two for each dim');
  if (flat.length / 2 > rank)
    throw argumentValue(
      operator,
      `${String(flat.length)} pad sizes for ${String(rank)} dims`,
      'give two for each dim at most',
    );
  return range(rank).map((axis) => {
    const place = 2 * (rank - 1 - axis);
    return [flat[place] ?? 0, flat[place + 1] ?? 0];
  });
}

function constantPad(
  c: Composer,
  x: ValueRef,
  { pairs, value }: { pairs: readonly Pair[]; value: ScalarRef },
): ValueRef {
  return c.pad(
    x,
    pairs.map(([before, after]) => [size(before), size(after)] as const),
    value,
  );
}

/** What lies before and after an axis, by mode; `n` is its size. */
const BORDERS: Readonly<
  Record<
    string,
    (
      c: Composer,
      x: ValueRef,
      at: { dim: number; n: number; before: number; after: number },
    ) => readonly [ValueRef, ValueRef]
  >
> = {
  reflect: (c, x, { dim, n, before, after }) => {
    if (before >= n || after >= n)
      throw argumentValue(
        'pad',
        `reflecting ${String(Math.max(before, after))} of ${String(n)} elements`,
        'pad less than the size',
      );
    return [
      c.flip(c.slice(x, dim, { start: 1, end: before + 1 }), [dim]),
      c.flip(c.slice(x, dim, { start: n - 1 - after, end: n - 1 }), [dim]),
    ];
  },
  replicate: (c, x, { dim, n, before, after }) => {
    const copies = (index: number, count: number): ValueRef =>
      c.expand(c.slice(x, dim, { start: index, end: index + 1 }), c.shape(x).with(dim, size(count)));
    return [copies(0, before), copies(n - 1, after)];
  },
  circular: (c, x, { dim, n, before, after }) => {
    if (before > n || after > n)
      throw argumentValue(
        'pad',
        `wrapping ${String(Math.max(before, after))} of ${String(n)} elements`,
        'pad at most the size',
      );
    return [c.slice(x, dim, { start: n - before, end: n }), c.slice(x, dim, { start: 0, end: after })];
  },
};

function borderPad(c: Composer, x: ValueRef, { pairs, mode }: { pairs: readonly Pair[]; mode: string }): ValueRef {
  const border = BORDERS[mode];
  if (border === undefined) throw argumentValue('pad', `mode ${mode}`, 'use constant, reflect, replicate or circular');
  // What wraps around is what negative padding leaves.
  const isCut = mode === 'circular' && pairs.some((pair) => Math.min(...pair) < 0);
  const base = isCut ? constantPad(c, x, { pairs: pairs.map(negativePart), value: scalar(0) }) : x;
  const added = isCut ? pairs.map(([before, after]): Pair => [Math.max(before, 0), Math.max(after, 0)]) : pairs;
  return added.reduce((all, [before, after], dim) => {
    if (before === 0 && after === 0) return all;
    const n = c.sizes.toNumber(c.size(all, dim));
    const [left, right] = border(c, all, { dim, n, before: Math.max(before, 0), after: Math.max(after, 0) });
    const middle = c.slice(all, dim, { start: Math.max(-before, 0), end: n + Math.min(after, 0) });
    return c.cat([...(before > 0 ? [left] : []), middle, ...(after > 0 ? [right] : [])], dim);
  }, base);
}

const negativePart = ([before, after]: Pair): Pair => [Math.min(before, 0), Math.min(after, 0)];

function pad(c: Composer, a: ArgumentReader): ValueRef {
  const [x, mode, value] = [a.tensor('input'), a.string('mode'), a.attr('value')];
  const pairs = pairsOf('pad', c.rank(x), a.ints('pad'));
  if (mode !== 'constant') return borderPad(c, x, { pairs, mode });
  const filling = value === null ? scalar(0) : a.scalar('value');
  requireFits('pad', filling, c.dtype(x));
  return constantPad(c, x, { pairs, value: filling });
}

/** [.., C r r, H, W] to [.., C, H r, W r]. */
function pixelShuffle(c: Composer, x: ValueRef, factor: number): ValueRef {
  if (c.rank(x) < 3) throw shapeMismatch(`pixelShuffle of ${printShape(c.shape(x))}`, 'it needs at least 3 dims');
  if (factor < 1) throw argumentValue('pixelShuffle', `factor ${String(factor)}`, 'use a positive factor');
  const [lead, channels, rows, columns] = [c.shape(x).slice(0, -3), c.size(x, -3), c.size(x, -2), c.size(x, -1)];
  const square = factor * factor;
  if (c.sizes.toNumber(channels) % square !== 0)
    throw shapeMismatch(
      `pixelShuffle of ${printIndex(channels)} channels`,
      'they must be a multiple of the squared factor',
    );
  const r = size(factor);
  const split = c.reshape(x, [...lead, floorDivide(channels, int(square)), r, r, rows, columns]);
  const n = lead.length;
  const order = [...range(n), n, n + 3, n + 1, n + 4, n + 2];
  return c.reshape(c.permute(split, order), [
    ...lead,
    floorDivide(channels, int(square)),
    multiply(rows, r),
    multiply(columns, r),
  ]);
}

function pixelUnshuffle(c: Composer, x: ValueRef, factor: number): ValueRef {
  if (c.rank(x) < 3) throw shapeMismatch(`pixelUnshuffle of ${printShape(c.shape(x))}`, 'it needs at least 3 dims');
  if (factor < 1) throw argumentValue('pixelUnshuffle', `factor ${String(factor)}`, 'use a positive factor');
  const [lead, channels] = [c.shape(x).slice(0, -3), c.size(x, -3)];
  const [rows, columns] = [c.sizes.toNumber(c.size(x, -2)), c.sizes.toNumber(c.size(x, -1))];
  if (rows % factor !== 0 || columns % factor !== 0)
    throw shapeMismatch(
      `pixelUnshuffle of ${printShape(c.shape(x))}`,
      'height and width must be multiples of the factor',
    );
  const [h, w, r] = [size(rows / factor), size(columns / factor), size(factor)];
  const n = lead.length;
  const split = c.reshape(x, [...lead, channels, h, r, w, r]);
  return c.reshape(c.permute(split, [...range(n + 1), n + 2, n + 4, n + 1, n + 3]), [
    ...lead,
    multiply(channels, int(factor * factor)),
    h,
    w,
  ]);
}

const flips = (name: string, dim: number, least: number): Entry =>
  composite(name, { signature: 'input: tensor', doc: `Reverses axis ${String(dim)}.` }, (c, a) => {
    if (c.rank(a.tensor('input')) < least)
      throw shapeMismatch(
        `${name} of ${printShape(c.shape(a.tensor('input')))}`,
        `it needs at least ${String(least)} dims`,
      );
    return c.flip(a.tensor('input'), [dim]);
  });

const X = 'input: tensor';

export const rearrangeEntries: readonly Entry[] = [
  flips('fliplr', 1, 2),
  flips('flipud', 0, 1),
  composite(
    'roll',
    { signature: `${X}, shifts: dims, dims: dims = null`, doc: 'Shifts axes around their ends.' },
    (c, a) => roll(c, a.tensor('input'), { shifts: a.ints('shifts'), dims: a.dims('dims') ?? [] }),
  ),
  halfRoll('fftshift', (n) => Math.floor(n / 2)),
  halfRoll('ifftshift', (n) => Math.floor((n + 1) / 2)),
  composite(
    'rot90',
    { signature: `${X}, k: int = 1, dims: dims = null`, doc: 'Rotates a plane by 90 degrees, k times.' },
    rot90,
  ),
  triangle('tril', 'le'),
  triangle('triu', 'ge'),
  composite(
    'diag',
    { signature: `${X}, diagonal: int = 0`, doc: 'The diagonal of a matrix, or a matrix with a diagonal.' },
    (c, a) => diag(c, a.tensor('input'), a.int('diagonal')),
  ),
  composite(
    'diagEmbed',
    { signature: `${X}, offset: int = 0, dim1: int = -2, dim2: int = -1`, doc: 'Vectors as diagonals of matrices.' },
    (c, a) => diagEmbed(c, a.tensor('input'), { offset: a.int('offset'), dim1: a.int('dim1'), dim2: a.int('dim2') }),
  ),
  composite('diagflat', { signature: `${X}, offset: int = 0`, doc: 'The flattened tensor as a diagonal.' }, (c, a) =>
    diagEmbed(c, c.flatten(a.tensor('input')), { offset: a.int('offset'), dim1: -2, dim2: -1 }),
  ),
  composite(
    'pad',
    {
      signature: `${X}, pad: ints, mode: ${oneOf(['constant', ...Object.keys(BORDERS)])} = 'constant', value: scalar? = null`,
      doc: 'Adds borders, last dim first.',
      torch: 'nn.functional.pad',
    },
    pad,
  ),
  composite(
    'constantPadNd',
    { signature: `${X}, pad: ints, value: scalar = 0`, doc: 'Adds constant borders.' },
    (c, a) =>
      constantPad(c, a.tensor('input'), {
        pairs: pairsOf('constantPadNd', c.rank(a.tensor('input')), a.ints('pad')),
        value: a.scalar('value'),
      }),
  ),
  composite(
    'pixelShuffle',
    {
      signature: `${X}, upscaleFactor: int`,
      doc: 'Channels to pixels.',
      torch: ['nn.functional.pixel_shuffle', 'pixel_shuffle'],
    },
    (c, a) => pixelShuffle(c, a.tensor('input'), a.int('upscaleFactor')),
  ),
  composite(
    'pixelUnshuffle',
    {
      signature: `${X}, downscaleFactor: int`,
      doc: 'Pixels to channels.',
      torch: ['nn.functional.pixel_unshuffle', 'pixel_unshuffle'],
    },
    (c, a) => pixelUnshuffle(c, a.tensor('input'), a.int('downscaleFactor')),
  ),
];
