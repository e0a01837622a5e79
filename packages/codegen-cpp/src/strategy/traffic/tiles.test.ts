// Tiles: which are copied without scratch, and that this changes no result, at odd sizes. What they prefetch: tests/goldens/traffic.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cases, compileNative, entryBuffers, hasCompiler, inputsOf, runsHere } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { evaluateIndex } from '@tsinductor/ir';
import { generateCpp } from '../../generate.ts';
import type { CpuTarget } from '../../machine/target.ts';

const hasWide = hasCompiler() && runsHere('avx512');
const ring = hasWide ? describe : describe.skip;
if (!hasWide) process.stderr.write('host ring skipped: no g++, or no AVX-512 here\n');

const target: CpuTarget = { isa: 'avx512', threads: 2 };
const zen: CpuTarget = { ...target, family: 'zen' };
const textOf = ({ schedule }: Case, on: CpuTarget): string =>
  generateCpp(schedule, on)
    .units.map((unit) => unit.source)
    .join('\n');

describe('copies by tiles', () => {
  test('go from memory to memory, large ones by non-temporal stores', () => {
    const large = textOf(cases.permuted(4096, 4096), zen);
    expect(large).toMatch(/transpose_past_f32x16\(in0 \+ [^,]+, 4096, out_out \+ [^,]+, 4096\);/);
    expect(large).toContain('sfence');
    const small = textOf(cases.permuted(512, 512), zen);
    expect(small).toMatch(/transpose_f32x16\(in0 \+ [^,]+, 512, out_out \+ [^,]+, 512\);/);
    expect(small).not.toContain('sfence');
    for (const text of [large, small]) expect(text).not.toMatch(/_tile\b/);
  });

  test('by way of the caches where rows are no multiples of a vector', () => {
    const text = textOf(cases.permuted(4099, 4096), zen);
    expect(text).toMatch(/transpose_part_f32x16\(in0 \+ [^,]+, 4096, out_out/);
    expect(text).not.toContain('transpose_past');
  });

  test('only where nothing is computed', () => {
    expect(textOf(cases.transposed(512, 512), zen)).toMatch(/_tile\b/);
  });
});

describe('tiles on a Zen are prefetched in', () => {
  test('blocks of one width, none of which goes on much behind the last column', () => {
    const widths = [2560, 3136, 4112].map((columns) => {
      const text = textOf(cases.permuted(8192, columns), zen);
      return Number(/along = \w+ % (\d+);/.exec(text)?.[1]);
    });
    expect(widths).toEqual([1280, 1792, 1536]);
  });
});

/** The bits of the only output. */
function run({ schedule, sizes }: Case, inputs: ReturnType<typeof inputsOf>, on: CpuTarget): Buffer {
  const { units, entry, workspaceBytes } = generateCpp(schedule, on);
  const compiled = compileNative(units, ['-O1']);
  const buffers = entryBuffers(schedule, { inputs, sizes }, evaluateIndex(workspaceBytes, { sizes }));
  const { status } = compiled.call(entry, { buffers, sizes: [], threads: on.threads, repeats: 0 });
  compiled.dispose();
  expect(status).toBe(0);
  return Buffer.from(at(buffers, schedule.program.inputs.length));
}

ring('neither changes a result', () => {
  test.each([
    ['whole tiles', 2560, 2576],
    ['odd columns of whole rows', 2560, 2539],
    ['odd rows and columns', 2531, 2539],
    ['rows of less than a block', 65616, 112],
    ['rows of less than a tile', 699071, 9],
  ])(
    '%s',
    (_, rows, columns) => {
      const copy = cases.permuted(rows, columns);
      const inputs = inputsOf(copy);
      const x = at([...inputs.values()], 0) as Float32Array;
      const wanted = new Float32Array(rows * columns);
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < columns; column++) wanted[column * rows + row] = at(x, row * columns + column);
      const expected = Buffer.from(wanted.buffer);
      for (const on of [zen, target, { ...zen, isa: 'avx2' as const, threads: 1 }])
        expect(Buffer.compare(run(copy, inputs, on), expected)).toBe(0);
    },
    120_000,
  );

  test.each([
    [2560, 2576],
    [2531, 2539],
  ])(
    'beside another array, %i rows of %i',
    (rows, columns) => {
      const sum = cases.transposed(rows, columns);
      const inputs = inputsOf(sum);
      const [x, y] = [...inputs.values()] as readonly Float32Array[];
      const result = run(sum, inputs, zen);
      const values = new Float32Array(result.buffer, result.byteOffset, rows * columns);
      for (let row = 0; row < rows; row += 7)
        for (let column = 0; column < columns; column += 3) {
          const place = column * rows + row;
          const wanted = Math.fround(at(x ?? [], row * columns + column) + at(y ?? [], place));
          if (!Object.is(at(values, place), wanted))
            expect([row, column, at(values, place)]).toEqual([row, column, wanted]);
        }
      expect(Buffer.compare(result, run(sum, inputs, target))).toBe(0);
    },
    120_000,
  );
});
