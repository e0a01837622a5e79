// What the matrix statements of the Kernel IR move between the threads of a warp, on values. In: what every lane offers. Out:
// what one lane gets. See the statements' laws in kernel.ts.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Value as Scalar } from '@tsinductor/ops';
import { bitDecoders, bitEncoders } from '@tsinductor/ir';

/** Elements of a shared matrix that a lane gets of matrix `number`: where they lie from the beginnings of rows that lanes named. */
export function loadedPlaces(
  rows: readonly number[],
  { lane, number, transposed }: { readonly lane: number; readonly number: number; readonly transposed: boolean },
): readonly [number, number] {
  const [group, pair] = [Math.floor(lane / 4), (lane % 4) * 2];
  const element = (row: number, column: number): number => at(rows, number * 8 + row) + column;
  return transposed
    ? [element(pair, group), element(pair + 1, group)]
    : [element(group, pair), element(group, pair + 1)];
}

/** Two elements of 16 bits as an i32. */
export function packHalves([low, high]: readonly [Scalar, Scalar], dtype: DType): number {
  const bits = (value: Scalar): number => bitEncoders[dtype]?.(Number(value)) ?? Number(value);
  return (bits(low) & 0xffff) | (bits(high) << 16);
}

const halves = (word: number, dtype: DType): readonly [number, number] => {
  const value = (bits: number): number => bitDecoders[dtype]?.(bits) ?? bits;
  return [value(word & 0xffff), value(word >>> 16)];
};

const wordAsFloat = (word: number): number => at(new Float32Array(Int32Array.of(word & ~0x1fff).buffer), 0);

/** Depth of the product that one statement makes. */
const multiplyDepth = (dtype: DType): number => (dtype === 'f32' ? 8 : 16);

/** The four elements that lane `lane` adds, from the four words of `left` and two of `right` that each lane offers. */
export function multipliedFragment(
  offers: readonly (readonly Scalar[])[],
  lane: number,
  dtype: DType,
): readonly number[] {
  const depth = multiplyDepth(dtype);
  const left = Array.from({ length: 16 }, () => new Array<number>(depth).fill(0));
  const right = Array.from({ length: depth }, () => new Array<number>(8).fill(0));
  const put = (matrix: number[][], [row, column]: readonly [number, number], value: number): void => {
    at(matrix, row)[column] = value;
  };
  offers.forEach((words, from) => {
    const [g, t] = [Math.floor(from / 4), from % 4];
    const word = (slot: number): number => Number(at(words, slot));
    for (let slot = 0; slot < 6; slot++) {
      const isLeft = slot < 4;
      const [down, across] = isLeft ? [(slot % 2) * 8, Math.floor(slot / 2)] : [slot - 4, 0];
      if (depth === 8) {
        const value = wordAsFloat(word(slot));
        if (isLeft) put(left, [g + down, t + across * 4], value);
        else put(right, [t + down * 4, g], value);
        continue;
      }
      halves(word(slot), dtype).forEach((value, half) => {
        if (isLeft) put(left, [g + down, 2 * t + half + across * 8], value);
        else put(right, [2 * t + half + down * 8, g], value);
      });
    }
  });
  return [0, 1, 2, 3].map((slot) => {
    const row = at(left, Math.floor(lane / 4) + Math.floor(slot / 2) * 8);
    const column = (lane % 4) * 2 + (slot % 2);
    return row.reduce((sum, value, k) => Math.fround(sum + Math.fround(value * at(at(right, k), column))), 0);
  });
}
