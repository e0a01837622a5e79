import { afterEach, describe, expect, test } from '@jest/globals';
import { createStoragePool } from '@tsinductor/runtime';
import { settled } from '@tsinductor/testing/settled';
import { fromBuffer, memoryStats, ones, scope, tensor, zeros } from './index.ts';
import { allocateResult, setStorageProvider } from './internal.ts';
import type { Tensor } from './index.ts';

afterEach(() => setStorageProvider(undefined));

describe('dispose', () => {
  test('a disposed tensor cannot be used', () => {
    const x = tensor([1, 2]);
    x.dispose();
    x.dispose();
    expect(x.isDisposed).toBe(true);
    for (const use of [() => x.add(1), () => x.toArray(), () => ones([2]).add(x)]) {
      expect(use).toThrow(expect.objectContaining({ code: 'TENSOR_DISPOSED' }));
    }
    expect(String(x)).toBe('Tensor(i64[2], disposed)');
  });

  test('memory lives as long as the last view', async () => {
    setStorageProvider({ pool: createStoragePool(undefined) });
    await settled(() => memoryStats().storages);
    const before = memoryStats();
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const row = x.at(1);
    x.dispose();
    expect(row.toArray()).toEqual([3, 4]);
    expect(memoryStats().storages).toBe(before.storages + 1);
    row.dispose();
    expect(memoryStats().storages).toBe(before.storages);
    expect(memoryStats().pool?.inUse).toBe(0);
  });

  test('a block that was given back is used again', () => {
    setStorageProvider({ pool: createStoragePool(undefined) });
    const first = tensor(new Float32Array(100));
    first.dispose();
    const second = tensor(new Float32Array(110).fill(7));
    expect(memoryStats().pool).toMatchObject({ pooled: 0, blocks: 1 });
    expect(second.sum().item()).toBe(770);
    second.dispose();
  });

  test('a provider may be for large storage only, and is not opened before', () => {
    let pool: ReturnType<typeof createStoragePool> | undefined;
    setStorageProvider({
      get pool() {
        return (pool ??= createStoragePool(undefined));
      },
      isOpen: () => pool !== undefined,
      least: 4096,
    });
    using small = tensor(new Float32Array(1023));
    expect([small.numel, memoryStats().pool]).toEqual([1023, undefined]);
    using large = tensor(new Float32Array(1024));
    expect([large.numel, memoryStats().pool?.inUse]).toEqual([1024, 4096]);
  });

  test('where memory lies is asked for once, and again when it was transferred away', () => {
    const asked: number[] = [];
    setStorageProvider({
      pool: createStoragePool(undefined),
      addressOf: ({ byteLength }) => asked.push(byteLength) * 64,
    });
    const buffer = new ArrayBuffer(16);
    const x = fromBuffer(buffer, { dtype: 'f32', shape: [4] });
    expect([x.address, x.at(1).address, asked]).toEqual([64, 68, [16]]);
    structuredClone(buffer, { transfer: [buffer] });
    expect(() => x.address).toThrow(expect.objectContaining({ code: 'BUFFER_DETACHED' }));
  });

  describe('results of eager operators, which the collector frees', () => {
    const asked: { placed: number[]; huge: number[] } = { placed: [], huge: [] };
    const provide = (isOpen: boolean): void => {
      asked.placed = [];
      asked.huge = [];
      setStorageProvider({
        pool: createStoragePool(undefined),
        isOpen: () => isOpen,
        least: 2 ** 22,
        addressOf: ({ byteLength, byteOffset }) => {
          asked.placed.push(byteLength);
          return 4096 + 16 + byteOffset;
        },
        preferHugePages: ({ byteLength }) => asked.huge.push(byteLength),
      });
    };
    const resultOf = (bytes: number): Tensor => ones([bytes], { dtype: 'u8' });

    test('begin at a line of the cache, where compiled functions read them', () => {
      provide(true);
      const x = resultOf(5000);
      expect(asked).toEqual({ placed: [64], huge: [5064] });
      expect(x.address % 64).toBe(0);
      expect([x.numel, x.sum().item(), x.at(4999).item()]).toEqual([5000, 5000, 1]);
    });

    test('small ones lie where they lie, and open no native memory', () => {
      provide(true);
      resultOf(1000);
      provide(false);
      resultOf(100_000);
      expect(asked).toEqual({ placed: [], huge: [] });
    });

    test('large ones are on huge pages, for which native memory is opened', () => {
      provide(false);
      const x = ones([2 ** 20], { dtype: 'f32' });
      expect(asked.huge).toEqual([2 ** 22 + 64]);
      expect([x.address % 64, x.sum().item()]).toEqual([0, 2 ** 20]);
    });
  });

  test('beyond the soft limit storage is left to the collector', () => {
    setStorageProvider({ pool: createStoragePool(undefined), softLimit: 1000 });
    const tensors = [1, 2, 3].map(() => tensor(new Float32Array(200)));
    expect(memoryStats().pool?.blocks).toBe(1);
    expect(tensors.map((x) => x.sum().item())).toEqual([0, 0, 0]);
  });

  test('beyond it large results are too, so that a loop whose dead ones are found late does not outgrow memory', () => {
    setStorageProvider({ pool: createStoragePool(undefined), softLimit: memoryStats().live + 300_000 });
    const results = Array.from({ length: 5 }, () => allocateResult(100_000));
    expect(memoryStats().pool?.blocks).toBe(3);
    expect(results.map(({ byteLength }) => byteLength)).toEqual(results.map(() => 100_000));
  });

  test('memoryStats tells live, pooled and external bytes, and the peak', async () => {
    setStorageProvider({ pool: createStoragePool(undefined) });
    await settled(() => memoryStats().storages);
    const before = memoryStats();
    using kept = tensor(new Float32Array(1024));
    tensor(new Float32Array(4096)).dispose();
    const { live, peak, pooled, external, native } = memoryStats();
    expect([kept.numel, live - before.live, native - before.native]).toEqual([1024, 4096, 4096]);
    expect([pooled, external]).toEqual([16_384, 20_480]);
    expect(peak).toBeGreaterThanOrEqual(before.live + 20_480);
  });

  test('using disposes at the end of the block', () => {
    let kept: Tensor;
    {
      using x = tensor([1]);
      kept = x;
    }
    expect(kept.isDisposed).toBe(true);
  });
});

describe('scope', () => {
  test('keeps what it returns, in any nesting', () => {
    let inner: Tensor | undefined;
    const { total, list } = scope(() => {
      inner = tensor([1, 2, 3]);
      const doubled = inner.mul(2);
      return { total: doubled.sum(), list: [doubled] };
    });
    expect(inner?.isDisposed).toBe(true);
    expect(total.item()).toBe(12);
    expect(list[0]?.toArray()).toEqual([2, 4, 6]);
  });

  test('what an inner scope returns belongs to the outer one', () => {
    let passed: Tensor | undefined;
    scope(() => {
      passed = scope(() => zeros([2]));
      expect(passed.isDisposed).toBe(false);
    });
    expect(passed?.isDisposed).toBe(true);
  });

  test('disposes when it throws', () => {
    let made: Tensor | undefined;
    const failing = (): void =>
      scope(() => {
        made = zeros([2]);
        throw new RangeError('stop');
      });
    expect(failing).toThrow();
    expect(made?.isDisposed).toBe(true);
  });

  test('follows an async function over its awaits, and nothing beside it', async () => {
    let late: Tensor | undefined;
    const running = scope(async () => {
      await Promise.resolve();
      late = zeros([2]);
      await Promise.resolve();
      return late.add(1);
    });
    const outside = zeros([1]);
    const result = await running;
    expect(late?.isDisposed).toBe(true);
    expect(result.toArray()).toEqual([1, 1]);
    expect(outside.isDisposed).toBe(false);
  });
});
