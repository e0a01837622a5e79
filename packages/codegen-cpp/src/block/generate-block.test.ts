// Block IR in C++: programs that the interpreter and compiled code run on the same memory, compared bit for bit.
import { describe, expect, test } from '@jest/globals';
import { constexpr, ptr } from '@tsinductor/dsl';
import { printBlockProgram } from '@tsinductor/ir';
import type { BlockProgram } from '@tsinductor/ir';
import {
  argumentsOf,
  blockCase,
  blockDifferences,
  buffersOf,
  bytesOf,
  floats,
  integers,
  interpretCase,
  scalarWords,
} from '@tsinductor/testing/block-case';
import type { BlockCase } from '@tsinductor/testing/block-case';
import { compileNative, hasCompiler, runnable } from '@tsinductor/testing/loops';
import { addCase, productCase, softmaxCase } from '@tsinductor/testing/sample-kernels';
import type { Extent } from '../machine/choices.ts';
import type { Family } from '../machine/facts.ts';
import type { Isa } from '../machine/isa.ts';
import { generateBlock } from './generate-block.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no C++ compiler\n');

/** Where C++ and the interpreter differ. */
function differences(one: BlockCase, isa: Isa): readonly string[] {
  const { program, grid } = one;
  const { units, entry } = generateBlock(program, { isa, mayAlias: false });
  const compiled = compileNative(units, ['-O1']);
  try {
    const args = argumentsOf(one);
    const buffers = buffersOf(args);
    const words = scalarWords(program, args);
    compiled.call(entry, { buffers: [...buffers, words].map(bytesOf), sizes: grid, threads: 2, repeats: 0 });
    return blockDifferences(interpretCase(one), buffers);
  } finally {
    compiled.dispose();
  }
}

const cases: readonly (() => BlockCase)[] = [
  () => addCase({ n: 213, BLOCK: 64 }),
  () => softmaxCase({ rows: 5, n: 200 }),
  () =>
    blockCase(
      'rows',
      { x: ptr('f32'), out: ptr('f32'), n: 'i32' },
      {
        body: ({ x, out, n }, tl) => {
          const r = tl.expandDims(tl.arange(0, 8), 1);
          const c = tl.expandDims(tl.arange(0, 32), 0);
          const mask = r < 7 && c < n;
          const block = tl.load(x + r * n + c, mask, 1);
          const scaled =
            block * tl.max(block, { axis: 1, keepDims: true }) - tl.sum(block, { axis: 0, keepDims: true });
          tl.store(out + r * n + c, scaled + tl.trans(tl.trans(scaled)), mask);
          tl.store(out + 7 * n + tl.arange(0, 8), tl.cast(tl.argmax(scaled, { axis: 1 }), tl.f32));
        },
        args: { x: floats(240), out: new Float32Array(300), n: 29 },
      },
    ),
  () => productCase({ dtype: 'f32', precision: 'ieee', sizes: [40, 50, 30], tile: [16, 32, 8] }),
  () =>
    blockCase(
      'control',
      { out: ptr('i32'), n: 'i32', scale: 'f32' },
      {
        body: ({ out, n, scale }, tl) => {
          const pid = tl.programId(0);
          if (pid >= n) return;
          let steps = 0;
          let value = pid + 1;
          while (value !== 1) {
            value = value % 2 === 0 ? value >> 1 : value * 3 + 1;
            steps += 1;
          }
          let total = tl.zeros([8], tl.f32);
          for (let i = n; i > 0; i -= 2) total += tl.cast(i, tl.f32) * scale;
          if (pid > 2) {
            total = total * 2;
            steps += 100;
          }
          tl.store(out + pid, steps + tl.cast(tl.sum(total), tl.i32));
        },
        grid: [9, 1, 1],
        args: { out: new Int32Array(9), n: 8, scale: 0.5 },
      },
    ),
  () =>
    blockCase(
      'atomics',
      { x: ptr('i32'), counts: ptr('i32'), best: ptr('f32'), swapped: ptr('i32') },
      {
        body: ({ x, counts, best, swapped }, tl) => {
          const offs = tl.programId(0) * 32 + tl.arange(0, 32);
          const values = tl.load(x + offs);
          tl.atomicAdd(counts + ((values + 50) & 15), 1, values > -40);
          tl.atomicMax(best, tl.cast(tl.max(values), tl.f32));
          tl.atomicCas(swapped, 0, 7);
          tl.atomicXchg(swapped + 1, 9);
        },
        grid: [4, 1, 1],
        args: {
          x: integers(128),
          counts: new Int32Array(16),
          best: Float32Array.of(-1e30),
          swapped: new Int32Array(2),
        },
      },
    ),
  () =>
    blockCase(
      'scans',
      { x: ptr('f32'), y: ptr('i32'), out: ptr('f32'), places: ptr('i32') },
      {
        body: ({ x, y, out, places }, tl) => {
          const offs = tl.arange(0, 128);
          const values = tl.load(x + offs);
          tl.store(out + offs, tl.cumsum(values, 0));
          const square = tl.reshape(values, [16, 8]);
          const down = tl.associativeScan(square, 0, (a, b) => (a > b ? a : b), { reverse: true });
          const grid = tl.expandDims(tl.arange(0, 16), 1) * 8 + tl.expandDims(tl.arange(0, 8), 0);
          tl.store(out + 128 + grid, down);
          const picked = tl.gather(tl.load(y + offs), tl.load(y + offs) & 127, 0);
          tl.store(places + offs, picked);
          tl.store(out + 256 + offs, tl.rand(7, offs) + tl.randn(7, offs));
        },
        args: { x: floats(128), y: integers(128), out: new Float32Array(384), places: new Int32Array(128) },
      },
    ),
  () =>
    blockCase(
      'halves',
      { x: ptr('f16'), y: ptr('bf16'), out: ptr('f16'), n: 'i32' },
      {
        body: ({ x, y, out, n }, tl) => {
          const offs = tl.arange(0, 64);
          const a = tl.load(x + offs, offs < n, 1.5);
          const b = tl.cast(tl.load(y + offs, offs < n), tl.f16);
          tl.store(out + offs, a * b + tl.sum(a));
        },
        args: {
          x: new Uint16Array(50).map((_, i) => 0x3000 + i * 97),
          y: new Uint16Array(50).map((_, i) => 0x3f00 + i),
          out: new Uint16Array(64),
          n: 50,
        },
      },
    ),
  () =>
    blockCase(
      'scatter',
      { x: ptr('f16'), places: ptr('i32'), out: ptr('f16'), marked: ptr('i64') },
      {
        body: ({ x, places, out, marked }, tl) => {
          const offs = tl.arange(0, 64);
          const place = tl.load(places + offs);
          tl.store(out + place, tl.load(x + offs));
          tl.store(marked + place, tl.cast(offs, tl.i64) * 5, place > 20);
        },
        args: {
          x: new Uint16Array(64).map((_, i) => 0x3000 + i),
          places: new Int32Array(64).map((_, i) => (i * 37 + 11) & 63),
          out: new Uint16Array(64),
          marked: new BigInt64Array(64),
        },
      },
    ),
  () =>
    blockCase(
      'inPlace',
      { x: ptr('f32'), n: 'i32' },
      {
        body: ({ x, n }, tl) => {
          const offs = tl.arange(0, 64);
          const shifted = tl.load(x + offs, offs < n);
          tl.store(x + 1 + offs, shifted + 1, offs < n - 1);
          tl.store(x + offs, tl.load(x + offs, offs < n) * 2, offs < n);
        },
        args: { x: floats(60), n: 60 },
      },
    ),
];

ring('interpreter and C++ agree bit for bit', () => {
  test.each(runnable<Isa>(['avx512', 'avx2', 'scalar'], (isa) => isa))('%s', (isa) => {
    const wrong = cases.flatMap((make) => {
      const one = make();
      try {
        return differences(one, isa).map((line) => `${one.name}: ${line}`);
      } catch (error) {
        return [
          `${one.name}: ${(error as Error).message.slice(0, 1500)}\n${printBlockProgram(one.program).slice(0, 1)}`,
        ];
      }
    });
    expect(wrong).toEqual([]);
  });
});

describe('memory is prefetched before it is read', () => {
  /** One row of `width` elements for each program: read and added up before it is written, or only written. */
  const rows = (width: number, how: 'normalised' | 'copied'): BlockProgram =>
    blockCase(
      'rows',
      { x: ptr('f32'), bias: ptr('f32'), out: ptr('f32'), WIDTH: constexpr, NORMALISED: constexpr },
      {
        body: ({ x, bias, out, WIDTH, NORMALISED }, tl) => {
          const offs = tl.programId(0) * WIDTH + tl.arange(0, WIDTH);
          const values = tl.load(x + offs);
          const shift = tl.load(bias + tl.arange(0, WIDTH));
          tl.store(out + offs, (NORMALISED > 0 ? values / tl.sum(values) : values) + shift);
        },
        constants: { WIDTH: width, NORMALISED: Number(how === 'normalised') },
        args: {},
      },
    ).program;
  const prefetched = (program: BlockProgram): readonly string[] => {
    const { units } = generateBlock(program, { isa: 'avx512', mayAlias: false });
    return units.flatMap(({ source }) =>
      [...source.matchAll(/__builtin_prefetch\((.*), 0\)/g)].map(([, place]) => place ?? ''),
    );
  };

  test('a row that was read before, by the instance that follows', () => {
    expect(prefetched(rows(1024, 'normalised'))).toEqual(['ptr0_x + i + program0 * 1024 + 1024']);
  });

  test('a row that is read as it is written, a little further on', () => {
    expect(prefetched(rows(1024, 'copied'))).toEqual(['ptr0_x + i + program0 * 1024 + 256']);
  });

  test('neither short rows nor what all instances read', () => {
    expect(prefetched(rows(64, 'normalised'))).toEqual([]);
  });
});

describe('what the text of C++ is after', () => {
  interface Large {
    readonly names: readonly string[];
    readonly extent: Extent;
    readonly threads: number;
    readonly family?: Family;
  }
  const huge = (...names: readonly string[]): Large => ({ names, extent: 'huge', threads: 16 });
  const few = (extent: Extent): Large => ({ names: ['x', 'out'], extent, threads: 2 });
  const textOf = (program: BlockProgram, { names, extent, ...target } = huge()): string =>
    generateBlock(program, {
      isa: 'avx512',
      mayAlias: false,
      large: new Map(names.map((name) => [name, extent])),
      ...target,
    })
      .units.map(({ source }) => source)
      .join('');
  const shifted = (shift: number, how: 'written' | 'read'): BlockProgram =>
    blockCase(
      'shifted',
      { x: ptr('f32'), out: ptr('f32'), n: 'i32', SHIFT: constexpr, READS: constexpr },
      {
        body: ({ x, out, n, SHIFT, READS }, tl) => {
          const offs = tl.programId(0) * 1024 + tl.arange(0, 1024);
          const mask = offs < n;
          const before = READS > 0 ? tl.load(out + offs, mask) : 0;
          tl.store(out + offs + SHIFT, tl.load(x + offs, mask) + before, mask);
        },
        constants: { SHIFT: shift, READS: Number(how === 'read') },
        args: {},
      },
    ).program;

  test('results far larger than the caches are written by non-temporal stores, whole lines only', () => {
    const streamed = textOf(shifted(16, 'written'), huge('out'));
    expect(streamed).toContain('non_temporal_store_f32x16(ptr1_out');
    expect(streamed).toContain('sfence');
    expect(textOf(shifted(16, 'written'), huge('x'))).not.toContain('non_temporal_store_');
    expect(textOf(shifted(1, 'written'), huge('out'))).not.toContain('non_temporal_store_');
    expect(textOf(shifted(16, 'read'), huge('out'))).not.toContain('non_temporal_store_');
    expect(textOf(shifted(16, 'written'), { ...huge('out'), extent: 'large' })).not.toContain('non_temporal_store_');
  });

  test.each(['large', 'huge'] as const)(
    'few threads ask for the lines of %s results before they write them',
    (extent) => {
      const text = textOf(shifted(16, 'written'), few(extent));
      expect(text).toMatch(/__builtin_prefetch\(ptr1_out \+ .* \+ 528, 1\);/);
      expect(text).not.toMatch(/non_temporal_store_|sfence/);
      expect(textOf(shifted(16, 'read'), few(extent))).not.toMatch(/prefetch\(.*, 1\)/);
      expect(textOf(shifted(1, 'written'), few(extent))).toMatch(/__builtin_prefetch\(ptr1_out \+ .* \+ 513, 1\);/);
    },
  );

  const centred = blockCase(
    'centred',
    { x: ptr('f32'), out: ptr('f32'), n: 'i32' },
    {
      body: ({ x, out, n }, tl) => {
        const offs = tl.arange(0, 1024);
        const mask = offs < n;
        const row = tl.programId(0) * n + offs;
        const values = tl.load(x + row, mask);
        const centre = mask ? values - tl.sum(values) / n : 0;
        tl.store(out + row, centre * tl.rsqrt(tl.sum(centre * centre)), mask);
      },
      args: {},
    },
  ).program;

  test('for a Zen the row after the next is prefetched where several passes read rows, and nothing else', () => {
    const both = { ...few('huge'), family: 'zen' as const };
    const passed = textOf(shifted(16, 'written'), both);
    expect(passed).toContain('non_temporal_store_f32x16(ptr1_out');
    expect(passed).not.toContain('prefetch');
    const prefetched = (on: Parameters<typeof textOf>[1]): readonly (string | undefined)[] =>
      [...textOf(centred, on).matchAll(/__builtin_prefetch\((ptr0_x.*)\);/g)].map(([, what]) => what);
    expect(prefetched(both)).toEqual(['ptr0_x + i + program0 * v_n + v_n * 2, 0, 2']);
    expect(prefetched({ ...both, family: 'other' })).toEqual([expect.stringMatching(/^ptr0_x \+ i .*, 0$/)]);
  });

  test('a row that several passes read is read again, and its mask decided by the ends of loops', () => {
    const text = textOf(centred);
    expect(text).not.toContain('_block[');
    const whole = /k_1 = 64; k_1 < whole\w*; [^}]*}/.exec(text)?.[0] ?? '';
    expect(whole).toContain('load_f32x16(ptr0_x');
    expect(whole).not.toMatch(/ \? |mask/);
  });

  const strided = blockCase(
    'strided',
    { x: ptr('f32'), out: ptr('f32') },
    {
      body: ({ x, out }, tl) => {
        const offs = tl.arange(0, 1024);
        const values = tl.load(x + offs * 3);
        tl.store(out + offs, values / tl.sum(values));
      },
      args: {},
    },
  ).program;

  test('what costs more to read again than to keep is kept', () => {
    expect(textOf(strided)).toContain('v_values_block[1024]');
  });
});
