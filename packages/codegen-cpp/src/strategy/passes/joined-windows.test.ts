// What joins all parts of two windows joins their vectors, which are taken apart once.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { KernelWriter } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Access, Stmt, Value, ValueType } from '@tsinductor/ir';
import { cases } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import { shareWindows } from './shared-windows.ts';

const type: ValueType = { dtype: 'f32', lanes: 16 };
const everySecond = (buffer: string, from: number): Access => ({ buffer, at: int(from), step: int(2), align: 4 });
const load = (name: string, buffer: string, from: number): Stmt => ({
  kind: 'let',
  name,
  value: { kind: 'load', access: everySecond(buffer, from), type },
});
const named = (name: string): Value => ({ kind: 'name', name, type });
const apply = (name: string, op: 'add' | 'sub', ...args: readonly string[]): Stmt => ({
  kind: 'let',
  name,
  value: { kind: 'apply', op, args: args.map(named), type },
});
const store = (name: string): Stmt => ({
  kind: 'store',
  access: { ...everySecond('out', 0), step: int(1) },
  value: named(name),
});

/** The even and the odd elements of two rows. */
const rows: readonly Stmt[] = [load('a0', 'a', 0), load('a1', 'a', 1), load('b0', 'b', 0), load('b1', 'b', 1)];
const stores = [store('even'), store('odd')];
const share = (...block: readonly Stmt[]): readonly Stmt[] =>
  shareWindows(block, { isa: 'avx512', writer: new KernelWriter() });
const names = (block: readonly Stmt[]): readonly string[] =>
  block.flatMap((statement) => (statement.kind === 'let' ? [statement.name] : []));
const taken = (block: readonly Stmt[]): number =>
  block.filter((statement) => statement.kind === 'let' && statement.value.kind === 'rearranged').length;

describe('windows of which every part is joined with that of another', () => {
  test('are joined before they are taken apart', () => {
    const block = share(...rows, apply('even', 'sub', 'a0', 'b0'), apply('odd', 'sub', 'a1', 'b1'), ...stores);
    const windows = ['a_window', 'a_window_1', 'b_window', 'b_window_1'];
    expect(names(block)).toEqual([...windows, 'joined', 'joined_1', 'even', 'odd']);
    expect(at(block, 4)).toMatchObject({ value: { op: 'sub', args: [{ name: 'a_window' }, { name: 'b_window' }] } });
    expect(at(block, 7)).toMatchObject({ value: { value: { name: 'joined' }, other: { name: 'joined_1' } } });
    expect(block.slice(-2)).toEqual(stores);
  });

  test.each([
    [2, 2, 2],
    [3, 2, 2],
    [5, 2, 2],
    [2, 3, 6],
    [2, 4, 12],
  ])('are one, of however many rows: blocks of %i x %i', (down, across, shuffles) => {
    const { schedule } = cases.blocks([1, 16], { down, across, dtype: 'f32' });
    const [{ source } = { source: '' }] = generateCpp(schedule, { isa: 'avx512', threads: 1 }).units;
    expect(source.match(/__builtin_shufflevector/g)).toHaveLength(shuffles);
    expect(source.match(/ joined\w* = /g)).toHaveLength((down - 1) * across);
    expect(source.match(/ = load_f32x16/g)).toHaveLength(down * across);
  });

  test.each<[string, readonly Stmt[]]>([
    ['a part is used again', [apply('even', 'add', 'a0', 'b0'), apply('odd', 'add', 'a1', 'b1'), store('a0')]],
    ['a part joins itself', [apply('even', 'add', 'a0', 'a0'), apply('odd', 'add', 'a1', 'b1'), store('b0')]],
    ['parts of one row join', [apply('even', 'add', 'a0', 'a1'), apply('odd', 'add', 'b0', 'b1')]],
    ['ops differ', [apply('even', 'add', 'a0', 'b0'), apply('odd', 'sub', 'a1', 'b1')]],
    ['other sides differ', [apply('even', 'sub', 'a0', 'b0'), apply('odd', 'sub', 'b1', 'a1')]],
    ['places differ', [apply('even', 'add', 'a0', 'b1'), apply('odd', 'add', 'a1', 'b0')]],
    ['a part does not join', [apply('even', 'add', 'a0', 'b0'), apply('odd', 'add', 'a1', 'a1'), store('b1')]],
  ])('are taken apart each where %s', (_, joins) => {
    const block = share(...rows, ...joins, ...stores);
    expect(taken(block)).toBe(4);
    expect(names(block)).not.toContain('joined');
  });

  test('are taken apart each where something is stored before they join', () => {
    const block = share(
      ...rows,
      store('a'),
      apply('even', 'add', 'a0', 'b0'),
      apply('odd', 'add', 'a1', 'b1'),
      ...stores,
    );
    expect(names(block)).not.toContain('joined');
  });

  test('of as many parts alone: evens and odds do not join the thirds of another row', () => {
    const third = (place: number): Stmt => ({
      kind: 'let',
      name: `c${String(place)}`,
      value: { kind: 'load', access: { ...everySecond('c', place), step: int(3) }, type },
    });
    const thirds = [third(0), third(1), third(2)];
    const joins = [apply('even', 'add', 'a0', 'c0'), apply('odd', 'add', 'a1', 'c1')];
    const turned = [apply('even', 'add', 'c0', 'a0'), apply('odd', 'add', 'c1', 'a1')];
    for (const both of [joins, turned]) {
      const block = share(...rows.slice(0, 2), ...thirds, ...both, ...stores, store('c2'));
      expect(names(block)).toEqual(expect.arrayContaining(['a0', 'a1', 'c0', 'c1', 'c2']));
      expect(names(block)).not.toContain('joined');
    }
  });

  test('keep lanes apart that no load reads', () => {
    const third = (name: string, buffer: string, from: number): Stmt => {
      const access = { ...everySecond(buffer, from), step: int(3) };
      return { kind: 'let', name, value: { kind: 'load', access, type } };
    };
    const loads = [third('a0', 'a', 0), third('a1', 'a', 1), third('b0', 'b', 0), third('b1', 'b', 1)];
    const block = share(...loads, apply('even', 'add', 'a0', 'b0'), apply('odd', 'add', 'a1', 'b1'), ...stores);
    expect(names(block)).not.toContain('joined');
  });
});
