// Passes over memory that load half a register at a time: which do, and that they compute the same.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import {
  cases,
  compileNative,
  differences,
  entryBuffers,
  expected,
  hasCompiler,
  inputsOf,
  runsHere,
} from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { CpuTarget } from '../../machine/target.ts';

const hasWide = hasCompiler() && runsHere('avx512');
const ring = hasWide ? describe : describe.skip;
if (!hasWide) process.stderr.write('host ring skipped: no g++, or no AVX-512 here\n');

const zen: CpuTarget = { isa: 'avx512', threads: 2, family: 'zen' };
const loadsOf = ({ schedule }: Case, on: CpuTarget): readonly string[] => {
  const text = generateCpp(schedule, on)
    .units.map(({ source }) => source)
    .join('\n');
  return [...new Set([...text.matchAll(/= load_(f32x\d+)\(/g)].map(([, type = '']) => type))];
};

describe('passes over memory on a Zen', () => {
  const rows = cases.summed('rows', [2100, 1024]);

  test.each([
    ['sums of rows', rows],
    ['a sum of all', cases.summed('nothing', [2100, 1024])],
  ])('load 32 bytes at a time: %s', (_, one) => {
    expect(loadsOf(one, zen)).toEqual(['f32x8']);
    expect(loadsOf(one, { ...zen, family: 'other' })).toEqual(['f32x16']);
    const notes = (on: CpuTarget): string =>
      generateCpp(one.schedule, on)
        .kernels.flatMap((it) => it.notes)
        .join('; ');
    expect(notes(zen)).toMatch(/loads of 8 lanes along \w+/);
    expect(notes({ ...zen, family: 'other' })).not.toContain('loads of');
  });

  test('load rows that are added by index into tables 32 bytes at a time', () => {
    const { units, kernels } = generateCpp(cases.added(4096, 1024, 40).schedule, zen);
    const text = units.map(({ source }) => source).join('');
    expect(text).toMatch(/= load_f32x8\(in0 \+/);
    expect(text).not.toMatch(/= load_f32x16\(in0 \+/);
    expect(kernels.flatMap(({ notes }) => notes)).toContain('loads of 8 lanes along j');
    expect(text).toMatch(/__builtin_prefetch\(in0 \+ i \* 1024 \+ \w+ \+ 2048, 0, 2\)/);
  });

  test.each([
    ['what a cache holds', cases.summed('rows', [1000, 1024])],
    ['short rows', cases.summed('rows', [40000, 128])],
    ['rows that are read again', cases.softmax('rows', [2100, 1024])],
    ['columns', cases.summed('columns', [2100, 1024])],
    ['rows that a cache holds, added by index', cases.added(1000, 1024, 40)],
    ['rows of less than 4 KB that are added by index', cases.added(16384, 700, 40)],
    ['rows that are added by index, by columns', cases.added(8192, 700, 4000)],
  ])('load whole registers of %s', (_, one) => {
    expect(loadsOf(one, zen)).toContain('f32x16');
    expect(loadsOf(one, zen)).not.toContain('f32x8');
  });
});

ring('in compiled code', () => {
  const odd = [
    cases.summed('rows', [2063, 1041]),
    cases.summed('nothing', [2063, 1041]),
    cases.positions(2063, 1041),
    cases.added(2063, 1041, 40),
  ];
  test.each(odd.map((one) => [one.name, { ...one, tolerance: Math.max(one.tolerance, 1e-4) }] as const))(
    '%s is what the interpreter computes',
    (_, one) => {
      const [inputs, { program }] = [inputsOf(one), one.schedule];
      const wanted = expected(one, inputs);
      const { units, entry, workspaceBytes } = generateCpp(one.schedule, zen);
      const compiled = compileNative(units);
      const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, evaluateIndex(workspaceBytes, {}));
      expect(compiled.call(entry, { buffers, sizes: [], threads: 2, repeats: 0 }).status).toBe(0);
      compiled.dispose();
      const actual = wanted.map((array, output) => {
        const copy = array.slice();
        new Uint8Array(copy.buffer).set(at(buffers, program.inputs.length + output));
        return copy;
      });
      expect(differences(one, actual, wanted)).toEqual([]);
    },
  );
});
