// Every operation of the suites as a function over tensors, by its name, and what it is given.
import { at } from '@tsinductor/base';
import { nn, tensor, zeros } from 'tsinductor';
import type { CompileOptions, Tensor } from 'tsinductor';
import { memoryBoundOperations } from './memory-bound-operations.ts';
import type { MemoryBound } from './memory-bound-operations.ts';
import { modelOperations } from './models/operations.ts';
import { paddingOperations } from './padding-operations.ts';
import { plainOperations } from './plain-operations.ts';
import { readingOperations } from './reading-operations.ts';
import { sortingOperations } from './sorting-operations.ts';
import type { Params } from './protocol.ts';
import { trainingOperations } from './training-operations.ts';

type TensorFunction = (...inputs: Tensor[]) => Tensor | Tensor[];
export interface Operation extends Omit<MemoryBound, 'fn'> {
  readonly fn: TensorFunction;
  readonly options?: CompileOptions;
}

/** The inputs of a workload by position. It names those that it declares; behind them stands the first one. */
const named =
  (fn: MemoryBound['fn']): TensorFunction =>
  (...inputs) => {
    const input = (position: number): Tensor => inputs[position] ?? at(inputs, 0);
    return fn([input(0), input(1), input(2), input(3), input(4), input(5)]);
  };

/** Calls with as many arguments, or results, as their parameters say. */
const countedOperations: Readonly<Record<string, (params: Params) => Operation>> = {
  sumOfAll: ({ n = 0, count = 0 }) => ({
    shapes: Array.from({ length: count }, () => [n]),
    fn: (...inputs) => inputs.slice(1).reduce((sum, other) => sum.add(other), at(inputs, 0)),
  }),
  linearFrozen: ({ m = 0, k = 0, n = 0 }) => {
    // The function closes over its weight: the second argument is not read.
    const layer: { weight: Tensor } = { weight: zeros([0]) };
    return {
      shapes: [
        [m, k],
        [n, k],
      ],
      convert: (inputs) => {
        layer.weight = at(inputs, 1);
        return inputs;
      },
      options: { options: { freezing: true } },
      fn: (x) => nn.functional.linear(x, layer.weight),
    };
  },
  matmulSymbolic: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    options: { dynamic: true },
    fn: named(([a, b]) => a.matmul(b)),
  }),
  multiples: ({ n = 0, count = 0 }) => ({
    shapes: [[n]],
    fn: named(([x]) => Array.from({ length: count }, (_, position) => x.mul(position + 2))),
  }),
};

export function operationOf({ op, params }: { readonly op: string; readonly params: Params }): Operation | undefined {
  const counted = countedOperations[op] ?? readingOperations[op] ?? trainingOperations[op] ?? modelOperations[op];
  if (counted !== undefined) return counted(params);
  const row = memoryBoundOperations[op] ?? paddingOperations[op] ?? sortingOperations[op] ?? plainOperations[op];
  if (row === undefined) return undefined;
  const operation = row(params);
  return { ...operation, fn: named(operation.fn) };
}

/** The tensors that an operation is given, from the elements of its inputs. */
export function tensorsOf(
  { shapes, convert }: Pick<Operation, 'shapes' | 'convert'>,
  elements: readonly Float32Array<ArrayBuffer>[],
): readonly Tensor[] {
  const inputs = elements.map((values, i) => tensor(values).reshape([...(shapes[i] ?? [])]));
  return convert?.(inputs) ?? inputs;
}

export const asList = (result: Tensor | Tensor[]): readonly Tensor[] => (Array.isArray(result) ? result : [result]);
