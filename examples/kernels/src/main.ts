// Runs every kernel in the interpreter, which checks each access, compiled for the CPU, and as CUDA in the emulation; all must
// give the same bits.
import { randn, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import type { LaunchOptions } from 'tsinductor/dsl';
import { dropout } from './dropout.ts';
import { softmax } from './fused-softmax.ts';
import { histogram } from './histogram.ts';
import { layerNorm } from './layer-norm.ts';
import { configurations, matmul, matmulWith } from './matmul.ts';
import { prefixSum } from './prefix-sum.ts';
import { add, addKernel } from './vector-add.ts';

type Run = (options: LaunchOptions) => Tensor;

const [x, y] = [randn([5000]), randn([5000])];
const matrix = randn([7, 300]);
const affine = { weight: randn([300]), bias: randn([300]) };
const [a, b] = [randn([70, 50]), randn([50, 90])];
const counted = tensor(
  Int32Array.from({ length: 4000 }, (_, i) => (i * i) % 37),
  { dtype: 'i32' },
);

export const runs: Readonly<Record<string, Run>> = {
  'vector add': (options) => add(x, y, options),
  'fused softmax': (options) => softmax(matrix, options),
  'layer norm': (options) => layerNorm(matrix, affine, options),
  dropout: (options) => dropout(x, { p: 0.3, seed: 42 }, options),
  matmul: (options) => matmulWith(configurations[0], [a, b], options),
  histogram: (options) => histogram(counted, 32, options),
  'prefix sum': (options) => prefixSum(x, options),
};

/** The names of the kernels whose results differ in a bit. */
export function compare(): readonly string[] {
  return Object.entries(runs).flatMap(([name, run]) => {
    const [checked, ...others] = [run({ backend: 'interpreter' }), run({}), run({ backend: 'cuda-emulated' })];
    const bytes = (result: Tensor): Buffer => {
      const elements = result.toTypedArray();
      return Buffer.from(elements.buffer, elements.byteOffset, elements.byteLength);
    };
    return others.every((other) => bytes(checked).equals(bytes(other))) ? [] : [name];
  });
}

if (process.argv[1] === import.meta.filename) {
  const different = compare();
  for (const name of Object.keys(runs))
    console.log(`${name}: ${different.includes(name) ? 'DIFFERENT' : 'the same bits'}`);
  const best = matmul(randn([256, 256]), randn([256, 256]));
  console.log(`a tuned product of 256 x 256 matrices: ${String(best.shape)}`);
  console.log(addKernel.inspect({ x, y, out: x, n: 5000, BLOCK: 1024 }).blockIr);
  process.exitCode = different.length === 0 ? 0 : 1;
}
