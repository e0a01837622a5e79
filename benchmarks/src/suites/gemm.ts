// Square matrix products in float32, both operands inputs.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

export function square(n: number): Workload {
  const [a, b] = [uniform(n * n, 11), uniform(n * n, 12)];
  const [readA, readB] = [reader(a), reader(b)];
  return {
    suite: 'gemm',
    name: `GEMM ${String(n)}`,
    op: 'matmul',
    params: { m: n, k: n, n },
    inputs: [a, b],
    outputs: [n * n],
    work: { reads: 2, writes: 1, streamBytes: n * n * 4, flops: 2 * n ** 3 },
    reference: (_, index) => {
      const [row, column] = [Math.floor(index / n), index % n];
      let total = 0;
      for (let k = 0; k < n; k += 1) total += readA(row * n + k) * readB(k * n + column);
      return total;
    },
    tolerance: 1e-4,
  };
}

export const gemmWorkloads: readonly Workload[] = [64, 128, 256, 512, 1024, 2048].map(square);
