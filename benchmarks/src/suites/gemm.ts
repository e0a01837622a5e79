// Matrix products, all operands inputs: squares, layers of transformers from one row to many, long and thin ones, batches, transposed
// operands, other dtypes, and products of a few rows by a matrix far larger than the caches.
import { groupOf4 } from '../product-operations.ts';
import type { InputSpec } from '../random-input.ts';
import { reader, uniform } from '../workload.ts';
import type { Work, Workload } from '../workload.ts';

/** How the second operand is stored; the first one too, where both have the dtype. */
type Stored = 'f32' | 'f64' | 'bf16' | 'int8' | 'int4';

interface Product {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly batch?: number;
  /** Which operands lie transposed. */
  readonly turned?: 'a' | 'b' | 'both';
  readonly stored?: Stored;
}

const operations: Readonly<Record<Stored, string>> = {
  f32: 'product',
  f64: 'productF64',
  bf16: 'productBf16',
  int8: 'productInt8',
  int4: 'productInt4',
};

const bytesOf: Readonly<Record<Stored, number>> = { f32: 4, f64: 8, bf16: 2, int8: 1, int4: 0.5 };

const words = new Uint32Array(1);
const floats = new Float32Array(words.buffer);

/** The nearest number that bf16 has, of two that are as near the even one. */
function toBf16(value: number): number {
  floats[0] = value;
  const bits = words[0] ?? 0;
  words[0] = (bits + 0x7fff + ((bits >>> 16) & 1)) & 0xffff0000;
  return floats[0];
}

interface SecondOperand {
  /** What it is made of. */
  readonly inputs: readonly InputSpec[];
  /** Its value in a matrix of the batch, at a row and a column. */
  readonly element: (matrix: number, row: number, column: number) => number;
}

function secondOperand({ k, n, batch = 1, turned, stored = 'f32' }: Product): SecondOperand {
  if (stored === 'int8') {
    const inputs = [uniform(k * n, 12, [-128, 128]), uniform(n, 13, [0.001, 0.01])];
    const [weight, scale] = inputs.map(reader);
    const element = (_: number, row: number, column: number): number =>
      Math.trunc(weight?.(row * n + column) ?? 0) * (scale?.(column) ?? 0);
    return { inputs, element };
  }
  if (stored === 'int4') {
    const inputs = [uniform((k * n) / 2, 12, [0, 256]), uniform((k * n) / groupOf4, 13, [0.01, 0.1])];
    const [weight, scale] = inputs.map(reader);
    const element = (_: number, row: number, column: number): number => {
      const at = column * k + row;
      const byte = Math.trunc(weight?.(Math.floor(at / 2)) ?? 0);
      return ((row % 2 === 0 ? byte & 15 : byte >> 4) - 8) * (scale?.(Math.floor(at / groupOf4)) ?? 0);
    };
    return { inputs, element };
  }
  const input = uniform(batch * k * n, 12);
  const read = reader(input);
  const [down, across] = turned === 'b' || turned === 'both' ? [1, k] : [n, 1];
  const element = (matrix: number, row: number, column: number): number =>
    read(matrix * k * n + row * down + column * across);
  return { inputs: [input], element };
}

const isTurned = ({ turned }: Product): Readonly<Record<'a' | 'b', boolean>> => ({
  a: turned === 'a' || turned === 'both',
  b: turned === 'b' || turned === 'both',
});

/** What must at least be moved and multiplied. */
function workOf({ m, k, n, batch = 1, stored = 'f32' }: Product): Work {
  const bytes = stored === 'int8' || stored === 'int4' ? 4 : bytesOf[stored];
  const streamBytes = batch * ((m * k + m * n) * bytes + k * n * bytesOf[stored]);
  // bf16 is multiplied as f32, in which the limit is measured; f64 takes twice as long.
  return { reads: 1, writes: 0, streamBytes, flops: (stored === 'f64' ? 4 : 2) * batch * m * k * n };
}

/** A sum of products at each place of the result. */
function referenceOf(product: Product, first: (index: number) => number, second: SecondOperand): Workload['reference'] {
  const { m, k, n, stored } = product;
  const [down, across] = isTurned(product).a ? [1, m] : [k, 1];
  const exact = stored === 'bf16' ? toBf16 : (value: number): number => value;
  return (_, index) => {
    const [row, column, matrix] = [Math.floor(index / n) % m, index % n, Math.floor(index / (m * n))];
    let total = 0;
    for (let i = 0; i < k; i += 1)
      total += exact(first(matrix * m * k + row * down + i * across)) * exact(second.element(matrix, i, column));
    return total;
  };
}

export function productRow(name: string, product: Product): Workload {
  const { m, k, n, batch = 1, turned, stored = 'f32' } = product;
  const a = uniform(batch * m * k, 11);
  const second = secondOperand(product);
  const isPlain = stored === 'f32' && batch === 1 && turned === undefined;
  const turns = isTurned(product);
  return {
    suite: 'gemm',
    name,
    op: isPlain ? 'matmul' : operations[stored],
    params: isPlain ? { m, k, n } : { batch, m, k, n, turnA: turns.a ? 1 : 0, turnB: turns.b ? 1 : 0 },
    inputs: [a, ...second.inputs],
    outputs: [batch * m * n],
    work: workOf(product),
    reference: referenceOf(product, reader(a), second),
    tolerance: stored === 'bf16' ? 1e-2 : 1e-4,
  };
}

export const square = (n: number): Workload => productRow(`GEMM ${String(n)}`, { m: n, k: n, n });

const counted = (count: number, thing: string): string => `${String(count)} ${thing}${count === 1 ? '' : 's'}`;

const shape = ({ k, n }: Pick<Product, 'k' | 'n'>): string => `${String(k)} to ${String(n)}`;

/** A layer of a transformer, for so many positions. */
const layer = (m: number, [k, n]: readonly [number, number]): Workload =>
  productRow(`layer of ${shape({ k, n })}, ${counted(m, 'row')}`, { m, k, n });

/** A few rows by a weight that no cache has room for. */
const decode = (stored: Stored, m: number): Workload =>
  productRow(`decode ${stored}, ${counted(m, 'row')}`, { m, k: 8192, n: 8192, stored });

export const gemmWorkloads: readonly Workload[] = [
  ...[64, 128, 256, 512, 1024, 2048, 4096].map(square),
  ...[1, 2, 4, 8, 16, 32, 128, 512].flatMap((rows) =>
    (
      [
        [768, 2304],
        [768, 3072],
        [3072, 768],
      ] as const
    ).map((widths) => layer(rows, widths)),
  ),
  ...[1, 8, 32, 512].map((rows) => layer(rows, [4096, 4096])),
  ...[16, 128].map((rows) => layer(rows, [4096, 11_008])),
  productRow('tall 16384x64 by 64x64', { m: 16_384, k: 64, n: 64 }),
  productRow('long sums 64x16384 by 16384x64', { m: 64, k: 16_384, n: 64 }),
  productRow('wide 64x64 by 64x16384', { m: 64, k: 64, n: 16_384 }),
  productRow('short sums 1024x8 by 8x1024', { m: 1024, k: 8, n: 1024 }),
  productRow('short sums 1000x16 by 16x1000', { m: 1000, k: 16, n: 1000 }),
  productRow('batch 32x[128x64x128]', { batch: 32, m: 128, k: 64, n: 128 }),
  productRow('batch 96x[64x64x64]', { batch: 96, m: 64, k: 64, n: 64 }),
  productRow('batch 512x[16x16x16]', { batch: 512, m: 16, k: 16, n: 16 }),
  ...(['a', 'b', 'both'] as const).map((turned) =>
    productRow(`512 transposed ${turned}`, { m: 512, k: 512, n: 512, turned }),
  ),
  productRow('512 f64', { m: 512, k: 512, n: 512, stored: 'f64' }),
  productRow('512 bf16', { m: 512, k: 512, n: 512, stored: 'bf16' }),
  productRow('layer of 768 to 3072 bf16, 128 rows', { m: 128, k: 768, n: 3072, stored: 'bf16' }),
  productRow('batch 96x[64x64x64] bf16', { batch: 96, m: 64, k: 64, n: 64, stored: 'bf16' }),
  ...(['f32', 'bf16', 'int8', 'int4'] as const).flatMap((stored) => [1, 8].map((rows) => decode(stored, rows))),
];
