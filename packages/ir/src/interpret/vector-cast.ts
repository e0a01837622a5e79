// Casts and bit casts over vectors. Numbers of every dtype but i64 are exact values in Float64Arrays, so a cast that
// keeps every value is a copy.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bitcastValue, castValue } from '@tsinductor/ops';
import { isExactCast } from '../body/op-dtypes.ts';
import type { Vector, VectorLoop } from './vector-loops.ts';

const copy: VectorLoop = (out, [a], { from, to }) => {
  for (let k = from; k < to; k += 1) out[k] = a?.[k] ?? 0;
};

const round: VectorLoop = (out, args, { from, to }) => {
  const [a] = args as readonly [Float64Array];
  for (let k = from; k < to; k += 1) out[k] = Math.fround(a[k] ?? 0);
};

const truth: VectorLoop = (out, args, { from, to }) => {
  const [a] = args as readonly [Float64Array];
  for (let k = from; k < to; k += 1) out[k] = a[k] === 0 ? 0 : 1;
};

/** The loop of a cast. i64 counts as numbers where the vectors say so: see `VectorBody`. */
export function castLoop(from: DType, to: DType): VectorLoop {
  if (from === 'i64' || to === 'i64') return each((value) => castValue(value, from, to));
  if (to === 'bool') return truth;
  if (isExactCast(from, to)) return copy;
  if (to === 'f32') return round;
  return each((value) => castValue(value, from, to));
}

/** The loop of a cast from an i64 whose values are safe integers, as numbers. */
export function safeIntegerCast(to: DType): VectorLoop {
  if (to === 'f64') return copy;
  if (to === 'bool') return truth;
  if (to === 'f32') return round;
  if (to === 'i32') return each((value) => Number(value) | 0);
  const integer = dtypeInfo[to].category === 'integer';
  return each((value) => (integer ? castValue(Number(value) | 0, 'i32', to) : castValue(Number(value), 'f64', to)));
}

export const bitcastLoop = (from: DType, to: DType): VectorLoop => each((value) => bitcastValue(value, from, to));

function each(convert: (value: number | bigint) => number | bigint): VectorLoop {
  return (out: Vector, [a], { from, to }) => {
    for (let k = from; k < to; k += 1) out[k] = convert(a?.[k] ?? 0);
  };
}

/** Safe integers as i64, without making bigints: the two halves of each word. */
export function widenToBigint(numbers: Float64Array, out: BigInt64Array, count: number): void {
  const words = new Int32Array(out.buffer, out.byteOffset, out.length * 2);
  for (let k = 0; k < count; k += 1) {
    const value = numbers[k] ?? 0;
    words[2 * k] = value | 0;
    words[2 * k + 1] = Math.floor(value / 4294967296);
  }
}

/** i64 as the nearest numbers. */
export function narrowToNumber(bigints: BigInt64Array, out: Float64Array, count: number): void {
  const words = new Int32Array(bigints.buffer, bigints.byteOffset, bigints.length * 2);
  for (let k = 0; k < count; k += 1) out[k] = (words[2 * k + 1] ?? 0) * 4294967296 + ((words[2 * k] ?? 0) >>> 0);
}
