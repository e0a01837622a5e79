// The values of a body in the text. Numbers of every dtype but i64 are JavaScript numbers, exact values of their dtype. An i64 is
// a number where its bounds are known to be exact in one (indices, counts, widened integers), else a bigint, or the two words
// that memory holds: numbers are several times faster.
import type { KernelText } from './kernel-text.ts';
import type { Placed } from './nest.ts';

/** Both ends inclusive. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

interface NumberValue extends Placed {
  readonly kind: 'number';
}
/** An i64 that is exact as a number, and never -0. */
export interface WholeValue extends Placed, Bounds {
  readonly kind: 'whole';
}
interface BigintValue extends Placed {
  readonly kind: 'bigint';
}
/** An i64 in memory: its two words, signed, and itself as a bigint. */
interface WordsValue extends Placed {
  readonly kind: 'words';
  readonly lower: string;
  readonly upper: string;
}

export type Value = NumberValue | WholeValue | BigintValue | WordsValue;

/** Beyond this, sums of numbers are rounded. */
export const largestExact: number = 2 ** 53 - 1;

export const isExact = ({ low, high }: Bounds): boolean => low >= -largestExact && high <= largestExact;
export const isWord = ({ low, high }: Bounds): boolean => low >= -(2 ** 31) && high < 2 ** 31;

/** The value as a number; an i64 is rounded where it is none. */
export function numberText(value: Value): string {
  switch (value.kind) {
    case 'number':
    case 'whole':
      return value.text;
    case 'bigint':
      return `Number(${value.text})`;
    case 'words':
      return `(${value.upper} * 4294967296 + (${value.lower} >>> 0))`;
  }
}

/** An i64 as a bigint. */
export function bigintText(value: Value): string {
  if (value.kind === 'bigint' || value.kind === 'words') return value.text;
  return /^\(?-?\d+\)?$/.test(value.text) ? `${value.text.replace(/[()]/g, '')}n` : `BigInt(${value.text})`;
}

/** The lower word of an i64, as a signed number. */
export function lowerText(value: Value): string {
  if (value.kind === 'words') return value.lower;
  if (value.kind === 'bigint') return `Number(BigInt.asIntN(32, ${value.text}))`;
  return value.kind === 'whole' && isWord(value) ? value.text : `(${value.text} | 0)`;
}

/** Statements that write an i64 at a place. */
export function storeI64(kernel: KernelText, value: Value, out: I64Place): readonly string[] {
  if (value.kind === 'bigint') return [`${kernel.buffer(out.buffer, 'i64')}[${out.text}] = ${value.text};`];
  const halves = kernel.buffer(out.buffer, 'i64', 'halves');
  const place = kernel.name('q');
  const [lower, upper] = wordTexts(value);
  return [
    `const ${place} = 2 * (${out.text});`,
    `${halves}[${place}] = ${lower};`,
    `${halves}[${place} + 1] = ${upper};`,
  ];
}

interface I64Place {
  readonly buffer: number;
  readonly text: string;
}

function wordTexts(value: Exclude<Value, BigintValue>): readonly [string, string] {
  if (value.kind === 'words') return [value.lower, value.upper];
  const { text } = value;
  if (value.kind === 'whole' && value.low >= 0 && isWord(value)) return [text, '0'];
  if (value.kind === 'whole' && isWord(value)) return [text, `${text} >> 31`];
  return [text, `Math.floor(${text} / 4294967296)`];
}
