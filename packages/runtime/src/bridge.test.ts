import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { constants as bufferConstants } from 'node:buffer';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { totalmem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { buildBridge } from './build-bridge.ts';
import { openBridge } from './bridge.ts';
import type { Bridge, EntryId } from './bridge.ts';
import { compileUnitsSync } from './compile-units.ts';
import { runCommandSync } from './run-command.ts';
import { createStoragePool } from './storage-pool.ts';
import { findToolchain } from './toolchain.ts';
import type { Toolchain } from './toolchain.ts';
import { rude, source } from './test-support/bridge-library.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
const ready = toolchain !== undefined && process.platform === 'linux';
if (!ready) console.log('skipped: the native bridge, because no C++ compiler was found (or this is not Linux)');
const host = ready ? describe : describe.skip;

host('the native bridge', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tsinductor-bridge-'));
  const library = join(directory, 'test.so');
  let compiler: Toolchain;
  let bridge: Bridge;

  beforeAll(() => {
    if (toolchain === undefined) return;
    compiler = toolchain;
    bridge = openBridge({ toolchain, directory });
    compileUnitsSync(toolchain, [{ name: 'test', source }], { outPath: library });
  });
  afterAll(() => {
    bridge.setThreads(1);
    rmSync(directory, { recursive: true, force: true });
  });

  const bind = (symbol: string, buffers: readonly number[], sizes: readonly number[]): (() => number) =>
    bridge.bind(bridge.load(library, symbol), Float64Array.of(...buffers, ...sizes), {
      buffers: buffers.length,
      sizes: sizes.length,
    });

  describe('memory', () => {
    test('is aligned to 64 bytes, and from 4 MB up to 2 MB', () => {
      for (const bytes of [0, 1, 63, 64, 65, 1000, 4096, 65_536, 1_000_000, 4 * 2 ** 20 - 64]) {
        const block = bridge.allocate(bytes);
        expect(block.address % 64).toBe(0);
        expect(block.bytes).toBeGreaterThanOrEqual(bytes);
        expect(block.buffer.byteLength).toBe(block.bytes);
        expect(bridge.addressOf(new Uint8Array(block.buffer))).toBe(block.address);
      }
      for (const bytes of [4 * 2 ** 20, 4 * 2 ** 20 + 1, 9_999_999]) {
        expect(bridge.allocate(bytes).address % (2 * 2 ** 20)).toBe(0);
      }
    });

    test('huge pages are asked for under any array, and change nothing that it holds', () => {
      for (const bytes of [0, 1, 64, 5000, 2 * 2 ** 20, 9_999_999]) {
        const array = new Uint8Array(bytes).fill(7);
        bridge.preferHugePages(array);
        expect(array.every((value) => value === 7)).toBe(true);
      }
    });

    test('can be written from end to end', () => {
      for (const bytes of [64, 4096, 5 * 2 ** 20 + 64]) {
        const block = bridge.allocate(bytes);
        new Uint8Array(block.buffer).fill(7);
        expect(new Uint8Array(block.buffer).at(-1)).toBe(7);
        bridge.free(block);
      }
    });

    test('freed memory is out of reach, and freeing twice does nothing', () => {
      const block = bridge.allocate(4096);
      const view = new Float32Array(block.buffer);
      bridge.free(block);
      expect(view).toHaveLength(0);
      expect(block.buffer.byteLength).toBe(0);
      bridge.free(block);
    });

    test('a synchronous loop of large blocks needs the memory of one', () => {
      const before = process.memoryUsage().rss;
      for (let i = 0; i < 200; i += 1) {
        const block = bridge.allocate(64 * 2 ** 20);
        new Uint8Array(block.buffer).fill(1, 0, 2 ** 20);
        bridge.free(block);
      }
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20);
    });

    test('sizes that are no sizes are refused', () => {
      for (const bytes of [-1, 0.5, NaN, Infinity, -Infinity, 2 ** 53, 1e300]) {
        expect(() => bridge.allocate(bytes)).toThrow(expect.objectContaining({ code: 'ALLOCATION_SIZE' }));
      }
    });

    test('sizes beyond the machine or the engine are refused', () => {
      for (const bytes of [2 ** 53 - 1, 2 ** 47, totalmem() + 1, bufferConstants.MAX_LENGTH]) {
        expect(() => bridge.allocate(bytes)).toThrow(
          expect.objectContaining({ name: 'UserError', code: 'OUT_OF_MEMORY' }),
        );
      }
    });

    test('a small array keeps the address that was asked for', () => {
      const small = Float64Array.of(1, 2);
      const address = bridge.addressOf(small);
      for (let i = 0; i < 1000; i += 1) new Array(1000).fill(i);
      expect(bridge.addressOf(small)).toBe(address);
    });
  });

  describe('loading and calling', () => {
    test('a bound function reads its table at each call', () => {
      const values = bridge.allocate(800);
      const out = bridge.allocate(8);
      new Float64Array(values.buffer).set([1, 2, 3.5]);
      const table = Float64Array.of(values.address, out.address, 3);
      const call = bridge.bind(bridge.load(library, 'sum'), table, { buffers: 2, sizes: 1 });
      expect(call()).toBe(0);
      expect(new Float64Array(out.buffer)[0]).toBe(6.5);
      table[2] = 2;
      call();
      expect(new Float64Array(out.buffer)[0]).toBe(3);
    });

    test('addresses and sizes arrive exactly', () => {
      expect(bind('third', [2 ** 47 - 4096, 5, 2 ** 47 - 4090], [9, 1000])()).toBe(1006);
      for (const status of [0, 1, 77, 2 ** 31 - 1, -1]) expect(bind('status', [], [status])()).toBe(status);
    });

    test('a bound function outlives the table that JavaScript forgot', () => {
      const call = bind('status', [], [42]);
      for (let i = 0; i < 200; i += 1) new Float64Array(100_000).fill(i);
      expect(call()).toBe(42);
    });

    test('a call costs far less than a microsecond', () => {
      const call = bind('nothing', [1, 2], [3]);
      const started = performance.now();
      for (let i = 0; i < 300_000; i += 1) call();
      console.log(`a bound call: ${(((performance.now() - started) * 1e6) / 300_000).toFixed(1)} ns`);
      expect(call()).toBe(0);
    });

    test('an asynchronous call gives the same, with the values of its start', async () => {
      const entry = bridge.load(library, 'status');
      const table = Float64Array.of(5);
      const promise = bridge.callAsync(entry, table, { buffers: 0, sizes: 1 });
      table[0] = 6;
      expect(await promise).toBe(5);
    });

    test('tables that are too short are refused', () => {
      const entry = bridge.load(library, 'nothing');
      for (const counts of [
        { buffers: 3, sizes: 0 },
        { buffers: 1, sizes: 2 },
        { buffers: -1, sizes: 1 },
        { buffers: NaN, sizes: 0 },
      ]) {
        const attempt = (): unknown => bridge.bind(entry, new Float64Array(2), counts);
        expect(attempt).toThrow(expect.objectContaining({ code: 'BRIDGE_BINDING' }));
      }
    });

    test('what cannot be loaded is an error', () => {
      const garbage = join(directory, 'garbage.so');
      writeFileSync(garbage, 'no library');
      const cut = join(directory, 'cut.so');
      copyFileSync(library, cut);
      truncateSync(cut, 100);
      const notLoaded = expect.objectContaining({ code: 'LIBRARY_NOT_LOADED' });
      for (const path of [
        garbage,
        cut,
        join(directory, 'none.so'),
        'test.so',
        `${library}\0`,
        `/${'x'.repeat(5000)}`,
      ]) {
        expect(() => bridge.load(path, 'nothing')).toThrow(notLoaded);
      }
      expect(() => bridge.load(library, 'unknown')).toThrow(expect.objectContaining({ code: 'SYMBOL_NOT_FOUND' }));
    });
  });

  describe('the floating-point environment', () => {
    test('is the default one, and loading leaves it alone', () => {
      const before = bridge.readMxcsr();
      if (process.arch === 'x64') expect(before).toBe(0x1f80);
      bridge.load(library, 'cover');
      expect(bridge.readMxcsr()).toBe(before);
    });

    (process.arch === 'x64' ? test : test.skip)('a library that changes it is refused, and the change undone', () => {
      const path = join(directory, 'rude.so');
      compileUnitsSync(compiler, [{ name: 'rude', source: rude }], { outPath: path });
      const attempt = (): EntryId => bridge.load(path, 'f');
      expect(attempt).toThrow(expect.objectContaining({ code: 'FLOAT_ENVIRONMENT_CHANGED' }));
      expect(bridge.readMxcsr()).toBe(0x1f80);
      expect(Number.MIN_VALUE * 4 * 0.5).toBeGreaterThan(0);
    });
  });

  describe('parallel', () => {
    const counts = (length: number): { address: number; values: Int32Array } => {
      const block = bridge.allocate(4 * length);
      const values = new Int32Array(block.buffer, 0, length).fill(0);
      return { address: block.address, values };
    };

    test.each([1, 2, 3, 8])('covers each index exactly once with %i threads', (threads) => {
      expect(bridge.setThreads(threads)).toBe(threads);
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: -1, max: 600 }), (total, grain) => {
          const { address, values } = counts(total);
          expect(bind('cover', [address], [total, grain])()).toBe(threads);
          expect(values.every((count) => count === 1)).toBe(true);
        }),
        { numRuns: 200, seed: threads },
      );
    });

    test('chunks begin at multiples of the grain', () => {
      bridge.setThreads(3);
      for (const [total, grain] of [
        [1000, 1],
        [1000, 7],
        [1000, 64],
        [17, 16],
        [999, 500],
        [2 ** 40, 2 ** 20 + 1],
      ] as const) {
        expect(bind('bounds', [], [total, grain])()).toBe(0);
      }
    });

    test('a second thread begins a short job in its middle, and a long one beside the first thread', () => {
      bridge.setThreads(2);
      const second = (total: number): number => bind('meet', [], [total, 1])();
      expect([second(2), second(8), second(64)]).toEqual([1, 4, 32]);
      expect([second(65), second(3200)]).toEqual([3, 100]);
      // Any two of three may be first; were there no second, the first would wait for ever.
      bridge.setThreads(4);
      expect([1, 2, 3]).toContain(second(3));
    });

    test('nested calls run, and cover', () => {
      bridge.setThreads(4);
      const { address, values } = counts(3000);
      bind('nested', [address], [30])();
      expect(values.every((count) => count === 1)).toBe(true);
    });

    test('many short jobs in a row', () => {
      bridge.setThreads(4);
      const { address, values } = counts(9);
      bind('many', [address], [9, 20_000])();
      expect([...values]).toEqual(new Array(9).fill(20_000));
    });

    test('the number of threads may change between calls', () => {
      const { address, values } = counts(50);
      const call = bind('cover', [address], [50, 1]);
      const sequence = [1, 4, 2, 8, 1, 3];
      for (const threads of sequence) {
        bridge.setThreads(threads);
        expect(call()).toBe(threads);
      }
      expect([...new Set(values)]).toEqual([sequence.length]);
      expect([bridge.setThreads(0), bridge.setThreads(NaN), bridge.setThreads(1e9)]).toEqual([1, 1, 256]);
      bridge.setThreads(2);
    });

    test('asynchronous calls beside each other, some of which find the pool busy', async () => {
      bridge.setThreads(2);
      const entry = bridge.load(library, 'slow');
      const results = Array.from({ length: 8 }, () => counts(40));
      const calls = results.map(({ address }) =>
        bridge.callAsync(entry, Float64Array.of(address, 40), { buffers: 1, sizes: 1 }),
      );
      await Promise.all(calls);
      for (const { values } of results) expect([...new Set(values)]).toEqual([1]);
    });
  });

  describe('the built addon', () => {
    const homes = (): string[] => readdirSync(directory).filter((name) => name.startsWith('bridge-'));

    test('is built once', () => {
      const path = buildBridge({ toolchain: compiler, directory });
      const { mtimeMs, ino } = statSync(path);
      expect(buildBridge({ toolchain: compiler, directory })).toBe(path);
      expect(statSync(path)).toMatchObject({ mtimeMs, ino });
      expect(homes()).toHaveLength(1);
      expect(readdirSync(directory).filter((name) => name.startsWith('.bridge-'))).toEqual([]);
    });

    test('is built anew when a byte of it has changed', () => {
      const fresh = mkdtempSync(join(tmpdir(), 'tsinductor-bridge-damage-'));
      const path = buildBridge({ toolchain: compiler, directory: fresh });
      const bytes = readFileSync(path);
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(5000) ^ 1, 5000);
      writeFileSync(path, damaged);
      expect(buildBridge({ toolchain: compiler, directory: fresh })).toBe(path);
      expect(readFileSync(path).equals(bytes)).toBe(true);
      expect(readdirSync(fresh)).toHaveLength(1);
      rmSync(fresh, { recursive: true });
    });

    test('where nothing can be written, the error says so', () => {
      const file = join(directory, 'file');
      writeFileSync(file, '');
      const attempt = (): unknown => buildBridge({ toolchain: compiler, directory: join(file, 'sub') });
      expect(attempt).toThrow(expect.objectContaining({ code: 'OUTPUT_NOT_WRITTEN' }));
    });

    test('loads in worker threads, which may compute at the same time and end', async () => {
      bridge.setThreads(3);
      const addon = buildBridge({ toolchain: compiler, directory });
      const script = `
        const { parentPort, workerData } = require('node:worker_threads');
        const addon = { exports: {} };
        process.dlopen(addon, workerData.addon);
        const counts = new Int32Array(64);
        const table = Float64Array.of(addon.exports.addressOf(counts), 64, 5000);
        const call = addon.exports.bind(addon.exports.load(workerData.library, 'many'), table, 1, 2);
        parentPort.postMessage([call(), ...new Set(counts)]);
      `;
      const runWorker = (): Promise<unknown> =>
        new Promise((resolve, reject) => {
          const worker = new Worker(script, { eval: true, workerData: { addon, library } });
          let answer: unknown;
          worker.on('message', (message) => {
            answer = message;
          });
          worker.on('error', reject);
          worker.on('exit', () => {
            resolve(answer);
          });
        });
      expect(await Promise.all([runWorker(), runWorker(), runWorker()])).toEqual([
        [0, 5000],
        [0, 5000],
        [0, 5000],
      ]);
      expect(bind('status', [], [1])()).toBe(1);
    });

    test('a process that used it in a worker only, with threads running, ends by itself', () => {
      const addon = buildBridge({ toolchain: compiler, directory });
      const inner = `
        const addon = { exports: {} };
        process.dlopen(addon, ${JSON.stringify(addon)});
        addon.exports.setThreads(4);
        const counts = new Int32Array(64);
        const table = Float64Array.of(addon.exports.addressOf(counts), 64, 10);
        addon.exports.bind(addon.exports.load(${JSON.stringify(library)}, 'many'), table, 1, 2)();
        addon.exports.allocate(1 << 20, new Float64Array(2));
      `;
      const script = `
        const { Worker } = require('node:worker_threads');
        const worker = new Worker(${JSON.stringify(inner)}, { eval: true });
        worker.on('exit', (code) => { setTimeout(() => console.log('done', code), 50); });
      `;
      const settings = { milliseconds: 20_000, environment: {} };
      const outcome = runCommandSync([process.execPath, '-e', script], settings);
      expect(outcome).toEqual({ end: { kind: 'exited', status: 0 }, stdout: 'done 0\n', stderr: '' });
    });
  });

  test('a pool on native memory hands the same memory out again', () => {
    const pool = createStoragePool(bridge);
    const first = pool.acquire(100_000);
    pool.release(first);
    const second = pool.acquire(99_999);
    expect(second.address).toBe(first.address);
    expect(second.buffer).toBe(first.buffer);
    pool.release(second);
    expect(pool.trim()).toBe(second.bytes);
    expect(second.buffer.byteLength).toBe(0);
  });
});
