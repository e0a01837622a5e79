// Reductions and scans. Floats of 16 bits are folded in f32 and rounded once; sums of bool and of integers below 32 bits are
// i32. NaN is the largest and the smallest element alike, and the first of equals is the one whose position is given.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { tileSize } from '@tsinductor/ir';
import type { Tile } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { asTile, broadcastTile } from '../lower/coerce.ts';
import type { Site } from '../lower/coerce.ts';
import { faultAt } from '../lower/context.ts';
import { foldTiles } from '../lower/fold.ts';
import { applyPointwise } from '../lower/pointwise.ts';
import { describeValue, tileValue } from '../lower/value.ts';
import type { KernelValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

type Combine = (left: readonly Tile[], right: readonly Tile[]) => readonly Tile[];

/** The operand and axis of a reduction: all axes as one where none is named. */
function reducedAxis(
  call: Call,
  tile: Tile,
): { readonly tile: Tile; readonly axis: number; readonly shape: readonly number[] } {
  const { shape } = tile;
  if (shape.length === 0) return call.refuse('x', 'a block', 'a scalar has nothing to reduce');
  if (!call.has('axis')) {
    const kept = shape.map(() => 1);
    const flat = call.site.context.builder.reshape(tile, [tileSize(shape)]);
    return { tile: flat, axis: 0, shape: call.flag('keepDims') ? kept : [] };
  }
  const axis = call.axis('axis', shape.length);
  const rest = call.flag('keepDims')
    ? shape.map((extent, index) => (index === axis ? 1 : extent))
    : shape.filter((_, index) => index !== axis);
  return { tile, axis, shape: rest };
}

const applied =
  (op: PointwiseName, site: Site): Combine =>
  (left, right) => [site.context.builder.apply(op, [at(left, 0), at(right, 0)])];

interface Reduction {
  readonly op: PointwiseName;
  /** What elements are cast to, and what the result is. */
  readonly accumulate: (dtype: DType) => DType;
  readonly result: (dtype: DType) => DType;
}

const computeOf = (dtype: DType): DType => dtypeInfo[dtype].compute;
const same = (dtype: DType): DType => dtype;
/** Sums of what is narrower than 32 bits are i32. */
const widenedSum = (dtype: DType): DType => (isFloat(dtype) || dtype === 'i64' ? dtype : 'i32');

const reduction = (doc: string, { op, accumulate, result }: Reduction): LanguageEntry =>
  entry(doc, ['x', 'axis?', 'keepDims?', 'dtype?'], (call) => {
    const { builder } = call.site.context;
    const given = call.tile('x');
    const final = call.has('dtype') ? call.dtype('dtype') : result(given.dtype);
    const wide = call.has('dtype') ? computeOf(final) : accumulate(given.dtype);
    const { tile, axis, shape } = reducedAxis(call, builder.cast(given, wide));
    const [reduced = tile] = foldTiles(
      { kind: 'reduce', args: [tile], axis, combine: applied(op, call.site) },
      call.site,
    );
    return tileValue(builder.cast(builder.reshape(reduced, shape), final));
  });

export const sum: LanguageEntry = reduction('Sum along an axis (of all elements without one).', {
  op: 'add',
  accumulate: (dtype) => computeOf(widenedSum(dtype)),
  result: widenedSum,
});
export const max: LanguageEntry = reduction('Largest element.', { op: 'maximum', accumulate: computeOf, result: same });
export const min: LanguageEntry = reduction('Smallest element.', {
  op: 'minimum',
  accumulate: computeOf,
  result: same,
});

const bitReduction = (doc: string, op: PointwiseName): LanguageEntry =>
  entry(doc, ['x', 'axis?', 'keepDims?'], (call) => {
    const { builder } = call.site.context;
    const given = call.tile('x');
    if (isFloat(given.dtype)) return call.refuse('x', 'of integers or bool', 'bitcast it to integers');
    const { tile, axis, shape } = reducedAxis(call, given);
    const [reduced = tile] = foldTiles(
      { kind: 'reduce', args: [tile], axis, combine: applied(op, call.site) },
      call.site,
    );
    return tileValue(builder.reshape(reduced, shape));
  });

export const xorSum: LanguageEntry = bitReduction('Exclusive or of all elements.', 'bitwiseXor');
export const reduceOr: LanguageEntry = bitReduction('Or of all elements.', 'bitwiseOr');

/** Takes the better of two (value, position) pairs; NaN is better than everything, the earlier of equals is kept. */
const better =
  (beats: 'gt' | 'lt', site: Site): Combine =>
  ([value, place], [otherValue, otherPlace]) => {
    const { builder } = site.context;
    const [a, i, b, j] = [value, place, otherValue, otherPlace] as [Tile, Tile, Tile, Tile];
    const isFirst = builder.apply('lt', [i, j]);
    const isEqual = builder.apply('eq', [a, b]);
    const wins = builder.apply('logicalOr', [
      builder.apply(beats, [a, b]),
      builder.apply('logicalAnd', [isEqual, isFirst]),
    ]);
    const taken = isFloat(a.dtype) ? nanAware([a, b], [wins, isFirst], site) : wins;
    return [builder.apply('where', [taken, a, b]), builder.apply('where', [taken, i, j])];
  };

function nanAware([a, b]: readonly [Tile, Tile], [wins, isFirst]: readonly [Tile, Tile], { context }: Site): Tile {
  const { builder } = context;
  const [left, right] = [builder.apply('isnan', [a]), builder.apply('isnan', [b])];
  const bothOrNot = builder.apply('where', [right, isFirst, builder.apply('logicalOr', [left, left])]);
  return builder.apply('where', [
    left,
    bothOrNot,
    builder.apply('logicalAnd', [wins, builder.apply('logicalNot', [right])]),
  ]);
}

/** The best element and its position, at the shape that the call asks for. */
function search(call: Call, beats: 'gt' | 'lt'): readonly [Tile, Tile] {
  const { builder } = call.site.context;
  const given = call.tile('x');
  const { tile, axis, shape } = reducedAxis(call, builder.cast(given, computeOf(given.dtype)));
  const extent = at(tile.shape, axis);
  const ramp = builder.op({ op: 'arange', attrs: { start: 0, end: extent }, args: [] });
  const line = tile.shape.map((_, index) => (index === axis ? extent : 1));
  const positions = builder.broadcast(builder.reshape(ramp, line), tile.shape);
  const results = foldTiles(
    { kind: 'reduce', args: [tile, positions], axis, combine: better(beats, call.site) },
    call.site,
  );
  const [value, place] = results.map((result) => builder.reshape(result, shape)) as [Tile, Tile];
  return [builder.cast(value, given.dtype), place];
}

const options = ['x', 'axis?', 'keepDims?'];
const listOf = (tiles: readonly Tile[]): KernelValue => ({ kind: 'list', items: tiles.map(tileValue) });

export const argmax: LanguageEntry = entry('Position of the largest element, i32.', options, (call) =>
  tileValue(search(call, 'gt')[1]),
);
export const argmin: LanguageEntry = entry('Position of the smallest element, i32.', options, (call) =>
  tileValue(search(call, 'lt')[1]),
);
export const maxWithIndex: LanguageEntry = entry('The largest element and its position.', options, (call) =>
  listOf(search(call, 'gt')),
);
export const minWithIndex: LanguageEntry = entry('The smallest element and its position.', options, (call) =>
  listOf(search(call, 'lt')),
);

/** The operands of a fold with a function: one block, or a list of blocks of one shape. */
function operands(call: Call): readonly Tile[] {
  const value = call.value('x');
  const tiles = value.kind === 'list' ? value.items.map((item) => asTile(item, call.at('x'))) : [call.tile('x')];
  const { shape } = at(tiles, 0);
  return tiles.map((tile) => broadcastTile(tile, shape, call.at('x')));
}

/** Calls the user's function on both sides, and holds its results against the operands' dtypes. */
function userCombine(call: Call): Combine {
  const fn = call.fn('combine');
  const { node, context } = call.at('combine');
  const site = { node, context: { ...context, isScalarOnly: true } };
  return (left, right) => {
    const result = call.callFunction(fn, [...left, ...right].map(tileValue), site);
    const items = result.kind === 'list' ? result.items : [result];
    if (items.length !== left.length)
      throw faultAt(node, context, [
        'KERNEL_ARGUMENT',
        `tl.${call.name}: the function gives ${String(items.length)} values for ${String(left.length)} operands`,
        'return one element, or a list with one for each operand',
      ]);
    return items.map((item, slot) => {
      const { dtype } = at(left, slot);
      const tile = asTile(item, site, item.kind === 'tile' ? undefined : dtype);
      if (tile.dtype !== dtype || tile.shape.length > 0)
        throw faultAt(node, context, [
          'KERNEL_DTYPE',
          `tl.${call.name}: the function combines elements of ${dtype} to ${describeValue(tileValue(tile))}`,
          `return a scalar ${dtype}: cast the result`,
        ]);
      return tile;
    });
  };
}

export const reduce: LanguageEntry = entry(
  'Combines the elements along an axis by an associative, commutative function.',
  ['x', 'axis', 'combine', 'keepDims?'],
  (call) => {
    const args = operands(call);
    const { builder } = call.site.context;
    const { shape } = at(args, 0);
    const axis = call.axis('axis', shape.length);
    const results = foldTiles({ kind: 'reduce', args, axis, combine: userCombine(call) }, call.site);
    const kept = call.flag('keepDims')
      ? results.map((tile) =>
          builder.reshape(
            tile,
            shape.map((extent, index) => (index === axis ? 1 : extent)),
          ),
        )
      : results;
    return call.value('x').kind === 'list' ? listOf(kept) : tileValue(at(kept, 0));
  },
);

export const associativeScan: LanguageEntry = entry(
  'Element i combines elements 0 to i along an axis (from i on, if reverse).',
  ['x', 'axis', 'combine', 'reverse?'],
  (call) => {
    const args = operands(call);
    const axis = call.axis('axis', at(args, 0).shape.length);
    const results = foldTiles(
      { kind: 'scan', args, axis, reverse: call.flag('reverse'), combine: userCombine(call) },
      call.site,
    );
    return call.value('x').kind === 'list' ? listOf(results) : tileValue(at(results, 0));
  },
);

const cumulative = (doc: string, op: PointwiseName): LanguageEntry =>
  entry(doc, ['x', 'axis?', 'reverse?', 'dtype?'], (call) => {
    const { builder } = call.site.context;
    const given = call.tile('x');
    const final = call.has('dtype') ? call.dtype('dtype') : widenedSum(given.dtype);
    const tile = builder.cast(given, computeOf(final));
    const axis = call.axis('axis', tile.shape.length, 0);
    const request = {
      kind: 'scan' as const,
      args: [tile],
      axis,
      reverse: call.flag('reverse'),
      combine: applied(op, call.site),
    };
    return tileValue(builder.cast(at(foldTiles(request, call.site), 0), final));
  });

export const cumsum: LanguageEntry = cumulative('Sums of elements 0 to i.', 'add');
export const cumprod: LanguageEntry = cumulative('Products of elements 0 to i.', 'mul');

export const softmax: LanguageEntry = entry(
  'exp(x - max) over its sum, along an axis (the last without one).',
  ['x', 'axis?'],
  (call) => {
    const { builder } = call.site.context;
    const given = call.tile('x');
    const tile = builder.cast(given, isFloat(given.dtype) ? computeOf(given.dtype) : 'f32');
    const axis = call.axis('axis', tile.shape.length, -1);
    const kept = tile.shape.map((extent, index) => (index === axis ? 1 : extent));
    const folded = (op: PointwiseName, of: Tile): KernelValue => {
      const [result = of] = foldTiles({ kind: 'reduce', args: [of], axis, combine: applied(op, call.site) }, call.site);
      return tileValue(builder.reshape(result, kept));
    };
    const shifted = applyPointwise('sub', [tileValue(tile), folded('maximum', tile)], call.site);
    const exponentials = applyPointwise('exp', [shifted], call.site);
    const total = folded('add', asTile(exponentials, call.site));
    const result = applyPointwise('div', [exponentials, total], call.site);
    return tileValue(builder.cast(asTile(result, call.site), isFloat(given.dtype) ? given.dtype : 'f32'));
  },
);
