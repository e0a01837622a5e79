// Shapes and dtypes of blocks.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { tileSize } from '@tsinductor/ir';
import type { Tile } from '@tsinductor/ir';
import { broadcastAll, broadcastTile } from '../lower/coerce.ts';
import { faultAt } from '../lower/context.ts';
import { describeValue, tileValue } from '../lower/value.ts';
import type { KernelValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

/** What moves elements about works on pointers as on their offsets. */
function rearranged(call: Call, move: (tile: Tile) => Tile): KernelValue {
  const value = call.value('x');
  return value.kind === 'pointer' ? { ...value, offsets: move(value.offsets) } : tileValue(move(call.tile('x')));
}

const castTo = (call: Call, dtype: DType): KernelValue => {
  const value = call.value('x');
  const isKnown = value.kind === 'number' || value.kind === 'boolean';
  const tile = call.tile('x', isKnown && (dtype !== 'bool' || value.kind === 'boolean') ? dtype : undefined);
  return tileValue(call.site.context.builder.cast(tile, dtype));
};

function bitcastTo(call: Call, dtype: DType): KernelValue {
  const tile = call.tile('x');
  if (dtypeInfo[tile.dtype].bytes !== dtypeInfo[dtype].bytes || (tile.dtype === 'bool') !== (dtype === 'bool'))
    throw faultAt(call.at('dtype').node, call.site.context, [
      'KERNEL_DTYPE',
      `${describeValue(call.value('x'))} does not have the width of ${dtype}`,
      'cast it, or use a dtype of the same width',
    ]);
  if (tile.dtype === dtype) return tileValue(tile);
  return tileValue(call.site.context.builder.op({ op: 'bitcast', attrs: { dtype }, args: [tile] }));
}

export const cast: LanguageEntry = entry('x in another dtype.', ['x', 'dtype', 'bitcast?'], (call) =>
  call.flag('bitcast') ? bitcastTo(call, call.dtype('dtype')) : castTo(call, call.dtype('dtype')),
);

export const bitcast: LanguageEntry = entry('The bits of x as a dtype of the same width.', ['x', 'dtype'], (call) =>
  bitcastTo(call, call.dtype('dtype')),
);

export const broadcast: LanguageEntry = entry('Both at their common shape.', ['x', 'y'], (call) => ({
  kind: 'list',
  items: broadcastAll([call.tile('x'), call.tile('y')], call.site).map(tileValue),
}));

export const broadcastTo: LanguageEntry = entry('x repeated along axes of size 1.', ['x', 'shape'], (call) =>
  rearranged(call, (tile) => broadcastTile(tile, call.shape('shape'), call.at('shape'))),
);

export const expandDims: LanguageEntry = entry('x with an axis of size 1 inserted.', ['x', 'axis'], (call) =>
  rearranged(call, (tile) => {
    const axes = call.numbers('axis');
    const rank = tile.shape.length + axes.length;
    const places = axes.map((axis) => (axis < 0 ? axis + rank : axis));
    if (places.some((place) => place < 0 || place >= rank) || new Set(places).size < places.length)
      throw faultAt(call.at('axis').node, call.site.context, [
        'KERNEL_SHAPE',
        `tl.expandDims: the result has ${String(rank)} axes, and none at ${axes.join(', ')}`,
        `use axes from ${String(-rank)} to ${String(rank - 1)}`,
      ]);
    const rest = [...tile.shape];
    const shape = Array.from({ length: rank }, (_, axis) => (places.includes(axis) ? 1 : (rest.shift() ?? 1)));
    return call.site.context.builder.reshape(tile, shape);
  }),
);

export const squeeze: LanguageEntry = entry('x without an axis of size 1.', ['x', 'axis'], (call) =>
  rearranged(call, (tile) => {
    const axis = call.axis('axis', tile.shape.length);
    if (tile.shape[axis] !== 1) return call.refuse('axis', 'an axis of size 1', 'reduce the axis instead');
    return call.site.context.builder.reshape(
      tile,
      tile.shape.filter((_, index) => index !== axis),
    );
  }),
);

function reshaped(call: Call, shape: readonly number[]): KernelValue {
  return rearranged(call, (tile) => {
    if (tileSize(tile.shape) !== tileSize(shape))
      throw faultAt(call.at('shape').node, call.site.context, [
        'KERNEL_SHAPE',
        `tl.${call.name}: [${tile.shape.join(', ')}] has ${String(tileSize(tile.shape))} elements, [${shape.join(', ')}] has ${String(tileSize(shape))}`,
        'use a shape with as many elements',
      ]);
    return call.site.context.builder.reshape(tile, shape);
  });
}

export const reshape: LanguageEntry = entry(
  'The same elements, in row-major order, under another shape.',
  ['x', 'shape'],
  (call) => reshaped(call, call.shape('shape')),
);
export const view: LanguageEntry = entry('As reshape.', ['x', 'shape'], (call) => reshaped(call, call.shape('shape')));
export const ravel: LanguageEntry = entry('x with one axis.', ['x'], (call) =>
  reshaped(call, [tileSize(call.tile('x').shape)]),
);

function permuted(call: Call, order: readonly number[]): KernelValue {
  return rearranged(call, (tile) => {
    const rank = tile.shape.length;
    const axes = order.map((axis) => (axis < 0 ? axis + rank : axis));
    if (axes.length !== rank || new Set(axes).size !== rank || axes.some((axis) => axis < 0 || axis >= rank))
      throw faultAt(call.at('order').node, call.site.context, [
        'KERNEL_SHAPE',
        `tl.${call.name}: [${order.join(', ')}] does not name each of ${String(rank)} axes once`,
        `use an order of the axes 0 to ${String(rank - 1)}`,
      ]);
    if (axes.every((axis, place) => axis === place)) return tile;
    return call.site.context.builder.op({ op: 'permute', attrs: { order: axes }, args: [tile] });
  });
}

export const permute: LanguageEntry = entry('Axis i of the result is axis order[i] of x.', ['x', 'order'], (call) =>
  permuted(call, call.numbers('order')),
);

export const trans: LanguageEntry = entry(
  'x with its last two axes exchanged, or in another order.',
  ['x', 'order?'],
  (call) => {
    if (call.has('order')) return permuted(call, call.numbers('order'));
    const value = call.value('x');
    const rank = (value.kind === 'pointer' ? value.offsets : call.tile('x')).shape.length;
    if (rank < 2) return call.refuse('x', 'a block of two axes', 'insert an axis with tl.expandDims');
    const order = Array.from({ length: rank }, (_, axis) => axis);
    return permuted(call, [...order.slice(0, -2), at(order, rank - 1), at(order, rank - 2)]);
  },
);
