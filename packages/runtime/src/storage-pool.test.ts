import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import fc from 'fast-check';
import { outOfMemory } from './errors.ts';
import { createStoragePool, sizeClassOf } from './storage-pool.ts';
import type { Block } from './storage-pool.ts';

test('size classes hold the request, waste at most an eighth, and are multiples of 64', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 45 }), (bytes) => {
      const size = sizeClassOf(bytes);
      expect(size).toBeGreaterThanOrEqual(bytes);
      expect(size % 64).toBe(0);
      expect(size - bytes).toBeLessThan(Math.max(64, bytes / 8 + 1));
      expect(sizeClassOf(size)).toBe(size);
    }),
  );
  expect([2 ** 31, 2 ** 31 + 1].map(sizeClassOf)).toEqual([2 ** 31, 2 ** 31 + 2 ** 28]);
  expect([0, 1, 64, 65, 512, 513, 1024, 1025].map(sizeClassOf)).toEqual([64, 64, 64, 128, 512, 576, 1024, 1152]);
});

describe('without a bridge', () => {
  test('memory is plain buffers without an address', () => {
    const block = createStoragePool(undefined).acquire(100);
    expect(block.address).toBe(0);
    expect(block.buffer.byteLength).toBe(128);
  });

  test('sizes that cannot be are refused', () => {
    const pool = createStoragePool(undefined);
    for (const bytes of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
      expect(() => pool.acquire(bytes)).toThrow(expect.objectContaining({ code: 'ALLOCATION_SIZE' }));
    }
    for (const bytes of [2 ** 53 - 1, 2 ** 48]) {
      expect(() => pool.acquire(bytes)).toThrow(expect.objectContaining({ code: 'OUT_OF_MEMORY' }));
    }
    expect(pool.memoryStats()).toEqual({ allocated: 0, inUse: 0, pooled: 0, peak: 0, blocks: 0 });
  });
});

/** An allocator that knows what it gave out, with a limit. */
function tracked(limit = Infinity): {
  allocate: (bytes: number) => Block;
  free: (block: Block) => void;
  live: Set<ArrayBuffer>;
} {
  const live = new Set<ArrayBuffer>();
  let used = 0;
  return {
    live,
    allocate: (bytes) => {
      if (used + bytes > limit) throw outOfMemory(bytes, undefined);
      used += bytes;
      const buffer = new ArrayBuffer(bytes);
      live.add(buffer);
      return { address: 4096, buffer, bytes };
    },
    free: ({ buffer, bytes }) => {
      used -= bytes;
      expect(live.delete(buffer)).toBe(true);
    },
  };
}

describe('the pool', () => {
  test('reuses the block that was released last', () => {
    const pool = createStoragePool(tracked());
    const [a, b] = [pool.acquire(1000), pool.acquire(1000)];
    pool.release(a);
    pool.release(b);
    expect(pool.acquire(990)).toBe(b);
    expect(pool.acquire(1024)).toBe(a);
    expect(pool.acquire(2000)).not.toBe(a);
  });

  test('counts', () => {
    const pool = createStoragePool(tracked());
    const a = pool.acquire(64);
    const b = pool.acquire(128);
    pool.release(a);
    expect(pool.memoryStats()).toEqual({ allocated: 192, inUse: 128, pooled: 64, peak: 192, blocks: 1 });
    pool.release(b);
    expect(pool.trim()).toBe(192);
    expect(pool.memoryStats()).toEqual({ allocated: 0, inUse: 0, pooled: 0, peak: 192, blocks: 0 });
  });

  test('a second release is an error and changes nothing', () => {
    const pool = createStoragePool(tracked());
    const block = pool.acquire(64);
    pool.release(block);
    expect(() => pool.release(block)).toThrow(expect.objectContaining({ code: 'POOL_NOT_IN_USE' }));
    expect(pool.memoryStats().pooled).toBe(64);
  });

  test('gives back what was unused longest when more waits than may', () => {
    const allocator = tracked();
    const pool = createStoragePool(allocator, { maxPooled: 256 });
    const blocks = [64, 128, 192].map((bytes) => pool.acquire(bytes));
    for (const block of blocks) pool.release(block);
    expect(pool.memoryStats().pooled).toBe(192);
    expect(blocks.map(({ buffer }) => allocator.live.has(buffer))).toEqual([false, false, true]);
    const large = pool.acquire(512);
    pool.release(large);
    expect(allocator.live.has(large.buffer)).toBe(false);
    expect(pool.memoryStats().pooled).toBe(192);
  });

  test('when memory is short, what waits is given back before giving up', () => {
    const pool = createStoragePool(tracked(1024));
    const small = pool.acquire(512);
    pool.release(small);
    const large = pool.acquire(1024);
    expect(pool.memoryStats()).toMatchObject({ inUse: 1024, pooled: 0 });
    expect(() => pool.acquire(64)).toThrow(expect.objectContaining({ code: 'OUT_OF_MEMORY' }));
    pool.release(large);
    expect(pool.acquire(64).bytes).toBe(64);
  });

  test('random use never hands one block out twice, and its sums hold', () => {
    const step = fc.record({ size: fc.integer({ min: 0, max: 5000 }), release: fc.boolean(), which: fc.nat() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const allocator = tracked();
        const pool = createStoragePool(allocator, { maxPooled: 8000 });
        const inUse: Block[] = [];
        for (const { size, release, which } of steps) {
          if (release && inUse.length > 0) pool.release(at(inUse.splice(which % inUse.length, 1), 0));
          else {
            const block = pool.acquire(size);
            expect(inUse).not.toContain(block);
            inUse.push(block);
          }
          const stats = pool.memoryStats();
          expect(stats.inUse).toBe(inUse.reduce((sum, { bytes }) => sum + bytes, 0));
          expect(stats.pooled).toBeLessThanOrEqual(8000);
          expect(stats.allocated).toBe([...allocator.live].reduce((sum, { byteLength }) => sum + byteLength, 0));
        }
      }),
    );
  });
});
