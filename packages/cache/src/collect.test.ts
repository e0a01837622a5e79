// What a cache holds at most, what goes first, and what never goes; that all that was ever made goes some day.
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { processTag } from '@tsinductor/base';
import { collectGarbage } from './collect.ts';
import type { CacheLimits, Collected } from './collect.ts';
import { nodeFileSystem } from './file-system.ts';
import { explainMiss } from './explain-miss.ts';
import { keepWithin } from './growth.ts';
import { contentsOf, describeEntries, verifyCache } from './inspect.ts';
import { cacheKey } from './key.ts';
import { openRecords } from './records.ts';
import { entry, files, info, key, open, other, place, top } from './test-support/store-place.ts';

const day = 86_400_000;
const none: CacheLimits = { bytes: null, milliseconds: null };

const collect = (limits: Partial<CacheLimits>): Collected | undefined =>
  collectGarbage({ root: place.root, temporaryDirectory: top, limits: { ...none, ...limits } });

/** A tag of a process of this place that is no more. */
const deadTag = (): string => {
  const { pid } = spawnSync('true');
  return processTag().replace(/-\d+-$/, `-${String(pid)}-`);
};

const markOf = (of: string): string => join(place.root, 'fx/.used', of);

/** The entry as if it was built, and used by a process that is no more, so many days ago. */
function aged(of: string, days: number, tag = deadTag()): void {
  const time = new Date(Date.now() - days * day);
  writeFileSync(markOf(of), `${tag}\n`);
  utimesSync(markOf(of), time, time);
  utimesSync(join(place.root, 'fx', of), time, time);
}

const keys = [1, 2, 3, 4].map((n) => cacheKey({ n }));

/** Entries that were used four, three, two and one days ago. */
function fill(): number {
  using store = open();
  for (const of of keys) store.put(of, files, info);
  keys.forEach((of, index) => {
    aged(of, 4 - index);
  });
  return store.list()[0]?.bytes ?? 0;
}

/** All that was used two days ago or before goes, with a file system in which a call fails. */
function collectWhere(call: 'mkdirSync' | 'renameSync', code: string): Collected | undefined {
  const fails = (): never => {
    throw Object.assign(new Error(code), { code });
  };
  const limits = { bytes: null, milliseconds: 2.5 * day };
  const fs = { ...nodeFileSystem(), [call]: fails };
  return collectGarbage({ root: place.root, temporaryDirectory: top, limits, fs });
}

const left = (): readonly string[] => keys.filter((of) => existsSync(join(place.root, 'fx', of)));

describe('entries', () => {
  test('go on a disk that is full, which has no room for a lock', () => {
    fill();
    expect(collectWhere('mkdirSync', 'ENOSPC')).toMatchObject({ entries: 2 });
    expect(left()).toEqual(keys.slice(2));
    expect(collectWhere('mkdirSync', 'EACCES')).toBeUndefined();
  });

  test('that cannot be removed are not counted as gone', () => {
    fill();
    expect(collectWhere('renameSync', 'EACCES')).toMatchObject({ entries: 0, kept: { entries: 4 } });
    expect(left()).toEqual(keys);
  });

  test('go by their last use while there are too many bytes, down to nine tenths', () => {
    const bytes = fill();
    expect(collect({ bytes: 4 * bytes })).toMatchObject({
      entries: 0,
      kept: { entries: 4, bytes: 4 * bytes, inUse: 0 },
    });
    expect(collect({ bytes: 2.5 * bytes })).toMatchObject({ entries: 2, bytes: 2 * bytes });
    expect(left()).toEqual(keys.slice(2));
    expect(readdirSync(join(place.root, 'fx/.used')).sort()).toEqual(keys.slice(2).sort());
  });

  test('go when they were not used for the time that is given', () => {
    fill();
    expect(collect({ milliseconds: 2.5 * day })).toMatchObject({ entries: 2 });
    expect(left()).toEqual(keys.slice(2));
  });

  test('that are found are used: they stay, and the next ones go', () => {
    const bytes = fill();
    using store = open();
    expect(store.get(keys[0] ?? '')).toBeDefined();
    expect(collect({ bytes: 2.5 * bytes })).toMatchObject({ entries: 2, kept: { inUse: 1 } });
    expect(left()).toEqual([keys[0], keys[3]]);
    expect(
      store
        .list()
        .map(({ isInUse }) => isInUse)
        .sort(),
    ).toEqual([false, true]);
  });

  test('of a living process are never taken, however old and however many bytes', () => {
    fill();
    for (const of of keys) aged(of, 400, processTag());
    expect(collect({ bytes: 1, milliseconds: 1 })).toMatchObject({ entries: 0, kept: { entries: 4, inUse: 4 } });
    expect(left()).toEqual(keys);
  });

  test('of another machine count as used for a day', () => {
    fill();
    const foreign = `@${'0'.repeat(12)}-1-`;
    keys.forEach((of, index) => {
      aged(of, index, foreign);
    });
    expect(collect({ bytes: 1 })).toMatchObject({ entries: 3, kept: { entries: 1, inUse: 1 } });
    expect(left()).toEqual(keys.slice(0, 1));
  });

  test('are marked once by a process, and again when they were gone meanwhile', () => {
    using store = open({ memoryEntries: 1 });
    store.put(key, files, info);
    for (let times = 0; times < 5; times += 1) {
      store.get(key);
      store.get(other);
    }
    expect(
      readFileSync(markOf(key), 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
    ).toHaveLength(1);
    rmSync(entry(), { recursive: true });
    rmSync(markOf(key));
    expect(store.get(key)).toBeUndefined();
    store.put(key, files, info);
    expect(store.list()[0]?.isInUse).toBe(true);
  });

  test('with a long list of dead users keep the living ones', () => {
    using store = open();
    store.put(key, files, info);
    appendFileSync(markOf(key), `${deadTag()}\n`.repeat(4000));
    using another = open();
    another.get(key);
    expect(readFileSync(markOf(key)).length).toBeLessThan(200);
    expect(another.list()[0]?.isInUse).toBe(true);
  });
});

describe('everything else that was made', () => {
  const old = new Date(Date.now() - 100 * day);
  const made = (path: string, time = old): string => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'x');
    utimesSync(path, time, time);
    return path;
  };

  test('goes after its time: bridges, probes, measurements, stages, temporary directories', () => {
    open()[Symbol.dispose]();
    const bridge = join(place.root, `bridge-${'a'.repeat(32)}`);
    mkdirSync(bridge);
    utimesSync(bridge, old, old);
    const gone = [
      bridge,
      made(join(place.root, `isa-${'b'.repeat(16)}.json`)),
      made(join(place.root, `loads-${'b'.repeat(16)}.json`)),
      made(join(place.root, 'toolchain.json')),
      made(join(place.root, 'autotune', key)),
      made(join(place.root, 'autotune', `.stage-${deadTag()}1`)),
      made(join(place.root, 'code', 'core-1.bin.77')),
      made(join(place.root, 'fx', `.stage-${deadTag()}1`), new Date()),
      made(join(top, `tsinductor-probe-${deadTag()}x`), new Date()),
      made(join(top, `tsinductor-${deadTag()}x`), new Date()),
      made(join(top, `tsinductor-failed-${'c'.repeat(16)}`)),
      made(join(top, 'tsinductor-debug-AbCdEf')),
    ];
    const kept = [
      made(join(place.root, `isa-${'d'.repeat(16)}.json`), new Date()),
      made(join(place.root, 'mine.json')),
      made(join(place.root, 'code', 'core-1.bin')),
      made(join(place.root, 'fx', `.stage-${processTag()}1`), new Date()),
      made(join(top, `tsinductor-probe-${processTag()}x`)),
      made(join(top, 'tsinductor-mine')),
    ];
    expect(collect({ milliseconds: 90 * day })).toMatchObject({ machine: 4, records: 1 });
    expect(gone.filter((path) => existsSync(path))).toEqual([]);
    expect(kept.filter((path) => !existsSync(path))).toEqual([]);
  });

  test('stays where it came with saved artifacts, and cannot be made again', () => {
    open()[Symbol.dispose]();
    const record = made(join(place.root, `isa-${'b'.repeat(16)}.json`));
    made(join(place.root, 'toolchain-carried.json'));
    collect({ milliseconds: 90 * day });
    expect(existsSync(record)).toBe(true);
  });

  test('measurements that are read stay', () => {
    using records = openRecords({ root: place.root, temporaryDirectory: top, report: () => undefined });
    for (const problem of [key, other]) {
      records.write(problem, key, { milliseconds: 1 });
      utimesSync(join(place.root, 'autotune', problem), old, old);
    }
    records.read(key);
    expect(collect({ milliseconds: 90 * day })).toMatchObject({ records: 1 });
    expect(records.list()).toEqual([key]);
  });
});

test('one process collects at a time', () => {
  const bytes = fill();
  mkdirSync(join(place.root, '.lock-collect.lock'));
  expect(collect({ bytes })).toBeUndefined();
  expect(left()).toEqual(keys);
  utimesSync(join(place.root, '.lock-collect.lock'), new Date(0), new Date(0));
  expect(collect({ bytes })).toMatchObject({ entries: 4 });
});

test('a growing cache is looked at each time that a hundredth was added, by all processes together', () => {
  using store = open();
  store.put(key, files, info);
  const grow = (bytes: number): boolean =>
    keepWithin(
      { root: place.root, temporaryDirectory: top, limits: { bytes: 100 << 20, milliseconds: day } },
      bytes,
    ) !== undefined;
  // The first time nobody has looked for a day.
  expect([grow(1), grow(512 << 10), grow(512 << 10), grow(1), grow(2 << 20)]).toEqual([true, false, true, false, true]);
});

describe('looking into a cache', () => {
  test('describes entries by their fields, and is no use of them', () => {
    fill();
    const described = describeEntries(place.root);
    expect(described.map((one) => one.key).sort()).toEqual([...keys].sort());
    expect(verifyCache(place.root)).toEqual({ whole: 4, faults: [] });
    expect(contentsOf(place.root).entries.count).toBe(4);
    expect(collect({ milliseconds: 0.5 * day })).toMatchObject({ entries: 4 });
  });

  test('finds every byte that is not as it was written', () => {
    fill();
    writeFileSync(join(place.root, 'fx', keys[1] ?? '', 'kernel.cc'), 'int y;\n');
    const bridge = join(place.root, `bridge-${'a'.repeat(32)}`);
    mkdirSync(bridge);
    writeFileSync(join(bridge, 'bridge.node'), 'x');
    writeFileSync(join(bridge, 'bridge.sha256'), 'y');
    const { whole, faults } = verifyCache(place.root);
    expect(whole).toBe(3);
    expect(faults.map(({ kind, name }) => [kind, name])).toEqual([
      ['entry', keys[1]],
      ['bridge', `bridge-${'a'.repeat(32)}`],
    ]);
  });

  test('explains a miss by the entry that differs least: of the same name, the newest', () => {
    const entryOf = (name: string, fields: Readonly<Record<string, string>>, modified: number) => ({
      key: `${name}${String(modified)}`,
      ...{ name, fields, modified },
    });
    const others = [
      entryOf('g', { threads: '2', isa: 'avx2' }, 5),
      entryOf('f', { threads: '2', isa: 'avx2' }, 1),
      entryOf('f', { threads: '2', isa: 'avx2' }, 3),
      entryOf('f', { threads: '8', isa: 'avx512' }, 9),
    ];
    const { nearest, differences } = explainMiss(
      { name: 'f', fields: { threads: '4', isa: 'avx2', new: '1' } },
      others,
    );
    expect(nearest?.key).toBe('f3');
    expect(differences).toEqual([
      { field: 'new', wanted: '1', found: undefined },
      { field: 'threads', wanted: '4', found: '2' },
    ]);
    expect(explainMiss({ name: 'f', fields: {} }, [])).toEqual({ nearest: undefined, differences: [] });
  });
});
