import { describe, expect, test } from '@jest/globals';
import type { Generation } from './collector.ts';
import { deviceLimits } from './garbage-budget.ts';
import { Reclaimer } from './reclaimer.ts';
import { createStoragePool } from './storage-pool.ts';
import type { Watcher } from './watcher.ts';

const mebibyte = 2 ** 20;

/** A watcher whose collections are written down, and do what they are told. */
function recorded(collect: (generation: Generation) => void = () => undefined, isUseful = true) {
  const collections: Generation[] = [];
  const watcher: Watcher = {
    watch: () => undefined,
    listen: () => undefined,
    settle: () => undefined,
    collect: (generation) => {
      if (isUseful) collections.push(generation);
      collect(generation);
      return isUseful;
    },
  };
  return { watcher, collections };
}

/** Takes results of `bytes` that die at once, and are found by collections of `finds`. */
function loop(bytes: number, calls: number, finds: readonly Generation[]) {
  let inUse = 0;
  let most = 0;
  const { watcher, collections } = recorded((generation) => {
    if (finds.includes(generation)) inUse = 0;
  });
  const reclaimer = new Reclaimer(watcher);
  for (let call = 0; call < calls; call += 1) {
    reclaimer.makeRoom(bytes, () => inUse);
    inUse += bytes;
    most = Math.max(most, inUse);
  }
  return { most, collections };
}

describe('when it is time to collect', () => {
  test.each([4096, 65_536, mebibyte, 4 * mebibyte, 64 * mebibyte, 1024 * mebibyte])(
    'results of %i bytes that die young stay within 64 MB or a result',
    (bytes) => {
      const { most, collections } = loop(bytes, 500, ['young', 'all']);
      expect(most).toBeLessThanOrEqual(Math.max(64 * mebibyte, bytes) + bytes);
      expect(collections).not.toContain('all');
    },
  );

  test.each([4096, mebibyte, 64 * mebibyte])(
    'results of %i bytes that grow old take a collection of everything',
    (bytes) => {
      const { most, collections } = loop(bytes, Math.ceil((1024 * mebibyte) / bytes), ['all']);
      expect(most).toBeLessThanOrEqual(192 * mebibyte + 3 * bytes);
      expect(collections).toContain('all');
    },
  );

  test('what grows and lives is looked at ever more seldom', () => {
    const { collections } = loop(16 * mebibyte, 4096, []);
    expect(collections.filter((generation) => generation === 'all').length).toBeLessThan(60);
  });

  test('small results are not collected for every few of them', () => {
    expect(loop(4096, 100_000, ['young', 'all']).collections.length).toBeLessThan(100);
  });

  test('after much was given back, little garbage is allowed again', () => {
    const { watcher, collections } = recorded();
    const reclaimer = new Reclaimer(watcher);
    reclaimer.makeRoom(1024 * mebibyte, () => 1024 * mebibyte);
    const before = collections.length;
    reclaimer.released(0);
    reclaimer.makeRoom(mebibyte, () => 8 * mebibyte);
    expect(collections.length).toBeGreaterThan(before);
  });

  test.each([4096, mebibyte, 64 * mebibyte])('results of %i bytes on a device may fill a part of it', (bytes) => {
    let inUse = 0;
    let most = 0;
    const { watcher, collections } = recorded(() => (inUse = 0));
    const memory = 16 * 1024 * mebibyte;
    const reclaimer = new Reclaimer(watcher, deviceLimits(memory));
    const calls = (3 * memory) / 16 / bytes;
    for (let call = 0; call < calls; call += 1) {
      reclaimer.makeRoom(bytes, () => inUse);
      inUse += bytes;
      most = Math.max(most, inUse);
    }
    expect(most).toBeLessThanOrEqual(memory / 16);
    expect(collections).toEqual(['young', 'young']);
  });

  test('where there is no more memory everything is collected, if that is any use', () => {
    const { watcher, collections } = recorded();
    expect(new Reclaimer(watcher).makeAllRoom(() => 0)).toBe(true);
    expect(collections).toEqual(['all']);
    expect(new Reclaimer(recorded(undefined, false).watcher).makeAllRoom(() => 0)).toBe(false);
  });

  test('where collecting is no use it is asked for once', () => {
    let asked = 0;
    const { watcher } = recorded(() => (asked += 1), false);
    const reclaimer = new Reclaimer(watcher);
    for (let call = 0; call < 100; call += 1) reclaimer.makeRoom(64 * mebibyte, () => call * 64 * mebibyte);
    expect(asked).toBe(1);
  });
});

test('a pool keeps little of sizes that no longer come', () => {
  const pool = createStoragePool(undefined);
  for (let size = 1; size <= 400; size += 1) pool.release(pool.acquire(size * 65_536));
  expect(pool.memoryStats().pooled).toBeLessThanOrEqual(2 ** 27 + 400 * 65_536);
});
