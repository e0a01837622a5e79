// The rows of the training suite: a gradient that is derived costs no more kernels than one that is written by hand, and gives the same.
import { at } from '@tsinductor/base';
import { expect, test } from '@jest/globals';
import { compile } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { asList, operationOf, tensorsOf } from '../benchmarks/src/our-operations.ts';
import { fillInput } from '../benchmarks/src/random-input.ts';
import type { InputSpec } from '../benchmarks/src/random-input.ts';
import { trainingWorkloads } from '../benchmarks/src/suites/training.ts';
import { useOwnCache } from './end-to-end/own-cache.ts';

useOwnCache();

/** What the step of one row gives for the inputs of another, and in how many kernels. */
function measured(name: string, inputs: readonly InputSpec[]): { results: readonly Tensor[]; kernels: number } {
  const row = trainingWorkloads.find((workload) => workload.name.endsWith(name));
  const operation = row === undefined ? undefined : operationOf(row);
  if (operation === undefined) throw new RangeError(name);
  const step = compile(operation.fn, { fullgraph: true });
  const results = asList(step(...tensorsOf(operation, inputs.map(fillInput))));
  return { results, kernels: at(step.explain().graphs, 0).kernels.length };
}

test('a derived gradient has the kernels and the numbers of one by hand', () => {
  const { inputs } = at(trainingWorkloads, 1);
  const [byHand, derived] = [measured('gradient by hand', inputs), measured('gradient derived', inputs)];
  expect(derived.kernels).toBe(byHand.kernels);
  expect(derived.results.length).toBe(4);
  derived.results.forEach((result, index) => {
    const difference = result.sub(at(byHand.results, index)).abs().amax().item() as number;
    expect(difference).toBeLessThan(1e-6);
  });
});

test('rows are of every kind, and none is without a reference', () => {
  expect(trainingWorkloads.map(({ op }) => op)).toEqual([
    'trainStep',
    'derivedStep',
    'convolutionStep',
    'blockStep',
    'adamStep',
  ]);
  const adam = at(trainingWorkloads, 4);
  const [once, twice] = [adam.reference(0, 5), adam.orElse?.(0, 5)];
  // A step moves by the rate against the gradient's sign, whatever its size.
  expect(Math.abs(Math.abs((twice ?? NaN) - once) - 0.01)).toBeLessThan(1e-4);
});
