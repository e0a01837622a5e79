// Operators that are made of pointwise ops stay within the bounds that their entries state, as the interpreter computes
// them. `npm run ulp` measures the same over a denser sweep, and compares compiled code.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { contiguousMeta, decompose, GraphBuilder, isTensorParameter, operators } from '@tsinductor/graph';
import type { ForwardBound, Operator } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { isMeasured, opError } from '@tsinductor/ops';
import { tensor } from './create.ts';
import { GraphProgram } from './eager/graph-program.ts';

const special = [0, -0, 1, -1, 0.5, -2, Infinity, -Infinity, NaN, 2 ** -149, -(2 ** 127)];

/** Numbers of all magnitudes, then near to 0; the same in every run. */
function sweep(): readonly number[] {
  let state = 5;
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const signed = (value: number): number => (next() < 0.5 ? -value : value);
  const random = Array.from({ length: 900 }, (_, k) =>
    k % 3 === 0 ? signed(2 ** ((next() - 0.5) * 240)) : signed(next() * (k % 3 === 1 ? 2 : 40)),
  );
  return [...special, ...random].map(Math.fround);
}

const values = sweep();

/** Operands at which the bound holds: neighbours in the sweep are paired at several distances. */
function pointsOf(bound: ForwardBound, arity: number): readonly (readonly number[])[] {
  const all = values.map((x, k) =>
    Array.from({ length: arity }, (_, slot) =>
      slot === 0 ? x : at(values, (k * (5 + 2 * slot) + slot) % values.length),
    ),
  );
  return all.filter((args) => isMeasured(bound, args) && bound.within?.(...args) !== false);
}

/** The worst error of a call in the units of its bound, and where it is. */
function worstOf(operator: Operator, bound: ForwardBound): { readonly error: number; readonly at: readonly number[] } {
  const { form } = bound;
  const arity = form?.arity ?? operator.parameters.filter(isTensorParameter).length;
  const points = pointsOf(bound, arity);
  expect(points.length).toBeGreaterThan(200);
  const builder = new GraphBuilder();
  const meta = contiguousMeta([int(points.length)], 'f32');
  const inputs = Array.from({ length: arity }, (_, slot) => builder.placeholder(`x${String(slot)}`, meta));
  builder.output(form === undefined ? builder.call(operator.name, inputs, bound.attrs) : form.build(builder, inputs));
  const columns = inputs.map((_, slot) => tensor(Float32Array.from(points, (args) => at(args, slot))));
  const [result] = new GraphProgram(decompose(builder.finish())).run(columns);
  const results = result?.toTypedArray() ?? [];
  return points.reduce<{ error: number; at: readonly number[] }>(
    (worst, args, k) => {
      const actual = Number(results[k]);
      const error = opError(bound, args, { actual, format: bound.format ?? 'f32' }) ?? 0;
      return error > worst.error ? { error, at: args } : worst;
    },
    { error: 0, at: [] },
  );
}

describe('operators made of pointwise ops stay within their bounds', () => {
  const bounded = [...operators.values()].flatMap((operator) =>
    (operator.accuracy ?? []).map((bound) => [operator.name, JSON.stringify(bound.attrs), operator, bound] as const),
  );
  test.each(bounded)('%s %s', (...[, , operator, bound]) => {
    const worst = worstOf(operator, bound);
    // The reference, a double, has an error of its own: at f64 a rounding.
    const slack = bound.format === 'f64' ? 1 : 1e-6;
    expect(worst.error <= (bound.ulp ?? 0) + slack || worst).toBe(true);
  });
});
