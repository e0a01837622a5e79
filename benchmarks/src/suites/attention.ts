// Attention in float32, all heads of a layer at once: with and without a causal mask, of 128 to 4,096 rows, heads of 64 and of 128; and of
// 512 and 1,024 rows with its gradients.
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

const steps: readonly Layer[] = [512, 1024].flatMap((length) => [
  { length, causal: false },
  { length, causal: true },
]);

/** What the elements of a row have in common. */
interface Row {
  /** The largest score, and the sum of powers. */
  readonly most: number;
  readonly total: number;
  /** The mean of the gradients of its weights. */
  readonly mean: number;
}

/** Attention and its gradients. */
function step({ length, width = 64, heads = 12, causal }: Layer): Workload {
  const size = heads * length * width;
  const inputs = [31, 32, 33, 34].map((seed) => uniform(size, seed));
  const [q = zero, k = zero, v = zero, g = zero] = inputs.map(reader);
  const pairs = heads * (causal ? (length * (length + 1)) / 2 : length * length);
  const dot = ([x, left]: readonly [Reader, number], [y, right]: readonly [Reader, number]): number => {
    let sum = 0;
    for (let i = 0; i < width; i += 1) sum += x(left * width + i) * y(right * width + i);
    return sum;
  };
  const scoreOf = (row: number, column: number): number => dot([q, row], [k, column]) / Math.sqrt(width);
  const headOf = (row: number): number => Math.floor(row / length) * length;
  const columnsOf = (row: number): readonly number[] =>
    Array.from({ length: causal ? row - headOf(row) + 1 : length }, (_, column) => headOf(row) + column);
  const rows = new Map<number, Row>();
  const rowAt = (row: number): Row => {
    const columns = columnsOf(row);
    const scores = columns.map((column) => scoreOf(row, column));
    const most = scores.reduce((left, right) => Math.max(left, right), -Infinity);
    const powers = scores.map((score) => Math.exp(score - most));
    const total = powers.reduce((left, right) => left + right, 0);
    const changes = columns.map((column, place) => dot([g, row], [v, column]) * ((powers[place] ?? 0) / total));
    return { most, total, mean: changes.reduce((left, right) => left + right, 0) };
  };
  /** A weight, and the gradient of its score. */
  const elementAt = (row: number, column: number): readonly [number, number] => {
    const { most, total, mean } = rows.get(row) ?? rowAt(row);
    if (!rows.has(row)) rows.set(row, { most, total, mean });
    const weight = Math.exp(scoreOf(row, column) - most) / total;
    return [weight, (weight * (dot([g, row], [v, column]) - mean)) / Math.sqrt(width)];
  };
  const reference = (output: number, index: number): number => {
    const [place, row] = [index % width, Math.floor(index / width)];
    const isByRows = output < 2;
    const from = causal && !isByRows ? row : headOf(row);
    const others = isByRows ? columnsOf(row) : Array.from({ length: headOf(row) + length - from }, (_, i) => from + i);
    const factor = [v, k, q, g][output] ?? zero;
    return others.reduce((sum, other) => {
      const [weight, score] = isByRows ? elementAt(row, other) : elementAt(other, row);
      return sum + (output === 0 || output === 3 ? weight : score) * factor(other * width + place);
    }, 0);
  };
  return {
    suite: 'attention',
    name: `attention of ${String(length)}${causal ? ', causal' : ''}, with gradients`,
    op: 'attentionStep',
    params: { heads, length, width, causal: causal ? 1 : 0 },
    inputs,
    outputs: [size, size, size, size],
    // Two products forward, and five backward, of which one is the scores again.
    work: { reads: 4, writes: 4, streamBytes: 4 * size, flops: 14 * pairs * width, functions: { exp: 2 * pairs } },
    reference,
    tolerance: 1e-4,
  };
}

type Reader = ReturnType<typeof reader>;
const zero: Reader = () => 0;

export const attentionWorkloads: readonly Workload[] = [...layers.map(workload), ...steps.map(step)];
