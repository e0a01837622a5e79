import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { openBridge } from './bridge.ts';
import type { Bridge } from './bridge.ts';
import { onOneThread, openCollector } from './collector.ts';
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

test("collections of the young generation are one thread's, and shared out again when the event loop turns", async () => {
  const events: string[] = [];
  const collect = onOneThread(
    () => events.push('collect'),
    (flag) => events.push(flag),
  );
  collect();
  collect();
  expect(events).toEqual(['--no-parallel-scavenge', 'collect', 'collect']);
  await turn();
  expect(events.splice(0).at(-1)).toBe('--parallel-scavenge');
  collect();
  expect(events).toEqual(['--no-parallel-scavenge', 'collect']);
  await turn();
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

const built = existsSync(join(import.meta.dirname, '../dist/watcher.js'));
if (!built) console.log('skipped: watchers without a bridge, because npm run build makes what their process imports');

// A process of its own: V8 (that of Node 20 at least) calls no finalizer of a registry again once the registries that a
// collection found to be due have died before their turn, which happens in a process that runs other tests.
(built ? test : test.skip)('without a bridge it says that collecting is no use, and tells between tasks', () => {
  const script = `
    import { setImmediate as turn } from 'node:timers/promises';
    import { openCollector } from './collector.js';
    import { createWatcher } from './watcher.js';
    const watcher = createWatcher(undefined);
    const found = new Set();
    watcher.listen({ found: (id) => found.add(id), collecting: () => undefined });
    (() => {
      for (let id = 0; id < 1000; id += 1) watcher.watch({ id }, id);
    })();
    const isOfUse = watcher.collect('all');
    const atOnce = found.size;
    for (let tries = 0; tries < 100 && found.size < 900; tries += 1) {
      openCollector()?.('all');
      await turn();
    }
    watcher.settle();
    console.log(JSON.stringify({ isOfUse, atOnce, later: found.size }));
  `;
  const said = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    cwd: join(import.meta.dirname, '../dist'),
    encoding: 'utf8',
  });
  const { isOfUse, atOnce, later } = JSON.parse(said) as { isOfUse: boolean; atOnce: number; later: number };
  expect({ isOfUse, atOnce }).toEqual({ isOfUse: false, atOnce: 0 });
  // The last ones may still be in a register.
  expect(later).toBeGreaterThanOrEqual(900);
});
