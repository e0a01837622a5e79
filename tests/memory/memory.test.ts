// Memory of results that nobody disposes, as whole programs have it: it comes back within a synchronous loop, what is held is
// nobody else's, and threads and processes end in any state. Each program is a process of its own, of what `npm run build` made.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const built = existsSync(join(import.meta.dirname, '../../packages/tsinductor/lib/index.cjs'));
const describeBuilt = built && process.platform === 'linux' ? describe : describe.skip;
if (!built) process.stderr.write('memory skipped: npm run build makes what these programs import\n');

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, ['--no-warnings', join(import.meta.dirname, program), ...args], { encoding: 'utf8' });

interface Resident {
  readonly residentBefore: number;
  readonly residentPeak: number;
}

const mebibyte = 2 ** 20;
/** Beside what was there before: three results, and so much. */
const slack = 256 * mebibyte;

describeBuilt('resident memory stays bounded', () => {
  const grown = (how: string, bytes: number, calls: number): number => {
    const { residentBefore, residentPeak } = JSON.parse(
      run('loops.mjs', how, String(bytes), String(calls)),
    ) as Resident;
    return residentPeak - residentBefore;
  };

  test.each([
    ['loop', 64, 100_000],
    ['loop', 4096, 100_000],
    ['loop', 65_536, 100_000],
    ['loop', 4 * mebibyte, 3000],
    ['loop', 64 * mebibyte, 60],
    ['promises', 64, 100_000],
    ['promises', 4096, 100_000],
    ['promises', 4 * mebibyte, 2000],
    ['nested', 4 * mebibyte, 1000],
    ['nested', 64 * mebibyte, 30],
    ['reads', 65_536, 20_000],
    ['eager', 4096, 2000],
  ])('%s: results of %i bytes, %i calls', (how, bytes, calls) => {
    const live = how === 'nested' ? 2 * bytes : bytes;
    expect(grown(how, bytes, calls)).toBeLessThan(live + 3 * bytes + slack);
  });

  test.each([
    [4096, 100_000],
    [4 * mebibyte, 1000],
  ])('in two worker threads: results of %i bytes, %i calls in each', (bytes, calls) => {
    // Each thread has an engine, an input and a result beside its three results and its share.
    expect(grown('workers', bytes, calls)).toBeLessThan(2 * (64 * mebibyte + 2 * bytes + 3 * bytes + slack));
  });
});

describeBuilt('what is held is nobody else’s', () => {
  test.each([1, 2, 3])('tensors, views, arrays over their memory, captures and shared memory, seed %i', (seed) => {
    const { checked } = JSON.parse(run('patterns.mjs', String(seed), '2500')) as { checked: number };
    expect(checked).toBeGreaterThan(1_000_000);
  });
});

describeBuilt('programs end in any state', () => {
  test.each(['exit', 'end', 'threads'])('%s', (how) => {
    expect(run('endings.mjs', how)).toBe('ended\n');
  });
});
