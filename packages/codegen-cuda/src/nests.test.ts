// Nests of every kind: what the loop interpreter computes, the CUDA kernels compute, in the Kernel IR's interpreter (which
// sees every race and every missing barrier) and in the emulation, in both orders of threads.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { add, int } from '@tsinductor/ir';
import { cases, differences, entryBuffers, expected, hasCompiler, inputsOf } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { bindSchedule } from './generate.ts';
import { emulate, interpretGroups, wrongInEmulation } from './test-support/emulated-run.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');
const target = { architecture: 'sm_80', inputAlignment: 64 } as const;

/** Chunks of a scan are summed in another order than one element after the other. */
const scanned = (rows: number, columns: number): Case => ({ ...cases.scanned(rows, columns), tolerance: 1e-5 });

const small: readonly Case[] = [
  cases.broadcasts(3, 37),
  cases.broadcasts(2, 16),
  cases.transposed(19, 35),
  scanned(3, 33),
  cases.summed('rows', [5, 133]),
  cases.summed('columns', [67, 7]),
  cases.summed('nothing', [3, 50]),
  cases.positions(3, 45),
  cases.softmax('rows', [3, 71]),
  cases.softmax('columns', [39, 3]),
  cases.picked(7, 20),
  cases.product({ m: 3, n: 5, k: 7, batch: 2, dtype: 'i64' }),
  cases.shorter([5, 20], [5, 37]),
  cases.shorter([5, 20], [9, 20]),
  cases.shorter([3, 17], [4, 18]),
  cases.sorted({ rows: 3, columns: 37 }),
  cases.sorted({ rows: 5, columns: 30, dtype: 'i64', descending: true, areColumns: true }),
  cases.sorted({ rows: 2, columns: 300, kept: 4, dtype: 'f16', descending: true }),
  cases.sorted({ rows: 3, columns: 41, kept: 3, dtype: 'i32', asksForPlaces: true }),
];

describe('kernels in the interpreter', () => {
  test.each(small.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const inputs = inputsOf(one);
    const groups = bindSchedule(one.schedule, target);
    for (const order of ['ascending', 'descending'] as const) {
      const actual = interpretGroups(one.schedule, groups, { inputs, sizes: one.sizes, order });
      expect(differences(one, actual, expected(one, inputs))).toEqual([]);
    }
  });
});

const rows = cases.symbolic('s0', 301);
const columns = cases.symbolic('s1', 77);

const large: readonly Case[] = [
  ...small,
  cases.sorted({ rows: rows.extent, columns: columns.extent, sizes: new Map([...rows.sizes, ...columns.sizes]) }),
  cases.broadcasts(300, 412),
  cases.broadcasts(rows.extent, columns.extent, new Map([...rows.sizes, ...columns.sizes])),
  cases.transposed(130, 259),
  scanned(5, 2590),
  scanned(130, 59),
  cases.summed('rows', [300, 1030]),
  cases.summed('columns', [203, 2100]),
  cases.summed('columns', [700, 70]),
  cases.summed('columns', [rows.extent, columns.extent], new Map([...rows.sizes, ...columns.sizes])),
  cases.summed('columns', [9000, 20]),
  cases.summed('nothing', [100, 333]),
  cases.summed('rows', [rows.extent, columns.extent], new Map([...rows.sizes, ...columns.sizes])),
  cases.summed('nothing', [rows.extent, 100], rows.sizes),
  cases.positions(30, 1031),
  cases.softmax('rows', [20, 1030]),
  cases.softmax('columns', [70, 53]),
  cases.filled(30, [60, 64]),
  cases.filled(31, [37, 90]),
  cases.shorter([30, 63], [33, 96]),
  cases.shorter(
    [rows.extent, columns.extent],
    [add(rows.extent, int(3)), columns.extent],
    new Map([...rows.sizes, ...columns.sizes]),
  ),
  cases.product({ m: 65, n: 103, k: 77 }),
  cases.product({ m: 7, n: 37, k: 19 }),
  cases.product({ m: 40, n: 33, k: 50, transposed: 'both' }),
  cases.product({ m: 33, n: 35, k: 40, batch: 2, dtype: 'f64', transposed: 'a' }),
  cases.product({ m: 20, n: 33, k: 70, dtype: 'f16' }),
  cases.product({ m: 20, n: 33, k: 40, dtype: 'bf16', transposed: 'b' }),
  cases.product({ m: 40, n: 33, k: 50, dtype: 'i32' }),
  ...cases.interleavedCases,
];

ring('kernels in the emulation', () => {
  test.each(['proven', 'assumed'] as const)(
    'all of them, with indices that are %s to be within 32 bits',
    (positions) => {
      expect(wrongInEmulation(large, { ...target, positions })).toEqual([]);
    },
  );

  test('a failed check is the status, and nothing out of bounds is read', () => {
    const one = cases.picked(7, 20);
    const { compiled, programs } = emulate([one.schedule], target);
    const inputs = inputsOf(one);
    inputs.set(at(one.schedule.program.inputs, 1), BigInt64Array.from([0n, 1n, 7n, 2n, 3n, 4n, 5n, 6n, 0n, -7n, 1n]));
    const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, 0);
    expect(compiled.call(at(programs, 0).entry, { buffers, sizes: [], threads: 1, repeats: 0 }).status).toBe(1);
    compiled.dispose();
  });
});
