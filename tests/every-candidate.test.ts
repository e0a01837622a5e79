// Every candidate that max-autotune has for a graph's kernels, however small, as runners of tests compile them.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compileCandidates } from '@tsinductor/compiler';
import { decompose } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { GraphProgram, TraceSession } from '@tsinductor/tensor/internal';
import { hasCompiler } from '@tsinductor/testing/loops';

function traced(inputs: readonly Tensor[], run: (...inputs: Tensor[]) => Tensor): Graph {
  const session = new TraceSession();
  const standIns = inputs.map((input) => session.input(input, []));
  const { graph } = session.finish([session.run(() => run(...standIns))]);
  return decompose(graph, session.sizes);
}

const available = hasCompiler() ? test : test.skip;

available('each computes what the interpreter does, and graphs of sorts have none', async () => {
  const inputs = [randn([7, 70]), randn([70, 37])];
  const product = traced(inputs, (...given) => at(given, 0).matmul(at(given, 1)).relu());
  const sorted = traced(inputs.slice(0, 1), (x) => x.sort()[0]);
  const [candidates = [], none] = await compileCandidates([product, sorted]);
  expect(none).toEqual([]);
  expect(candidates.length).toBeGreaterThan(3);
  const wanted = at(new GraphProgram(product).run(inputs), 0).toTypedArray() as Float32Array;
  for (const candidate of candidates) {
    if (candidate.kind === 'failed') throw candidate.error;
    const found = at(candidate.executable.run(inputs), 0).toTypedArray() as Float32Array;
    wanted.forEach((value, index) => {
      expect(Math.abs(value - (found[index] ?? NaN))).toBeLessThan(1e-4);
    });
  }
});
