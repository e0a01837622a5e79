import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { openBridge } from './bridge.ts';
import type { Bridge } from './bridge.ts';
import { openCollector } from './collector.ts';
import { createStoragePool } from './storage-pool.ts';
import { findToolchain } from './toolchain.ts';
import { createWatcher } from './watcher.ts';
import type { Watcher } from './watcher.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
const ready = toolchain !== undefined && process.platform === 'linux';
if (!ready)
  console.log('skipped: watchers with the native bridge, because no C++ compiler was found (or this is not Linux)');
const host = ready ? describe : describe.skip;

/** Objects that nobody holds when this returns, watched as 0, 1, 2 and so on. */
function drop(watcher: Watcher, count: number): void {
  for (let id = 0; id < count; id += 1) watcher.watch({ id }, id);
}

function listened(watcher: Watcher): Set<number> {
  const found = new Set<number>();
  watcher.listen({ found: (id) => found.add(id), collecting: () => undefined });
  return found;
}

test('the collector is there, and hides itself again', () => {
  const isShown = 'gc' in globalThis;
  expect(openCollector()).toBeDefined();
  expect('gc' in globalThis).toBe(isShown);
  // A realm that is made later has none, unless this process showed it before.
  expect(runInNewContext(`'gc' in globalThis`)).toBe(isShown);
});

host('with the native bridge', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-watcher-'));
  let bridge: Bridge;
  let queued: Bridge;
  beforeAll(() => {
    if (toolchain === undefined) return;
    bridge = openBridge({ toolchain, directory });
    queued = openBridge({ toolchain, directory, queuedFinalizers: true });
  });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  test('what nobody holds is found within the turn that asks, each once', () => {
    const watcher = createWatcher(bridge);
    const found = listened(watcher);
    drop(watcher, 5000);
    expect(watcher.collect('young')).toBe(true);
    // The last ones may still be in a register.
    expect(found.size).toBeGreaterThan(4900);
    const before = found.size;
    found.clear();
    watcher.settle();
    expect(found.size).toBe(0);
    watcher.collect('all');
    expect(before + found.size).toBeLessThanOrEqual(5000);
  });

  test('what is held is not found, before it is let go', () => {
    const watcher = createWatcher(bridge);
    const found = listened(watcher);
    const held: (object | undefined)[] = [{}, {}, {}];
    held.forEach((object, id) => {
      if (object !== undefined) watcher.watch(object, id);
    });
    for (let times = 0; times < 3; times += 1) watcher.collect('all');
    expect([...found]).toEqual([]);
    held.fill(undefined);
    watcher.collect('all');
    expect([...found].sort()).toEqual([0, 1, 2]);
  });

  test('who listens is told before a collection, and may let go', () => {
    const watcher = createWatcher(bridge);
    const found: number[] = [];
    const held: object[] = [];
    const letGo = (): void => void held.splice(0);
    watcher.listen({ found: (id) => found.push(id), collecting: letGo });
    (() => {
      const object = {};
      held.push(object);
      watcher.watch(object, 7);
    })();
    watcher.collect('all');
    expect(found).toEqual([7]);
  });

  test('a pool reuses what was dropped in one synchronous loop, and takes little beyond it', () => {
    const watcher = createWatcher(bridge);
    const pool = createStoragePool(bridge, { watcher });
    const blocks = new Map<number, ReturnType<typeof pool.acquire>>();
    watcher.listen({
      found: (id) => {
        const block = blocks.get(id);
        if (block !== undefined && blocks.delete(id)) pool.release(block);
      },
      collecting: () => undefined,
    });
    const bytes = 1 << 20;
    for (let id = 0; id < 2000; id += 1) {
      blocks.set(id, pool.acquire(bytes));
      watcher.watch({ id }, id);
    }
    expect(pool.memoryStats().allocated).toBeLessThan(64 * bytes);
  });

  test('where finalizers wait for the event loop, it says that collecting is no use, and tells between tasks', async () => {
    const watcher = createWatcher(queued);
    const found = listened(watcher);
    drop(watcher, 1000);
    expect(watcher.collect('young')).toBe(false);
    expect(watcher.collect('all')).toBe(false);
    openCollector()?.('all');
    watcher.settle();
    expect(found.size).toBe(0);
    for (let tries = 0; tries < 100 && found.size < 900; tries += 1) {
      openCollector()?.('all');
      await turn();
      watcher.settle();
    }
    expect(found.size).toBeGreaterThanOrEqual(900);
  });
});

test('without a bridge it says that collecting is no use, and tells between tasks', async () => {
  const watcher = createWatcher(undefined);
  const found = listened(watcher);
  drop(watcher, 1000);
  expect(watcher.collect('all')).toBe(false);
  for (let tries = 0; tries < 100 && found.size < 900; tries += 1) {
    openCollector()?.('all');
    await turn();
  }
  expect(found.size).toBeGreaterThanOrEqual(900);
});
