// Coordinate descent on made-up costs.
import { expect, test } from '@jest/globals';
import { descend } from './coordinate-descent.ts';
import type { GridPoint } from './coordinate-descent.ts';

interface Options {
  readonly radius?: number;
  readonly allDirections?: boolean;
}

/** Where it ends on a cost over a grid, and how many points were measured. */
function ended(
  cost: (point: GridPoint) => number,
  sizes: readonly number[],
  { radius = 1, allDirections = false }: Options,
) {
  const asked: string[] = [];
  const timesOf = (points: readonly GridPoint[]): readonly number[] => {
    asked.push(...points.map(String));
    return points.map(cost);
  };
  const start = sizes.map(() => 0);
  const walk = descend({ sizes, start, radius, allDirections, leastGain: 0, timesOf });
  expect(new Set(asked).size).toBe(asked.length);
  return { ...walk, asked: asked.length };
}

const distance = (target: readonly number[]) => (point: GridPoint) =>
  1 + point.reduce((sum, value, axis) => sum + Math.abs(value - (target[axis] ?? 0)), 0);

test('goes down to the least, one parameter at a time', () => {
  const { point, time, steps } = ended(distance([3, 1, 4]), [5, 5, 5], {});
  expect(point).toEqual([3, 1, 4]);
  expect(time).toBe(1);
  expect(steps.every(({ moved, before, after }) => moved.length === 1 && after < before)).toBe(true);
});

test('stays where nothing is better, and measures each point once', () => {
  const { point, steps, asked } = ended(distance([0, 0]), [3, 3], {});
  expect([point, steps, asked]).toEqual([[0, 0], [], 3]);
});

test('crosses a bump that is one value wide with a radius of two', () => {
  const bump = ([x = 0]: GridPoint): number => [2, 9, 1][x] ?? 9;
  expect(ended(bump, [3], {}).point).toEqual([0]);
  const { point, asked } = ended(bump, [3], { radius: 2 });
  expect([point, asked]).toEqual([[2], 3]);
});

test('follows a valley across with steps in all directions only', () => {
  const valley = ([x = 0, y = 0]: GridPoint): number => 10 - x - y + 100 * Math.abs(x - y);
  expect(ended(valley, [4, 4], {}).point).toEqual([0, 0]);
  expect(ended(valley, [4, 4], { allDirections: true }).point).toEqual([3, 3]);
});

test('takes no step for what is hardly better, and none to what does not run', () => {
  const hardly = ([x = 0]: GridPoint): number => 1 - x / 100;
  const walk = descend({
    sizes: [3],
    start: [0],
    radius: 1,
    allDirections: false,
    leastGain: 0.03,
    timesOf: (points) => points.map(hardly),
  });
  expect(walk.point).toEqual([0]);
  expect(ended(() => Infinity, [3, 3], { allDirections: true }).point).toEqual([0, 0]);
});
