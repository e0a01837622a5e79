// Philox 4x32 with 10 rounds: random words as a pure function of a counter and a key, so that element i has the same
// value in whatever order, mode or device it is computed (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3").
//
// The mapping, which every mode keeps. With seed s, block b of the c-th random call since the seed was set are the four words
// of counter (b mod 2^32, b div 2^32, c mod 2^32, c div 2^32) and key (s mod 2^32, s div 2^32). Elements that take k words each
// share blocks by eights: of 32 / k elements in a row, the first eight take the first k words of eight blocks in a row, the next
// eight their next k words. So a block is computed once for all that use it, by vectors whose lanes are blocks, and no word
// has to change its lane.
import type { DType } from '@tsinductor/base';

/** Multipliers of the two halves, and what the key grows by each round. */
export const philoxConstants = {
  multiply0: 0xd2511f53,
  multiply1: 0xcd9e8d57,
  grow0: 0x9e3779b9,
  grow1: 0xbb67ae85,
  rounds: 10,
} as const;

/** How many leading bits of a word a uniform number of a dtype up to f32 takes: as many as it has digits. */
export const leadingBits = (dtype: DType): number => (dtype === 'f16' ? 11 : dtype === 'bf16' ? 8 : 24);

/** Blocks in a row whose words are dealt out together. */
export const blocksTogether = 8;

/** How many words an element takes: a divisor of the four of a block. */
export type WordsEach = 1 | 2 | 4;

/** Four 32-bit words, as unsigned numbers. */
export type Words = [number, number, number, number];

/** The words of a counter under a key, written into `out`. */
export function philox(counter: Readonly<Words>, key: readonly [number, number], out: Words | Uint32Array): void {
  const { multiply0, multiply1, grow0, grow1, rounds } = philoxConstants;
  let [x0, x1, x2, x3] = [counter[0] | 0, counter[1] | 0, counter[2] | 0, counter[3] | 0];
  let [k0, k1] = [key[0] | 0, key[1] | 0];
  for (let round = 0; round < rounds; round += 1) {
    const high0 = highProduct(x0, multiply0);
    const high1 = highProduct(x2, multiply1);
    const low0 = Math.imul(x0, multiply0);
    const low1 = Math.imul(x2, multiply1);
    x0 = high1 ^ x1 ^ k0;
    x1 = low1;
    x2 = high0 ^ x3 ^ k1;
    x3 = low0;
    k0 = (k0 + grow0) | 0;
    k1 = (k1 + grow1) | 0;
  }
  out[0] = x0 >>> 0;
  out[1] = x1 >>> 0;
  out[2] = x2 >>> 0;
  out[3] = x3 >>> 0;
}

/** The upper 32 bits of the product of two unsigned words, signed. */
function highProduct(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = (Math.imul(aHigh, bLow) >>> 0) + (Math.imul(aLow, bLow) >>> 16);
  const carry = (middle & 0xffff) + (Math.imul(aLow, bHigh) >>> 0);
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (carry >>> 16)) | 0;
}
