// What a store keeps, finds and refuses; what it does with damage.
import { describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { nodeFileSystem } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { cacheKey } from './key.ts';
import type { EntryDraft } from './store.ts';
import {
  top,
  place,
  open,
  key,
  other,
  info,
  files,
  entry,
  expectIntact,
  building,
} from './test-support/store-place.ts';

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
    expect(readdirSync(join(place.root, 'fx')).sort()).toEqual(['.damaged', '.locks', '.used']);
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
    expect(place.events).toEqual([]);
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
    expect(readdirSync(join(place.root, 'fx')).sort()).toEqual(['.damaged', '.locks', '.used', key]);
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
    expect(readdirSync(join(place.root, 'fx', '.damaged'))).toEqual([]);
    expect(place.events).toEqual([]);
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
    place.events = [];
    expect(open().get(key)).toBeUndefined();
    expect(place.events).toEqual([{ kind: 'damaged', key, message: expect.stringContaining('is damaged') }]);
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
    expectDetected(() => swap(join(place.root, 'fx', other), entry()));
    expectDetected(() => swap(join(place.root, 'fx', other, 'manifest.json'), entry('manifest.json')));
    open({ namespace: 'other' }).put(key, files, info);
    expectDetected(() => swap(join(place.root, 'other', key), entry()));
  });

  test('a FIFO, or a file of 3 GB without content, is not read', () => {
    expectDetected(() => {
      rmSync(entry('kernel.so'));
      execFileSync('mkfifo', [entry('kernel.so')]);
    });
    expectDetected(() => {
      rmSync(entry('manifest.json'));
      execFileSync('mkfifo', [entry('manifest.json')]);
    });
    for (const name of ['manifest.json', 'kernel.so']) expectDetected(() => truncateSync(entry(name), 3 * 2 ** 30));
  });

  test('what turned out not to work is put away, and reported', () => {
    const store = open();
    store.put(key, files, info);
    store.discard(key, 'it is not loaded');
    expect(place.events).toEqual([{ kind: 'damaged', key, message: expect.stringContaining('it is not loaded') }]);
    expect(store.get(key)).toBeUndefined();
    expectIntact(store.put(key, files, info));
  });

  test('an entry that cannot be read is replaced by the next one', () => {
    open().put(key, files, info);
    const failing: FileSystem = {
      ...nodeFileSystem(),
      openSync: (path, flags) => {
        const isEntry = String(path).startsWith(entry());
        if (isEntry && readFileSync(entry('kernel.cc'), 'utf8') === 'unreadable')
          throw Object.assign(new Error('EIO'), { code: 'EIO' });
        return nodeFileSystem().openSync(path, flags);
      },
    };
    writeFileSync(entry('kernel.cc'), 'unreadable');
    const store = open({ fs: failing });
    expect(store.get(key)).toBeUndefined();
    expectIntact(store.put(key, files, info));
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
    expect(readdirSync(join(place.root, 'fx', '.damaged'))).toHaveLength(8);
    expect(open().prune(0)).toBe(8);
    expect(readdirSync(join(place.root, 'fx', '.damaged'))).toEqual([]);
  });
});

describe('a root that cannot be written', () => {
  /** A file system that does not write below the root. */
  const readOnly = (): FileSystem => {
    const real = nodeFileSystem();
    const refuse = (path: unknown): void => {
      if (String(path).startsWith(place.root)) throw Object.assign(new Error('EROFS'), { code: 'EROFS' });
    };
    return {
      ...real,
      accessSync: (path, mode) => {
        if (((mode ?? 0) & constants.W_OK) !== 0) refuse(path);
        real.accessSync(path, mode);
      },
      renameSync: (from, to) => {
        refuse(from);
        real.renameSync(from, to);
      },
    };
  };

  test('is read; what is missing, or damaged there, goes to a temporary one', () => {
    open().put(key, files, info);
    open().put(other, files, info);
    truncateSync(join(place.root, 'fx', other, 'kernel.so'), 7);
    const store = open({ fs: readOnly() });
    expect(store.readable).toBe(place.root);
    expect(place.events).toEqual([
      expect.objectContaining({ kind: 'fallback', message: expect.stringMatching(/only read/) }),
    ]);
    expectIntact(store.get(key));
    expect(store.get(key)?.directory).toBe(join(place.root, 'fx', key));
    expect(store.get(other)).toBeUndefined();
    expect(store.list().map((entry) => entry.key)).toEqual([key, other].sort());
    expectIntact(store.put(other, files, info));
    expect(store.list()).toHaveLength(2);
    expectIntact(store.get(other));
    expect(store.root).not.toBe(place.root);
    store[Symbol.dispose]();
    expect(existsSync(store.root)).toBe(false);
  });

  test('is not read where others can write to it', () => {
    open().put(key, files, info);
    chmodSync(join(place.root, 'fx'), 0o722);
    const store = open({ fs: readOnly() });
    expect(store.readable).toBeUndefined();
    expect(store.get(key)).toBeUndefined();
    store[Symbol.dispose]();
  });
});
