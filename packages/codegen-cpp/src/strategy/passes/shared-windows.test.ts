// Lanes that lie between one another are taken out of vectors that are loaded once.
import { describe, expect, test } from '@jest/globals';
import { KernelWriter } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Access, Stmt, Value, ValueType } from '@tsinductor/ir';
import { cases } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import { shareWindows } from './shared-windows.ts';

const type: ValueType = { dtype: 'f32', lanes: 16 };
const everySecond = (from: number): Access => ({ buffer: 'x', at: int(from), step: int(2), align: 4 });
const load = (name: string, access: Access, mask?: Value): Stmt => ({
  kind: 'let',
  name,
  value: { kind: 'load', access, type, ...(mask === undefined ? {} : { mask }) },
});
const store: Stmt = { kind: 'store', access: everySecond(0), value: { kind: 'constant', value: 0, type } };
const share = (block: readonly Stmt[]): readonly Stmt[] =>
  shareWindows(block, { isa: 'avx512', writer: new KernelWriter() });

describe('loads of lanes that lie between one another', () => {
  test.each([
    { step: 2, offsets: [0, 1], loads: 2, last: 31 },
    { step: 3, offsets: [2, 0, 1], loads: 3, last: 47 },
    { step: 3, offsets: [0, 1], loads: 3, last: 46 },
    { step: 4, offsets: [0, 2], loads: 4, last: 62 },
    { step: 2, offsets: [0, 1, 2, 3], loads: 4, last: 33 },
    { step: 2, offsets: [1, 4], loads: 0, last: undefined },
    { step: 5, offsets: [0, 1], loads: 0, last: undefined },
  ])('are of one window: $offsets of every $step', ({ step, offsets, loads, last }) => {
    const { schedule } = cases.between(16, { step, offsets, dtype: 'f32' });
    const [{ source } = { source: '' }] = generateCpp(schedule, { isa: 'avx512', threads: 1 }).units;
    const places = source.matchAll(/in0_window\w* = load_f32x16\(in0(?: \+ [^;]*?)??(?: \+ (\d+))?\);/g);
    const starts = [...places].map(([, start]) => Number(start ?? 0));
    expect(starts).toHaveLength(loads);
    if (last === undefined) expect(source).toMatch(/load_(every2|strided)_/);
    else expect(Math.max(...starts) + 15).toBe(last);
  });

  test('stay apart where something is stored between them', () => {
    const block = [load('even', everySecond(0)), store, load('odd', everySecond(1))];
    expect(share(block)).toBe(block);
    expect(share([load('even', everySecond(0)), load('odd', everySecond(1)), store])).toHaveLength(5);
  });

  test('stay apart where some lanes are not there', () => {
    const mask: Value = { kind: 'first', count: int(7), type: { dtype: 'bool', lanes: 16 } };
    const masked = [load('even', everySecond(0)), load('odd', everySecond(1), mask)];
    expect(share(masked)).toBe(masked);
    const counted = [load('even', { ...everySecond(0), count: int(7) }), load('odd', everySecond(1))];
    expect(share(counted)).toBe(counted);
  });

  test('are found inside of loops', () => {
    const body = [load('even', everySecond(0)), load('odd', everySecond(1))];
    const [loop] = share([{ kind: 'for', name: 'i', from: int(0), to: int(4), step: 1, body }]);
    expect(loop).toMatchObject({
      kind: 'for',
      body: [{ name: 'x_window' }, { name: 'x_window_1' }, { name: 'even' }, { name: 'odd' }],
    });
  });
});
