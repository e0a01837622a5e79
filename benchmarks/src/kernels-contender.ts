// The kernels of examples/kernels, launched as a user would launch them: what the kernel language gives, beside what the
// compiler makes of the same functions.
import { tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { softmax } from '../../examples/kernels/dist/fused-softmax.js';
import { layerNorm } from '../../examples/kernels/dist/layer-norm.js';
import { matmul } from '../../examples/kernels/dist/matmul.js';
import { add } from '../../examples/kernels/dist/vector-add.js';
import type { PrepareRequest } from './protocol.ts';
import { inputsOf, serve } from './serve.ts';
import type { Runnable } from './serve.ts';

/** The input at a position. */
type Input = (position: number) => Tensor;

interface Operation {
  readonly shapes: readonly (readonly number[])[];
  readonly launch: (input: Input) => Tensor;
}

const operations: Readonly<Record<string, (params: PrepareRequest['params']) => Operation>> = {
  add: ({ n = 0 }) => ({ shapes: [[n], [n]], launch: (input) => add(input(0), input(1)) }),
  softmax: ({ rows = 0, columns = 0 }) => ({ shapes: [[rows, columns]], launch: (input) => softmax(input(0)) }),
  layerNorm: ({ rows = 0, columns = 0 }) => ({
    shapes: [[rows, columns], [columns], [columns]],
    launch: (input) => layerNorm(input(0), { weight: input(1), bias: input(2) }),
  }),
  matmul: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    launch: (input) => matmul(input(0), input(1)),
  }),
};

function prepare(request: PrepareRequest): Runnable | undefined {
  const operation = operations[request.op]?.(request.params);
  if (operation === undefined) return undefined;
  const given = inputsOf(request);
  const inputs = operation.shapes.map((shape, i) => tensor(given[i] ?? []).reshape([...shape]));
  const launch = (): Tensor => operation.launch((position) => inputs[position] ?? tensor([]));
  let result = launch();
  return {
    outputs: 1,
    run: () => {
      result.dispose();
      result = launch();
    },
    output: () => result.data(),
  };
}

await serve({ version: () => 'workspace', prepare });
