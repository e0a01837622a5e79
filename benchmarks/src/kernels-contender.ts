// The kernels of examples/kernels, launched into memory that is there: what the kernel language gives, beside what the compiler
// makes of the same functions. Compiled functions take their results from the pool as it is. `emptyLike`, with which the
// examples make theirs, clears memory of the JavaScript heap, which is no part of a kernel.
import { setConfig, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { cdiv, nextPowerOf2 } from 'tsinductor/dsl';
import { softmaxKernel } from '../../examples/kernels/dist/fused-softmax.js';
import { layerNormKernel } from '../../examples/kernels/dist/layer-norm.js';
import { tunedMatmul } from '../../examples/kernels/dist/matmul.js';
import { addKernel } from '../../examples/kernels/dist/vector-add.js';
import type { PrepareRequest } from './protocol.ts';
import { inputsOf, serve } from './serve.ts';
import type { Runnable } from './serve.ts';

/** The input at a position. */
type Input = (position: number) => Tensor;

interface Operation {
  readonly shapes: readonly (readonly number[])[];
  readonly result: readonly number[];
  readonly launch: (input: Input, out: Tensor) => void;
}

const operations: Readonly<Record<string, (params: PrepareRequest['params']) => Operation>> = {
  add: ({ n = 0 }) => ({
    shapes: [[n], [n]],
    result: [n],
    launch: (input, out) => {
      const args = { x: input(0), y: input(1), out, n, BLOCK: 1024 };
      addKernel.launch(({ BLOCK }) => [cdiv(n, BLOCK)], args);
    },
  }),
  softmax: ({ rows = 0, columns = 0 }) => ({
    shapes: [[rows, columns]],
    result: [rows, columns],
    launch: (input, out) => {
      softmaxKernel.launch([rows], { x: input(0), out, columns, BLOCK: nextPowerOf2(columns) });
    },
  }),
  layerNorm: ({ rows = 0, columns = 0 }) => ({
    shapes: [[rows, columns], [columns], [columns]],
    result: [rows, columns],
    launch: (input, out) => {
      const [x, weight, bias] = [input(0), input(1), input(2)];
      layerNormKernel.launch([rows], { x, weight, bias, out, columns, epsilon: 1e-5, BLOCK: nextPowerOf2(columns) });
    },
  }),
  matmul: ({ m: M = 0, k: K = 0, n: N = 0 }) => ({
    shapes: [
      [M, K],
      [K, N],
    ],
    result: [M, N],
    launch: (input, c) => {
      tunedMatmul.launch(({ BM, BN }) => [cdiv(M, BM), cdiv(N, BN)], { a: input(0), b: input(1), c, M, N, K });
    },
  }),
};

function prepare(request: PrepareRequest): Runnable | undefined {
  const operation = operations[request.op]?.(request.params);
  if (operation === undefined) return undefined;
  setConfig({ cpp: { threads: request.threads } });
  const given = inputsOf(request);
  const inputs = operation.shapes.map((shape, i) => tensor(given[i] ?? []).reshape([...shape]));
  const elements = operation.result.reduce((count, extent) => count * extent, 1);
  const out = tensor(new Float32Array(elements)).reshape([...operation.result]);
  const run = (): void => {
    operation.launch((position) => inputs[position] ?? out, out);
  };
  run();
  return { outputs: 1, run, output: () => out.data() };
}

await serve({ version: () => 'workspace', prepare });
