// Steps of training whose gradients are derived: a perceptron, beside the same with its gradient written out by hand, a network of convolutions, a
// layer of a transformer, and Adam over many tensors. The reference of a gradient is our own step in double precision, one operator after the
// other; PyTorch's results, which are compared with it as well, are what shows that it is right.
import { at } from '@tsinductor/base';
import { tensor } from 'tsinductor';
import { elementOf, fillInput } from '../random-input.ts';
import type { Params } from '../protocol.ts';
import { trainingOperations, trainingShapes } from '../training-operations.ts';
import { uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';
import { trainWorkloads } from './train.ts';

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);

interface Row {
  readonly name: string;
  readonly op: string;
  readonly params: Params;
  /** Of the inputs, by position and shape. */
  readonly range?: (position: number, shape: readonly number[]) => readonly [number, number];
  /** What is changed where it is: its length, and what it is after so many steps. Unless given, the weights come back, all but the inputs. */
  readonly inPlace?: { readonly size: number; readonly after: (steps: number, index: number) => number };
  readonly flops: number;
  readonly tolerance: number;
}

/** Images and what is wanted are up to 1; weights are about as large as layers begin with. */
function rangeOf(position: number, shape: readonly number[]): readonly [number, number] {
  if (position === 0) return [0, 1];
  if (position === 1) return [0, 0.2];
  const inputs = sizeOf(shape.slice(1));
  return [-1 / Math.sqrt(inputs), 1 / Math.sqrt(inputs)];
}

function workloadOf({ name, op, params, range = rangeOf, inPlace, flops, tolerance }: Row): Workload {
  const shapes = trainingShapes[op]?.(params) ?? [];
  const inputs = shapes.map((shape, position) => uniform(sizeOf(shape), 100 + position, range(position, shape)));
  let results: readonly ArrayLike<number>[] | undefined;
  const answers =
    inPlace === undefined
      ? {
          reference: (output: number, index: number) => {
            results ??= exactly({ op, params, inputs });
            return results[output]?.[index] ?? Number.NaN;
          },
        }
      : {
          reference: (_: number, index: number) => inPlace.after(1, index),
          // Those who warm up with a second call have made a second step.
          orElse: (_: number, index: number) => inPlace.after(2, index),
        };
  return {
    suite: 'training',
    name,
    op,
    params,
    inputs,
    outputs: inPlace === undefined ? shapes.slice(2).map(sizeOf) : [inPlace.size],
    work: { reads: 1, writes: 1, streamBytes: 4 * sizeOf(shapes[2] ?? []), flops },
    ...answers,
    tolerance,
  };
}

/** The results in double precision. */
function exactly({ op, params, inputs }: Pick<Workload, 'op' | 'params' | 'inputs'>): readonly ArrayLike<number>[] {
  const operation = trainingOperations[op]?.(params);
  if (operation === undefined) return [];
  const given = inputs.map((spec, position) =>
    tensor(Float64Array.from(fillInput(spec)), { shape: at(operation.shapes, position) }),
  );
  return [operation.fn(...given)].flat().map((result) => result.toTypedArray() as Float64Array);
}

const perceptron = { batch: 256, inner: 784, hidden: 512, classes: 10, rate: 0.1 };
const network = { batch: 128, first: 16, second: 32, hidden: 128, classes: 10, rate: 0.1 };
const block = { batch: 8, length: 128, width: 256, heads: 4, rate: 100 };
const many = { count: 300, rows: 64, rate: 0.01 };

/** Gradients stay the same, so their means are they, and every step is one by the rate. Of the last parameter, which is shown. */
function adamAfter(steps: number, index: number): number {
  const { count, rows, rate } = many;
  const [value, gradient] = [count - 1, 2 * count - 1].map((position) =>
    elementOf(uniform(rows, 100 + position, [-0.1, 0.1]), index),
  ) as [number, number];
  return value - (steps * rate * gradient) / (Math.abs(gradient) + 1e-8);
}

/** Products forward, and twice as many backward; the first layer's input needs no gradient. */
const perceptronFlops = 2 * 256 * (2 * 784 * 512 + 3 * 512 * 10);
const networkFlops = 2 * 128 * (2 * 784 * 9 * 16 + 3 * 196 * 16 * 9 * 32 + 3 * (1568 * 128 + 128 * 10));
const blockFlops = 3 * 2 * 8 * 128 * (12 * 256 * 256 + 128 * 256);

const [byHand] = trainWorkloads;

export const trainingWorkloads: readonly Workload[] = [
  ...(byHand === undefined
    ? []
    : [{ ...byHand, suite: 'training', name: 'MLP 784-512-10 batch 256, gradient by hand' }]),
  ...[
    {
      name: 'MLP 784-512-10 batch 256, gradient derived',
      op: 'derivedStep',
      params: perceptron,
      flops: perceptronFlops,
      tolerance: 1e-4,
    },
    {
      name: 'CNN 16-32-128-10 batch 128',
      op: 'convolutionStep',
      params: network,
      flops: networkFlops,
      tolerance: 1e-4,
    },
    {
      name: 'transformer block 256 wide, 8 x 128',
      op: 'blockStep',
      params: block,
      range: (position: number, shape: readonly number[]): readonly [number, number] =>
        position < 2 ? [-1, 1] : rangeOf(position, shape),
      flops: blockFlops,
      tolerance: 1e-4,
    },
    {
      name: 'Adam over 300 tensors',
      op: 'adamStep',
      params: many,
      range: (): readonly [number, number] => [-0.1, 0.1],
      inPlace: { size: many.rows, after: adamAfter },
      flops: 10 * 150 * 64 * 67,
      tolerance: 1e-4,
    },
  ].map(workloadOf),
];
