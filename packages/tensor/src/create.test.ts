import { describe, expect, test } from '@jest/globals';
import { isTsInductorError } from '@tsinductor/base';
import { broadcastShapes, fromBuffer, tensor, zeros } from './index.ts';

/** The code of the error that `work` throws; its message must say what to do. */
function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    expect(error.hint).toBeTruthy();
    return error.code;
  }
  return 'nothing was thrown';
}

describe('tensor()', () => {
  test('takes its dtype from the numbers, as PyTorch does', () => {
    expect(tensor([1, 2]).dtype).toBe('i64');
    expect(tensor([1, 2.5]).dtype).toBe('f32');
    expect(tensor([true, false]).dtype).toBe('bool');
    expect(tensor([true, 2]).dtype).toBe('i64');
    expect(tensor(5n).dtype).toBe('i64');
    expect(tensor([]).dtype).toBe('f32');
    expect(tensor(NaN).dtype).toBe('f32');
  });

  test('takes its dtype from a typed array', () => {
    expect(tensor(new Float64Array(2)).dtype).toBe('f64');
    expect(tensor(new BigInt64Array(2)).dtype).toBe('i64');
    expect(tensor(new Uint8ClampedArray(2)).dtype).toBe('u8');
    expect(tensor(new Uint16Array([0x3c00]), { dtype: 'f16' }).toArray()).toEqual([1]);
    expect(tensor(new Uint16Array([0x3f80]), { dtype: 'bf16' }).toArray()).toEqual([1]);
  });

  test('nests and shapes', () => {
    const matrix = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(matrix.shape).toEqual([2, 3]);
    expect(matrix.strides).toEqual([3, 1]);
    expect(matrix.toArray()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(tensor([1, 2, 3, 4], { shape: [2, 2] }).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(tensor([[], []]).shape).toEqual([2, 0]);
    expect(tensor([Float32Array.of(1, 2), Float32Array.of(3, 4)]).shape).toEqual([2, 2]);
    expect(tensor(7).shape).toEqual([]);
    expect(tensor(7).item()).toBe(7);
  });

  test('converts: floats are rounded, integers truncated, anything but zero is true', () => {
    expect(tensor([0.1], { dtype: 'f32' }).toArray()).toEqual([Math.fround(0.1)]);
    expect(tensor([2.7, -2.7], { dtype: 'i32' }).toArray()).toEqual([2, -2]);
    expect(tensor([0, 3, NaN], { dtype: 'bool' }).toArray()).toEqual([false, true, true]);
    expect(tensor([65520], { dtype: 'f16' }).toArray()).toEqual([Infinity]);
    expect(tensor(new Float32Array([1.9]), { dtype: 'u8' }).toArray()).toEqual([1]);
  });

  test('keeps i64 exact', () => {
    const big = 9223372036854775807n;
    expect(tensor([big, 3n]).toArray()).toEqual([big, 3]);
    expect(tensor(big).item()).toBe(big);
    expect(tensor([big]).toTypedArray()).toEqual(BigInt64Array.of(big));
  });

  test('refuses data that has no shape', () => {
    expect(codeOf(() => tensor([[1, 2], [3]]))).toBe('RAGGED_ARRAY');
    expect(codeOf(() => tensor([[1], 2]))).toBe('RAGGED_ARRAY');
    expect(codeOf(() => tensor([1, [2]]))).toBe('RAGGED_ARRAY');
    // eslint-disable-next-line no-sparse-arrays -- a hole is what is tested
    expect(codeOf(() => tensor([1, , 3] as never))).toBe('SPARSE_ARRAY');
    const loop: unknown[] = [];
    loop.push(loop);
    expect(codeOf(() => tensor(loop as never))).toBe('ARRAY_DEPTH');
  });

  test('refuses what is not a number', () => {
    expect(codeOf(() => tensor(['1'] as never))).toBe('ELEMENT_TYPE');
    expect(codeOf(() => tensor(undefined as never))).toBe('ELEMENT_TYPE');
    expect(codeOf(() => tensor([null] as never))).toBe('ELEMENT_TYPE');
    expect(codeOf(() => tensor((() => 1) as never))).toBe('ELEMENT_TYPE');
  });

  test('refuses numbers that the dtype cannot hold', () => {
    expect(codeOf(() => tensor(256, { dtype: 'u8' }))).toBe('ELEMENT_RANGE');
    expect(codeOf(() => tensor(-1, { dtype: 'u8' }))).toBe('ELEMENT_RANGE');
    expect(codeOf(() => tensor([NaN], { dtype: 'i32' }))).toBe('ELEMENT_RANGE');
    expect(codeOf(() => tensor(2n ** 63n))).toBe('ELEMENT_RANGE');
  });

  test('refuses typed arrays without a dtype, with a remedy', () => {
    expect(codeOf(() => tensor(new Uint32Array(1)))).toBe('ARRAY_TYPE');
    expect(codeOf(() => tensor(new BigUint64Array(1)))).toBe('ARRAY_TYPE');
    expect(codeOf(() => tensor(new Uint16Array(1)))).toBe('ARRAY_TYPE');
    expect(codeOf(() => tensor(new DataView(new ArrayBuffer(8))))).toBe('ARRAY_TYPE');
    expect(codeOf(() => tensor(new ArrayBuffer(8) as never))).toBe('ARRAY_TYPE');
  });

  test('refuses memory that is gone', () => {
    const array = new Float32Array(4);
    structuredClone(array.buffer, { transfer: [array.buffer] });
    expect(codeOf(() => tensor(array))).toBe('BUFFER_DETACHED');
    const shared = new Float32Array(4);
    const view = tensor(shared, { share: true });
    structuredClone(shared.buffer, { transfer: [shared.buffer] });
    expect(codeOf(() => view.toArray())).toBe('BUFFER_DETACHED');
  });

  test('refuses shapes that are none', () => {
    const shapes: unknown[] = [[NaN], [-1], [1.5], [2 ** 53], [2 ** 30, 2 ** 30], ['2'], new Array(65).fill(1), 4];
    for (const shape of shapes) expect(codeOf(() => tensor([1], { shape: shape as number[] }))).toBe('INVALID_SHAPE');
    expect(codeOf(() => tensor([1, 2, 3], { shape: [2] }))).toBe('ELEMENT_COUNT');
  });

  test('refuses options it does not know', () => {
    expect(codeOf(() => tensor([1], { dtpye: 'f32' } as never))).toBe('OPTION_UNKNOWN');
    expect(codeOf(() => tensor([1], { dtype: 'float32' as never }))).toBe('INVALID_DTYPE');
    expect(codeOf(() => tensor([1], 'f32' as never))).toBe('ARGUMENT_VALUE');
    expect(codeOf(() => tensor(tensor([1])))).toBe('ARGUMENT_VALUE');
  });

  test('an error names the line of the call', () => {
    expect(() => tensor([[1, 2], [3]])).toThrow(/data\[1\]/);
    expect(() => zeros([2]).reshape([3])).toThrow(/create\.test\.ts:\d+/);
  });
});

test('broadcastShapes', () => {
  expect(broadcastShapes([2, 1, 3], [4, 1], [])).toEqual([2, 4, 3]);
  expect(broadcastShapes()).toEqual([]);
  expect(codeOf(() => broadcastShapes([2], [3]))).toBe('SHAPE_MISMATCH');
});

describe('shared memory', () => {
  test('tensor and array see each other', () => {
    const array = new Float32Array([1, 2, 3, 4, 5]);
    const view = tensor(array.subarray(1, 4), { share: true });
    array[2] = 30;
    expect(view.toArray()).toEqual([2, 30, 4]);
    view.mul_(2);
    expect([...array]).toEqual([1, 4, 60, 8, 5]);
  });

  test('cannot convert', () => {
    expect(codeOf(() => tensor(new Float32Array(1), { share: true, dtype: 'f64' }))).toBe('CANNOT_SHARE');
    expect(codeOf(() => tensor([1], { share: true }))).toBe('CANNOT_SHARE');
    expect(codeOf(() => tensor(Uint8Array.of(2), { share: true, dtype: 'bool' }))).toBe('CANNOT_SHARE');
    expect(tensor(Uint8Array.of(1, 0), { share: true, dtype: 'bool' }).toArray()).toEqual([true, false]);
  });

  test('fromBuffer checks place and length', () => {
    const buffer = new Float32Array([1, 2, 3, 4]).buffer;
    expect(fromBuffer(buffer, { dtype: 'f32', byteOffset: 4, shape: [1, 2] }).toArray()).toEqual([[2, 3]]);
    expect(codeOf(() => fromBuffer(buffer, { dtype: 'f32', byteOffset: 2 }))).toBe('BUFFER_ALIGNMENT');
    expect(codeOf(() => fromBuffer(buffer, { dtype: 'f32', byteOffset: -4 }))).toBe('ARGUMENT_VALUE');
    expect(codeOf(() => fromBuffer(buffer, { dtype: 'f32', shape: [5] }))).toBe('ELEMENT_COUNT');
    expect(codeOf(() => fromBuffer(buffer.slice(0, 7), { dtype: 'f32' }))).toBe('BUFFER_ALIGNMENT');
    expect(codeOf(() => fromBuffer({} as ArrayBuffer, { dtype: 'f32' }))).toBe('ARGUMENT_VALUE');
  });
});
