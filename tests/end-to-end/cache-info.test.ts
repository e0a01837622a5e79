// What cacheInfo() tells of the graphs of a function: found in memory, found on disk, built, and which went past the cache, and why.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { defaultSession } from '@tsinductor/compiler';
import { compile, ones, reset } from 'tsinductor';
import type { CacheInfo, CompileOptions, Tensor } from 'tsinductor';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-info-'));
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const isNative = defaultSession().machine().kind === 'native';
const testNative = isNative ? test : test.skip;
if (!isNative) process.stderr.write('what cacheInfo() tells of native code skipped: no C++ compiler\n');

type Counts = Pick<CacheInfo, 'memory' | 'disk' | 'builds' | 'bypasses'>;

/** The counts of a function that is called with tensors of these lengths. */
function countsOf(lengths: readonly number[], { options, ...more }: CompileOptions = {}): Counts {
  const fn = compile((x: Tensor) => x.mul(3).sub(1), { ...more, options: { cacheDir, dynamic: false, ...options } });
  for (const length of lengths) fn(ones([length]));
  const { memory, disk, builds, bypasses } = fn.cacheInfo();
  return { memory, disk, builds, bypasses };
}

testNative('graphs are built, then in memory, then on disk', () => {
  expect(countsOf([2, 3, 2])).toEqual({ memory: 0, disk: 0, builds: 2, bypasses: {} });
  expect(countsOf([2, 4])).toEqual({ memory: 1, disk: 0, builds: 1, bypasses: {} });
  reset();
  expect(countsOf([2, 3, 4, 5])).toEqual({ memory: 0, disk: 3, builds: 1, bypasses: {} });
});

testNative.each([
  ['forceDisableCaches is set', { options: { forceDisableCaches: true } }, 1],
  ['fxGraphCache is off', { options: { fxGraphCache: false } }, 1],
  ['forceRecompile is set', { options: { forceRecompile: true } }, 1],
  ['the cache directory cannot be used', { options: { cacheDir: '/proc/nowhere' } }, 1],
  ["backend 'aot_eager' compiles nothing", { backend: 'aot_eager' }, 0],
  [
    "the backend is the program's own",
    {
      backend:
        () =>
        (...inputs: Tensor[]) =>
          inputs,
    },
    0,
  ],
] as const)('a graph goes past the cache: %s', (reason, options, builds) => {
  reset();
  expect(countsOf([2], options as CompileOptions)).toEqual({ memory: 0, disk: 0, builds, bypasses: { [reason]: 1 } });
});

test('without a compiler nothing is built, and the reason is its code', () => {
  reset();
  const counts = countsOf([2], { options: { cpp: { cxx: ['/nowhere/c++'], searchPath: '/nowhere' } } });
  expect(counts).toEqual({ memory: 0, disk: 0, builds: 0, bypasses: { 'no native code: COMPILER_NOT_FOUND': 1 } });
});
