// Every op that has a reference, against it: over all magnitudes, at special values, and densely where functions bend.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { evaluator, floatFormats, isMeasured, opError, pointwise, ulpError } from './index.ts';
import type { PointwiseName, PointwiseOp } from './index.ts';

interface Samples {
  /** In units of the last place of the format. */
  readonly bound: number;
  readonly points: readonly (readonly [x: number, value: number])[];
}

/** Values of special functions, computed with 60 digits and rounded to the nearest double. */
const specialValues = JSON.parse(readFileSync(new URL('./special-values.json', import.meta.url), 'utf8')) as Partial<
  Record<PointwiseName, Samples>
>;

const formats = {
  f32: { ...floatFormats.f32, round: Math.fround },
  f64: { ...floatFormats.f64, round: (value: number) => value },
} as const;
type Format = keyof typeof formats;

const errorInUlp = (actual: number, expected: number, format: Format): number =>
  ulpError(actual, { expected, scale: 0, format: formats[format] });

const specials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  -2,
  Infinity,
  -Infinity,
  NaN,
  2 ** -149,
  -(2 ** -126),
  2 ** 127,
  1e-320,
  1e308,
];

/** A reproducible sequence in [0, 1). */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Values of all magnitudes, and as many within a few units of 0. */
function sweep(format: Format, count: number): readonly number[] {
  const next = sequence(count);
  const reach = format === 'f32' ? 148 : 1070;
  const values = Array.from({ length: count }, (_, k) => {
    const sign = next() < 0.5 ? -1 : 1;
    const kind = k % 4;
    if (kind === 0) return sign * 2 ** ((next() - 0.5) * 2 * reach * 0.86);
    if (kind === 1) return sign * next() * 2;
    if (kind === 2) return sign * next() * 20;
    return sign * next() * 2 ** (next() * 10);
  });
  return [...specials, ...values].map(formats[format].round);
}

interface Worst {
  readonly error: number;
  readonly at: readonly number[];
  readonly actual: number;
  readonly expected: number;
}

function worstOf(op: PointwiseOp, format: Format, points: Iterable<readonly number[]>): Worst {
  const evaluate = evaluator(op, format);
  let worst: Worst = { error: 0, at: [], actual: 0, expected: 0 };
  for (const at of points) {
    if (!isMeasured(op, at)) continue;
    const actual = Number(evaluate(...at));
    const error = opError(op, at, { actual, format }) ?? 0;
    if (error > worst.error) worst = { error, at, actual, expected: op.reference?.(...at) ?? NaN };
  }
  return worst;
}

/** What the reference itself may be off by, in units of the last place: at f64 a rounding, at f32 next to nothing. */
const slack = ({ referenceError = 0 }: PointwiseOp, format: Format): number =>
  format === 'f32' ? 1e-6 + referenceError * 2 ** 24 : 1 + referenceError * 2 ** 53;

const referenced = Object.values(pointwise).filter(
  ({ reference, ulp }) => reference !== undefined && ulp !== undefined,
);
const named = (arity: number): readonly (readonly [string, PointwiseOp])[] =>
  referenced.filter((op) => op.arity === arity).map((op) => [op.name, op] as const);

describe('functions of one argument stay within their bound', () => {
  test.each(named(1))('%s', (_, op) => {
    const bound = op.ulp ?? 0;
    const single = worstOf(
      op,
      'f32',
      sweep('f32', 4000).map((x) => [x]),
    );
    expect(single.error <= bound + slack(op, 'f32') || single).toBe(true);
    // At f64, what has only a series as reference is tested at special values, below.
    if (op.referenceError !== undefined) return;
    const double = worstOf(
      op,
      'f64',
      sweep('f64', 4000).map((x) => [x]),
    );
    expect(double.error <= bound + slack(op, 'f64') || double).toBe(true);
  });
});

describe('functions of two arguments stay within their bound', () => {
  test.each(named(2))('%s', (_, op) => {
    for (const format of op.referenceError === undefined ? (['f32', 'f64'] as const) : (['f32'] as const)) {
      const values = sweep(format, 2000);
      const pairs: (readonly [number, number])[] = values.map((x, k) => [x, values[(k * 7 + 3) % values.length] ?? 0]);
      for (const x of specials)
        for (const y of [...specials, 3, -3, 2.5]) pairs.push([formats[format].round(x), formats[format].round(y)]);
      const worst = worstOf(op, format, pairs);
      expect(worst.error <= (op.ulp ?? 0) + slack(op, format) || worst).toBe(true);
    }
  });
});

describe('special functions at values computed to 40 digits', () => {
  test.each(Object.keys(specialValues) as (keyof typeof specialValues)[])('%s', (name) => {
    const { bound, points } = specialValues[name] ?? { bound: 0, points: [] };
    expect(points.length).toBeGreaterThan(10);
    for (const format of ['f64', 'f32'] as const) {
      const evaluate = evaluator(pointwise[name], format);
      for (const [x, expected] of points) {
        if (formats[format].round(x) !== x) continue;
        const error = errorInUlp(Number(evaluate(x)), expected, format);
        expect(error <= bound || { format, x, expected, actual: evaluate(x), error }).toBe(true);
      }
    }
  });
});

test('what has no reference is arithmetic, or tested at special values', () => {
  const exempt = new Set<string>(Object.keys(specialValues));
  const expensive = Object.values(pointwise).filter(
    (op) => op.reference === undefined && (op.traits.cost ?? 0) > 60 && !exempt.has(op.name),
  );
  expect(expensive.map(({ name }) => name).sort()).toEqual(['gcd', 'largeQuadrant', 'largeRemainder', 'lcm']);
});
