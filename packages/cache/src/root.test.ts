import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CacheEvent } from './events.ts';
import { nodeFileSystem } from './file-system.ts';
import { openRoot } from './root.ts';
import type { OpenedRoot } from './root.ts';

const top = mkdtempSync(join(tmpdir(), 'tsinductor-root-'));
let home = '';
let temporaryDirectory = '';
let events: CacheEvent[] = [];
beforeEach(() => {
  home = mkdtempSync(join(top, 'home-'));
  temporaryDirectory = mkdtempSync(join(top, 'tmp-'));
  events = [];
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

const open = (root: string): OpenedRoot =>
  openRoot({
    root,
    below: ['fx', 'fx/.locks'],
    temporaryDirectory,
    fs: nodeFileSystem(),
    report: (event) => {
      events.push(event);
    },
  });

function expectFallback(root: string, reason: RegExp): void {
  const opened = open(root);
  expect(opened.temporary).toBe(true);
  expect(opened.root.startsWith(temporaryDirectory)).toBe(true);
  expect(statSync(opened.root).mode & 0o777).toBe(0o700);
  expect(events).toEqual([{ kind: 'fallback', root: opened.root, message: expect.stringMatching(reason) }]);
}

const asRoot = process.geteuid?.() === 0;

describe('openRoot', () => {
  test('makes the directories, closed to others', () => {
    const root = join(home, 'a', 'b', 'cache');
    expect(open(root)).toEqual({ root, temporary: false });
    for (const path of [root, join(root, 'fx'), join(root, 'fx', '.locks')]) {
      expect(lstatSync(path).mode & 0o777).toBe(0o700);
    }
    expect(open(root)).toEqual({ root, temporary: false });
    expect(events).toEqual([]);
  });

  test('closes a directory of ours that others could read', () => {
    const root = join(home, 'cache');
    mkdirSync(root, { mode: 0o755 });
    expect(open(root).temporary).toBe(false);
    expect(lstatSync(root).mode & 0o777).toBe(0o700);
  });

  test('does not use what others can write to', () => {
    const root = join(home, 'cache');
    mkdirSync(root);
    chmodSync(root, 0o777);
    expectFallback(root, /writable to others/);
  });

  test('does not use what lies below a directory that others can write to, unless it is sticky', () => {
    chmodSync(home, 0o775);
    expectFallback(join(home, 'cache'), /home-\w+ is writable to others/);
    chmodSync(home, 0o1777);
    expect(open(join(home, 'cache')).temporary).toBe(false);
  });

  test('does not use a symbolic link, for itself or for a namespace', () => {
    mkdirSync(join(home, 'real'));
    symlinkSync(join(home, 'real'), join(home, 'link'));
    expectFallback(join(home, 'link'), /symbolic link/);
    events = [];
    mkdirSync(join(home, 'cache'), { mode: 0o700 });
    symlinkSync(join(home, 'real'), join(home, 'cache', 'fx'));
    expectFallback(join(home, 'cache'), /symbolic link/);
  });

  test('a dangling link, a file, or a file above it', () => {
    symlinkSync(join(home, 'nowhere'), join(home, 'dangling'));
    writeFileSync(join(home, 'file'), '');
    for (const root of [join(home, 'dangling'), join(home, 'file'), join(home, 'file', 'cache')]) {
      events = [];
      expectFallback(root, /./);
    }
  });

  test('paths that are none', () => {
    for (const root of ['', 'relative/cache', '/with\0nul']) {
      events = [];
      expectFallback(root, /not an absolute path/);
    }
  });

  (asRoot ? test : test.skip)('does not use what belongs to another user (needs root)', () => {
    const root = join(home, 'cache');
    mkdirSync(root, { mode: 0o700 });
    chownSync(root, 12_345, 12_345);
    expectFallback(root, /belongs to another user/);
    events = [];
    chownSync(home, 12_345, 12_345);
    expectFallback(join(home, 'other'), /belongs to another user/);
  });

  test('a file system where nothing can be made, and which says that the parent is missing, does not hang', () => {
    if (process.platform !== 'linux') {
      console.log('skipped: there is no /proc on this platform');
      return;
    }
    expectFallback('/proc/nope/cache', /ENOENT|EACCES|EPERM/);
  });

  test('where no directory can be had, the error says why, for both', () => {
    const options = { below: [], fs: nodeFileSystem(), report: () => undefined };
    const attempt = (): unknown => openRoot({ ...options, root: 'x', temporaryDirectory: join(home, 'none') });
    expect(attempt).toThrow(expect.objectContaining({ code: 'CACHE_NO_PLACE' }));
    expect(attempt).toThrow(/not an absolute path; and no temporary one/);
  });
});
