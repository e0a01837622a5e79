// What the bounds of outputs are: of small graphs whose errors can be told by hand.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { decompose } from '@tsinductor/graph';
import { tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { trace } from '@tsinductor/tensor/internal';
import { GraphEvaluator } from './evaluate-graph.ts';
import { outputBounds } from './propagate-bounds.ts';

const single = (values: readonly number[]): Tensor => tensor(values, { dtype: 'f32' });
const epsilon = 2 ** -23;

/** The bounds of the only output of `fn`. */
function bounds(fn: (x: Tensor) => Tensor, values: readonly number[], halvesAreWide = false): number[] {
  const x = single(values);
  const graph = decompose(trace(fn, [x]).graph);
  return [...at(outputBounds(graph, [x], { evaluator: new GraphEvaluator(), halvesAreWide }), 0)];
}

describe('a result is bounded by', () => {
  test('nothing, where nothing may be in another order', () => {
    expect(bounds((x) => x.exp().sin().flip([0]), [1, 2, 3])).toEqual([0, 0, 0]);
    expect(bounds((x) => x.amax().add(x.argmax(0)), [1, 2, 3])).toEqual([0]);
  });

  test('n eps times the sum of magnitudes so far, along a scan', () => {
    const all = bounds((x) => x.cumsum(0), [4, -4, 1]);
    for (const [place, sum] of [4, 8, 9].entries()) expect(all[place]).toBeCloseTo(3 * epsilon * sum, 10);
    expect(Math.min(...bounds((x) => x.cumprod(0), [4, -4, 1]))).toBeGreaterThan(3 * epsilon);
    expect(Math.min(...bounds((x) => x.logcumsumexp(0), [4, -4, 1]))).toBeGreaterThan(3 * epsilon);
  });

  test('n eps times the sum of magnitudes, though the sum cancels', () => {
    const [bound] = bounds((x) => x.sum(), [1e6, -1e6, 1]);
    expect(bound).toBeCloseTo(3 * epsilon * 2_000_001, 6);
  });

  test('the same multiplied by what multiplies it, wherever it is moved', () => {
    const sum = 4 * epsilon * 10;
    const [first, second] = bounds((x) => x.sum().mul(100).reshape([1]).expand([2]), [1, 2, 3, 4]);
    expect(first).toBeGreaterThanOrEqual(100 * sum);
    expect(first).toBeLessThan(100 * sum + 2 ** -13);
    expect(second).toBe(first);
  });

  test('its own error and that of its operand, where its slope is 0', () => {
    const [bound] = bounds((x) => x.sum().sinc(), [1e3, -1e3, 1]);
    expect(bound).toBeGreaterThan(3 * epsilon * 2001 * 0.9);
    expect(bounds((x) => x.sum().cos(), [1, -1])[0]).toBeGreaterThan(epsilon / 2);
  });

  test('anything, where a pole or a step may lie within the error', () => {
    expect(bounds((x) => x.sum().reciprocal(), [1e6, -1e6, 1e-3])).toEqual([Infinity]);
    expect(bounds((x) => x.sum().gt(0).to('f32'), [1e6, -1e6, 1e-3])).toEqual([1]);
    expect(bounds((x) => x.sum().to('i64'), [1e6, -1e6, 2])).toEqual([Infinity]);
  });

  test('nothing, where an order or a truth is certain in spite of the error', () => {
    expect(bounds((x) => x.mul(x.sum()).argmax(0), [1, 2, 3])).toEqual([0]);
    expect(bounds((x) => x.sum().gt(0).to('f32'), [1, 2])).toEqual([0]);
    expect(bounds((x) => x.mul(x.sum()).argmax(0), [3, 3, 1])).toEqual([Infinity]);
  });

  test('a spacing of its halves for each that may be kept wide', () => {
    const [kept] = bounds((x) => x.to('bf16').mul(x.to('bf16')), [1.25], true);
    expect(kept).toBeGreaterThanOrEqual(2 ** -7);
    expect(bounds((x) => x.to('bf16').mul(x.to('bf16')), [1.25])).toEqual([0]);
  });
});
