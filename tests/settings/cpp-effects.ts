// The effects of the settings of generated C++.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { forGraphs, freshDirectory, reportOf, sourceOf, wrappedCompiler } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const zeros = (elements: number): Tensor => tensor(new Float32Array(elements));
const addOne = (x: Tensor): Tensor => x.add(1);
/** Whether the loop of an elementwise kernel is distributed over threads. */
const isParallel = (elements: number, cpp: Options): boolean =>
  /\bparallel\(runtime,/.test(sourceOf(addOne, [zeros(elements)], { cpp: { threads: 2, ...cpp } }));
const runsOn = (cpp: Options): string => reportOf(addOne, [zeros(3)], { cpp }).runsOn;

export const cppEffects = {
  'cpp.threads': () => {
    expect(isParallel(200_000, { threads: 1 })).toBe(false);
    expect(isParallel(200_000, { threads: 2 })).toBe(true);
    expect(runsOn({ threads: 1 })).toContain('1 threads');
  },
  'cpp.simdlen': () => {
    expect(runsOn({ simdlen: 1 })).toContain('scalar');
    expect(sourceOf(addOne, [zeros(64)], { cpp: { simdlen: 1 } })).not.toContain('vector_size');
  },
  'cpp.cxx': () => {
    const log = join(freshDirectory(), 'log');
    const cxx = ['/nowhere/g++', wrappedCompiler(forGraphs(`echo used >> ${log}`))];
    reportOf(addOne, [zeros(3)], { cacheDir: freshDirectory(), cpp: { cxx } });
    expect(readFileSync(log, 'utf8')).toBe('used\n');
  },
  'cpp.searchPath': () => {
    expect(runsOn({ searchPath: '/nowhere' })).toContain('interpreter: no C++ compiler');
    expect(runsOn({ searchPath: '/nowhere:/usr/bin:/bin' })).toContain('native code');
  },
  'cpp.minChunkSize': () => {
    expect([600, 100_000].map((elements) => isParallel(elements, {}))).toEqual([false, true]);
    expect(isParallel(100_000, { minChunkSize: 1_000_000 })).toBe(false);
    expect(isParallel(600, { minChunkSize: 1 })).toBe(true);
  },
} satisfies Record<string, Effect>;
