// Matrix products by matrix instructions: what the loop interpreter computes, the kernels compute, at shapes that leave tails in every
// tile; which products they are chosen for, and the reason for each that they are not.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { evaluateIndex, int } from '@tsinductor/ir';
import type { BufferId } from '@tsinductor/ir';
import { f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';
import { cases, expected, hasCompiler, makeElements } from '@tsinductor/testing/loops';
import type { Case, ElementArray } from '@tsinductor/testing/loops';
import { bindSchedule, generateCuda } from '../../generate.ts';
import { interpretGroups, wrongInEmulation } from '../../test-support/emulated-run.ts';

const target = { architecture: 'sm_80', inputAlignment: 16 } as const;
const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

/** Numbers of both signs, between -1 and 1, that no two rows or columns share. */
function numbersOf({ schedule, sizes }: Case): Map<BufferId, ElementArray> {
  const inputs = new Map<BufferId, ElementArray>();
  for (const id of schedule.program.inputs) {
    const { dtype, size } = at(schedule.program.buffers, id);
    const array = makeElements(dtype, evaluateIndex(size, { sizes }));
    for (let index = 0; index < array.length; index++) {
      const value = Math.sin(index * index * 0.37 + index * 1.7 + id);
      array[index] = dtype === 'f16' ? f16ToBits(value) : dtype === 'bf16' ? toBfloat16Bits(value) : value;
    }
    inputs.set(id, array);
  }
  return inputs;
}

const roundings: Partial<Record<DType, number>> = { f16: 2 ** -10, bf16: 2 ** -7 };

/** Sums in f32 differ by their order alone, and are rounded once more to the result, and once after what follows. */
function wrongElements(
  { name, schedule }: Case,
  actual: readonly ElementArray[],
  wanted: readonly ElementArray[],
): readonly string[] {
  return wanted.flatMap((want, output) => {
    const { dtype } = at(schedule.program.buffers, at(schedule.program.outputs, output));
    const decode = (bits: number): number => (dtype === 'f16' ? f16FromBits(bits) : fromBfloat16Bits(bits));
    const wrong = [...want].findIndex((bits, index) => {
      const [found, exact] = [decode(Number(at<number | bigint>(at(actual, output), index))), decode(Number(bits))];
      return !(Math.abs(found - exact) <= (roundings[dtype] ?? 0) * (1 + Math.abs(exact)));
    });
    return wrong < 0 ? [] : [`${name}: output ${String(output)}[${String(wrong)}]`];
  });
}

const rows = cases.symbolic('s0', 77);

const products: readonly Case[] = [
  cases.product({ m: 1, n: 64, k: 16, dtype: 'bf16' }),
  cases.product({ m: 1, n: 300, k: 298, dtype: 'f16' }),
  cases.product({ m: 5, n: 18, k: 34, dtype: 'bf16' }),
  cases.product({ m: 17, n: 16, k: 40, dtype: 'bf16', transposed: 'b' }),
  cases.product({ m: 130, n: 72, k: 66, dtype: 'f16', transposed: 'a' }),
  cases.product({ m: 66, n: 131, k: 100, dtype: 'bf16', transposed: 'both' }),
  cases.product({ m: 299, n: 300, k: 300, dtype: 'bf16', batch: 1 }),
  cases.product({ m: 33, n: 50, k: 24, dtype: 'f16', batch: 3 }),
  cases.product({ m: 40, n: 1, k: 64, dtype: 'bf16', batch: 2, transposed: 'b' }),
  cases.product({ m: 64, n: 64, k: 64, dtype: 'bf16' }),
  cases.product({ m: rows.extent, n: 48, k: 40, dtype: 'bf16', sizes: rows.sizes }),
  cases.product({ m: 70, n: 200, k: 96, dtype: 'bf16', transposed: 'b', followed: true }),
  cases.product({ m: 31, n: 34, k: 18, dtype: 'f16', batch: 2, followed: true }),
  cases.product({ m: 9, n: 64, k: 128, dtype: 'bf16', followed: true }),
  cases.product({ m: rows.extent, n: 40, k: 64, dtype: 'f16', transposed: 'b', followed: true, sizes: rows.sizes }),
  cases.product({ m: 131, n: 130, k: 18, dtype: 'bf16', batch: 32, transposed: 'b' }),
  cases.windowed({ images: 2, places: [5, 7], channels: 16, outputs: 24, kernel: [3, 3], dtype: 'bf16' }),
  cases.windowed({ images: 1, places: [4, 9], channels: 6, outputs: 70, kernel: [2, 3], stride: 2, dtype: 'f16' }),
];

/** Products of many shapes, of which some have rows of odd lengths: the same ones each time. */
function someProducts(count: number): readonly Case[] {
  let state = 12345;
  const below = (most: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % most;
  };
  const extent = (): number => Math.max(1, (1 + below(below(2) === 0 ? 40 : 300)) & (below(4) === 0 ? ~0 : ~1));
  return Array.from({ length: count }, () =>
    cases.product({
      m: extent(),
      n: extent(),
      k: extent(),
      batch: below(3) === 0 ? 1 + below(3) : 1,
      dtype: below(2) === 0 ? 'bf16' : 'f16',
      followed: below(2) === 0,
      ...[{}, { transposed: 'a' as const }, { transposed: 'b' as const }, { transposed: 'both' as const }][below(4)],
    }),
  );
}

const notesOf = (one: Case): readonly string[] =>
  generateCuda(one.schedule, target).kernels.flatMap(({ notes }) => notes);

describe('the choice', () => {
  test.each(products.map((one) => [one.name, one] as const))('%s: one kernel, by matrix instructions', (_, one) => {
    const { kernels, source } = generateCuda(one.schedule, target);
    expect(kernels.flatMap(({ notes }) => notes)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^products of b?f16 by matrix instructions$/),
        '3 stages of asynchronous copies',
      ]),
    );
    expect(kernels).toHaveLength(1);
    expect(source).toMatch(/copy_async_(4|8|16)\(/);
  });

  test.each<readonly [string, Case, string]>([
    ['few rows', cases.product({ m: 16, n: 512, k: 64, dtype: 'bf16' }), 'tiles of 16 x 64: there are few rows'],
    [
      'a few tiles',
      cases.product({ m: 256, n: 256, k: 64, dtype: 'bf16' }),
      'tiles of 64 x 64: larger ones would leave parts of a device idle',
    ],
    [
      'many',
      cases.product({ m: 2048, n: 1024, k: 64, dtype: 'bf16' }),
      'tiles of 128 x 128: there are about 128 of them, which fill a device',
    ],
    ['f32', cases.product({ m: 64, n: 64, k: 64 }), 'tiles of 32 x 32 through shared memory'],
    [
      'odd rows',
      cases.product({ m: 64, n: 33, k: 64, dtype: 'bf16' }),
      'tiles of 32 x 32 through shared memory: neighbours in in1 do not lie in aligned pairs',
    ],
    [
      'short sums',
      cases.product({ m: 64, n: 64, k: 8, dtype: 'bf16' }),
      'tiles of 32 x 32 through shared memory: it is smaller than a fragment',
    ],
  ])('%s', (_, one, choice) => {
    expect(notesOf(one)).toContain(`matrix product, ${choice}`);
  });

  test('the whole of a batch is rows where the second operand is the same for all of it', () => {
    const one = cases.windowed({ images: 2, places: [5, 7], channels: 16, outputs: 24, kernel: [3, 3], dtype: 'bf16' });
    const { kernels, source } = generateCuda(one.schedule, target);
    expect(kernels.map(({ blocks }) => evaluateIndex(blocks, {}))).toEqual([2]);
    expect(source).toContain('copy_async_16(');
  });

  test('what is written over an operand of what follows is not restricted', () => {
    const { schedule } = cases.product({ m: 64, n: 64, k: 64, dtype: 'bf16', followed: true });
    const [residual, out] = schedule.program.buffers.slice(-2).map(({ id }) => id) as [number, number];
    const place = { offset: int(0), bytes: int(8192), first: 0, last: 0, over: residual };
    const buffers = schedule.buffers.map((plan) =>
      plan.buffer === out ? { buffer: out, kind: 'workspace' as const, ...place } : plan,
    );
    const parameters = /__global__ .*/.exec(generateCuda({ ...schedule, buffers }, target).source)?.[0] ?? '';
    expect(parameters.match(/__restrict__ \w+/g)).toHaveLength(3);
    expect(parameters).toMatch(/bf16 \*ptr\d_in3\w*, bf16 \*ptr\d_out/);
  });

  test('what follows is computed before anything is stored', () => {
    const { source, kernels } = generateCuda(
      cases.product({ m: 70, n: 200, k: 96, dtype: 'bf16', transposed: 'b', followed: true }).schedule,
      target,
    );
    expect(source).toContain('gelu_f32(');
    expect(kernels.flatMap((kernel) => kernel.arguments.map(({ kind }) => kind))).toEqual(new Array(5).fill('buffer'));
    expect(source).toContain('store_bf16x8(');
  });
});

describe('in the interpreter of bound kernels', () => {
  const few = products.filter(({ name }) => /^product 1 (5|17|9) |^windows 2/.test(name));
  test.each(few.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const inputs = numbersOf(one);
    const groups = bindSchedule(one.schedule, target);
    const actual = interpretGroups(one.schedule, groups, { inputs, sizes: one.sizes, order: 'descending' });
    expect(wrongElements(one, actual, expected(one, inputs))).toEqual([]);
  });
});

ring('in the emulation', () => {
  test('all of them', () => {
    const comparing = { inputsOf: numbersOf, differences: wrongElements };
    expect(wrongInEmulation(products, target, comparing)).toEqual([]);
    expect(wrongInEmulation(someProducts(16), target, comparing)).toEqual([]);
    expect(wrongInEmulation(products.slice(-2), { ...target, positions: 'assumed' }, comparing)).toEqual([]);
  }, 240_000);
});
