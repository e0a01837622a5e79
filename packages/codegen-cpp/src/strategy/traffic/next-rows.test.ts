// What loops prefetch before they read it: which rows and tiles in the generated text, and that prefetches change no result,
// at odd shapes, on every instruction set that this machine runs. All that loop
// programs prefetch stands in tests/goldens/traffic.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import {
  cases,
  compileNative,
  entryBuffers,
  expected,
  hasCompiler,
  inputsOf,
  runnable,
  runsHere,
} from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { evaluateIndex } from '@tsinductor/ir';
import { generateCpp } from '../../generate.ts';
import type { Family } from '../../machine/facts.ts';
import type { Isa } from '../../machine/isa.ts';
import type { CpuTarget } from '../../machine/target.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const target: CpuTarget = { isa: 'avx512', threads: 2 };
const textOf = ({ schedule }: Case, on: CpuTarget = target): string =>
  generateCpp(schedule, on)
    .units.map((unit) => unit.source)
    .join('\n');

describe('what is prefetched', () => {
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

  test('rows are summed the same way whether or not an earlier nest of their kernel asks for their array', () => {
    const sums = (what: 'summed' | 'twice and summed', family: Family): string => {
      const text = textOf(cases.doubledAndSummed(what, [1024, 4096]), { ...target, family });
      const loop = /for \(i64 l_block = 0[^]*?\n {4}\}/.exec(text)?.[0] ?? what;
      return loop.replaceAll(/in0_\d+/g, 'element');
    };
    for (const family of ['other', 'rapids', 'zen'] as const)
      expect(sums('twice and summed', family)).toBe(sums('summed', family));
  });
});

describe('windows', () => {
  const prefetched = (text: string): readonly string[] =>
    [...text.matchAll(/__builtin_prefetch\((.*)\);/g)].map(([, what = '']) => what);

  test('ask for nothing where the caches hold the array, and in the order of addresses where lines are foreseen in it', () => {
    expect(prefetched(textOf(cases.halved(512, 512)))).toEqual([]);
    const zen = prefetched(textOf(cases.halved(4096, 512), { ...target, family: 'zen' }));
    for (const line of zen) expect(line).not.toContain('j * 2 ');
  });
});

describe('what is prefetched on a Zen', () => {
  const zen: CpuTarget = { ...target, family: 'zen' };

  test('no lines of large results, which are written by non-temporal stores', () => {
    const one = cases.largest(1 << 24, 1);
    expect(textOf(one)).toContain('__builtin_prefetch(out_out + i + 512, 1);');
    expect(textOf(one, zen)).toContain('non_temporal_store_f32x16(out_out + i');
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
    const prefetched = (arrays: number, on: CpuTarget): number =>
      new Set(textOf(cases.centredOf(4096, 1024, { arrays, of: 'exponentials' }), on).match(/prefetch\(in\d/g)).size;
    expect([1, 2, 3].map((arrays) => prefetched(arrays, target))).toEqual([1, 2, 3]);
    expect([1, 2, 3].map((arrays) => prefetched(arrays, zen))).toEqual([1, 2, 0]);
  });

  test('no next rows of memory with which little is computed; those that caches hold', () => {
    const prefetches = (rows: number, on: CpuTarget): boolean =>
      textOf(cases.centred(rows, 1024, 1), on).includes('prefetch(in0');
    expect([512, 16384].map((rows) => prefetches(rows, target))).toEqual([true, true]);
    expect([512, 16384].map((rows) => prefetches(rows, zen))).toEqual([true, false]);
  });
});

describe('how a Zen asks for rows of memory', () => {
  const zen: CpuTarget = { ...target, family: 'zen' };
  const prefetched = (text: string): readonly string[] =>
    [...text.matchAll(/__builtin_prefetch\((.*)\);/g)].map(([, what = '']) => what);

  test('rows by their indices two ahead', () => {
    const rows = textOf(cases.chosen('rows', [4096, 1024, 4096]), zen);
    expect(rows).toContain('in1[index_minimum_i64(n + 2, 4095)]');
    expect(prefetched(rows)).toEqual(['in0 + checked_1 * 1024 + j, 0, 2']);
  });

  test('results that are a small part of what moves are written by non-temporal stores', () => {
    expect(textOf(cases.halved(4096, 1024), zen)).toContain('non_temporal_store_f32x16(out_out');
    for (const one of [textOf(cases.halved(4096, 1024)), textOf(cases.halved(2048, 1024), zen)])
      expect(one).not.toContain('non_temporal_store_');
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
  const of = (family: Family): Buffer => at(run(one, inputs, { ...host, family }).outputs, 0);
  for (const family of ['zen', 'rapids'] as const) expect(Buffer.compare(of(family), of('other'))).toBe(0);
}

/** What is compiled here: the widest that this processor has. */
const host: CpuTarget = { ...target, isa: runsHere('avx512') ? 'avx512' : 'avx2' };

ring('prefetches change no result', () => {
  const rows = cases.chosen('rows', [2111, 133, 1003]);
  const elements = cases.chosen('elements', [1003, 281, 307]);
  const each: readonly (readonly [Case, number])[] = [
    [rows, 2111],
    [elements, 281],
    [cases.positions(1103, 1031), 1],
    [cases.scanned(1103, 1031, 'rows, logarithms'), 1],
  ];
  const on: readonly [Isa, number][] = [
    ['avx512', 1],
    ['avx512', 2],
    ['avx2', 2],
    ['scalar', 2],
  ];
  test.each(runnable(on, ([isa]) => isa))(
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
    const { outputs } = run(one, inputs, host);
    const wanted = new Float32Array(count * columns);
    for (let row = 0; row < count; row++) {
      let sum = 0;
      for (let place = row * columns; place < (row + 1) * columns; place++) wanted[place] = sum += at(values, place);
    }
    expect(Buffer.compare(at(outputs, 0), bytesOf(wanted))).toBe(0);
  });

  test('the same bits for every family of processors, halves of lines by non-temporal stores among them', () => {
    const [half, whole] = [cases.converted(13 * 2 ** 20 + 5, 'bf16'), cases.centred(8192, 1040, 2)];
    for (const one of [half, whole]) {
      expect(textOf(one, { ...target, family: 'zen' })).toContain('non_temporal_store_');
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
    expect(run(rows, inputs, host).status).toBe(1);
  });
});
