// The same numbers in every language: element i of an input is a hash of i and a seed, scaled to [low, high) and rounded
// to float32. `peers/serve.py` and `peers/native/serve.hpp` compute the same.

export interface InputSpec {
  readonly size: number;
  readonly seed: number;
  readonly low: number;
  readonly high: number;
}

/** Element `index` of an input. */
export function elementOf({ seed, low, high }: InputSpec, index: number): number {
  let h = (index + Math.imul(seed, 0x9e3779b9)) | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  h = (h ^ (h >>> 16)) >>> 0;
  return Math.fround(low + (high - low) * (h / 4294967296));
}

/** A whole input. */
export function fillInput(spec: InputSpec): Float32Array<ArrayBuffer> {
  const values = new Float32Array(spec.size);
  for (let i = 0; i < spec.size; i += 1) values[i] = elementOf(spec, i);
  return values;
}
