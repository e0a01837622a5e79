// Where values lie in the memory of results: the schedule's verifier is on in tests, and what is computed is what eager mode gives.
import { describe, expect, test } from '@jest/globals';
import { compile, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

describe('what the group that writes a result makes does not lie in the memory of that result', () => {
  test.each(['outputs', 'combined'] as const)('with the pool %s', (memoryPool) => {
    const fn = (x: Tensor, index: Tensor): Tensor => x.put(index, x).softmin({ dtype: 'f32' });
    const compiled = compile(fn, { dynamic: true, options: { memoryPlanning: true, memoryPool } });
    const [x, index] = [
      tensor([0.25, 0.5, 2, -1]).reshape([2, 2]),
      tensor([1, 2, 0, 2], { dtype: 'i64' }).reshape([2, 2]),
    ];
    expect(compiled(x, index).toArray()).toEqual(fn(x, index).toArray());
  });
});
