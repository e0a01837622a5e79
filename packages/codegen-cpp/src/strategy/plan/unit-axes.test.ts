// Short rows of large results are written one after another: in the text, and with the same bits.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import {
  cases,
  compileNative,
  entryBuffers,
  expected,
  hasCompiler,
  inputsOf,
  runsHere,
} from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { CpuTarget } from '../../machine/target.ts';

const rapids: CpuTarget = { isa: 'avx512', threads: 2, family: 'rapids' };
const textOf = (shape: readonly [number, number, number, number], on: CpuTarget = rapids): string =>
  at(generateCpp(cases.heads(shape).schedule, on).units, 0).source;

describe('heads, whose rows are read in another order than they are written in', () => {
  test('are written as they are read where rows are long, runs are not whole, or the caches have the result', () => {
    for (const shape of [
      [2, 2048, 8, 256],
      [2, 8191, 8, 64],
      [2, 1024, 8, 64],
    ] as const)
      expect(textOf(shape)).not.toContain('_run');
    for (const family of ['zen', 'other'] as const)
      expect(textOf([2, 8192, 8, 64], { ...rapids, family })).not.toContain('_run');
    for (const on of [{ threads: 1 }, { isa: 'avx2' }] as const)
      expect(textOf([2, 8192, 8, 64], { ...rapids, ...on })).not.toMatch(/_run|prefetch/);
  });
});

const hasWide = hasCompiler() && runsHere('avx512');
const ring = hasWide ? describe : describe.skip;
if (!hasWide) process.stderr.write('host ring skipped: no g++, or no AVX-512 here\n');

ring('runs of rows', () => {
  test.each([
    { isa: 'avx512', threads: 2, shape: [2, 8192, 8, 64] },
    { isa: 'avx512', threads: 3, shape: [3, 2352, 16, 80] },
    { isa: 'avx512', threads: 2, shape: [1, 65_536, 3, 48] },
  ] as const)(
    'have the bits of the copy: $isa, $threads threads, $shape',
    ({ isa, threads, shape }) => {
      const one = cases.heads(shape);
      const on: CpuTarget = { isa, threads, family: 'rapids' };
      expect(textOf(shape, on)).toContain('k_run');
      const { units, entry } = generateCpp(one.schedule, on);
      const inputs = inputsOf(one);
      const compiled = compileNative(units, ['-O1']);
      const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, 0);
      compiled.call(entry, { buffers, sizes: [], threads, repeats: 0 });
      compiled.dispose();
      const [wanted] = expected(one, inputs);
      expect(wanted).toBeDefined();
      if (wanted === undefined) return;
      const bytes = Buffer.from(wanted.buffer, wanted.byteOffset, wanted.byteLength);
      expect(Buffer.compare(Buffer.from(at(buffers, 1)), bytes)).toBe(0);
    },
    120_000,
  );
});
