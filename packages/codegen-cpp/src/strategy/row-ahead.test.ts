// What loops ask for before they read it: which rows and tiles in the generated text, and that what is asked for changes no result,
// at odd shapes, on every instruction set that this machine runs.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cases, compileNative, entryBuffers, expected, hasCompiler, inputsOf } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { evaluateIndex } from '@tsinductor/ir';
import { generateCpp } from '../generate.ts';
import type { CpuTarget, Family, Isa } from '../target.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const target: CpuTarget = { isa: 'avx512', threads: 2 };
const textOf = ({ schedule }: Case, on: CpuTarget = target): string =>
  generateCpp(schedule, on).units.map((unit) => unit.source).join('\n'); // prettier-ignore

describe('what is asked for', () => {
  test('the row that a later index chooses, so many rows ahead as make up 4 KB', () => {
    const long = textOf(cases.chosen('rows', [4096, 1024, 4096]));
    expect(long).toContain('in1[index_minimum_i64(n + 1, 4095)]');
    expect(long).toMatch(/__builtin_prefetch\(in0 \+ checked_1 \* 1024 \+ j, 0\);/);
    expect(textOf(cases.chosen('rows', [4096, 200, 4096]))).toContain('in1[index_minimum_i64(n + 6, 4095)]');
  });

  test('no row by its index where the caches hold the table, or rows are short or few', () => {
    for (const shape of [
      [255, 1024, 4096],
      [65536, 64, 4096],
      [4096, 1024, 40],
    ] as const)
      expect(textOf(cases.chosen('rows', shape))).not.toContain('prefetch(in0');
  });

  test('the next row as a whole where about as many elements are chosen in it as it has', () => {
    const next = /__builtin_prefetch\(in0 \+ i \* 1024 \+ n \+ 1024, 0\);/;
    expect(textOf(cases.chosen('elements', [4096, 1024, 1024]))).toMatch(next);
    expect(textOf(cases.chosen('elements', [4096, 1024, 1500]))).toMatch(next);
    for (const count of [512, 3000]) expect(textOf(cases.chosen('elements', [4096, 1024, count]))).not.toMatch(next);
  });

  test('the next row where one pass reduces rows, whether in one sequence or two', () => {
    const of = (columns: number): string => textOf(cases.summed('rows', [4096, columns]));
    expect(of(1024)).toContain('__builtin_prefetch(in0 + i * 1024 + j + 1024, 0);');
    expect(of(256)).toContain('__builtin_prefetch(in0 + i * 256 + j + 1024, 0);');
    expect(of(4096)).toMatch(/in0 \+ i \* 4096 \+ j \+ 4096, 0\);[^]*load_f32x16\(in0 \+ i \* 4096 \+ j \+ 2048\);/);
    // Longer ones a little further on, as pieces of one do.
    expect(of(65536)).toContain('__builtin_prefetch(in0 + i * 65536 + j + 1024, 0);');
    const pieces = textOf(cases.summed('nothing', [4096, 1024]));
    expect(pieces).toMatch(/for \(i64 (\w+) = chunk \* 32768; \1 < chunk \* 32768 \+ 16384; \1 \+= 16\)/);
    expect(pieces).toMatch(/__builtin_prefetch\(in0 \+ \w+ \+ 1024, 0\);/);
    expect(textOf(cases.summed('rows', [512, 1024]))).not.toContain('prefetch');
    expect(textOf(cases.positions(4096, 1024))).toContain('prefetch(in0 + i * 1024 + j + 1024, 0);');
  });

  test('rows are summed the same way whether or not an earlier nest of their kernel asks for their array', () => {
    const sums = (what: 'summed' | 'twice and summed', family: Family): string => {
      const text = textOf(cases.doubledAndSummed(what, [1024, 4096]), { ...target, family });
      const loop = /for \(i64 l = 0[^]*?\n {4}\}/.exec(text)?.[0] ?? what;
      return loop.replaceAll(/in0_\d+/g, 'element');
    };
    for (const family of ['other', 'rapids', 'zen'] as const)
      expect(sums('twice and summed', family)).toBe(sums('summed', family));
  });

  test('of tiles the fourth from there, round the end of a block and of a row', () => {
    const block = textOf(cases.permuted(4096, 4096));
    expect(block).toContain('const i64 later_i = i + ((j + 64) / 1024) * 16 - (j / 1024) * 16;');
    expect(block).toContain('const i64 later_j = (j / 1024) * 1024 + (j + 64) % 1024;');
    expect(textOf(cases.permuted(131072, 128))).toContain('const i64 later_j = (j + 64) % 128;');
    // A row that ends before it: what lies behind it is the next one.
    expect(textOf(cases.permuted(262144, 64))).toMatch(/prefetch\(in0 \+ i \* 64 \+ j \+ lane \* 64 \+ 64, 0\);/);
  });

  test('the row of a table that a later index chooses to be added to, where a first-level cache does not hold the table', () => {
    const row = '__builtin_prefetch(table + checked_1 * 700 + j + table_1 * 28000, 1);';
    expect(textOf(cases.added(16384, 700, 40))).toContain(row);
    expect(textOf(cases.added(16384, 70, 40))).not.toContain('prefetch(table');
  });

  test('by scans along rows some lines of what they read, and of what they write', () => {
    const text = textOf(cases.scanned(8192, 1024));
    expect(text).toContain('__builtin_prefetch(in0 + i * 1024 + j + 256, 0);');
    expect(text).toContain('__builtin_prefetch(out_out + i * 1024 + j + 512, 1);');
    expect(textOf(cases.scanned(130, 259))).not.toContain('prefetch');
  });

  test('by scans of several rows at a time what they read and, on few threads, what they write', () => {
    const one = cases.scanned(8192, 1024, 'rows, logarithms');
    const text = textOf(one);
    expect(text).toContain('__builtin_prefetch(in0 + i * 1024 + j * 16 + lane * 16 + 16384, 0);');
    expect(text).toContain('__builtin_prefetch(out_out + lane * 1024 + later_i * 1024 + later_j, 1);');
    expect(textOf(one, { ...target, threads: 64 })).not.toContain('prefetch(out');
    // Sixteen rows that a second-level cache has no room for beside these.
    expect(textOf(cases.scanned(1024, 8192, 'rows, logarithms'))).toContain(
      '__builtin_prefetch(in0 + lane * 8192 + later_i * 8192 + later_j, 0);',
    );
    expect(textOf(cases.scanned(130, 259, 'rows, logarithms'))).not.toContain('prefetch');
  });
});

describe('windows', () => {
  const asked = (text: string): readonly string[] =>
    [...text.matchAll(/__builtin_prefetch\((.*)\);/g)].map(([, what = '']) => what);

  test('ask for the lines of the next rows of blocks, each once', () => {
    const text = textOf(cases.halved(4096, 512), { ...target, family: 'rapids' });
    const lines = [2048, 2064, 3072, 3088];
    expect(asked(text).toSorted()).toEqual(lines.map((line) => `in0 + i * 2048 + j * 2 + ${String(line)}, 0`));
  });

  test('ask for nothing where the caches hold the array, and in the order of addresses where lines are foreseen in it', () => {
    expect(asked(textOf(cases.halved(512, 512)))).toEqual([]);
    const zen = asked(textOf(cases.halved(4096, 512), { ...target, family: 'zen' }));
    for (const line of zen) expect(line).not.toContain('j * 2 ');
  });
});

describe('what is asked of a Zen', () => {
  const zen: CpuTarget = { ...target, family: 'zen' };

  test('no lines of large results, which go past the caches', () => {
    const one = cases.largest(1 << 24, 1);
    expect(textOf(one)).toContain('__builtin_prefetch(out_out + i + 512, 1);');
    expect(textOf(one, zen)).toContain('stream_f32x16(out_out + i');
    expect(textOf(one, zen)).not.toContain('prefetch');
  });

  test('rows that one pass reads in one sequence, not in two', () => {
    const one = cases.summed('rows', [4096, 4096]);
    expect(textOf(one)).toMatch(/in0 \+ i \* 4096 \+ j \+ 2048\)/);
    expect(textOf(one, zen)).not.toContain('+ 2048)');
    expect(textOf(one, zen)).toMatch(/in0 \+ i \* 4096 \+ j \+ 16\)/);
  });

  test('nothing of what one pass reads from end to end', () => {
    for (const one of [cases.summed('rows', [4096, 1024]), cases.summed('nothing', [4096, 1024])]) {
      expect(textOf(one)).toContain('prefetch(in0');
      expect(textOf(one, zen)).not.toContain('prefetch');
    }
  });

  test('the next rows of two arrays that several passes read, but not of three', () => {
    const asked = (arrays: number, on: CpuTarget): number =>
      (textOf(cases.centred(4096, 1024, arrays), on).match(/prefetch\(in/g) ?? []).length;
    expect([1, 2, 3].map((arrays) => asked(arrays, target))).toEqual([1, 2, 3]);
    expect([1, 2, 3].map((arrays) => asked(arrays, zen))).toEqual([1, 2, 0]);
  });
});

describe('how a Zen asks for rows of memory', () => {
  const zen: CpuTarget = { ...target, family: 'zen' };
  const asked = (text: string): readonly string[] =>
    [...text.matchAll(/__builtin_prefetch\((.*)\);/g)].map(([, what = '']) => what);

  test('into the second cache the row after the next, and that of 32 KB and more alone', () => {
    const of = (rows: number, columns: number): readonly string[] =>
      asked(textOf(cases.centred(rows, columns, 1), zen));
    expect(of(4096, 1024)).toEqual([expect.stringMatching(/\* 1024 \+ \w+ \+ 2048, 0, 2$/)]);
    expect(of(65536, 128)).toEqual([expect.stringMatching(/\+ 2048, 0, 2$/)]);
    expect(of(512, 16384)).toEqual([expect.stringMatching(/\+ 16384, 0, 2$/)]);
    const two = asked(textOf(cases.centred(4096, 1024, 2), zen));
    expect(two).toHaveLength(2);
    for (const what of two) expect(what).toMatch(/\+ 1024, 0, 2$/);
    // What a larger cache has: the next row, into the first.
    expect(of(1024, 1024)).toEqual([expect.stringMatching(/\* 1024 \+ \w+ \+ 1024, 0$/)]);
  });

  test('rows by their indices two ahead; rows in which elements are chosen too, with their indices', () => {
    const rows = textOf(cases.chosen('rows', [4096, 1024, 4096]), zen);
    expect(rows).toContain('in1[index_minimum_i64(n + 2, 4095)]');
    expect(asked(rows)).toEqual(['in0 + checked_1 * 1024 + j, 0, 2']);
    const elements = textOf(cases.chosen('elements', [4096, 1024, 1024]), zen);
    expect(asked(elements)).toEqual(['in0 + i * 1024 + n + 2048, 0, 2', 'in1 + i * 1024 + n + 2048, 0, 2']);
    // A third-level cache has them: the next row of elements alone.
    const few = textOf(cases.chosen('elements', [1024, 1024, 1024]), zen);
    expect(asked(few)).toEqual(['in0 + i * 1024 + n + 1024, 0']);
  });

  test('rows that are summed or scanned down their columns: the next ones, in the order of their addresses', () => {
    const summed = asked(textOf(cases.summed('columns', [4096, 1024]), zen));
    const along = (line: number): string =>
      `in0 + i * 1024 + j_1 * 8 + ${String(8192 + 16 * line)} - j_block * 7, 0, 2`;
    expect(summed).toEqual(Array.from({ length: 8 }, (_, line) => along(line)));
    // Half of the columns for each of two threads: 128 of 512 belong to each of the four rows.
    const scanned = asked(textOf(cases.scanned(4096, 1024, 'columns'), zen));
    expect(scanned).toHaveLength(4);
    for (const [line, what] of scanned.entries()) {
      expect(what).toMatch(/floor_divide_i64\(\w+ - \w+, 128\) \* 1024 .* index_modulo_i64\(\w+ - \w+, 128\) \* 4/);
      expect(what).toContain(`+ ${String(4096 + 16 * line)}, 0, 2`);
    }
    // Columns that are no whole vectors of every row, and rows of the caches.
    expect(asked(textOf(cases.summed('columns', [4096, 1000]), zen))).toEqual([]);
    expect(asked(textOf(cases.summed('columns', [512, 1024]), zen))).toEqual([]);
    // 4 MB, which a last-level cache holds: in no way.
    for (const one of [cases.summed('columns', [1024, 1024]), cases.scanned(1024, 1024, 'columns')])
      expect(asked(textOf(one, zen))).toEqual([]);
  });

  test('rows that are added by index the next one at once, and nothing of the table', () => {
    const text = textOf(cases.added(16384, 700, 40), zen);
    expect(asked(text)).toContainEqual(expect.stringMatching(/^in\d \+ \w+ \* 700 \+ \w+ \+ 700, 0, 2$/));
    expect(text).not.toMatch(/prefetch\(table/);
    expect(text).toMatch(/__builtin_prefetch[^]*;\n *\}\n[^]*const f32x16 old/);
  });

  test('rows that are read side by side as a whole, some lines with each vector', () => {
    const lines = asked(textOf(cases.halved(2048, 512), zen)).map(
      (what) => /\+ i \* 2048 \+ j \* 4 \+ (\d+), 0, 2$/.exec(what)?.[1],
    );
    expect(lines.map(Number).toSorted((left, right) => left - right)).toEqual([4096, 4112, 4128, 4144]);
    // Of what the caches have nothing, and none on another processor.
    expect(asked(textOf(cases.halved(512, 512), zen))).toEqual([]);
    expect(asked(textOf(cases.halved(2048, 512)))).not.toContainEqual(expect.stringContaining('j * 4'));
  });

  test('short ones those of a page at once', () => {
    const text = textOf(cases.rotated(65536, 64), zen);
    expect(text).toMatch(
      /if \(i % 8 == 0\) \{\s*for \(i64 line = 0; line < 1024; line \+= 16\) \{\s*__builtin_prefetch/,
    );
    expect(asked(text)).toEqual(['in0 + i * 128 + line + 1024, 0, 2']);
    expect(asked(textOf(cases.rotated(4096, 64), zen))).toEqual([]);
    // A page would be asked for again by what comes after the last of its rows.
    expect(asked(textOf(cases.rotated(65532, 64), zen))).toEqual([]);
  });

  test('past the caches go results that are a small part of what moves', () => {
    expect(textOf(cases.halved(4096, 1024), zen)).toContain('stream_f32x16(out_out');
    for (const one of [textOf(cases.halved(4096, 1024)), textOf(cases.halved(2048, 1024), zen)])
      expect(one).not.toContain('stream_');
  });
});

/** The status and the bits of the outputs. */
function run({ schedule, sizes }: Case, inputs: ReturnType<typeof inputsOf>, on: CpuTarget) {
  const { units, entry, workspaceBytes } = generateCpp(schedule, on);
  const compiled = compileNative(units, ['-O1']);
  const buffers = entryBuffers(schedule, { inputs, sizes }, evaluateIndex(workspaceBytes, { sizes }));
  const { status } = compiled.call(entry, { buffers, sizes: [], threads: on.threads, repeats: 0 });
  compiled.dispose();
  const { program } = schedule;
  return {
    status,
    outputs: program.outputs.map((_, output) => Buffer.from(at(buffers, program.inputs.length + output))),
  };
}

const bytesOf = (values: ArrayBufferView): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** Indices of which each differs from the one before. */
function spread(one: Case, extent: number): ReturnType<typeof inputsOf> {
  const inputs = inputsOf(one);
  for (const array of inputs.values())
    if (array instanceof BigInt64Array)
      array.forEach((_, place) => (array[place] = BigInt(((place * 7919) % (2 * extent)) - extent)));
  return inputs;
}

function expectSame(one: Case): void {
  const inputs = inputsOf(one);
  const of = (family: Family): Buffer => at(run(one, inputs, { ...target, family }).outputs, 0);
  for (const family of ['zen', 'rapids'] as const) expect(Buffer.compare(of(family), of('other'))).toBe(0);
}

ring('what is asked for changes no result', () => {
  const rows = cases.chosen('rows', [2111, 133, 1003]);
  const elements = cases.chosen('elements', [1003, 281, 307]);
  const each: readonly (readonly [Case, number])[] = [
    [rows, 2111],
    [elements, 281],
    [cases.positions(1103, 1031), 1],
    [cases.scanned(1103, 1031, 'rows, logarithms'), 1],
  ];
  test.each<[Isa, number]>([
    ['avx512', 1],
    ['avx512', 2],
    ['avx2', 2],
    ['scalar', 2],
  ])(
    '%s, %i threads',
    (isa, threads) => {
      for (const [one, extent] of each) {
        const inputs = spread(one, extent);
        const { status, outputs } = run(one, inputs, { isa, threads });
        expect([one.name, status]).toEqual([one.name, 0]);
        for (const [output, wanted] of expected(one, inputs).entries())
          expect(Buffer.compare(at(outputs, output), bytesOf(wanted))).toBe(0);
      }
    },
    120_000,
  );

  test('results far larger than the caches', () => {
    const [count, columns] = [2511, 2531];
    const one = cases.scanned(count, columns);
    const values = Float32Array.from({ length: count * columns }, (_, place) => (place * 7919) % 251);
    const inputs = new Map([[at(one.schedule.program.inputs, 0), values]]);
    const { outputs } = run(one, inputs, target);
    const wanted = new Float32Array(count * columns);
    for (let row = 0; row < count; row++) {
      let sum = 0;
      for (let place = row * columns; place < (row + 1) * columns; place++) wanted[place] = sum += at(values, place);
    }
    expect(Buffer.compare(at(outputs, 0), bytesOf(wanted))).toBe(0);
  });

  test('the same bits for every family of processors, halves of lines past the caches among them', () => {
    const [half, whole] = [cases.converted(13 * 2 ** 20 + 5, 'bf16'), cases.centred(8192, 1040, 2)];
    for (const one of [half, whole]) {
      expect(textOf(one, { ...target, family: 'zen' })).toContain('stream_');
      expectSame(one);
    }
  });

  test('the same bits for every family of processors, whatever they ask for', () => {
    const rotations = [cases.rotated(20011, 64), cases.halved(1031, 1040)];
    const columns = [cases.summed('columns', [2063, 1024]), cases.scanned(2063, 1024, 'columns')];
    for (const one of [...rotations, ...columns, cases.added(16384, 180, 40)]) {
      const texts = [target, { ...target, family: 'zen' as const }].map((on) => textOf(one, on));
      expect(at(texts, 0)).not.toBe(at(texts, 1));
      expectSame(one);
    }
  });

  test.each([0, 1002])('an index that is outside is reported wherever it stands: %i', (place) => {
    const inputs = spread(rows, 2111);
    for (const array of inputs.values()) if (array instanceof BigInt64Array) array[place] = 2111n;
    expect(run(rows, inputs, target).status).toBe(1);
  });
});
