// Moves elements between buffers and vectors: by line where the points lie on one (contiguous, strided, one element for
// all), else element by element at computed positions.
import type { DType } from '@tsinductor/base';
import { bitDecoders, bitEncoders } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import type { Vector } from './vector-loops.ts';

/** Where `count` points lie. */
export type Places =
  | { readonly kind: 'line'; readonly start: number; readonly step: number; readonly count: number }
  | { readonly kind: 'each'; readonly at: Float64Array; readonly count: number };

/** Below this many elements a loop is faster than a subarray. */
const shortRun = 24;

/** Elements as they lie in memory. */
interface Elements {
  readonly array: ElementArray;
  readonly dtype: DType;
}

export function gather({ array: source, dtype }: Elements, places: Places, out: Vector): void {
  const { count } = places;
  if (places.kind === 'line' && places.step === 1 && count >= shortRun) copyRun(source, places, out);
  else if (places.kind === 'line' && places.step === 0) fillWith(source, places.start, { out, count });
  else if (source.constructor.name === 'Float32Array') gatherF32(source as Float32Array, places, out as Float64Array);
  else gatherAny(source, places, out);
  const decode = bitDecoders[dtype];
  if (decode !== undefined) for (let k = 0; k < count; k += 1) out[k] = decode(Number(out[k]));
}

function copyRun(source: ElementArray, { start, count }: { start: number; count: number }, out: Vector): void {
  (out as Float64Array).set(source.subarray(start, start + count) as Float64Array);
}

function fillWith(source: ElementArray, start: number, { out, count }: { out: Vector; count: number }): void {
  (out as Float64Array).fill((source[start] ?? 0) as number, 0, count);
}

function gatherF32(source: Float32Array, places: Places, out: Float64Array): void {
  if (places.kind === 'line') {
    const { start, step, count } = places;
    for (let k = 0, p = start; k < count; k += 1, p += step) out[k] = source[p] ?? 0;
    return;
  }
  const { at, count } = places;
  for (let k = 0; k < count; k += 1) out[k] = source[at[k] ?? 0] ?? 0;
}

function gatherAny(source: ElementArray, places: Places, out: Vector): void {
  if (places.kind === 'line') {
    const { start, step, count } = places;
    for (let k = 0, p = start; k < count; k += 1, p += step) out[k] = source[p] ?? 0;
    return;
  }
  const { at, count } = places;
  for (let k = 0; k < count; k += 1) out[k] = source[at[k] ?? 0] ?? 0;
}

/** What a masked load reads: nothing where the mask is false, `other` there. */
interface Masked {
  readonly mask: Float64Array;
  readonly other: Vector | undefined;
  readonly at: Float64Array;
  readonly count: number;
}

export function gatherMasked({ array: source, dtype }: Elements, masked: Masked, out: Vector): void {
  const { mask, other, at, count } = masked;
  const decode = bitDecoders[dtype];
  const zero = (dtype === 'i64' ? 0n : 0) as number;
  for (let k = 0; k < count; k += 1) {
    if (mask[k] === 0) {
      out[k] = other?.[k] ?? zero;
      continue;
    }
    const raw = (source[at[k] ?? 0] ?? zero) as number;
    out[k] = decode === undefined ? raw : decode(raw);
  }
}

/** Writes the values of a vector at their places. */
export function scatter({ array: target, dtype }: Elements, places: Places, results: Vector): void {
  const encode = bitEncoders[dtype];
  const { count } = places;
  const values = encode === undefined ? results : (results as Float64Array).slice(0, count).map(encode);
  if (places.kind === 'each') {
    const { at } = places;
    for (let k = 0; k < count; k += 1) target[at[k] ?? 0] = values[k] ?? 0;
    return;
  }
  const { start, step } = places;
  if (step === 1 && count >= shortRun) (target as Float64Array).set((values as Float64Array).subarray(0, count), start);
  else for (let k = 0, p = start; k < count; k += 1, p += step) target[p] = values[k] ?? 0;
}
