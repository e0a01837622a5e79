// The order of a row of elements: what a sort means, and how interpreters do it. In: elements of a typed array at a step. Out: the
// positions in the row in the order of their elements, stably.
//
// Elements are mapped to unsigned words whose order is theirs: NaN is the largest, 0 and -0 are the same. Words of long rows are
// sorted digit by digit from the lowest (a radix sort), which keeps the order of equal ones; short rows by insertion.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ElementArray } from './element-array.ts';

/** Where the elements of a row lie, and which way they are sorted. */
interface RowOrder {
  readonly dtype: DType;
  readonly start: number;
  readonly step: number;
  readonly length: number;
  readonly descending: boolean;
}

/** The order of each element as an unsigned word, or as two where it has 64 bits: the later words of the list matter more. */
type Words = readonly Uint32Array[];

/** Up to this length, insertion is as fast as anything. */
const short = 24;

/** From this length on, digits of 11 bits pay for the counting of them. */
const long = 4096;

/** The positions of the row's elements, in their order: of all, or at least of the first so many. */
export function sortedPositions(array: ElementArray, row: RowOrder, first: number = row.length): Uint32Array {
  const words = wordsOf(array, row);
  if (row.length <= short) return insertionSorted(words, row.length);
  if (first * leastSkipped > row.length) return radixSorted(words, row.length);
  const candidates = candidatesOf(words, row.length, first);
  const among = words.map((word) => Uint32Array.from(candidates, (position) => at(word, position)));
  return radixSorted(among, candidates.length).map((place) => at(candidates, place));
}

/** Where fewer elements than one in so many are wanted, the others are not sorted. */
const leastSkipped = 4;

/** The bits of a digit by which the first elements are told from the others. */
const leadingBits = 11;

/** Positions, ascending, of the elements whose leading digit is at most that of the last one that is wanted. */
function candidatesOf(words: Words, length: number, first: number): Uint32Array {
  const leading = words[words.length - 1] as Uint32Array;
  const shift = 32 - leadingBits;
  const counts = new Uint32Array(1 << leadingBits);
  for (let k = 0; k < length; k += 1) {
    const digit = at(leading, k) >>> shift;
    counts[digit] = at(counts, digit) + 1;
  }
  let [last, count] = [0, at(counts, 0)];
  while (count < first) count += at(counts, (last += 1));
  const positions = new Uint32Array(count);
  for (let k = 0, place = 0; place < count; k += 1) {
    if (at(leading, k) >>> shift > last) continue;
    positions[place] = k;
    place += 1;
  }
  return positions;
}

function wordsOf(array: ElementArray, { dtype, start, step, length, descending }: RowOrder): Words {
  const words =
    dtype === 'i64' || dtype === 'f64'
      ? wideWords(array, { start, step, length }, isFloat(dtype))
      : [narrowWords(array, { start, step, length }, dtype)];
  if (descending) for (const word of words) for (let k = 0; k < length; k += 1) word[k] = ~at(word, k);
  return words;
}

type Span = Pick<RowOrder, 'start' | 'step' | 'length'>;

/** Reads within a row, which are there by construction. */
const at = (array: Uint32Array | Uint16Array | Int32Array | Int16Array | Int8Array | Uint8Array, k: number): number =>
  array[k] ?? 0;

function narrowWords(array: ElementArray, span: Span, dtype: DType): Uint32Array {
  switch (dtype) {
    case 'f32':
      return signedWords(new Uint32Array(array.buffer, array.byteOffset, array.length), span, {
        sign: 0x80000000,
        infinity: 0x7f800000,
      });
    case 'f16':
      return signedWords(array as Uint16Array, span, { sign: 0x8000, infinity: 0x7c00 });
    case 'bf16':
      return signedWords(array as Uint16Array, span, { sign: 0x8000, infinity: 0x7f80 });
    case 'i32':
    case 'i16':
    case 'i8':
    case 'u8':
    case 'bool':
    case 'i64':
    case 'f64':
      return shiftedWords(array as Int32Array, span);
  }
}

/** Integers, from the least one of 32 bits on. */
function shiftedWords(array: Int32Array, { start, step, length }: Span): Uint32Array {
  const words = new Uint32Array(length);
  for (let k = 0, place = start; k < length; k += 1, place += step) words[k] = at(array, place) ^ 0x80000000;
  return words;
}

interface Format {
  readonly sign: number;
  /** The bits of infinity; those of NaN are above. */
  readonly infinity: number;
}

/** Floats by their bits: negative ones the other way round, and below the others. */
function signedWords(
  bits: Uint32Array | Uint16Array,
  { start, step, length }: Span,
  { sign, infinity }: Format,
): Uint32Array {
  const words = new Uint32Array(length);
  const magnitudes = sign - 1;
  for (let k = 0, place = start; k < length; k += 1, place += step) {
    const word = at(bits, place);
    const magnitude = word & magnitudes;
    if (magnitude > infinity) words[k] = 0xffffffff;
    else words[k] = magnitude === word || magnitude === 0 ? sign + magnitude : sign - magnitude;
  }
  return words;
}

/** 64 bits, as the lower and the upper word. */
function wideWords(array: ElementArray, { start, step, length }: Span, areFloats: boolean): Words {
  const halves = new Uint32Array(array.buffer, array.byteOffset, 2 * array.length);
  const [low, high] = [new Uint32Array(length), new Uint32Array(length)];
  for (let k = 0, place = 2 * start; k < length; k += 1, place += 2 * step) {
    const [lower, upper] = [at(halves, place), at(halves, place + 1)];
    const magnitude = upper & 0x7fffffff;
    if (!areFloats) [low[k], high[k]] = [lower, upper ^ 0x80000000];
    else if (magnitude > 0x7ff00000 || (magnitude === 0x7ff00000 && lower !== 0))
      [low[k], high[k]] = [0xffffffff, 0xffffffff];
    else if (magnitude === upper || (magnitude === 0 && lower === 0))
      [low[k], high[k]] = [lower, magnitude ^ 0x80000000];
    else [low[k], high[k]] = [~lower, ~upper];
  }
  return [low, high];
}

function insertionSorted(words: Words, length: number): Uint32Array {
  const order = new Uint32Array(length);
  const isAbove = (one: number, other: number): boolean => {
    for (let word = words.length - 1; word >= 0; word -= 1) {
      const list = words[word] as Uint32Array;
      if (at(list, one) !== at(list, other)) return at(list, one) > at(list, other);
    }
    return false;
  };
  for (let k = 0; k < length; k += 1) {
    let place = k;
    for (; place > 0 && isAbove(at(order, place - 1), k); place -= 1) order[place] = at(order, place - 1);
    order[place] = k;
  }
  return order;
}

function radixSorted(words: Words, length: number): Uint32Array {
  const bits = length < long ? 8 : 11;
  let [order, other] = [new Uint32Array(length), new Uint32Array(length)];
  for (let k = 0; k < length; k += 1) order[k] = k;
  for (const word of words) {
    for (const { shift, starts } of digitsOf(word, length, bits)) {
      const mask = starts.length - 1;
      for (let k = 0; k < length; k += 1) {
        const element = at(order, k);
        const digit = (at(word, element) >>> shift) & mask;
        const place = at(starts, digit);
        starts[digit] = place + 1;
        other[place] = element;
      }
      [order, other] = [other, order];
    }
  }
  return order;
}

/** Where the elements of each digit begin; digits that all elements share are left out. */
function digitsOf(word: Uint32Array, length: number, bits: number): readonly Digit[] {
  const digits: Digit[] = [];
  const mask = (1 << bits) - 1;
  for (let shift = 0; shift < 32; shift += bits) {
    const starts = new Uint32Array(1 << bits);
    for (let k = 0; k < length; k += 1) {
      const digit = (at(word, k) >>> shift) & mask;
      starts[digit] = at(starts, digit) + 1;
    }
    if (at(starts, (at(word, 0) >>> shift) & mask) === length) continue;
    let before = 0;
    for (let digit = 0; digit < starts.length; digit += 1) {
      const count = at(starts, digit);
      starts[digit] = before;
      before += count;
    }
    digits.push({ shift, starts });
  }
  return digits;
}

interface Digit {
  readonly shift: number;
  readonly starts: Uint32Array;
}
