// Memory: loads, stores and atomic updates through blocks of pointers. Operands meet in one shape: masks, values and what
// stands for masked elements are broadcast to the pointers' (or the pointers to the mask's).
import { dtypeInfo } from '@tsinductor/base';
import type { AtomicMode, Tile } from '@tsinductor/ir';
import { isInteger } from '@tsinductor/base';
import { asTest, broadcastAll, broadcastTile } from '../lower/coerce.ts';
import { faultAt } from '../lower/context.ts';
import { describeValue, tileValue, undefinedValue } from '../lower/value.ts';
import { entry } from './define.ts';
import type { Call, LanguageEntry } from './define.ts';

/** The mask, if there is one that is not known to be true. */
function maskOf(call: Call): Tile | undefined {
  const value = call.value('mask');
  if (value.kind === 'undefined' || (value.kind === 'boolean' && value.value)) return undefined;
  if (value.kind === 'number') return call.refuse('mask', 'a test', 'use a comparison, such as offs < n');
  return asTest(value, call.at('mask'));
}

/** What is written: cast to the buffer's dtype. */
function elementOf(call: Call, name: string): Tile {
  const { dtype } = call.pointer('pointer');
  const value = call.value(name);
  const isKnown = value.kind === 'number' && dtype !== 'bool';
  const isWhole = isKnown && isInteger(dtype) && !Number.isInteger(value.value);
  return call.site.context.builder.cast(call.tile(name, isKnown && !isWhole ? dtype : undefined), dtype);
}

export const load: LanguageEntry = entry(
  'Elements at pointers; where mask is false, other (or 0), and nothing is read.',
  ['pointer', 'mask?', 'other?'],
  (call) => {
    const { param, offsets } = call.pointer('pointer');
    call.requireInstance();
    const mask = maskOf(call);
    const { builder } = call.site.context;
    if (mask === undefined) return tileValue(builder.op({ op: 'load', attrs: { param }, args: [offsets] }));
    const other = call.has('other') ? [elementOf(call, 'other')] : [];
    const args = broadcastAll([offsets, mask, ...other], call.at('mask'));
    return tileValue(builder.op({ op: 'load', attrs: { param }, args }));
  },
);

/** Offsets, values and mask at the pointers' shape; a scalar pointer takes only scalars. */
function writeOperands(call: Call, values: readonly Tile[]): readonly Tile[] {
  call.requireInstance();
  const { offsets } = call.pointer('pointer');
  const mask = maskOf(call);
  const all = [offsets, ...values, ...(mask === undefined ? [] : [mask])];
  if (offsets.shape.length === 0 && all.some(({ shape }) => shape.length > 0)) {
    throw faultAt(call.site.node, call.site.context, [
      'KERNEL_SHAPE',
      `tl.${call.name}: ${describeValue(call.value('pointer'))} takes one element, and a block is given`,
      'add offsets to the pointer: out + tl.arange(0, BLOCK)',
    ]);
  }
  const [place = offsets, ...rest] = broadcastAll(all, call.site);
  return [place, ...rest.map((tile) => broadcastTile(tile, place.shape, call.site))];
}

export const store: LanguageEntry = entry(
  'Writes elements at pointers, where mask is true.',
  ['pointer', 'value', 'mask?'],
  (call) => {
    const { param } = call.pointer('pointer');
    const args = writeOperands(call, [elementOf(call, 'value')]);
    call.site.context.builder.act({ op: 'store', attrs: { param }, args });
    return undefinedValue;
  },
);

const atomicOf = (mode: AtomicMode, doc: string, needsInteger = false): LanguageEntry =>
  entry(`${doc}, as one step each; gives what was there before.`, ['pointer', 'value', 'mask?'], (call) => {
    const { param, dtype } = call.pointer('pointer');
    if ((needsInteger && !isInteger(dtype)) || dtypeInfo[dtype].bytes < 2 || dtype === 'i16')
      throw faultAt(call.at('pointer').node, call.site.context, [
        'KERNEL_DTYPE',
        `tl.${call.name} does not take elements of ${dtype}`,
        needsInteger ? 'use i32 or i64' : 'use i32, i64, f16, bf16, f32 or f64',
      ]);
    const args = writeOperands(call, [elementOf(call, 'value')]);
    return tileValue(call.site.context.builder.op({ op: 'atomic', attrs: { param, mode }, args }));
  });

export const atomicAdd: LanguageEntry = atomicOf('add', 'Adds to elements');
export const atomicMax: LanguageEntry = atomicOf('max', 'Raises elements to at least a value');
export const atomicMin: LanguageEntry = atomicOf('min', 'Lowers elements to at most a value');
export const atomicAnd: LanguageEntry = atomicOf('and', 'Clears bits of elements', true);
export const atomicOr: LanguageEntry = atomicOf('or', 'Sets bits of elements', true);
export const atomicXor: LanguageEntry = atomicOf('xor', 'Flips bits of elements', true);
export const atomicXchg: LanguageEntry = atomicOf('exchange', 'Replaces elements');

export const atomicCas: LanguageEntry = entry(
  'Where an element equals expected it becomes value, as one step each; gives what was there before.',
  ['pointer', 'expected', 'value'],
  (call) => {
    const { param, dtype } = call.pointer('pointer');
    if (dtypeInfo[dtype].bytes < 4)
      throw faultAt(call.at('pointer').node, call.site.context, [
        'KERNEL_DTYPE',
        `tl.atomicCas does not take elements of ${dtype}`,
        'use elements of 4 or 8 bytes',
      ]);
    const args = writeOperands(call, [elementOf(call, 'expected'), elementOf(call, 'value')]);
    return tileValue(call.site.context.builder.op({ op: 'atomicCas', attrs: { param }, args }));
  },
);
