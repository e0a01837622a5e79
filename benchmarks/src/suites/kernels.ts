// What the kernel language costs: functions of examples/kernels, written by hand and compiled, in memory and at the sizes at
// which matrix products are compared.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';
import { square } from './gemm.ts';
import { layerNorm, softmax } from './pointwise.ts';

function sum(n: number): Workload {
  const [x, z] = [uniform(n, 31), uniform(n, 32)];
  const [readX, readZ] = [reader(x), reader(z)];
  return {
    suite: 'kernels',
    name: `x + z ${String(n / (1 << 20))}M`,
    op: 'add',
    params: { n },
    inputs: [x, z],
    outputs: [n],
    work: { reads: 2, writes: 1, streamBytes: n * 4 },
    reference: (_, i) => readX(i) + readZ(i),
    tolerance: 1e-6,
  };
}

export const kernelWorkloads: readonly Workload[] = [
  sum(1 << 24),
  softmax(4096, 1024),
  layerNorm(4096, 1024),
  square(512),
  square(1024),
].map((workload) => ({ ...workload, suite: 'kernels' }));
