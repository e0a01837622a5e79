import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CacheEvent } from './events.ts';
import { nodeFileSystem } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { cacheKey } from './key.ts';
import { openRecords } from './records.ts';
import type { RecordStore } from './records.ts';

const top = mkdtempSync(join(tmpdir(), 'tsinductor-records-'));
let root = '';
let events: CacheEvent[] = [];
beforeEach(() => {
  root = mkdtempSync(join(top, 'root-'));
  events = [];
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

const open = (): RecordStore =>
  openRecords({
    root,
    temporaryDirectory: top,
    report: (event) => {
      events.push(event);
    },
  });

const problem = cacheKey({ problem: 'matmul 512' });
const [small, large] = [cacheKey({ tile: 8 }), cacheKey({ tile: 64 })];
const path = (configuration: string): string => join(root, 'autotune', problem, `${configuration}.json`);

describe('records', () => {
  test('of several writers merge; the later of two for one configuration stays', () => {
    const [a, b] = [open(), open()];
    a.write(problem, small, { nanoseconds: 900 });
    b.write(problem, large, { nanoseconds: 500 });
    a.write(problem, small, { nanoseconds: 800 });
    const expected = new Map([
      [small, { nanoseconds: 800 }],
      [large, { nanoseconds: 500 }],
    ]);
    expect(open().read(problem)).toEqual(expected);
    expect([...open().read(problem).keys()]).toEqual([small, large].sort());
    expect(open().list()).toEqual([problem]);
    expect(open().read(cacheKey({}))).toEqual(new Map());
  });

  test('that are damaged are dropped, reported, and leave the others', () => {
    open().write(problem, large, 1);
    open().write(problem, small, 2);
    const bytes = readFileSync(path(small));
    for (let bit = 0; bit < bytes.length * 8; bit += 23) {
      events = [];
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      writeFileSync(path(small), damaged);
      expect(open().read(problem)).toEqual(new Map([[large, 1]]));
      expect(events).toEqual([
        { kind: 'damaged', key: problem, message: expect.stringContaining('not what was written') },
      ]);
      expect(open().read(problem).size).toBe(1);
    }
    writeFileSync(path(small), readFileSync(path(large)));
    expect(open().read(problem).size).toBe(1);
    truncateSync(path(large), 0);
    expect(open().read(problem).size).toBe(0);
  });

  test('clear one problem, or all', () => {
    const second = cacheKey({ problem: 2 });
    open().write(problem, small, 1);
    open().write(second, small, 1);
    expect(open().clear(problem)).toBe(1);
    expect(open().list()).toEqual([second]);
    expect(open().clear()).toBe(1);
    expect(readdirSync(join(root, 'autotune'))).toEqual([]);
  });

  test('keys are hex', () => {
    const refused = expect.objectContaining({ code: 'CACHE_KEY' });
    expect(() => open().read('../x')).toThrow(refused);
    expect(() => open().write(problem, 'tile 8', 1)).toThrow(refused);
    expect(() => open().write('..', small, 1)).toThrow(refused);
    expect(() => open().clear('..')).toThrow(refused);
  });

  test('that cannot be read are reported, and stay', () => {
    open().write(problem, small, 1);
    const fs: FileSystem = {
      ...nodeFileSystem(),
      fsyncSync: () => undefined,
      fstatSync: () => {
        throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
      },
    };
    const report = (event: CacheEvent): unknown => events.push(event);
    expect(openRecords({ root, temporaryDirectory: top, report, fs }).read(problem).size).toBe(0);
    expect(events.map(({ kind }) => kind)).toEqual(['unreadable']);
    expect(open().read(problem)).toEqual(new Map([[small, 1]]));
  });

  test('fall back to a private directory, which is gone when disposed', () => {
    const records = openRecords({ root: 'x', temporaryDirectory: top, report: (event) => events.push(event) });
    records.write(problem, small, 1);
    expect(records.read(problem).size).toBe(1);
    expect(events.map(({ kind }) => kind)).toEqual(['fallback']);
    records[Symbol.dispose]();
    expect(existsSync(records.root)).toBe(false);
  });

  test('a disk that takes nothing is a coded error, and no record', () => {
    writeFileSync(join(root, 'autotune-file'), '');
    const records = open();
    writeFileSync(join(root, 'autotune', problem), 'in the way');
    expect(() => records.write(problem, small, 1)).toThrow(expect.objectContaining({ code: 'CACHE_WRITE_FAILED' }));
    expect(records.read(problem).size).toBe(0);
    expect(readdirSync(join(root, 'autotune'))).toEqual([problem]);
  });
});
