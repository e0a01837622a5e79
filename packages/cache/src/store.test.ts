import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Artifact, EntryInfo } from './entry.ts';
import type { CacheEvent } from './events.ts';
import { nodeFileSystem } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { cacheKey } from './key.ts';
import { openStore } from './store.ts';
import type { ArtifactStore, EntryDraft, StoreOptions } from './store.ts';

const top = mkdtempSync(join(tmpdir(), 'tsinductor-store-'));
let root = '';
let events: CacheEvent[] = [];
beforeEach(() => {
  root = mkdtempSync(join(top, 'root-'));
  events = [];
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

const open = (more: Partial<StoreOptions> = {}): ArtifactStore =>
  openStore({
    root,
    namespace: 'fx',
    temporaryDirectory: top,
    report: (event) => {
      events.push(event);
    },
    ...more,
  });

const key = cacheKey({ test: 1 });
const other = cacheKey({ test: 2 });
const info: EntryInfo = {
  inputs: { graph: 'x' },
  versions: { compiler: 'g++ 12' },
  data: { entry: 'main', n: [1, 2] },
};
const files = {
  'kernel.so': Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 7) % 256)),
  'kernel.cc': 'int x;\n',
};
const entry = (name = ''): string => join(root, 'fx', key, name);

function expectIntact(artifact: Artifact | undefined): void {
  expect(artifact?.manifest.data).toEqual(info.data);
  expect(readFileSync(artifact?.paths['kernel.so'] ?? '').equals(files['kernel.so'])).toBe(true);
  expect(readFileSync(artifact?.paths['kernel.cc'] ?? '', 'utf8')).toBe(files['kernel.cc']);
}

const building =
  (count = { builds: 0 }) =>
  (directory: string): Promise<EntryDraft> => {
    count.builds += 1;
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    return Promise.resolve({ files: Object.keys(files), info });
  };

describe('keys', () => {
  test('do not depend on the order of the parts, and change with any of them', () => {
    expect(cacheKey({ a: 1, b: { c: 2, d: 3 } })).toBe(cacheKey({ b: { d: 3, c: 2 }, a: 1 }));
    const variants = [
      {},
      { a: 1 },
      { a: '1' },
      { a: -1 },
      { a: [1] },
      { b: 1 },
      { a: 1n },
      { a: NaN },
      { a: null },
      { a: 0 },
      { a: -0 },
    ];
    expect(new Set(variants.map(cacheKey)).size).toBe(variants.length);
  });

  test('that are not hex are refused everywhere', async () => {
    const store = open();
    const hostile = [
      '',
      '..',
      '../../../etc/passwd',
      '/abs',
      `${key}/x`,
      key.toUpperCase(),
      `${key}\0`,
      ' '.repeat(64),
      'g'.repeat(64),
      'a',
      'f'.repeat(200),
    ];
    for (const bad of hostile) {
      const refused = expect.objectContaining({ code: 'CACHE_KEY' });
      expect(() => store.get(bad)).toThrow(refused);
      expect(() => store.put(bad, files, info)).toThrow(refused);
      await expect((async () => store.withBuildLock(bad, building()))()).rejects.toMatchObject({ code: 'CACHE_KEY' });
    }
    expect(readdirSync(join(root, 'fx')).sort()).toEqual(['.damaged', '.locks']);
  });

  test('file names and namespaces that could leave the entry are refused', async () => {
    const store = open();
    for (const name of ['', '.', '..', '.hidden', 'a/b', '/x', 'manifest.json', 'a\0', 'x'.repeat(200), '-x', 'a b']) {
      expect(() => store.put(key, { [name]: 'x' }, info)).toThrow(expect.objectContaining({ code: 'CACHE_FILE_NAME' }));
      const build = (): Promise<EntryDraft> => Promise.resolve({ files: [name], info });
      await expect(store.withBuildLock(key, build)).rejects.toMatchObject({ code: 'CACHE_FILE_NAME' });
    }
    for (const namespace of ['', '.', '../x', 'A', 'a/b', 'x'.repeat(50)]) {
      expect(() => open({ namespace })).toThrow(expect.objectContaining({ code: 'CACHE_NAMESPACE' }));
    }
    expect(store.list()).toEqual([]);
  });
});

describe('put and get', () => {
  test('what was put is found, here and by another reader', () => {
    const store = open();
    expect(store.get(key)).toBeUndefined();
    expectIntact(store.put(key, files, info));
    expectIntact(store.get(key));
    const reader = open();
    expectIntact(reader.get(key));
    expect(reader.get(key)).toBe(reader.get(key));
    expect(reader.stats()).toEqual({ hits: 3, memoryHits: 2, misses: 0, builds: 0, damaged: 0 });
    expect(store.get(other)).toBeUndefined();
    expect(events).toEqual([]);
  });

  test('the manifest says what went in', () => {
    const { manifest } = open().put(key, files, info);
    expect(manifest).toMatchObject({ key, namespace: 'fx', inputs: info.inputs, versions: info.versions });
    expect(manifest.files.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['kernel.cc', 7],
      ['kernel.so', 300],
    ]);
  });

  test('equal entries have equal bytes', () => {
    open().put(key, files, info);
    const first = readFileSync(entry('manifest.json'));
    rmSync(entry(), { recursive: true });
    open().put(key, files, { data: info.data, versions: info.versions, inputs: info.inputs });
    expect(readFileSync(entry('manifest.json')).equals(first)).toBe(true);
  });

  test('the first of two puts stays', () => {
    const store = open();
    store.put(key, files, info);
    const second = store.put(key, { 'kernel.so': 'different' }, info);
    expectIntact(second);
    expect(readdirSync(join(root, 'fx')).sort()).toEqual(['.damaged', '.locks', key]);
  });

  test('namespaces are apart', () => {
    open().put(key, files, info);
    expect(open({ namespace: 'other' }).get(key)).toBeUndefined();
  });

  test('list and clear', () => {
    const store = open();
    store.put(key, files, info);
    store.put(other, { a: '1' }, info);
    const listed = store.list();
    expect(listed.map((summary) => summary.key)).toEqual([key, other].sort());
    expect(listed.every(({ bytes, modified }) => bytes > 100 && Math.abs(Date.now() - modified) < 60_000)).toBe(true);
    expect(store.clear()).toBe(2);
    expect(store.list()).toEqual([]);
    expect(store.get(key)).toBeUndefined();
    expect(readdirSync(join(root, 'fx', '.damaged'))).toEqual([]);
    expect(events).toEqual([]);
  });

  test('memory is bounded', () => {
    const store = open({ memoryEntries: 1 });
    store.put(key, files, info);
    store.put(other, files, info);
    store.get(key);
    store.get(other);
    expect(store.stats().memoryHits).toBe(0);
    store.get(other);
    expect(store.stats().memoryHits).toBe(1);
  });
});

describe('damage', () => {
  /** Damages a fresh entry, and expects a reported miss and a good entry after the next put. */
  function expectDetected(damage: () => void): void {
    const writer = open();
    writer.put(key, files, info);
    damage();
    events = [];
    expect(open().get(key)).toBeUndefined();
    expect(events).toEqual([{ kind: 'damaged', key, message: expect.stringContaining('is damaged') }]);
    expect(existsSync(entry())).toBe(false);
    expect(writer.get(key)).toBeUndefined();
    expectIntact(open().put(key, files, info));
    rmSync(entry(), { recursive: true });
  }

  test('every flipped bit of every file', () => {
    for (const name of ['manifest.json', 'kernel.so', 'kernel.cc']) {
      open().put(key, files, info);
      const size = statSync(entry(name)).size;
      rmSync(entry(), { recursive: true });
      for (let bit = 0; bit < size * 8; bit += 37) {
        expectDetected(() => {
          const bytes = readFileSync(entry(name));
          bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
          writeFileSync(entry(name), bytes);
        });
      }
    }
  });

  test.each(['manifest.json', 'kernel.so', 'kernel.cc'])(
    '%s cut, emptied, prolonged, removed, or made something else',
    (name) => {
      for (const length of [0, 1, 5]) expectDetected(() => truncateSync(entry(name), length));
      expectDetected(() => appendFileSync(entry(name), ' '));
      expectDetected(() => rmSync(entry(name)));
      expectDetected(() => {
        cpSync(entry(name), join(top, 'copy'));
        rmSync(entry(name));
        symlinkSync(join(top, 'copy'), entry(name));
      });
      expectDetected(() => {
        rmSync(entry(name));
        mkdirSync(entry(name));
      });
    },
  );

  test('files or entries that were swapped', () => {
    const swap = (from: string, to: string): void => {
      cpSync(from, `${from}.tmp`, { recursive: true });
      rmSync(to, { recursive: true });
      cpSync(`${from}.tmp`, to, { recursive: true });
      rmSync(`${from}.tmp`, { recursive: true });
    };
    expectDetected(() => swap(entry('kernel.cc'), entry('kernel.so')));
    open().put(other, { 'kernel.so': 'x', 'kernel.cc': 'y' }, info);
    expectDetected(() => swap(join(root, 'fx', other), entry()));
    expectDetected(() => swap(join(root, 'fx', other, 'manifest.json'), entry('manifest.json')));
    open({ namespace: 'other' }).put(key, files, info);
    expectDetected(() => swap(join(root, 'other', key), entry()));
  });

  test('an entry that is a file', () => {
    expectDetected(() => {
      rmSync(entry(), { recursive: true });
      writeFileSync(entry(), 'x');
    });
  });

  test('what was verified before is not believed after a change', () => {
    const store = open();
    store.put(key, files, info);
    expectIntact(store.get(key));
    const bytes = readFileSync(entry('kernel.so'));
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
    writeFileSync(entry('kernel.so'), bytes);
    expect(store.get(key)).toBeUndefined();
    expect(store.stats()).toMatchObject({ damaged: 1, misses: 1 });
  });

  test('few damaged entries are kept', () => {
    for (let i = 0; i < 12; i += 1) {
      open().put(key, files, info);
      truncateSync(entry('kernel.so'), i);
      open().get(key);
    }
    expect(readdirSync(join(root, 'fx', '.damaged'))).toHaveLength(8);
    expect(open().prune(0)).toBe(8);
    expect(readdirSync(join(root, 'fx', '.damaged'))).toEqual([]);
  });
});

describe('building', () => {
  test('builds once, and the next one finds it', async () => {
    const count = { builds: 0 };
    expectIntact(await open().withBuildLock(key, building(count)));
    expectIntact(await open().withBuildLock(key, building(count)));
    expect(count.builds).toBe(1);
    expect(readdirSync(join(root, 'fx')).sort()).toEqual(['.damaged', '.locks', key]);
    expect(readdirSync(join(root, 'fx', '.locks'))).toEqual([]);
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
    expect(readdirSync(join(root, 'fx')).sort()).toEqual(['.damaged', '.locks']);
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
    const lock = join(root, 'fx', '.locks', `${key}.lock`);
    mkdirSync(lock, { recursive: true });
    const past = Date.now() / 1000 - 60;
    utimesSync(lock, past, past);
    const started = performance.now();
    expectIntact(await open().withBuildLock(key, building()));
    expect(performance.now() - started).toBeLessThan(2000);
    expect(events).toEqual([]);
  });

  test('a lock that is held too long is not waited for', async () => {
    mkdirSync(join(root, 'fx', '.locks', `${key}.lock`), { recursive: true });
    expectIntact(await open({ waitMilliseconds: 200, staleMilliseconds: 60_000 }).withBuildLock(key, building()));
    expect(events).toEqual([{ kind: 'unlocked', key, message: expect.stringContaining('held for 200 ms') }]);
  });

  test('a lock from the future is not waited for either', async () => {
    const lock = join(root, 'fx', '.locks', `${key}.lock`);
    mkdirSync(lock, { recursive: true });
    const future = Date.now() / 1000 + 86_400;
    utimesSync(lock, future, future);
    expectIntact(await open({ waitMilliseconds: 100 }).withBuildLock(key, building()));
  });

  test('where locks cannot be had, building goes on', async () => {
    const store = open();
    rmSync(join(root, 'fx', '.locks'), { recursive: true });
    writeFileSync(join(root, 'fx', '.locks'), '');
    expectIntact(await store.withBuildLock(key, building()));
    expect(events).toEqual([{ kind: 'unlocked', key, message: expect.stringContaining('without a lock') }]);
  });

  test('a lock that is lost during the build does no harm', async () => {
    const store = open({ staleMilliseconds: 4000 });
    const artifact = await store.withBuildLock(key, async (directory) => {
      rmSync(join(root, 'fx', '.locks', `${key}.lock`), { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, 1500));
      return building()(directory);
    });
    expectIntact(artifact);
    expect(events).toEqual([{ kind: 'unlocked', key, message: expect.stringContaining('lost') }]);
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
    expect(events).toEqual([]);
  });

  test('two builders without a lock agree on one entry', async () => {
    const slow = async (directory: string): Promise<EntryDraft> => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return building()(directory);
    };
    mkdirSync(join(root, 'fx', '.locks', `${key}.lock`), { recursive: true });
    const stores = [1, 2, 3, 4].map(() => open({ waitMilliseconds: 0, staleMilliseconds: 60_000 }));
    const artifacts = await Promise.all(stores.map((store) => store.withBuildLock(key, slow)));
    artifacts.forEach(expectIntact);
    expect(readdirSync(join(root, 'fx')).sort()).toEqual(['.damaged', '.locks', key]);
    expect(readdirSync(join(root, 'fx', '.damaged'))).toEqual([]);
  });

  test('what killed processes left is removed after an hour', async () => {
    const store = open();
    const [old, young] = ['.stage-old', '.stage-young'].map((name) => join(root, 'fx', name));
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
    expect(events.map(({ kind }) => kind)).toEqual(['fallback']);
    expectIntact(await store.withBuildLock(key, building()));
    expectIntact(open({ root: store.root }).get(key));
    store[Symbol.dispose]();
    expect(existsSync(store.root)).toBe(false);
  });
});

/** A file system whose call number `at` fails; asynchronous members fail through their callback. */
function faulty(at: number, code: string): { fs: FileSystem; calls: () => number } {
  let calls = 0;
  const asynchronous = new Set(['mkdir', 'realpath', 'rmdir', 'stat', 'utimes']);
  const fs = new Proxy(nodeFileSystem(), {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        calls += 1;
        const error =
          calls === at ? Object.assign(new Error(`${code}: injected in ${String(name)}`), { code }) : undefined;
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

describe.each(['ENOSPC', 'EIO', 'EMFILE', 'EACCES', 'EROFS', 'ESTALE', 'ENOENT'])(
  'each file operation failing with %s',
  (code) => {
    test('gives the right result or a coded error, and never a partial entry', async () => {
      let reached = true;
      let failures = 0;
      for (let at = 1; reached; at += 1) {
        root = mkdtempSync(join(top, 'fault-'));
        const { fs, calls } = faulty(at, code);
        try {
          const store = open({ fs });
          expectIntact(await store.withBuildLock(key, building()));
          expectIntact(store.get(key) ?? store.get(key));
          expectIntact(store.put(other, files, info));
        } catch (error) {
          failures += 1;
          expect(typedCodes).toContain((error as { code?: unknown }).code);
        }
        reached = calls() >= at;
        const healthy = open();
        for (const each of [key, other]) {
          const found = healthy.get(each);
          if (found !== undefined) expectIntact(found);
        }
        expectIntact(await healthy.withBuildLock(key, building()));
        expect(events.filter(({ kind }) => kind === 'damaged' && code !== 'ENOENT')).toEqual([]);
        rmSync(root, { recursive: true, force: true });
      }
      expect(failures).toBeGreaterThan(5);
    });
  },
);

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
    const log = join(root, 'log');
    const settings = { root: join(root, 'cache'), log, milliseconds: 500 };
    const results = await Promise.all(Array.from({ length: 8 }, () => run(settings)));
    expect(results).toEqual(new Array(8).fill({ stdout: `content of ${key}\n`, stderr: '', killed: false }));
    expect(readFileSync(log, 'utf8').split('\n')).toHaveLength(2);
  });

  test('killed at any moment, it leaves nothing that is believed, and the next one builds', async () => {
    const moments = Array.from({ length: 24 }, (_, i) => 1 + i * 4);
    let killed = 0;
    const lane = async (own: number[]): Promise<void> => {
      for (const killAt of own) {
        const home = join(root, `kill-${String(killAt)}`);
        const settings = { root: home, log: `${home}.log`, milliseconds: 1 };
        const result = await run({ ...settings, killAt });
        if (result.killed) killed += 1;
        const store = open({ root: home, staleMilliseconds: 2000 });
        const found = store.get(key);
        if (found !== undefined) expect(readFileSync(found.paths['text'] ?? '', 'utf8')).toBe(`content of ${key}`);
        const artifact = await store.withBuildLock(key, building());
        expect(Object.keys(artifact.paths)).toHaveLength(2);
        store.prune(0);
        expect(readdirSync(join(home, 'fx')).sort()).toEqual(['.damaged', '.locks', key].sort());
      }
    };
    await Promise.all([0, 1, 2, 3].map((rest) => lane(moments.filter((_, i) => i % 4 === rest))));
    expect(killed).toBeGreaterThan(10);
    expect(events.filter(({ kind }) => kind === 'damaged')).toEqual([]);
  });
});
