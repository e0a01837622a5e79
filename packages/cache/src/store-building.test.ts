// Building into a store: locks, other processes, file systems that fail at every step.
import { describe, expect, test } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processTag } from '@tsinductor/base';
import { nodeFileSystem } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import type { EntryDraft, StoreOptions } from './store.ts';
import { top, place, open, key, other, info, files, expectIntact, building } from './test-support/store-place.ts';

describe('building', () => {
  test('builds once, and the next one finds it', async () => {
    const count = { builds: 0 };
    expectIntact(await open().withBuildLock(key, building(count)));
    expectIntact(await open().withBuildLock(key, building(count)));
    expect(count.builds).toBe(1);
    expect(readdirSync(join(place.root, 'fx')).sort()).toEqual(['.damaged', '.locks', '.used', key]);
    expect(readdirSync(join(place.root, 'fx', '.locks'))).toEqual([]);
  });

  test('callers of one store share the build that is running', async () => {
    const store = open();
    const count = { builds: 0 };
    const artifacts = await Promise.all(Array.from({ length: 10 }, () => store.withBuildLock(key, building(count))));
    expect(count.builds).toBe(1);
    expect(new Set(artifacts).size).toBe(1);
  });

  test('what the build left beside its files is not kept', async () => {
    const artifact = await open().withBuildLock(key, (directory) => {
      writeFileSync(join(directory, 'kernel.so'), 'x');
      mkdirSync(join(directory, '.build-1'));
      writeFileSync(join(directory, 'scratch'), 'x');
      return Promise.resolve({ files: ['kernel.so'], info });
    });
    expect(readdirSync(artifact.directory).sort()).toEqual(['kernel.so', 'manifest.json']);
  });

  test('a build that fails leaves nothing, its error arrives, and the next one may try', async () => {
    const store = open();
    const failure = Object.assign(new Error('does not compile'), { code: 'COMPILER_FAILED' });
    const attempt = store.withBuildLock(key, (directory) => {
      writeFileSync(join(directory, 'kernel.so'), 'half');
      return Promise.reject(failure);
    });
    await expect(attempt).rejects.toBe(failure);
    expect(store.get(key)).toBeUndefined();
    expect(readdirSync(join(place.root, 'fx')).sort()).toEqual(['.damaged', '.locks', '.used']);
    expectIntact(await store.withBuildLock(key, building()));
  });

  test('a build that does not leave what it says is an error', async () => {
    const missing = (): Promise<EntryDraft> => Promise.resolve({ files: ['kernel.so'], info });
    await expect(open().withBuildLock(key, missing)).rejects.toMatchObject({ code: 'CACHE_DRAFT' });
    const link = (directory: string): Promise<EntryDraft> => {
      symlinkSync('/etc/hostname', join(directory, 'kernel.so'));
      return missing();
    };
    await expect(open().withBuildLock(key, link)).rejects.toMatchObject({ code: 'CACHE_DRAFT' });
    expect(open().get(key)).toBeUndefined();
  });

  test('a stale lock is taken over', async () => {
    const lock = join(place.root, 'fx', '.locks', `${key}.lock`);
    mkdirSync(lock, { recursive: true });
    const past = Date.now() / 1000 - 60;
    utimesSync(lock, past, past);
    const started = performance.now();
    expectIntact(await open().withBuildLock(key, building()));
    expect(performance.now() - started).toBeLessThan(2000);
    expect(place.events).toEqual([]);
  });

  test('a lock that is held too long is not waited for', async () => {
    mkdirSync(join(place.root, 'fx', '.locks', `${key}.lock`), { recursive: true });
    expectIntact(await open({ waitMilliseconds: 200, staleMilliseconds: 60_000 }).withBuildLock(key, building()));
    expect(place.events).toEqual([{ kind: 'unlocked', key, message: expect.stringContaining('held for 200 ms') }]);
  });

  test('a lock from the future is not waited for either', async () => {
    const lock = join(place.root, 'fx', '.locks', `${key}.lock`);
    mkdirSync(lock, { recursive: true });
    const future = Date.now() / 1000 + 86_400;
    utimesSync(lock, future, future);
    expectIntact(await open({ waitMilliseconds: 100 }).withBuildLock(key, building()));
  });

  test('where locks cannot be had, building goes on', async () => {
    const store = open();
    rmSync(join(place.root, 'fx', '.locks'), { recursive: true });
    writeFileSync(join(place.root, 'fx', '.locks'), '');
    expectIntact(await store.withBuildLock(key, building()));
    expect(place.events).toEqual([{ kind: 'unlocked', key, message: expect.stringContaining('without a lock') }]);
  });

  test('a lock that is lost during the build does no harm', async () => {
    const store = open({ staleMilliseconds: 4000 });
    const artifact = await store.withBuildLock(key, async (directory) => {
      rmSync(join(place.root, 'fx', '.locks', `${key}.lock`), { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return building()(directory);
    });
    expectIntact(artifact);
    expect(place.events).toEqual([{ kind: 'unlocked', key, message: expect.stringContaining('lost') }]);
  });

  test('whoever waits for a build in progress is given its result', async () => {
    const count = { builds: 0 };
    const slow = async (directory: string): Promise<EntryDraft> => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return building(count)(directory);
    };
    const artifacts = await Promise.all([1, 2, 3].map(() => open().withBuildLock(key, slow)));
    artifacts.forEach(expectIntact);
    expect(count.builds).toBe(1);
    expect(place.events).toEqual([]);
  });

  test('two builders without a lock agree on one entry', async () => {
    const slow = async (directory: string): Promise<EntryDraft> => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return building()(directory);
    };
    mkdirSync(join(place.root, 'fx', '.locks', `${key}.lock`), { recursive: true });
    const stores = [1, 2, 3, 4].map(() => open({ waitMilliseconds: 0, staleMilliseconds: 60_000 }));
    const artifacts = await Promise.all(stores.map((store) => store.withBuildLock(key, slow)));
    artifacts.forEach(expectIntact);
    expect(readdirSync(join(place.root, 'fx')).sort()).toEqual(['.damaged', '.locks', '.used', key]);
    expect(readdirSync(join(place.root, 'fx', '.damaged'))).toEqual([]);
  });

  test('what dead processes of this machine left is removed at once, beside the store too', async () => {
    const store = open();
    const { pid } = spawnSync(process.execPath, ['--version']);
    const tag = processTag().replace(`-${String(process.pid)}-`, `-${String(pid)}-`);
    const left = [`fx/.stage-${tag}a`, `.bridge-${tag}b`, `.record-${tag}c`].map((name) => join(place.root, name));
    const living = join(place.root, `.bridge-${processTag()}d`);
    for (const path of [...left, living]) mkdirSync(path);
    await store.withBuildLock(key, building());
    expect([...left, living].map((path) => existsSync(path))).toEqual([false, false, false, true]);
  });

  test('what killed processes left is removed after an hour', async () => {
    const store = open();
    const [old, young] = ['.stage-old', '.stage-young'].map((name) => join(place.root, 'fx', name));
    for (const path of [old, young]) mkdirSync(path ?? '');
    const past = Date.now() / 1000 - 4000;
    utimesSync(old ?? '', past, past);
    await store.withBuildLock(key, building());
    expect([existsSync(old ?? ''), existsSync(young ?? '')]).toEqual([false, true]);
  });
});

describe('the fallback', () => {
  test('is a store like any other, and gone when disposed', async () => {
    const store = open({ root: 'relative' });
    expect(place.events.map(({ kind }) => kind)).toEqual(['fallback']);
    expectIntact(await store.withBuildLock(key, building()));
    expectIntact(open({ root: store.root }).get(key));
    store[Symbol.dispose]();
    expect(existsSync(store.root)).toBe(false);
  });
});

interface Fault {
  readonly at: number;
  /** Whether all calls after that fail as well. */
  readonly lasts?: boolean;
}

/** A file system whose call number `at` fails; asynchronous members fail through their callback. */
function faulty({ at, lasts = false }: Fault, code: string): { fs: FileSystem; calls: () => number } {
  let calls = 0;
  const asynchronous = new Set(['mkdir', 'realpath', 'rmdir', 'stat', 'utimes']);
  const fs = new Proxy(nodeFileSystem(), {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        calls += 1;
        const error =
          calls === at || (lasts && calls > at)
            ? Object.assign(new Error(`${code}: injected in ${String(name)}`), { code })
            : undefined;
        if (error === undefined) return Reflect.apply(member, target, args) as unknown;
        if (name === 'closeSync') Reflect.apply(member, target, args);
        if (!asynchronous.has(String(name))) throw error;
        const callback = args.at(-1) as (error: Error) => void;
        setImmediate(() => {
          callback(error);
        });
        return undefined;
      };
    },
  });
  return { fs, calls: () => calls };
}

const typedCodes = ['CACHE_WRITE_FAILED', 'CACHE_NO_PLACE', 'CACHE_DRAFT'];

/** Uses a store whose file operations fail, each in its turn; gives how many operations there are, and the errors. */
async function sweep(code: string, lasts: boolean): Promise<{ operations: number; failures: unknown[] }> {
  const healthy = faulty({ at: 0 }, code);
  await useStore({ root: mkdtempSync(join(top, 'fault-')), fs: healthy.fs }, lasts);
  const operations = healthy.calls();
  const failures: unknown[] = [];
  let untried = 1;
  // Most of it is waiting for locks, so several are under way.
  const lane = async (): Promise<void> => {
    while (untried <= operations) {
      const root = mkdtempSync(join(top, 'fault-'));
      const { fs } = faulty({ at: untried++, lasts }, code);
      await useStore({ root, fs }, lasts).catch((error: unknown) => failures.push(error));
      await expectBelievable(root);
      rmSync(root, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: lasts ? 24 : 8 }, lane));
  return { operations, failures };
}

// What is done about a failure does not depend on its code, but for ENOENT.
test.each(['EIO', 'EACCES', 'ENOENT'])('any one file operation that fails with %s does no harm', async (code) => {
  const { operations, failures } = await sweep(code, false);
  expect(failures).toEqual([]);
  expect(place.events.filter(({ kind }) => kind === 'damaged')).toEqual([]);
  expect(operations).toBeGreaterThan(20);
});

test('when all fail from one on, the error is coded, and no entry partial', async () => {
  const { failures } = await sweep('EIO', true);
  expect(failures.length).toBeGreaterThan(5);
  for (const { code: coded } of failures as { code?: unknown }[]) expect(typedCodes).toContain(coded);
});

async function useStore(options: Pick<StoreOptions, 'root' | 'fs'>, mayMiss: boolean): Promise<void> {
  const store = open(options);
  expectIntact(await store.withBuildLock(key, building()));
  const found = store.get(key);
  if (!mayMiss || found !== undefined) expectIntact(found);
  expectIntact(store.put(other, files, info));
}

/** What lies there is whole, and building goes on. */
async function expectBelievable(root: string): Promise<void> {
  const healthy = open({ root, staleMilliseconds: 2000 });
  for (const each of [key, other]) {
    const found = healthy.get(each);
    if (found !== undefined) expectIntact(found);
  }
  expectIntact(await healthy.withBuildLock(key, building()));
}

describe('several processes', () => {
  const script = fileURLToPath(new URL('../test-support/build-process.mjs', import.meta.url));
  const run = (settings: Record<string, unknown>): Promise<{ stdout: string; killed: boolean; stderr: string }> =>
    new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [script, JSON.stringify({ key, ...settings })],
        (_error, stdout, stderr) => {
          resolve({ stdout, stderr, killed: child.signalCode === 'SIGKILL' });
        },
      );
    });

  test('eight that build one key at once: one build, and all have it', async () => {
    const log = join(place.root, 'log');
    const settings = { root: join(place.root, 'cache'), log, milliseconds: 500 };
    const results = await Promise.all(Array.from({ length: 8 }, () => run(settings)));
    expect(results).toEqual(new Array(8).fill({ stdout: `content of ${key}\n`, stderr: '', killed: false }));
    expect(readFileSync(log, 'utf8').split('\n')).toHaveLength(2);
  });

  test('killed at any moment, it leaves nothing that is believed, and the next one builds', async () => {
    const moments = Array.from({ length: 24 }, (_, i) => 1 + i * 4);
    let killed = 0;
    const lane = async (own: number[]): Promise<void> => {
      for (const killAt of own) {
        const home = join(place.root, `kill-${String(killAt)}`);
        const settings = { root: home, log: `${home}.log`, milliseconds: 1 };
        const result = await run({ ...settings, killAt });
        if (result.killed) killed += 1;
        const store = open({ root: home, staleMilliseconds: 2000 });
        const found = store.get(key);
        if (found !== undefined) expect(readFileSync(found.paths['text'] ?? '', 'utf8')).toBe(`content of ${key}`);
        const artifact = await store.withBuildLock(key, building());
        expect(Object.keys(artifact.paths)).toHaveLength(2);
        store.prune(0);
        expect(readdirSync(join(home, 'fx')).sort()).toEqual(['.damaged', '.locks', '.used', key].sort());
      }
    };
    await Promise.all([0, 1, 2, 3].map((rest) => lane(moments.filter((_, i) => i % 4 === rest))));
    expect(killed).toBeGreaterThan(10);
    expect(place.events.filter(({ kind }) => kind === 'damaged')).toEqual([]);
  });
});
