// Every gradient against finite differences at f64, wherever those settle.
import { describe, expect, test } from '@jest/globals';
import { compileTerm, evaluator, pointwise, programFunction } from './index.ts';
import type { PointwiseOp, Term } from './index.ts';

const differentiable = Object.values(pointwise).filter(({ gradient }) => gradient !== undefined);

const points: readonly (readonly [number, number, number])[] = [
  [0.31, 0.72, 0.44],
  [-0.63, 0.27, 0.81],
  [0.87, -0.36, 1.7],
  [1.73, 2.41, -0.6],
  [2.62, 1.37, 2.2],
  [-3.41, 1.19, 0.3],
  [4.27, -2.33, -1.4],
  [-1.58, -2.76, 3.1],
  [7.9, 3.6, 0.9],
];

/** The central difference in one operand, or undefined where two step sizes disagree. */
function difference(
  compute: (args: readonly number[]) => number,
  args: readonly number[],
  slot: number,
): number | undefined {
  const slope = (step: number): number => {
    const moved = (by: number): number[] => args.map((arg, k) => (k === slot ? arg + by : arg));
    return (compute(moved(step)) - compute(moved(-step))) / (2 * step);
  };
  const [coarse, fine] = [slope(2e-5), slope(1e-5)];
  const settled = Math.abs(coarse - fine) <= 1e-6 * (1 + Math.abs(fine));
  return Number.isFinite(fine) && settled ? fine : undefined;
}

function gradientFunction(op: PointwiseOp, term: Term): (g: number, args: readonly number[], out: number) => number {
  const program = compileTerm(term, 'f64', op.rule === 'select' ? { parameters: { x: 'bool' } } : {});
  const evaluate = programFunction(program, ['g', 'out', 'x', 'y', 'z']);
  return (g, args, out) => Number(evaluate(g, out, ...args));
}

describe('gradients', () => {
  test.each(differentiable.map((op) => [op.name, op] as const))('%s', (_, op) => {
    const evaluate = evaluator(op, 'f64');
    const compute = (args: readonly number[]): number => Number(evaluate(...args));
    let checked = 0;
    op.gradient?.forEach((term, slot) => {
      if (term === undefined) return;
      const partial = gradientFunction(op, term);
      for (const point of points) {
        const args = point
          .slice(0, op.arity)
          .map((value, k) => (op.rule === 'select' && k === 0 ? Number(value > 0) : value));
        const expected = difference(compute, args, slot);
        if (expected === undefined) continue;
        const actual = partial(1.5, args, compute(args));
        const isClose = Math.abs(actual - 1.5 * expected) <= 1e-5 * (1 + Math.abs(expected));
        expect(isClose || { slot, args, actual, expected: 1.5 * expected }).toBe(true);
        checked += 1;
      }
    });
    expect(checked).toBeGreaterThan(0);
  });

  test('have a term for each operand', () => {
    for (const op of differentiable) expect([op.name, op.gradient?.length]).toEqual([op.name, op.arity]);
  });

  test.each<[keyof typeof pointwise, number, number[], number]>([
    ['relu', 0, [0], 0],
    ['abs', 0, [0], 0],
    ['sign', 0, [2], 0],
    ['maximum', 0, [1, 1], 0.5],
    ['maximum', 1, [1, 1], 0.5],
    ['clampMin', 0, [1, 1], 1],
    ['clampMin', 1, [1, 1], 0],
    ['pow', 0, [0, 0], 0],
    ['pow', 1, [0, 2], 0],
    ['atan2', 0, [0, 0], 0],
    ['xlogy', 0, [0, 0], 0],
    ['relu6', 0, [6], 0],
    ['fmax', 0, [1, 1], 1],
    ['fmax', 0, [NaN, 1], 0],
  ])('of %s in operand %d at %p is %d, as PyTorch has it', (...[name, slot, args, expected]) => {
    const op = pointwise[name];
    const term = op.gradient?.[slot];
    if (term === undefined) throw new TypeError(`no gradient ${String(slot)} of ${name}`);
    expect(gradientFunction(op, term)(1, args, Number(evaluator(op, 'f64')(...args)))).toBe(expected);
  });
});
