// Attention in float32, all heads of a layer at once: with and without a causal mask, of 128 to 4,096 rows, heads of 64 and of 128.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

interface Layer {
  readonly length: number;
  readonly width?: number;
  readonly heads?: number;
  readonly causal: boolean;
}

const layers: readonly Layer[] = [
  ...[128, 256, 512, 1024, 2048, 4096].flatMap((length) => [
    { length, causal: false },
    { length, causal: true },
  ]),
  { length: 512, width: 128, heads: 6, causal: true },
  { length: 2048, width: 128, heads: 6, causal: true },
];

function workload({ length, width = 64, heads = 12, causal }: Layer): Workload {
  const size = heads * length * width;
  const inputs = [uniform(size, 31), uniform(size, 32), uniform(size, 33)];
  const [q, k, v] = [uniform(size, 31), uniform(size, 32), uniform(size, 33)].map(reader);
  const pairs = heads * (causal ? (length * (length + 1)) / 2 : length * length);
  const wide = width === 64 ? '' : `, heads of ${String(width)}`;
  return {
    suite: 'attention',
    name: `attention of ${String(length)}${causal ? ', causal' : ''}${wide}`,
    op: 'attention',
    params: { heads, length, width, causal: causal ? 1 : 0 },
    inputs,
    outputs: [size],
    work: { reads: 3, writes: 1, streamBytes: 4 * size, flops: 4 * pairs * width, functions: { exp: pairs } },
    reference: (_, index) => {
      const [column, row] = [index % width, Math.floor(index / width) % length];
      const head = Math.floor(index / (width * length)) * length;
      const scores = Array.from({ length: causal ? row + 1 : length }, (__, other) => {
        let sum = 0;
        for (let i = 0; i < width; i += 1)
          sum += (q?.((head + row) * width + i) ?? 0) * (k?.((head + other) * width + i) ?? 0);
        return sum / Math.sqrt(width);
      });
      const most = scores.reduce((left, right) => Math.max(left, right), -Infinity);
      let [total, weighted] = [0, 0];
      for (const [other, score] of scores.entries()) {
        const weight = Math.exp(score - most);
        total += weight;
        weighted += weight * (v?.((head + other) * width + column) ?? 0);
      }
      return weighted / total;
    },
    tolerance: 1e-4,
  };
}

export const attentionWorkloads: readonly Workload[] = layers.map(workload);
