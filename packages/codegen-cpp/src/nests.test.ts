// Nests of every kind: what the loop interpreter computes, the kernels compute, in the Kernel IR's interpreter (without a
// compiler; small sizes) and in compiled code (sizes at which tiles, blocks and chunks come in).
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { add, evaluateIndex, int } from '@tsinductor/ir';
import { bindSchedule, generateCpp } from './generate.ts';
import type { Family } from './machine/facts.ts';
import type { Isa } from './machine/isa.ts';
import type { CpuTarget } from './machine/target.ts';
import { runKernels } from './test-support/kernel-run.ts';
import { differencesOf, expectations } from './test-support/native-differences.ts';
import {
  cases,
  compileNative,
  differences,
  entryBuffers,
  expected,
  hasCompiler,
  inputsOf,
  runnable,
  runsHere,
} from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const small: readonly Case[] = [
  cases.broadcasts(3, 37),
  cases.broadcasts(2, 16),
  cases.transposed(19, 35),
  cases.transposed(32, 16),
  cases.scanned(18, 33),
  cases.scanned(3, 50),
  cases.scanned(18, 33, 'rows, logarithms'),
  cases.scanned(67, 300, 'columns'),
  cases.summed('rows', [5, 133]),
  cases.summed('columns', [67, 37]),
  cases.summed('columns', [70, 300]),
  cases.summed('nothing', [3, 50]),
  cases.positions(3, 45),
  cases.softmax('rows', [3, 21]),
  cases.softmax('columns', [9, 35]),
  cases.picked(7, 20),
  cases.added(9, 21, 4),
  cases.product({ m: 7, n: 37, k: 19 }),
  cases.product({ m: 9, n: 20, k: 17, transposed: 'both' }),
  cases.product({ m: 2, n: 9, k: 40, transposed: 'b' }),
  cases.product({ m: 30, n: 1, k: 40 }),
  cases.product({ m: 3, n: 5, k: 7, batch: 2, dtype: 'i64' }),
  cases.shorter([5, 20], [5, 37]),
  cases.shorter([5, 20], [9, 20]),
  cases.shorter([3, 17], [4, 18]),
  cases.product({ m: 13, n: 18, k: 21, dtype: 'f16' }),
  ...cases.smallWindows,
  ...cases.interleavedCases,
  cases.sorted({ rows: 3, columns: 37 }),
  cases.sorted({ rows: 5, columns: 30, dtype: 'i64', descending: true, areColumns: true }),
  cases.sorted({ rows: 2, columns: 300, kept: 4, dtype: 'f16', descending: true }),
  cases.sorted({ rows: 3, columns: 41, kept: 3, dtype: 'i32', asksForPlaces: true }),
];

describe('kernels in the interpreter', () => {
  test.each(small.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const inputs = inputsOf(one);
    for (const isa of ['avx512', 'scalar'] as const) {
      const kernels = bindSchedule(one.schedule, { isa, threads: 2 });
      const actual = runKernels(one.schedule, kernels, { inputs, sizes: one.sizes, chunk: 1 });
      expect(differences(one, actual, expected(one, inputs))).toEqual([]);
    }
  });
});

const rows = cases.symbolic('s0', 301);
const columns = cases.symbolic('s1', 77);

const large: readonly Case[] = [
  ...small,
  cases.sorted({ rows: rows.extent, columns: columns.extent, sizes: new Map([...rows.sizes, ...columns.sizes]) }),
  cases.sorted({ rows: 2, columns: 70000 }),
  cases.sorted({ rows: 300, columns: 500, kept: 20, dtype: 'f64' }),
  cases.sorted({ rows: 2, columns: 40000, kept: 2, dtype: 'f64', asksForPlaces: true }),
  cases.broadcasts(300, 411),
  cases.broadcasts(rows.extent, columns.extent, new Map([...rows.sizes, ...columns.sizes])),
  cases.transposed(130, 259),
  cases.scanned(130, 259),
  cases.scanned(130, 259, 'rows, logarithms'),
  cases.scanned(3, 5000),
  cases.scanned(1003, 1500, 'columns'),
  cases.summed('rows', [300, 1030]),
  cases.summed('columns', [1003, 1500]),
  cases.summed('columns', [30000, 20]),
  cases.summed('columns', [2103, 1001]),
  cases.summed('nothing', [700, 333]),
  cases.summed('rows', [rows.extent, columns.extent], new Map([...rows.sizes, ...columns.sizes])),
  cases.summed('nothing', [rows.extent, 900], rows.sizes),
  cases.positions(130, 1031),
  cases.softmax('rows', [70, 1030]),
  cases.softmax('columns', [70, 530]),
  cases.added(300, 700, 40),
  cases.added(2000, 70, 5),
  cases.added(1000, 300, 40),
  cases.doubledAndSummed('twice and summed', [40, 8192]),
  cases.filled(300, [60, 64]),
  cases.filled(31, [37, 90]),
  cases.shorter([300, 400], [300, 411]),
  cases.shorter([300, 411], [333, 411]),
  cases.shorter([130, 63], [133, 96]),
  cases.shorter(
    [rows.extent, columns.extent],
    [add(rows.extent, int(3)), add(columns.extent, int(40))],
    new Map([...rows.sizes, ...columns.sizes]),
  ),
  cases.product({ m: 131, n: 203, k: 77 }),
  cases.product({ m: 200, n: 330, k: 1100 }),
  cases.product({ m: 200, n: 330, k: 600, transposed: 'both' }),
  cases.product({ m: 500, n: 70, k: 600, transposed: 'a' }),
  cases.product({ m: 1, n: 1000, k: 300 }),
  cases.product({ m: 3, n: 1000, k: 300, transposed: 'b' }),
  cases.product({ m: 33, n: 70, k: 90, batch: 5, dtype: 'f64' }),
  cases.product({ m: 20, n: 70, k: 700, dtype: 'f16' }),
  cases.product({ m: 20, n: 70, k: 90, dtype: 'bf16', transposed: 'b' }),
  cases.product({ m: 40, n: 33, k: 50, dtype: 'i32' }),
  ...cases.largeWindows,
];

/** Rows that are scanned in chunks where there are threads enough, some lanes of the last vector among them, and what is not. */
const longScans: readonly Case[] = [
  cases.scanned(1, 131_072),
  cases.scanned(1, 140_003),
  cases.scanned(2, 70_001),
  cases.scanned(3, 45_007),
  // One by one, as these cases expect it elsewhere, they are only joined by tiles and in whole columns.
  { ...cases.scanned(1, 131_101, 'rows, logarithms'), tolerance: 1e-3 },
  { ...cases.scanned(20_011, 7, 'columns'), tolerance: cases.scanned(7, 20_011).tolerance },
  cases.scannedProducts(1, 140_003),
  cases.scannedProducts(3, 45_007),
  cases.scannedTwice(1, 140_003),
  cases.scannedPositions(1, 140_003),
  cases.scannedPositions(2, 70_001),
  cases.scannedIntegers(1, 140_003),
  cases.scannedIntegers(3, 45_007),
  cases.scannedIntegers(2, 0),
];

/** Whole numbers, whose sums do not round. */
function whole(length: number): Float32Array {
  const values = new Float32Array(length);
  for (let index = 0; index < length; index++) values[index] = Math.imul(index, 40_503) >>> 16;
  return values;
}

const isas = runnable<Isa>(['avx512', 'avx2', 'scalar'], (isa) => isa);
const onHost = (rows: readonly [Isa, number][]) => runnable(rows, ([isa]) => isa);
/** The widest that this processor has. */
const widest: Isa = runsHere('avx512') ? 'avx512' : 'avx2';

ring('compiled kernels', () => {
  test.each(
    onHost([
      ['avx512', 2],
      ['avx2', 1],
      ['scalar', 2],
    ]),
  )(
    '%s, %i threads',
    (isa, threads) => {
      expect(differencesOf(large, { isa, threads })).toEqual([]);
    },
    600_000,
  );

  const machines = [['avx512', 2], ['avx512', 6], ['avx2', 1], ['avx2', 3], ['scalar', 2], ['scalar', 6]] as const; // prettier-ignore
  test.each(runnable(machines, ([isa]) => isa))('scans of few long rows: %s, %i threads', (isa, threads) => {
    expect(differencesOf(longScans, { isa, threads })).toEqual([]);
  });

  test.each(isas)('floats become bf16 bit for bit, NaN among them: %s', (isa) => {
    const upper = [0, 1, 0x7f, 0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0x7fbf, 0x7fff].flatMap((half) => [half, half | 0x8000]);
    const lower = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
    const bits = Uint32Array.from(upper.flatMap((high) => lower.map((low) => high * 0x10000 + low)));
    const one = cases.converted(bits.length, 'bf16');
    const inputs = new Map([[at(one.schedule.program.inputs, 0), new Float32Array(bits.buffer)]]);
    expectations.set(one, { inputs, wanted: expected(one, inputs) });
    expect(differencesOf([one], { isa, threads: 1 })).toEqual([]);
  });

  test('running sums of -0 are 0, though no lane adds the 0 that they begin with', () => {
    const one = cases.scanned(3, 133, 'rows');
    const { units, entry, workspaceBytes } = generateCpp(one.schedule, { isa: widest, threads: 1 });
    expect(units.map(({ source }) => source).join('')).toContain('= (-0.0f) + ');
    const inputs = new Map([[at(one.schedule.program.inputs, 0), new Float32Array(3 * 133).fill(-0)]]);
    const compiled = compileNative(units);
    const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, evaluateIndex(workspaceBytes, {}));
    expect(compiled.call(entry, { buffers, sizes: [], threads: 1, repeats: 0 }).status).toBe(0);
    compiled.dispose();
    const out = at(buffers, 1);
    const sums = [...new Float32Array(out.buffer, out.byteOffset, 3 * 133)];
    expect(sums.every((sum) => Object.is(sum, 0))).toBe(true);
  });

  test.each([
    [1000, ['i in 2 chunks, the second added into a table of its own and to the first in its turn']],
    [600, ['each thread owns columns of j']],
  ])('fewer have one for each thread, where each stands for enough of them: %i rows', (rows, expectedNotes) => {
    const { kernels } = generateCpp(cases.added(rows, 300, 40).schedule, { isa: 'avx512', threads: 2 });
    expect(kernels.flatMap(({ notes }) => notes)).toEqual(expectedNotes);
  });

  test.each(isas)('two of them are summed in their turn, however the threads come: %s', (isa) => {
    expect(differencesOf([cases.added(1000, 300, 40), cases.added(801, 301, 33)], { isa, threads: 2 })).toEqual([]);
    const one = cases.added(1000, 300, 40);
    const { units, entry, workspaceBytes } = generateCpp(one.schedule, { isa, threads: 2 });
    const compiled = compileNative(units, ['-O1']);
    const filled = { inputs: inputsOf(one), sizes: one.sizes };
    const results = [1, ...Array.from({ length: 24 }, () => 2)].map((threads) => {
      const buffers = entryBuffers(one.schedule, filled, evaluateIndex(workspaceBytes, {}));
      expect(compiled.call(entry, { buffers, sizes: [], threads, repeats: 0 }).status).toBe(0);
      const result = at(buffers, one.schedule.program.inputs.length);
      expect(Buffer.alloc(result.byteLength).equals(result)).toBe(false);
      return createHash('sha256').update(result).digest('hex');
    });
    compiled.dispose();
    expect(new Set(results).size).toBe(1);
  });

  const inTurn = 'i in 2 chunks, the second added into a table of its own and to the first in its turn';
  test.each<[number, number, number, Family, string]>([
    [2000, 70, 5, 'other', 'i in 12 chunks, each added into a table of its own, merged in order'],
    [1000, 300, 40, 'other', inTurn],
    [1000, 300, 40, 'zen', inTurn],
    [1000, 300, 40, 'rapids', 'i in 2 chunks, each added into a table of its own, merged in order'],
  ])('%i rows that are added into a small table have tables of their own, which begin with -0', (...given) => {
    const [rows, columns, into, family, text] = given;
    const one = cases.added(rows, columns, into);
    const target: CpuTarget = { isa: widest, threads: 2, family };
    expect(differencesOf([one], target)).toEqual([]);
    const { units, entry, workspaceBytes, kernels } = generateCpp(one.schedule, target);
    expect(kernels.flatMap(({ notes }) => notes)).toContain(text);
    const inputs = inputsOf(one);
    for (const [id, values] of inputs)
      if (at(one.schedule.program.buffers, id).dtype === 'f32') new Float32Array(values.buffer).fill(-0);
    const compiled = compileNative(units);
    const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, evaluateIndex(workspaceBytes, {}));
    expect(compiled.call(entry, { buffers, sizes: [], threads: 2, repeats: 0 }).status).toBe(0);
    compiled.dispose();
    const out = at(buffers, one.schedule.program.inputs.length);
    const sums = [...new Float32Array(out.buffer, out.byteOffset, into * columns)];
    expect(sums.every((sum) => Object.is(sum, -0))).toBe(true);
  });

  test('long rows of memory, read as streams', () => {
    const both = [cases.summed('rows', [512, 2048]), cases.summed('nothing', [1024, 1024])];
    expect(differencesOf(both, { isa: 'avx2', threads: 2 })).toEqual([]);
  });

  interface Transposed {
    readonly make: (rows: number, columns: number) => Case;
    readonly shape: readonly [number, number];
    readonly isa: Isa;
  }
  test.each<[string, Transposed]>([
    ['with a sum', { make: cases.transposed, shape: [2512, 2528], isa: widest }],
    ['with a sum, and odd ends', { make: cases.transposed, shape: [2513, 2531], isa: widest }],
    ['with a sum, in fewer rows than a block has', { make: cases.transposed, shape: [70003, 91], isa: widest }],
    ['with a sum, in halves of lines', { make: cases.transposed, shape: [2513, 2531], isa: 'avx2' }],
    ['alone', { make: cases.permuted, shape: [2512, 2528], isa: widest }],
  ])('results that are written by non-temporal stores, transposed %s', (_, { make, shape: [rows, columns], isa }) => {
    const one = make(rows, columns);
    const { inputs, buffers } = one.schedule.program;
    const values = whole(rows * columns);
    const filled = new Map(inputs.map((id) => [id, values]));
    const program = generateCpp(one.schedule, { isa, threads: 2 });
    const compiled = compileNative(program.units);
    const given = entryBuffers(one.schedule, { inputs: filled, sizes: one.sizes }, 0);
    compiled.call(program.entry, { buffers: given, sizes: [], threads: 2, repeats: 0 });
    compiled.dispose();
    const isSum = buffers.length > 2;
    const wanted = new Float32Array(rows * columns);
    for (let column = 0; column < columns; column++)
      for (let row = 0; row < rows; row++) {
        const place = column * rows + row;
        wanted[place] = (values[row * columns + column] ?? 0) + (isSum ? (values[place] ?? 0) : 0);
      }
    expect(Buffer.compare(Buffer.from(at(given, inputs.length)), Buffer.from(wanted.buffer))).toBe(0);
  });

  test.each(isas)('what an index decides for parts of the lanes, on %s', (isa) => {
    const widths = [[64, 64], [40, 60], [1, 130], [130, 1], [16, 7], [3, 4]] as const; // prettier-ignore
    const halves = [64, 16, 20, 3].map((half) => cases.rotated(9, half));
    const all = [...widths.map((both) => cases.joined(9, both)), ...halves];
    expect(differencesOf(all, { isa, threads: 1 })).toEqual([]);
  });

  test.each(isas)('positions of 32 bits, whatever sizes are, on %s', (isa) => {
    const sizes = new Map([...rows.sizes, ...columns.sizes]);
    const all = [
      cases.joined(9, [rows.extent, columns.extent], sizes),
      cases.broadcasts(rows.extent, columns.extent, sizes),
      cases.summed('rows', [rows.extent, columns.extent], sizes),
      cases.summed('nothing', [rows.extent, 900], rows.sizes),
    ];
    expect(differencesOf(all, { isa, threads: 2, positions: 'assumed' })).toEqual([]);
  });

  const dtypes = ['f32', 'f64', 'i64', 'i32', 'i16', 'u8', 'bf16', 'f16'] as const;
  test.each(isas.filter((isa) => isa !== 'scalar'))('lanes a few elements apart, and backwards, on %s', (isa) => {
    const steps = dtypes.flatMap((dtype) => [2, 3, 4, 5, -1, -2].map((step) => cases.apart(133, { step, dtype })));
    const sets = [[2, [1, 0]], [3, [0, 1, 2]], [3, [0, 2]], [4, [3, 1, 0]], [4, [0, 3]], [2, [0, 1, 2, 3]]] as const; // prettier-ignore
    const windows = sets.flatMap(([step, offsets]) =>
      dtypes.flatMap((dtype) => [64, 133].map((count) => cases.between(count, { step, offsets, dtype }))),
    );
    const sizes = [{ down: 2, across: 2 }, { down: 3, across: 2 }, { down: 2, across: 3 }] as const; // prettier-ignore
    const blocks = sizes.flatMap((size) => dtypes.map((dtype) => cases.blocks([3, 71], { ...size, dtype })));
    expect(differencesOf([...steps, ...windows, ...blocks], { isa, threads: 1 })).toEqual([]);
  });

  test('results that are prefetched before they are written', () => {
    const [rows, columns] = [2511, 2531];
    const one = cases.broadcasts(rows, columns);
    const { inputs } = one.schedule.program;
    const given = [whole(rows * columns), whole(columns), whole(rows)];
    const filled = new Map(inputs.map((id, position) => [id, at(given, position)]));
    const { units, entry } = generateCpp(one.schedule, { isa: 'avx2', threads: 2 });
    expect(units.some(({ source }) => source.includes(', 1);'))).toBe(true);
    const compiled = compileNative(units);
    const buffers = entryBuffers(one.schedule, { inputs: filled, sizes: one.sizes }, 0);
    compiled.call(entry, { buffers, sizes: [], threads: 2, repeats: 0 });
    compiled.dispose();
    const wanted = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const place = row * columns + column;
        const [x, byColumn, byRow] = [given[0]?.[place], given[1]?.[column], given[2]?.[row]];
        wanted[place] = (x ?? 0) * 2 + (byColumn ?? 0) + (byRow ?? 0);
      }
    expect(Buffer.compare(Buffer.from(at(buffers, inputs.length)), Buffer.from(wanted.buffer))).toBe(0);
  });

  test('a failed check is the status, and nothing out of bounds is read', () => {
    const one = cases.picked(7, 20);
    const program = generateCpp(one.schedule, { isa: widest, threads: 1 });
    const compiled = compileNative(program.units);
    const inputs = inputsOf(one);
    const indices = at(one.schedule.program.inputs, 1);
    inputs.set(indices, BigInt64Array.from([0n, 1n, 7n, 2n, 3n, 4n, 5n, 6n, 0n, -7n, 1n]));
    const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, 0);
    expect(compiled.call(program.entry, { buffers, sizes: [], threads: 1, repeats: 0 }).status).toBe(1);
    compiled.dispose();
  });
});
