// Candidates that crash, never end, or are no library cost themselves alone.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { resolveConfig } from '@tsinductor/config';
import { Announcer } from '../announcer.ts';
import { Builder } from '../builder.ts';
import { timeEntries } from './time-entries.ts';
import type { TimingJob } from './timing-job.ts';

const directory = mkdtempSync(join(tmpdir(), 'tsinductor-timing-'));
const builder = new Builder(
  resolveConfig({ env: { TORCHINDUCTOR_CACHE_DIR: join(directory, 'cache') } }),
  new Announcer({ warn: () => undefined, log: () => undefined }, { loglevel: 'WARNING', torchLogsOut: null }),
);
const machine = builder.requireNative();

afterAll(() => {
  builder[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

const source = `extern "C" int quick(char *const *b, const long *, const void *) { b[1][0] += b[0][0]; return 0; }
extern "C" int slow(char *const *b, const long *, const void *) { for (volatile int i = 0; i < 2000000; i = i + 1) {} return 0; }
extern "C" int endless(char *const *, const long *, const void *) { for (volatile int i = 0;;) i = 1; }
extern "C" int crashing(char *const *, const long *, const void *) { *(volatile int *)8 = 1; return 0; }`;

function libraryOf(text: string): string {
  const [file, library] = [join(directory, 'timed.cpp'), join(directory, 'timed.so')];
  writeFileSync(file, text);
  execFileSync(at(machine.toolchain.command, 0), [
    ...machine.toolchain.command.slice(1),
    '-shared',
    '-fPIC',
    '-O1',
    file,
    '-o',
    library,
  ]);
  return library;
}

const library = libraryOf(source);

const job = (...entries: string[]): TimingJob => ({
  bridge: builder.bridgePath(machine),
  library,
  entries,
  buffers: [
    { bytes: 64, isFloat: true, isRead: true },
    { bytes: 64, isFloat: false, isRead: false },
  ],
  threads: 1,
  coldBytes: 4096,
  milliseconds: 20,
});

describe('timeEntries', () => {
  test('tells the time of each entry', () => {
    const timed = timeEntries(job('quick', 'slow'), 60);
    const [quick = NaN, slow = NaN] = 'times' in timed ? timed.times : [];
    expect(quick).toBeLessThan(slow);
  });

  test('one that crashes', () => {
    expect(timeEntries(job('crashing'), 60)).toEqual({ failure: 'it ended by SIGSEGV', isOfCode: true });
  });

  test('one that never ends', () => {
    expect(timeEntries(job('endless'), 1)).toEqual({ failure: 'it took more than 1 s', isOfCode: true });
  });

  test('an entry, or a library, that is not there', () => {
    expect(timeEntries(job('absent'), 60)).toMatchObject({ isOfCode: false });
    expect(timeEntries({ ...job('quick'), library: join(directory, 'absent.so') }, 60)).toMatchObject({
      isOfCode: false,
    });
  });
});
