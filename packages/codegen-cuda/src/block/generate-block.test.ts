// Hand-written kernels as CUDA: what the Block IR's interpreter computes, the bound kernels compute, in the Kernel IR's
// interpreter (which sees every race and every missing barrier) and in the emulation, in both orders of threads.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { ptr } from '@tsinductor/dsl';
import { f16ToBits } from '@tsinductor/ops';
import { blockCase, blockDifferences, floats, interpretCase } from '@tsinductor/testing/block-case';
import { hasCompiler } from '@tsinductor/testing/loops';
import { addCase, productCase, softmaxCase } from '@tsinductor/testing/sample-kernels';
import { emulateBlocks, exactCases, interpretBound, runEmulated } from '../test-support/block-run.ts';
import { generateCudaBlocks } from './generate-block.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const target = { architecture: 'sm_80', warps: 2, stages: 3, mayAlias: false } as const;
const exact = exactCases();

/** n * epsilon * sum |x| of a product whose factors are at most 4 and 2. */
const boundOf = (depth: number, unit: number): number => depth * unit * depth * 8;

/** A product whose factors both lie column by column. */
const turned = blockCase(
  'turned',
  { a: ptr('f16'), b: ptr('f16'), c: ptr('f32') },
  {
    body: ({ a, b, c }, tl) => {
      const side = tl.arange(0, 32);
      const rows = tl.expandDims(side, 1);
      const columns = tl.expandDims(side, 0);
      let sum = tl.zeros([32, 32], tl.f32);
      for (const k of tl.range(0, 48, 16)) {
        const ks = k + tl.arange(0, 16);
        const x = tl.load(a + rows + tl.expandDims(ks, 0) * 32);
        const y = tl.load(b + tl.expandDims(ks, 1) + columns * 48, tl.expandDims(ks, 1) < 40 && columns < 25, 0);
        sum = tl.dot(x, y, sum);
      }
      tl.store(c + rows * 32 + columns, sum);
    },
    args: {
      a: Uint16Array.from(floats(48 * 32), (value) => f16ToBits(value)),
      b: Uint16Array.from(floats(48 * 32, 0.5), (value) => f16ToBits(value)),
      c: new Float32Array(32 * 32),
    },
    divisor: 16,
  },
);

const bounded = [
  { one: turned, tolerance: boundOf(40, 2 ** -24) },
  {
    one: productCase({ dtype: 'f16', precision: 'ieee', sizes: [20, 32, 16], divisor: 16 }),
    tolerance: boundOf(16, 2 ** -24),
  },
  {
    one: productCase({ dtype: 'f32', precision: 'tf32', sizes: [32, 20, 8], divisor: 16 }),
    tolerance: boundOf(8, 2 ** -24) + 8 * 8 * 2 ** -9,
  },
];

/** Products element by element are many steps of an interpreter: those are the emulation's. */
const interpreted = exact.filter(({ name }) => !name.startsWith('product'));

describe('in the interpreter of bound kernels', () => {
  const cases = [...interpreted.map((one) => ({ one, tolerance: 0 })), ...bounded];
  test.each(cases.map(({ one, tolerance }, index) => [`${one.name} ${String(index)}`, one, tolerance] as const))(
    '%s',
    (_, one, tolerance) => {
      const kernel = at(generateCudaBlocks([one.program], target).kernels, 0);
      const expected = interpretCase(one);
      for (const order of tolerance === 0 ? (['ascending', 'descending'] as const) : (['descending'] as const))
        expect(blockDifferences(expected, interpretBound(one, kernel, order), tolerance)).toEqual([]);
    },
  );
});

ring('in the emulation', () => {
  test('all of them', () => {
    const cases = [...exact.map((one) => ({ one, tolerance: 0 })), ...bounded];
    const programs = cases.map(({ one }) => one.program);
    const emulated = emulateBlocks(programs, { ...target, warps: 4 });
    try {
      const wrong = cases.flatMap(({ one, tolerance }, position) => {
        const { said, buffers } = runEmulated(one, emulated, position);
        if (said !== '') return [`${one.name}: ${said}`];
        return blockDifferences(interpretCase(one), buffers, tolerance).map((text) => `${one.name}: ${text}`);
      });
      expect(wrong).toEqual([]);
    } finally {
      emulated.compiled.dispose();
    }
  });
});

describe('the text', () => {
  const source = (...programs: Parameters<typeof generateCudaBlocks>): string => generateCudaBlocks(...programs).source;

  test('accesses are as wide as addresses and masks allow', () => {
    expect(source([addCase({ n: 704, divisor: 16 }).program], target)).toContain('load_f32x4');
    expect(source([addCase({ n: 700 }).program], target)).not.toContain('load_f32x4');
  });

  test('a reduction is shuffles; products are matrix instructions fed by asynchronous copies', () => {
    expect(source([softmaxCase({ rows: 3, n: 200 }).program], target)).toContain('__shfl_down_sync');
    const half = source(
      [productCase({ dtype: 'f16', precision: 'ieee', sizes: [64, 64, 64], divisor: 16 }).program],
      target,
    );
    for (const call of [
      'copy_async_16(',
      'wait_copies<1>()',
      'load_matrices(',
      'load_matrices_transposed(',
      'mma_m16n8k16_f16(',
    ])
      expect(half).toContain(call);
    expect(
      source([productCase({ dtype: 'f32', precision: 'tf32', sizes: [64, 64, 64], divisor: 16 }).program], target),
    ).toContain('mma_m16n8k8_tf32(');
    const exactProduct = source(
      [productCase({ dtype: 'f32', precision: 'ieee', sizes: [64, 64, 64], divisor: 16 }).program],
      target,
    );
    expect(exactProduct).not.toContain('mma');
    expect(exactProduct).toContain('copy_async_16(');
  });

  test('factors that lie column by column are sent as they lie, and turned as they are loaded', () => {
    const text = source([turned.program], target);
    expect(text.match(/copy_async_16\(v_[xy]_stages\w* \+/g)).toHaveLength(6);
    expect(text).toMatch(/load_matrices_transposed\(left/);
    expect(text).toMatch(/load_matrices\(right/);
  });

  test('without stages there is no pipeline', () => {
    const { program } = productCase({ dtype: 'f16', precision: 'ieee', sizes: [64, 64, 64], divisor: 16 });
    expect(source([program], { ...target, stages: 1 })).not.toContain('copy_async');
  });

  test('equal kernels are printed once, the same each time, without includes', () => {
    const programs = [softmaxCase({ rows: 3, n: 200 }).program, softmaxCase({ rows: 3, n: 200 }).program];
    const text = source(programs, target);
    expect(text.match(/__global__/g)).toHaveLength(1);
    expect(source(programs, target)).toBe(text);
    expect(text).not.toContain('#include');
  });

  test('buffers that may share memory are not restricted', () => {
    expect(source([addCase({ n: 700 }).program], { ...target, mayAlias: true })).not.toContain('__restrict__');
  });
});
