// Every gradient against differences at f64, at random and at special points. What an entry says of its pieces decides
// where there is no derivative; nothing is left out here.
import { describe, expect, test } from '@jest/globals';
import { at, isFloat } from '@tsinductor/base';
import { compileTerm, evaluator, pointwise, programFunction } from './index.ts';
import type { PointwiseOp, Term } from './index.ts';

const differentiable = Object.values(pointwise).filter(({ gradient }) => gradient !== undefined);

type Point = readonly number[];

/** Zeros, poles, kinks and edges of the functions of the table, and numbers near to them. */
const special = [0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 6, Math.PI / 2, -Math.PI, 10, -10, 0.25, 1e-3, -1e-3, 20, -20];

function words(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

function pointsOf(arity: 1 | 2 | 3): readonly Point[] {
  const next = words(7);
  const kinds = [() => next() * 2 - 1, () => (next() * 2 - 1) * 4, () => next() * 3, () => (next() * 2 - 1) * 12];
  const random = Array.from({ length: 100 }, (_, k) =>
    Array.from({ length: arity }, (__, slot) => kinds[(k + slot) % kinds.length]?.() ?? 0),
  );
  const few = arity === 3 ? special.slice(0, 8) : special;
  const grid = Array.from({ length: arity - 1 }).reduce<Point[]>(
    (points) => points.flatMap((point) => few.map((x) => [...point, x])),
    few.map((x) => [x]),
  );
  return [...random, ...grid];
}

const points = { 1: pointsOf(1), 2: pointsOf(2), 3: pointsOf(3) };

/** Powers of two, so that what is added and taken away is exact for most operands. */
const steps = [2 ** -13, 2 ** -14, 2 ** -15] as const;

interface Slope {
  readonly value: number;
  /** What is left of the error after extrapolation, and of rounding. */
  readonly error: number;
}

/** The derivative in one operand by extrapolated central differences; undefined at the edge of the domain or of a piece. */
function slopeAt(
  { piece }: PointwiseOp,
  compute: (args: Point) => number,
  { args, slot }: { args: Point; slot: number },
): Slope | undefined {
  const moved = (by: number): Point => args.map((arg, k) => (k === slot ? arg + by : arg));
  const [step] = steps;
  const pieceAt = (point: Point): number | undefined => piece?.(...point);
  if ([-step, step].some((by) => !Object.is(pieceAt(moved(by)), pieceAt(args)))) return undefined;
  const central = (by: number): number => (compute(moved(by)) - compute(moved(-by))) / (2 * by);
  const [coarse, middle, fine] = steps.map(central) as [number, number, number];
  if (![compute(args), coarse, middle, fine].every(Number.isFinite)) return undefined;
  const [before, value] = [(4 * middle - coarse) / 3, (4 * fine - middle) / 3];
  const size = Math.max(Math.abs(compute(moved(step))), Math.abs(compute(moved(-step))));
  return {
    value,
    error: 4 * Math.abs(value - before) + (64 * Number.EPSILON * size) / step + 1e-9 * Math.abs(value) + 1e-12,
  };
}

function gradientFunction(op: PointwiseOp, term: Term): (g: number, args: readonly number[], out: number) => number {
  const program = compileTerm(term, 'f64', op.rule === 'select' ? { parameters: { x: 'bool' } } : {});
  const evaluate = programFunction(program, ['g', 'out', 'x', 'y', 'z']);
  return (g, args, out) => Number(evaluate(g, out, ...args));
}

describe('gradients', () => {
  const slots = differentiable.flatMap((op) =>
    (op.gradient ?? []).flatMap((term, slot) => (term === undefined ? [] : [[op.name, slot, op, term] as const])),
  );

  test.each(slots)('%s in operand %d', (...[, slot, op, term]) => {
    const evaluate = evaluator(op, 'f64');
    const compute = (args: Point): number => Number(evaluate(...args));
    const partial = gradientFunction(op, term);
    let checked = 0;
    const wrong: unknown[] = [];
    for (const point of points[op.arity]) {
      const args = op.rule === 'select' ? point.with(0, Number(at(point, 0) > 0)) : point;
      const slope = slopeAt(op, compute, { args, slot });
      if (slope === undefined) continue;
      const { value, error } = slope;
      const actual = partial(1.5, args, compute(args)) / 1.5;
      if (!(Math.abs(actual - value) <= error)) wrong.push({ args, actual, value, error });
      if (error < 1e-5 * (1 + Math.abs(value))) checked += 1;
    }
    expect(wrong).toEqual([]);
    // Points at which the difference is sharp enough to tell a wrong gradient.
    expect(checked).toBeGreaterThan(20);
  });

  test('are there for every op on floats that gives floats, in every operand, or the entry says why not', () => {
    const takesFloats = ({ accepts }: PointwiseOp): boolean => accepts === undefined || accepts.some(isFloat);
    const givesFloats = ({ rule }: PointwiseOp): boolean => ['promote', 'promoteToFloat', 'select'].includes(rule);
    const isUsers = ({ internal }: PointwiseOp): boolean => internal !== true;
    const isWhole = ({ gradient, rule }: PointwiseOp): boolean =>
      gradient?.every((term, slot) => term !== undefined || (rule === 'select' && slot === 0)) === true;
    const open = Object.values(pointwise).filter(
      (op) => takesFloats(op) && givesFloats(op) && isUsers(op) && !isWhole(op),
    );
    expect(open.filter(({ noGradient }) => noGradient === undefined).map(({ name }) => name)).toEqual([]);
    const explained = Object.values(pointwise).filter(({ noGradient }) => noGradient !== undefined);
    expect(explained.filter((op) => !open.includes(op)).map(({ name }) => name)).toEqual([]);
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
