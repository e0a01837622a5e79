// What a registry counts and gives back, with a watcher whose collections this test decides.
import { describe, expect, test } from '@jest/globals';
import { createStoragePool } from '@tsinductor/runtime';
import type { Watcher, WatchListener } from '@tsinductor/runtime';
import { StorageRegistry } from './storage-registry.ts';
import type { Lease } from './storage-registry.ts';

const noBlock = { block: undefined, pool: undefined };

/** A watcher that finds what it is told to, under the number that was watched. */
class ToldWatcher implements Watcher {
  readonly ids = new Map<object, number>();
  #listener: WatchListener | undefined;

  watch(target: object, id: number): void {
    this.ids.set(target, id);
  }

  listen(listener: WatchListener): void {
    this.#listener = listener;
  }

  settle(): void {
    // What is found is told at once.
  }

  collect(): boolean {
    return false;
  }

  /** As if nobody held `lease`. */
  lose(lease: Lease): void {
    const id = this.ids.get(lease);
    expect(id).toBeDefined();
    if (id !== undefined && this.ids.delete(lease)) this.#listener?.found(id);
  }

  collecting(): void {
    this.#listener?.collecting();
  }
}

function opened() {
  const watcher = new ToldWatcher();
  const registry = new StorageRegistry(watcher);
  const pool = createStoragePool(undefined);
  const part = (bytes: number) => {
    const taken = registry.takePart(bytes, pool);
    if (taken === undefined) throw new RangeError('no part was given');
    return taken;
  };
  return { watcher, registry, pool, part };
}

describe('small results share a block', () => {
  test('side by side, each at a line of the cache, none in the place of another', () => {
    const { part } = opened();
    for (const bytes of [0, 1, 64, 65, 500, 513, 4096, 4100, 16_384]) {
      const parts = Array.from({ length: 70 }, () => part(bytes));
      const places = parts.map(({ block, byteOffset }) => ({ buffer: block.buffer, byteOffset }));
      for (const [at, { buffer, byteOffset }] of places.entries()) {
        expect(byteOffset % 64).toBe(0);
        expect(byteOffset + bytes).toBeLessThanOrEqual(buffer.byteLength);
        const beside = places.filter((other, i) => i !== at && other.buffer === buffer);
        expect(beside.every((other) => Math.abs(other.byteOffset - byteOffset) >= Math.max(64, bytes))).toBe(true);
      }
    }
  });

  test('large ones have blocks of their own', () => {
    const { registry, pool } = opened();
    expect(registry.takePart(16_385, pool)).toBeUndefined();
  });

  test('what is given back is taken again, and takes no more memory', () => {
    const { registry, pool, part } = opened();
    for (let call = 0; call < 1000; call += 1) {
      const { lease, position } = part(64);
      registry.giveBack(lease, 64, position);
    }
    expect([pool.memoryStats().blocks, registry.count, registry.bytesInUse]).toEqual([1, 0, 0]);
    expect(registry.peak).toBe(64);
  });

  test('a block goes back to the pool with the last of them, given back or found', () => {
    const { watcher, registry, pool, part } = opened();
    const parts = Array.from({ length: 32 }, () => part(64));
    const other = part(64);
    expect(pool.memoryStats().blocks).toBe(2);
    for (const { lease, position } of parts.slice(1)) registry.giveBack(lease, 64, position);
    expect(pool.memoryStats().blocks).toBe(2);
    const [last] = parts;
    if (last !== undefined) registry.giveBack(last.lease, 64, last.position);
    expect(pool.memoryStats().blocks).toBe(1);
    watcher.lose(other.lease);
    expect([pool.memoryStats().blocks, registry.count, registry.bytesInUse]).toEqual([0, 0, 0]);
  });

  test('a lease that was found is never used for the next results', () => {
    const { watcher, registry, part } = opened();
    const { lease } = part(64);
    watcher.collecting();
    watcher.lose(lease);
    expect(part(64).lease).not.toBe(lease);
    expect(registry.count).toBe(1);
  });

  test('where much is kept, results no longer share', () => {
    const { registry, pool } = opened();
    const held: unknown[] = [];
    let shared = 0;
    for (let taken = registry.takePart(16_384, pool); taken !== undefined; taken = registry.takePart(16_384, pool)) {
      held.push(taken);
      shared += 16_384;
    }
    expect(shared).toBeLessThanOrEqual(2 ** 26 + 32 * 16_384);
  });
});

describe('a lease', () => {
  test('goes from a storage that was released to the next one, whose bytes count', () => {
    const { watcher, registry } = opened();
    const first = registry.take('heap', 100, noBlock);
    registry.giveBack(first, 100, 0);
    const second = registry.take('shared', 30, noBlock);
    expect(second).toBe(first);
    expect([watcher.ids.size, registry.bytes()]).toEqual([1, { pooled: 0, heap: 0, shared: 30, device: 0 }]);
    watcher.lose(second);
    expect([registry.count, registry.bytes().shared]).toEqual([0, 0]);
  });

  test('releases its block once, given back or found', () => {
    const { watcher, registry } = opened();
    let released = 0;
    const pool = { release: () => void (released += 1) };
    const block = createStoragePool(undefined).acquire(100);
    const lease = registry.take('pooled', 100, { block, pool });
    registry.giveBack(lease, 100, 0);
    expect(released).toBe(1);
    watcher.lose(lease);
    expect([released, registry.count]).toEqual([1, 0]);
  });

  test('of another watcher is not handed on', () => {
    const { registry } = opened();
    const lease = registry.take('heap', 1, noBlock);
    const next = new ToldWatcher();
    registry.watchBy(next);
    registry.giveBack(lease, 1, 0);
    const other = registry.take('heap', 1, noBlock);
    expect(other).not.toBe(lease);
    expect(next.ids.has(other)).toBe(true);
  });
});
