// Reads golden cases: a folder with `index.jsonl` (one case a line) and `data.bin.gz` (all tensor data). Out: cases with
// tensors of ours in place of the encoded ones; scalars keep whether they were written as ints or floats.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { float, fromBuffer } from '@tsinductor/tensor';

export const dtypeNames = {
  float64: 'f64', float32: 'f32', float16: 'f16', bfloat16: 'bf16', int64: 'i64',
  int32: 'i32', int16: 'i16', int8: 'i8', uint8: 'u8', bool: 'bool',
}; // prettier-ignore

const nonFinite = { inf: Infinity, '-inf': -Infinity, nan: NaN };

export class Golden {
  #folder;
  #blob;

  constructor(folder) {
    this.#folder = folder;
    this.#blob = new Uint8Array(gunzipSync(readFileSync(join(folder, 'data.bin.gz')))).buffer;
  }

  /** Cases as they lie in the index; `decode` makes their values. */
  *cases() {
    for (const line of readFileSync(join(this.#folder, 'index.jsonl'), 'utf8').split('\n')) {
      if (line !== '') yield JSON.parse(line);
    }
  }

  decode(value) {
    if (Array.isArray(value)) return value.map((item) => this.decode(item));
    if (value === null || typeof value !== 'object') return value;
    if ('t' in value) return this.#tensor(value.t);
    if ('f' in value) return float(typeof value.f === 'number' ? value.f : nonFinite[value.f]);
    if ('i' in value) return BigInt(value.i);
    if ('slice' in value) return { slice: value.slice.map((bound) => this.decode(bound)) };
    if ('dtype' in value) return dtypeNames[value.dtype];
    if ('memory_format' in value) return value.memory_format;
    return value;
  }

  /** A tensor in a copy of its bytes: a case that writes to its inputs cannot disturb another. */
  #tensor({ dtype, shape, strides, offset, at, bytes }) {
    const name = dtypeNames[dtype];
    return fromBuffer(this.#blob.slice(at, at + bytes), { dtype: name, shape, strides, offset });
  }
}

/** The value that a path such as ["args", 0, 2] names. */
export const valueAt = (call, path) => path.reduce((value, part) => value?.[part], call);
