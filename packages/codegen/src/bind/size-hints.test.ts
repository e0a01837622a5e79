// Which calls take which kernel of a group whose sizes are symbols, and what is reckoned with there.
import { expect, test } from '@jest/globals';
import { add, axisIndex, floorDivide, int, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { typicalValue } from './index-math.ts';
import type { LoneGroup } from './lone-group.ts';
import { rangeTest, rangeText, variantsOf, withoutHints } from './size-hints.ts';

const size = (name: string, max: number | null = null): Index => ({ kind: 'size', name, min: 2, max });

/** A group of maps with axes of these extents. */
function groupOf(extents: readonly Index[]): LoneGroup {
  const loops = extents.map((extent, index) => ({
    axis: { name: `i${String(index)}`, extent },
    role: 'parallel' as const,
  }));
  const nest = { kind: 'loops' as const, loops, children: [] };
  const group = { id: 0, name: 'group', nodes: [], nest, locals: [], reads: [], writes: [] };
  const program = { buffers: [], inputs: [], outputs: [], nodes: [], sizes: ['s0', 's1'], sites: [] };
  const schedule = { program, groups: [group], buffers: [], workspaceBytes: int(0), decisions: [] };
  return { key: 'key', group, schedule, buffers: [], starts: [] };
}

const extentsOf = ({ group }: LoneGroup): readonly number[] =>
  group.nest.loops.map(({ axis }) => typicalValue(axis.extent));

test('a hint is nearest to sizes by ratio', () => {
  const ranges = variantsOf(groupOf([size('s0')]), [4096, 64, 256]).map(({ range }) => range);
  expect(ranges).toEqual([
    { sizes: ['s0'], from: 0, below: 128 },
    { sizes: ['s0'], from: 128, below: 1024 },
    { sizes: ['s0'], from: 1024, below: null },
  ]);
  const square = variantsOf(groupOf([size('s0'), size('s1'), size('s0')]), [64, 256]).map(({ range }) => range);
  expect(square).toEqual([
    { sizes: ['s0', 's1'], from: 0, below: 16384 },
    { sizes: ['s0', 's1'], from: 16384, below: null },
  ]);
});

test('every size is reckoned with as the hint, within its bounds', () => {
  const extents = [size('s0'), add(multiply(size('s1', 100), int(3)), int(1)), floorDivide(size('s0'), int(4))];
  const [small, large] = variantsOf(groupOf(extents), [8, 400]);
  expect(small && extentsOf(small.alone)).toEqual([8, 25, 2]);
  expect(large && extentsOf(large.alone)).toEqual([400, 301, 100]);
  expect(new Set([small?.alone.key, large?.alone.key, 'key']).size).toBe(3);
  expect(small?.alone.schedule.groups[0]).toBe(small?.alone.group);
  expect(small && withoutHints(small.alone, small.alone.group)).toEqual(groupOf(extents).group);
  expect(typicalValue(axisIndex({ name: 'i', extent: size('s0') }))).toBe(256);
});

test('nothing is chosen where there are no hints, or no sizes', () => {
  const alone = groupOf([size('s0')]);
  expect(variantsOf(alone, [])).toEqual([{ alone }]);
  const fixed = groupOf([int(7)]);
  expect(variantsOf(fixed, [64, 256])).toEqual([{ alone: fixed }]);
  const [only, ...others] = variantsOf(alone, [500]);
  expect([only?.range, others.length, only && extentsOf(only.alone)]).toEqual([undefined, 0, [500]]);
});

test('what is reckoned with lies in the range of the expression, and borders are finite', () => {
  const [one] = variantsOf(groupOf([add(size('s0'), int(-4)), floorDivide(int(8), size('s0'))]), [1]);
  expect(one && extentsOf(one.alone)).toEqual([-2, 4]);
  const many = Array.from({ length: 40 }, (_, index) => size(`s${String(index)}`));
  const [first] = variantsOf(groupOf(many), [2 ** 50, 2 ** 52]);
  expect(first?.range?.below).toBe(Number.MAX_VALUE);
});

test('ranges in a program and for people', () => {
  const range = { sizes: ['s0', 's1'], from: 101, below: 1e22 };
  expect(rangeTest(range, (name) => `${name}_`)).toBe(
    '(double)s0_ * (double)s1_ >= 1.01e+2 && (double)s0_ * (double)s1_ < 1e+22',
  );
  expect(rangeText(range)).toBe('for a geometric mean of s0, s1 from 11 to below 100000000000');
  expect(rangeText({ ...range, below: null })).toBe('for a geometric mean of s0, s1 from 11 on');
  expect(rangeText({ sizes: ['s0'], from: 0, below: 212 })).toBe('for s0 below 212');
});
