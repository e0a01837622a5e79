// Programs as data: which strategy a nest gets, how many kernels, their geometry and arguments; and that the text is the
// same each time, has no includes, and reads as it should.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { printIndex } from '@tsinductor/ir';
import { cases } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCuda, generateCudaBatch } from './generate.ts';

const target = { architecture: 'sm_80', inputAlignment: 16 } as const;
const rows = cases.symbolic('s0', 301);

describe('the strategy', () => {
  test.each<readonly [Case, readonly string[]]>([
    [cases.broadcasts(300, 412), ['map, 4 lanes of j']],
    [cases.broadcasts(300, 411), ['map, one lane']],
    [cases.broadcasts(rows.extent, 76, rows.sizes), ['map, 4 lanes of j']],
    [cases.transposed(130, 259), ['map, tiles of 32 x 32 of i and j through shared memory']],
    [cases.scanned(5, 2590), ['rows, 512 threads each']],
    [cases.summed('rows', [300, 1030]), ['rows, 512 threads each']],
    [cases.summed('rows', [5, 133]), ['rows, 64 threads each']],
    [cases.summed('rows', [3000, 13]), ['rows, a thread each']],
    [cases.summed('columns', [203, 2100]), ['rows, a thread each']],
    [
      cases.summed('columns', [600, 210]),
      [
        'reduction along an outer axis in pieces, a thread each',
        'merges the pieces of a reduction along an outer axis',
      ],
    ],
    [
      cases.summed('nothing', [100, 333]),
      ['reduction in chunks of 8192, a block each', 'merges the chunks of a reduction'],
    ],
    [cases.softmax('rows', [20, 1030]), ['rows, 512 threads each']],
    [cases.product({ m: 65, n: 103, k: 77 }), ['matrix product, tiles of 32 x 32 through shared memory']],
  ])('%j', (one, notes) => {
    expect(generateCuda(one.schedule, target).kernels.flatMap((kernel) => kernel.notes)).toEqual(notes);
  });
});

test('a program is data: geometry and arguments over the sizes', () => {
  const { kernels, sizes, workspaceBytes } = generateCuda(
    cases.summed('nothing', [rows.extent, 900], rows.sizes).schedule,
    target,
  );
  expect(sizes).toEqual(['s0']);
  const [chunks, merges] = [at(kernels, 0), at(kernels, 1)];
  expect([chunks.threads, merges.threads]).toEqual([256, 256]);
  expect(printIndex(chunks.blocks)).toMatch(/^min\(/);
  expect(printIndex(merges.blocks)).toBe('1');
  expect(
    chunks.arguments.map((argument) =>
      argument.kind === 'buffer' ? [argument.position, argument.isWritten] : argument.kind,
    ),
  ).toEqual([[0, false], [3, true], 'size']);
  expect(
    merges.arguments.map((argument) =>
      argument.kind === 'buffer' ? [argument.position, argument.isWritten] : argument.kind,
    ),
  ).toEqual([[1, true], [3, false], 'size']);
  expect(printIndex(workspaceBytes)).toContain('s0');
  expect(chunks.isCollective).toBe(true);
});

test('index arithmetic is 32 bits wide where whoever launches asks whether sizes allow it', () => {
  const columns = cases.symbolic('s1', 77);
  const one = cases.summed('rows', [rows.extent, columns.extent], new Map([...rows.sizes, ...columns.sizes]));
  const printed = (positions: 'proven' | 'assumed'): readonly [string, readonly string[]] => {
    const { source, indexLimits } = generateCuda(one.schedule, { ...target, positions });
    return [source, indexLimits.map((limit) => printIndex(limit))];
  };
  const [wide, none] = printed('proven');
  expect(wide).toContain('const i64 block = blockIdx.x;');
  expect(none).toEqual([]);
  const [narrow, limits] = printed('assumed');
  expect(narrow).toMatch(/const i32 s0, const i32 s1\) {\n {2}const i32 block = blockIdx\.x;/);
  expect(narrow).toContain('for (i32 j = thread; j < s1; j += 64) {');
  expect(narrow.match(/\bi64\b/g)).toEqual(['i64']); // its definition
  expect(limits).toEqual(['s0 * s1', 'min(s0, 4096) + s0', 's1 + 64']);
});

test('a node that runs in the first points of its loops tests where it is', () => {
  const { source, kernels } = generateCuda(cases.shorter([30, 63], [33, 96]).schedule, target);
  expect(kernels.map(({ notes }) => notes)).toEqual([['map, one lane']]);
  expect(source).toMatch(/ {4}if \(i < 30\) {\n {6}if \(j < 63\) {\n.*in0\w*\[i \* 63 \+ j\];/);
});

test('a map writes only what does not lie there already', () => {
  const { kernels, source } = generateCuda(cases.filled(30, [47, 64]).schedule, target);
  expect(kernels[1]?.arguments.map(({ kind }) => kind)).toEqual(['buffer']);
  expect(source.slice(source.lastIndexOf('__global__'))).toMatch(/out\w*\[i \* 64 \+ j \+ 47\] = 1\.0f;/);
});

test('equal kernels are printed once, and the text is the same each time', () => {
  const schedules = [cases.softmax('rows', [20, 100]), cases.softmax('rows', [20, 100])].map(
    ({ schedule }) => schedule,
  );
  const first = generateCudaBatch(schedules, target);
  expect(first.source.match(/__global__/g)).toHaveLength(1);
  expect(generateCudaBatch(schedules, target).source).toBe(first.source);
  expect(first.source).not.toContain('#include');
});

test('a kernel, to be read', () => {
  const { source } = generateCuda(cases.broadcasts(64, 1024).schedule, target);
  expect(source.slice(source.indexOf('extern'))).toMatchInlineSnapshot(`
   "extern "C" __global__ void __launch_bounds__(256) fused_out_96330e85(const f32 *__restrict__ in0, const f32 *__restrict__ in1, const f32 *__restrict__ in2, f32 *__restrict__ out_out) {
     const i64 block = blockIdx.x;
     const i64 blocks = gridDim.x;
     const i64 thread = threadIdx.x;
     for (i64 point = block * 256 + thread; point < 16384; point += blocks * 256) {
       const i64 j_chunk = point % 256;
       const i64 i = point / 256;
       const i64 j = j_chunk * 4;
       alignas(16) f32 in0_chunk[4];
       alignas(16) f32 in1_chunk[4];
       alignas(16) f32 out_out_chunk[4];
       store_f32x4(in0_chunk, load_f32x4(in0 + i * 1024 + j));
       store_f32x4(in1_chunk, load_f32x4(in1 + j));
       const f32 in2_1 = in2[i];
       #pragma unroll 4
       for (i64 element = 0; element < 4; ++element) {
         const f32 in0_chunk_1 = in0_chunk[element];
         const f32 mul = in0_chunk_1 * 2.0f;
         const f32 in1_chunk_1 = in1_chunk[element];
         const f32 add = mul + in1_chunk_1;
         const f32 add_1 = add + in2_1;
         out_out_chunk[element] = add_1;
       }
       store_f32x4(out_out + i * 1024 + j, load_f32x4(out_out_chunk));
     }
   }
   "
  `);
});
