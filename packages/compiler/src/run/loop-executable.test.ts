// Graphs without native code: generated JavaScript gives the bits of the interpreter, in fewer loops.
import { describe, expect, test } from '@jest/globals';
import { decompose } from '@tsinductor/graph';
import { trace } from '@tsinductor/tensor/internal';
import { full, randn, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { TracedGraph } from '../request.ts';
import { generatedExecutable, interpretedExecutable } from './loop-executable.ts';

function traced(fn: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[], dynamic: number[][] = []): TracedGraph {
  const { graph } = trace(fn, inputs, { dynamic });
  return { graph, primitives: decompose(graph) };
}

const bitsOf = (result: Tensor | undefined): unknown => result?.toArray();

describe('generated JavaScript', () => {
  const running = { runsOn: 'a test' };
  test.each<[string, (x: Tensor, y: Tensor) => Tensor, kernels: number]>([
    ['a chain of operations on elements', (x, y) => x.mul(2).add(y).neg().abs().sqrt(), 1],
    ['a chain that is summed', (x, y) => x.sub(y).square().sum(1), 1],
    ['softmax of rows', (x) => x.softmax(1), 5],
    ['a product', (x, y) => x.mul(3).matmul(y.t()).add(1), 3],
    ['windows of what is padded', (x) => x.bfloat16().reshape([1, 2, 35, 40]).avgPool2d([2, 3], 2, [1, 1]), 2],
    ['running sums', (x, y) => x.add(y).cumsum(0).mul(2), 2],
  ])('%s', (_, fn, kernels) => {
    const inputs = [randn([70, 40]), randn([70, 40])] as const;
    const graph = traced(fn, inputs);
    const generated = generatedExecutable(graph, running);
    const wanted = bitsOf(interpretedExecutable(graph, running).run(inputs)[0]);
    // The second time, temporaries lie in memory that was used.
    for (let turn = 0; turn < 2; turn += 1) expect(bitsOf(generated.run(inputs)[0])).toEqual(wanted);
    expect(generated.report.kernels).toHaveLength(kernels);
  });

  test('half precision is rounded where eager mode rounds it', () => {
    const x = randn([300]).half();
    const fn = (given: Tensor): Tensor => given.mul(1.1).mul(1.3).add(0.7);
    const [found] = generatedExecutable(traced(fn, [x]), running).run([x]);
    expect(bitsOf(found)).toEqual(bitsOf(fn(x)));
  });

  test('inputs that the graph writes to hold what was written', () => {
    const graph = traced((x) => x.add_(1).mul(2), [full([300], 1)]);
    const x = full([300], 5);
    const [result] = generatedExecutable(graph, running).run([x]);
    expect([bitsOf(result), bitsOf(x)]).toEqual([bitsOf(full([300], 12)), bitsOf(full([300], 6))]);
  });

  test('sizes may differ from call to call', () => {
    const graph = traced((x) => x.mul(2).sum(1), [randn([4, 5])], [[0, 1]]);
    const { run } = generatedExecutable(graph, running);
    for (const shape of [
      [3, 7],
      [500, 2],
      [3, 7],
    ])
      expect(bitsOf(run([full(shape, 1.5)])[0])).toEqual(bitsOf(full(shape, 1.5).mul(2).sum(1)));
  });

  test('a check that fails says where', () => {
    const graph = traced((x, index) => x.indexSelect(0, index), [randn([300]), tensor([0, 299])]);
    const { run } = generatedExecutable(graph, running);
    expect(() => run([randn([300]), tensor([0, 300])])).toThrow(
      expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }),
    );
    expect(run([full([300], 2.5), tensor([0, 7])])[0]?.toArray()).toEqual([2.5, 2.5]);
  });
});
