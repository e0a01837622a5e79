// Tensors made before anything is compiled: large ones lie in native memory from the start, others on the heap.
import { expect, test } from '@jest/globals';
import { memoryStats, tensor } from 'tsinductor';

test('a large tensor made before the first compile call lies in native memory', () => {
  using small = tensor(new Float32Array(1000));
  expect([small.numel, memoryStats().pool]).toEqual([1000, undefined]);
  const elements = (4 << 20) / Float32Array.BYTES_PER_ELEMENT;
  using large = tensor(new Float32Array(elements));
  expect([large.numel, memoryStats().pool?.inUse]).toEqual([elements, 4 << 20]);
});
