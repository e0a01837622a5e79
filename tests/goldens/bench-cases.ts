// The programs of the benchmarks, at the sizes that are measured: arrays in the caches, in the last of them, and beyond.
import { at } from '@tsinductor/base';
import { empty } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { memoryBoundOperations } from '../../benchmarks/src/memory-bound-operations.ts';
import type { MemoryBound } from '../../benchmarks/src/memory-bound-operations.ts';
import { plainOperations } from '../../benchmarks/src/plain-operations.ts';
import { suites } from '../../benchmarks/src/suites.ts';
import type { Given } from '../structure/expect-kernels.ts';
import { tracedCase } from './golden-case.ts';
import type { GoldenCase, Traced } from './golden-case.ts';

/** The shapes and dtypes that an operation is given: conversions are element by element, so those of one element show them. */
function inputsOf({ shapes, convert }: MemoryBound): readonly Given[] {
  const one = shapes.map((shape) => empty(shape.map(() => 1)));
  const converted = convert?.(one) ?? one;
  return shapes.map((shape, position) => ({ shape, dtype: at(converted, position).dtype }));
}

const tracedOf = (operation: MemoryBound): Traced => ({
  inputs: inputsOf(operation),
  run: (...inputs) => {
    const input = (position: number): Tensor => inputs[position] ?? at(inputs, 0);
    return operation.fn([input(0), input(1), input(2), input(3), input(4), input(5)]);
  },
});

/** The cases of a suite, but those that have no operation of this kind. */
export const benchCases = (suite: string): readonly GoldenCase[] =>
  (suites[suite] ?? []).flatMap(({ name, op, params }) => {
    const operation = memoryBoundOperations[op] ?? plainOperations[op];
    return operation === undefined ? [] : [tracedCase(name, tracedOf(operation(params)))];
  });
