// The grid, and blocks out of nothing.
import type { GridAxis } from '@tsinductor/ir';
import { broadcastTile, checkExtent } from '../lower/coerce.ts';
import { tileValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

function gridAxis(call: Call): GridAxis {
  const axis = call.known('axis', 0);
  return axis === 0 || axis === 1 || axis === 2 ? axis : call.refuse('axis', '0, 1 or 2', 'a grid has three axes');
}

export const programId: LanguageEntry = entry('Which instance of the grid this is.', ['axis'], (call) =>
  tileValue(call.site.context.builder.op({ op: 'programId', attrs: { axis: gridAxis(call) }, args: [] })),
);

export const numPrograms: LanguageEntry = entry('How many instances the grid has.', ['axis'], (call) =>
  tileValue(call.site.context.builder.op({ op: 'numPrograms', attrs: { axis: gridAxis(call) }, args: [] })),
);

export const arange: LanguageEntry = entry('Consecutive integers, as i32.', ['start', 'end'], (call) => {
  const [start, end] = [call.known('start'), call.known('end')];
  if (!Number.isInteger(start)) return call.refuse('start', 'a whole number', 'use whole numbers');
  checkExtent(end - start, call.at('end'));
  return tileValue(call.site.context.builder.op({ op: 'arange', attrs: { start, end }, args: [] }));
});

export const full: LanguageEntry = entry('One value in every element.', ['shape', 'value', 'dtype'], (call) => {
  const shape = call.shape('shape');
  const dtype = call.dtype('dtype');
  const { builder } = call.site.context;
  const value = call.value('value');
  const scalar = value.kind === 'number' && dtype === 'bool' ? call.tile('value') : call.tile('value', dtype);
  return tileValue(broadcastTile(builder.cast(scalar, dtype), shape, call.at('shape')));
});

export const zeros: LanguageEntry = entry('Zeros.', ['shape', 'dtype'], (call) => {
  const dtype = call.dtype('dtype');
  const zero = dtype === 'i64' ? 0n : 0;
  return tileValue(call.site.context.builder.constant(zero, { dtype, shape: call.shape('shape') }));
});

export const zerosLike: LanguageEntry = entry('Zeros of the dtype and shape of a block.', ['x'], (call) => {
  const { dtype, shape } = call.tile('x');
  return tileValue(call.site.context.builder.constant(dtype === 'i64' ? 0n : 0, { dtype, shape }));
});

export const nextPowerOf2: LanguageEntry = entry('The least power of two that is not below x.', ['x'], (call) => ({
  kind: 'number',
  value: 2 ** Math.ceil(Math.log2(Math.max(1, call.known('x')))),
}));
