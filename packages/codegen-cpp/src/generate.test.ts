// Properties of the generated text.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { literal } from './cpp-dialect.ts';
import { generateBatch, generateCpp } from './generate.ts';
import type { Family } from './machine/facts.ts';
import type { Isa } from './machine/isa.ts';
import type { CpuTarget } from './machine/target.ts';
import { hexadecimal } from '@tsinductor/codegen';
import { printIndex } from '@tsinductor/ir';
import type { ValueType } from '@tsinductor/ir';
import { nonTemporalStoreFunction } from './prelude/memory-functions.ts';
import { cases } from '@tsinductor/testing/loops';

const target: CpuTarget = { isa: 'avx512', threads: 2 };
const textOf = (one: cases.Case, on: CpuTarget = target): string =>
  generateCpp(one.schedule, on)
    .units.map((unit) => unit.source)
    .join('\n');

describe('generated C++', () => {
  test('includes nothing, and has the entry that it names', () => {
    const program = generateCpp(cases.softmax('rows', [40, 100]).schedule, target);
    const text = at(program.units, 0).source;
    expect(text).not.toMatch(/#include|std::/);
    expect(text).toContain(
      `extern "C" int ${program.entry}(char *const *buffers, const long *sizes, const Runtime *runtime)`,
    );
  });

  test('is the same for the same input', () => {
    const make = (): string => textOf(cases.softmax('columns', [40, 100]));
    expect(make()).toBe(make());
  });

  test('clocks every kernel where that is wanted, and is the same text elsewhere', () => {
    const one = cases.softmax('rows', [40, 100]);
    expect(textOf(one, { ...target, clocks: false })).toBe(textOf(one));
    expect(textOf(one)).not.toMatch(/clock|nanoseconds/);
    const text = textOf(one, { ...target, clocks: true });
    const { groups } = one.schedule;
    expect(text.match(/^ {2}since = clocked\(clocks\[\d+\], since\);$/gm)).toHaveLength(groups.length);
    // Inputs, outputs, constants, workspace, clocks.
    const { inputs, outputs } = one.schedule.program;
    expect(text).toContain(`Clock *const clocks = (Clock *)buffers[${String(inputs.length + outputs.length + 2)}];`);
  });

  test('says where a kernel comes from', () => {
    expect(textOf(cases.broadcasts(3, 5))).toContain('// out: loops i j, 8 lanes of j');
  });

  test('is the same wherever the function stands in its file', () => {
    const moved = ({ schedule, ...rest }: cases.Case): cases.Case => {
      const groups = schedule.groups.map((group) => ({
        ...group,
        nodes: group.nodes.map((node) => ({
          ...node,
          origins: node.origins.map(({ op }) => ({ op, location: { file: '/elsewhere/other.ts', line: 99 } })),
        })),
      }));
      return { ...rest, schedule: { ...schedule, groups } };
    };
    const make = (): cases.Case => cases.softmax('columns', [40, 100]);
    expect(textOf(moved(make()))).toBe(textOf(make()));
  });

  test('computes what does not depend on the inner loop outside of it', () => {
    const text = textOf(cases.broadcasts(64, 64), { isa: 'avx512', threads: 1 });
    const [before, inner] = text.slice(text.indexOf('for (i64 i')).split('for (i64 j');
    expect(before).toContain('in2[i]');
    expect(inner).not.toContain('in2[i]');
  });

  test('doubles vectors of an x86 by products, which GCC would make sums of', () => {
    const doubled = cases.broadcasts(64, 64);
    for (const isa of ['avx512', 'avx2'] as const) expect(textOf(doubled, { isa, threads: 1 })).toMatch(/= twice_f32x/);
    for (const isa of ['neon', 'scalar'] as const) expect(textOf(doubled, { isa, threads: 1 })).not.toContain('twice_');
  });

  test('transposes accesses across the grain in tiles', () => {
    expect(textOf(cases.transposed(256, 256))).toContain('transpose_f32x16(in0');
    expect(textOf(cases.transposed(256, 256))).not.toContain('load_strided');
  });

  test.each(['f32', 'f64', 'bf16'] as const)(
    'takes lanes of %s out of vectors that end with the last lane',
    (dtype) => {
      for (const step of [2, 3, 4]) {
        const text = textOf(cases.apart(133, { step, dtype }));
        const [, body = ''] =
          new RegExp(`load_every${String(step)}_\\w+x(?:\\d+)\\(const \\w+ \\*p\\) \\{([^}]*)\\}`).exec(text) ?? [];
        const lanes = Number(/load_\w+x(\d+)\(p/.exec(body)?.[1]);
        const starts = [...body.matchAll(/\(p \+ (\d+)\)/g)].map(([, start]) => Number(start));
        expect(starts).toHaveLength(step);
        expect(Math.max(...starts) + lanes - 1).toBe((lanes - 1) * step);
      }
      expect(textOf(cases.apart(133, { step: -1, dtype }))).toContain('load_reversed_');
      expect(textOf(cases.apart(133, { step: 5, dtype }))).toContain('load_strided_');
    },
  );

  const prefetch = /__builtin_prefetch\(out_out \+ .* \+ 512, 1\);/;
  test.each([
    { how: 'into prefetched lines, on few threads', one: cases.broadcasts(4096, 4096) },
    { how: 'into prefetched lines where it is not that much larger', one: cases.broadcasts(2048, 1024) },
    { how: 'by non-temporal stores, on many', one: cases.broadcasts(4096, 4096), threads: 16, isNonTemporal: true },
    { how: 'into prefetched lines where rows are read before', one: cases.softmax('rows', [4096, 4096]) },
    { how: 'into prefetched lines with two arrays read', one: cases.largest(1 << 24, 2) },
    { how: 'by non-temporal stores with three', one: cases.largest(1 << 24, 3), isNonTemporal: true },
    {
      how: 'by non-temporal stores, a row far from the one before',
      one: cases.permuted(16384, 16, { width: 64 }),
      isNonTemporal: true,
    },
    { how: 'by non-temporal stores down columns', one: cases.scanned(4096, 4096, 'columns'), isNonTemporal: true },
  ])('writes what is larger than the caches $how', ({ one, threads = 2, isNonTemporal = false }) => {
    const text = textOf(one, { isa: 'avx512', threads });
    expect(prefetch.test(text)).toBe(!isNonTemporal);
    expect(text.includes('non_temporal_store_f32x16(')).toBe(isNonTemporal);
    expect(text.includes('sfence')).toBe(isNonTemporal);
  });

  test.each(['neon', 'scalar'] as const)('has neither non-temporal stores nor a fence behind them on %s', (isa) => {
    const one = cases.scanned(4096, 4096, 'columns');
    expect(textOf(one, { isa: 'avx2', threads: 16 })).toContain('sfence');
    expect(textOf(one, { isa, threads: 16 })).not.toMatch(/non_temporal_store_|fence/);
  });

  test('cuts lanes in parts where an index decides what is read', () => {
    const even = textOf(cases.joined(256, [64, 128]));
    expect(even.match(/for \(i64 j\w* = 0;/g)).toHaveLength(2);
    expect(even).not.toMatch(/masked|where| \? /);
    const uneven = textOf(cases.joined(256, [72, 128]));
    expect(uneven.match(/for \(i64 j\w* = 0;/g)).toHaveLength(3);
    expect(uneven.match(/= load_masked_f32x16\(/g)).toHaveLength(2);
    const long = textOf(cases.broadcasts(256, 256));
    expect(long.match(/for \(i64 j\w* = 0;/g)).toHaveLength(1);
  });

  test('writes parts that read the same in one loop, which loads it once', () => {
    const halves = textOf(cases.rotated(256, 64));
    expect(halves.match(/for \(i64 j\w* = 0;/g)).toHaveLength(1);
    expect(halves.match(/= load_f32x16\(in0/g)).toHaveLength(2);
    expect(halves.match(/ store_f32x16\(out_out/g)).toHaveLength(2);
    expect(textOf(cases.joined(256, [64, 64])).match(/for \(i64 j\w* = 0;/g)).toHaveLength(2);
    expect(textOf(cases.rotated(256, 512)).match(/for \(i64 j\w* = 0;/g)).toHaveLength(2);
  });

  test('writes halves of lines by non-temporal stores on processors that combine them, and nowhere else', () => {
    const large = cases.converted(16 * 1024 * 1024, 'bf16');
    const on = (family: Family): string => textOf(large, { isa: 'avx512', threads: 16, family });
    expect(on('zen')).toContain('non_temporal_store_bf16x16(out_out');
    expect(on('rapids')).toContain('non_temporal_store_bf16x16(out_out');
    expect(on('other')).not.toContain('non_temporal_store_');
    // In tiles the other half comes many rows later.
    const transposed = cases.permuted(4096, 8192, { dtype: 'bf16' });
    expect(textOf(transposed, { isa: 'avx512', threads: 16, family: 'zen' })).not.toContain('non_temporal_store_');
    const bytes = cases.converted(64 * 1024 * 1024, 'i8');
    expect(textOf(bytes, { isa: 'avx512', threads: 16, family: 'zen' })).not.toContain('non_temporal_store_');
  });

  test('prefetches what it reads and writes by non-temporal stores where processors gain by both', () => {
    const large = cases.converted(16 * 1024 * 1024, 'f32');
    const on = (family: Family): readonly boolean[] => {
      const text = textOf(large, { isa: 'avx512', threads: 2, family });
      return ['__builtin_prefetch(in0', 'non_temporal_store_', '__builtin_prefetch(out'].map((part) =>
        text.includes(part),
      );
    };
    expect(on('zen')).toEqual([false, true, false]);
    expect(on('rapids')).toEqual([true, true, false]);
    expect(on('other')).toEqual([true, false, true]);
  });

  test('takes lanes at offsets by the gather instruction where that is fast, as wide as registers are', () => {
    const rows = cases.chosen('elements', [64, 256, 256]);
    const on = (family: Family, isa: Isa = 'avx512'): string => textOf(rows, { isa, threads: 2, family });
    expect(on('rapids')).toContain('vgatherqps (%2,%3,4)');
    expect(on('zen')).not.toContain('vgather');
    expect(on('rapids', 'avx2')).not.toContain('vgather');
  });

  test('has positions in vectors of 32 bits where ranges show that they fit, or whoever calls it asks whether they do', () => {
    const [left, right] = [cases.symbolic('s0', 40), cases.symbolic('s1', 61)];
    const one = cases.joined(256, [left.extent, right.extent], new Map([...left.sizes, ...right.sizes]));
    const printed = (positions: 'proven' | 'assumed'): readonly [string, readonly string[]] => {
      const { units, indexLimits } = generateCpp(one.schedule, { isa: 'avx512', threads: 4, positions });
      const text = units.map(({ source }) => source).join('');
      return [text, indexLimits.map((limit) => printIndex(limit))];
    };
    const [wide, none] = printed('proven');
    expect(wide).toMatch(/i64x8 (index|position) = ramp_i64x8/);
    expect(none).toEqual([]);
    const [narrow, limits] = printed('assumed');
    expect(narrow).toMatch(/i32x16 position = ramp_i32x16/);
    expect(narrow).not.toContain('i64x');
    expect(limits).toEqual(['s0 * 256 + s1 * 256']);
  });

  test('cuts no lanes in parts for a target that decides no bounds', () => {
    const whole = textOf(cases.joined(256, [64, 128]), { isa: 'avx512', threads: 4, decidesBounds: false });
    expect(whole.match(/for \(i64 j\w* = 0;/g)).toHaveLength(1);
    expect(whole).toContain('masked');
  });

  test('cuts loops where a node that runs in their first points ends', () => {
    const one = cases.shorter([256, 64], [256, 96]);
    const cut = textOf(one, { isa: 'avx512', threads: 1 });
    expect(cut.match(/for \(i64 j\w* = 0; j\w* < \d+/g)).toEqual([
      'for (i64 j = 0; j < 64',
      'for (i64 j_1 = 0; j_1 < 32',
    ]);
    expect(cut.match(/= load_f32x16\(/g)).toHaveLength(1);
    expect(cut).not.toMatch(/masked|where|lt/);
    expect(textOf(one, { isa: 'avx512', threads: 1, decidesBounds: false })).toMatch(/load_masked/);
  });

  test('writes only what does not lie there already', () => {
    const { kernels, units } = generateCpp(cases.filled(300, [48, 64]).schedule, { isa: 'avx512', threads: 1 });
    expect(kernels).toHaveLength(2);
    const text = units.map(({ source }) => source).join('');
    const fill = text.slice(text.indexOf(`static void ${kernels[1]?.name ?? ''}`), text.indexOf('extern "C"'));
    expect(fill).toMatch(/store_f32x16\(out\w* \+ i \* 64 \+ j \+ 48, splat_f32x16\(1\.0f\)\);/);
    expect(fill).not.toMatch(/load|in0/);
  });

  test('neither prefetches smaller results nor writes them by non-temporal stores', () => {
    expect(textOf(cases.broadcasts(256, 256))).not.toMatch(/non_temporal_store_|prefetch/);
  });

  test('cuts loops into one chunk for each thread, or into 4 to 16 that are worth a claim', () => {
    const grain = (rows: number, special: Partial<CpuTarget> = {}, columns = 1024): number => {
      const text = textOf(cases.softmax('rows', [rows, columns]), { ...target, ...special });
      return Number(new RegExp(`, ${String(rows)}, (\\d+)L?\\);`).exec(text)?.[1]);
    };
    const chunksOf = (rows: number, special?: Partial<CpuTarget>): number => Math.ceil(rows / grain(rows, special));
    expect([64, 200, 512, 16384].map((rows) => chunksOf(rows))).toEqual([2, 8, 24, 32]);
    expect([3, 5, 7].map((rows) => grain(rows, {}, 200_000))).toEqual([2, 3, 4]);
    // Fewer threads than the code is made for have several chunks each, too.
    expect(chunksOf(128, { threads: 8 })).toBe(8);
    expect(chunksOf(128, { threads: 8, anyThreads: true })).toBe(32);
    const { extent, sizes } = cases.symbolic('s0', 40);
    const ofAnySize = cases.joined(256, [extent, extent], sizes);
    expect(textOf(ofAnySize, { isa: 'avx512', threads: 256, minChunk: Number.MAX_SAFE_INTEGER })).toMatch(
      /parallel\(runtime/,
    );
  });

  test('streams a vector of several registers by registers', () => {
    const wide: ValueType = { dtype: 'f64', lanes: 8 };
    const textOn = (isa: Isa): string => nonTemporalStoreFunction(wide, isa).text;
    expect(textOn('avx512').match(/vmovntps/g)).toHaveLength(1);
    expect(textOn('avx2').match(/non_temporal_target32 \*\)p\)\[[01]\]/g)).toHaveLength(2);
  });

  test('never streams parts of a register', () => {
    expect(textOf(cases.broadcasts(4096, 4096), { isa: 'avx2', threads: 16 })).toContain(
      'non_temporal_store_f32x8(out_out',
    );
    const parts = textOf(cases.broadcasts(1 << 20, 8), { isa: 'avx512', threads: 16 });
    expect(parts).toContain('store_f32x8(out_out');
    expect(parts).not.toContain('non_temporal_store_');
  });

  test('scans columns of a large array several rows at a time', () => {
    expect(textOf(cases.scanned(4096, 1024, 'columns'))).toContain('tiles of 4 rows x 512 columns');
    expect(textOf(cases.scanned(70, 30, 'columns'))).not.toContain('tiles of');
  });

  test('scans columns of what a cache holds in narrow blocks where threads write parts of the same pages', () => {
    const noteOf = (columns: number, on: CpuTarget): string | undefined =>
      /rows x (\d+) columns/.exec(textOf(cases.scanned(1024, columns, 'columns'), on))?.[1];
    expect(noteOf(1024, { isa: 'avx512', threads: 2 })).toBe('128');
    expect(noteOf(1500, { isa: 'avx512', threads: 2 })).toBe('128');
    expect(noteOf(1024, { isa: 'avx512', threads: 1 })).toBe('1024');
    expect(noteOf(2048, { isa: 'avx512', threads: 2 })).toBe('1024');
  });

  test('sums columns of memory in chunks of whole rows where rows are short', () => {
    expect(textOf(cases.summed('columns', [4096, 1024]))).toContain('i in chunks, merged in order');
    const whole = ['tiles of 8 rows x 2048 columns', 'in chunks'] as const;
    const long = textOf(cases.summed('columns', [1024, 4096]));
    expect(whole.map((note) => long.includes(note))).toEqual([true, false]);
    const cached = textOf(cases.summed('columns', [1024, 1024]));
    const parts = ['tiles of 8 rows x 512 columns', 'in chunks'] as const;
    expect(parts.map((note) => cached.includes(note))).toEqual([true, false]);
  });

  test('reads a long row of memory as two streams where one pass reads it', () => {
    const halves = /\+ j\);[^]*load_f32x16\(in0 \+ i \* 8192 \+ j \+ 4096\);/;
    expect(textOf(cases.summed('rows', [1024, 8192]))).toMatch(halves);
    expect(textOf(cases.summed('rows', [64, 8192]))).not.toMatch(halves);
    expect(textOf(cases.softmax('rows', [1024, 8192]))).not.toMatch(halves);
    expect(textOf(cases.summed('rows', [8192, 1024]))).toMatch(/in0 \+ i \* 1024 \+ j \+ 48\)/);
  });

  test('tests for what is seldom needed, out of line, and keeps full vectors', () => {
    const text = textOf(cases.sines(1000));
    expect(text).toMatch(/nowhere_boolx16\(\w+\) \? splat_f32x16\(0\.0f\) : large_remainder_f32x16_rare\(x\)/);
    expect(text).toContain('noinline, cold)) f32x16 large_remainder_f32x16_rare(f32x16 x)');
    expect(textOf(cases.sines(1000), { isa: 'scalar', threads: 1 })).toMatch(/return !\(?\w.* \? 0\.0f : large_/);
  });

  test('does not start threads for little work', () => {
    expect(textOf(cases.broadcasts(4, 16))).not.toContain('runtime->parallel');
    expect(textOf(cases.broadcasts(4096, 64))).toContain('runtime->parallel');
    expect(textOf(cases.broadcasts(4096, 64), { isa: 'avx512', threads: 1 })).not.toContain('runtime->parallel');
  });

  test('cuts a full sum into chunks that do not depend on the threads', () => {
    const bodies = [2, 8].map((threads) => {
      const text = textOf(cases.summed('nothing', [1000, 1000]), { isa: 'avx512', threads });
      return /for \(i64 unit[\s\S]*?\n}\n/.exec(text)?.[0];
    });
    expect(bodies[0]).toBeDefined();
    expect(bodies[0]).toBe(bodies[1]);
  });

  test('names the accumulators of a product', () => {
    const text = textOf(cases.product({ m: 60, n: 128, k: 64 }));
    expect(text).toContain('c53 = fma_f32x16(a5_all, b3, c53);');
    expect(text).not.toMatch(/f32x16 c\w*\[/);
  });
});

describe('units', () => {
  test('hold the kernels of a batch once each, the entries in the last', () => {
    const batch = generateBatch(
      [cases.broadcasts(8, 40), cases.broadcasts(8, 40), cases.transposed(20, 30)].map(({ schedule }) => schedule),
      { ...target, units: 2 },
    );
    expect(batch.units.map((unit) => unit.name)).toEqual(['kernels_0.cpp', 'kernels_1.cpp']);
    const [first, second] = batch.programs;
    expect(first?.kernels[0]?.name).toBe(second?.kernels[0]?.name);
    expect(first?.entry).not.toBe(second?.entry);
    const last = at(batch.units, 1).source;
    for (const { entry } of batch.programs) expect(last).toContain(`int ${entry}(`);
  });
});

describe('literals', () => {
  test.each([
    ['f32', 0.5, '0.5f'],
    ['f32', 3, '3.0f'],
    ['f32', '-0', '-0.0f'],
    ['f32', 0.1, '0x1.99999ap-4f'],
    ['f64', 1e300, '0x1.7e43c8800759cp+996'],
    ['f64', 'NaN', '__builtin_nan("")'],
    ['f32', '-Infinity', '-__builtin_inff()'],
    ['i64', { bigint: '-9223372036854775808' }, '(-9223372036854775807L - 1)'],
    ['i32', -2147483648, '(-2147483647 - 1)'],
    ['bool', 1, 'true'],
    ['f16', 1, '15360'],
    ['bf16', 1, '16256'],
  ] as const)('%s %j is %s', (dtype, value, text) => {
    expect(literal(dtype, value)).toBe(text);
  });

  test('hexadecimal literals are exact', () => {
    expect([1, 2 ** -1074, 2 ** -1022, Math.PI].map(hexadecimal)).toEqual([
      '0x1p+0',
      '0x0.0000000000001p-1022',
      '0x1p-1022',
      '0x1.921fb54442d18p+1',
    ]);
  });
});
