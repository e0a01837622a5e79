// A compiled function behaves as the function itself: writes, views, shared memory, random numbers, captured tensors. The
// backend is the interpreter, so that nothing here needs a compiler.
import { describe, expect, test } from '@jest/globals';
import { arange, compile, manualSeed, nn, randn, slice, tensor, zeros } from './index.ts';
import type { CompiledFunction, Tensor } from './index.ts';

const compiled = <F extends (...args: never[]) => unknown>(fn: F): CompiledFunction<F> =>
  compile(fn, { backend: 'aot_eager', fullgraph: true });

describe('memory', () => {
  test('arguments that are written to keep what was written', () => {
    const step = compiled((weight: Tensor, gradient: Tensor) => weight.sub_(gradient.mul(0.5)));
    const weight = tensor([1, 2], { dtype: 'f32' });
    expect(step(weight, tensor([2, 2], { dtype: 'f32' }))).toBe(weight);
    expect(weight.toArray()).toEqual([0, 1]);
  });

  test('tensors that the function closes over are read and written by reference', () => {
    const counter = zeros([1]);
    const count = compiled(() => counter.add_(1).mul(10));
    expect([count().toArray(), count().toArray(), counter.toArray()]).toEqual([[10], [20], [2]]);
    counter.fill_(7);
    expect(count().toArray()).toEqual([80]);
  });

  test('a later call whose arguments share memory sees every write', () => {
    const fn = (a: Tensor, b: Tensor): Tensor => (a.add_(1), a.add(b));
    const apart = compile(fn, { backend: 'aot_eager' });
    expect(apart(tensor([1, 2]), tensor([10, 20])).toArray()).toEqual([12, 23]);
    const both = tensor([1, 2]);
    expect(apart(both, both).toArray()).toEqual([4, 6]);
    const [one, other] = [arange(3), arange(3)];
    const expected = fn(one.at(slice(0, 2)), one.at(slice(1, 3))).toArray();
    expect(apart(other.at(slice(0, 2)), other.at(slice(1, 3))).toArray()).toEqual(expected);
    expect(other.toArray()).toEqual(one.toArray());
    const whole = compiled(fn);
    whole(tensor([1, 2]), tensor([10, 20]));
    expect(() => whole(both, both.reshape([2]))).toThrow(expect.objectContaining({ code: 'GRAPH_BREAK' }));
    expect(both.toArray()).toEqual([2, 3]);
  });

  test('a view that is returned is a view', () => {
    const transposed = compiled((x: Tensor) => x.t());
    const matrix = zeros([2, 3]);
    transposed(matrix).at(0).add_(1);
    expect(matrix.toArray()).toEqual([
      [1, 0, 0],
      [1, 0, 0],
    ]);
  });
});

describe('random numbers', () => {
  test('are those of eager mode, and go on from call to call', () => {
    const fn = (): Tensor => nn.functional.dropout(randn([6]), 0.5);
    const draw = compiled(fn);
    manualSeed(5);
    const eager = [fn().toArray(), fn().toArray()];
    manualSeed(5);
    expect([draw().toArray(), draw().toArray()]).toEqual(eager);
  });
});
