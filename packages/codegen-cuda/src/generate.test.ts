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
    [cases.broadcasts(300, 412), ['map, 4 of j at a time']],
    [cases.broadcasts(300, 411), ['map, a point at a time']],
    [cases.broadcasts(rows.extent, 76, rows.sizes), ['map, 4 of j at a time']],
    [cases.transposed(130, 259), ['map, tiles of 32 x 32 of i and j through shared memory']],
    [cases.scanned(5, 2590), ['rows, 512 threads each']],
    [cases.summed('rows', [300, 1030]), ['rows, 512 threads each']],
    [cases.summed('rows', [5, 133]), ['rows, 64 threads each']],
    [cases.summed('rows', [3000, 13]), ['rows, a thread each']],
    [cases.summed('columns', [203, 2100]), ['rows, a thread each']],
    [
      cases.summed('nothing', [100, 333]),
      ['reduction in pieces of 8192, a block each', 'merges the pieces of a reduction'],
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
  const [pieces, merges] = [at(kernels, 0), at(kernels, 1)];
  expect([pieces.threads, merges.threads]).toEqual([256, 256]);
  expect(printIndex(pieces.blocks)).toMatch(/^min\(/);
  expect(printIndex(merges.blocks)).toBe('1');
  expect(pieces.arguments.map((argument) => (argument.kind === 'buffer' ? [argument.position, argument.isWritten] : argument.kind))).toEqual([[0, false], [3, true], 'size']); // prettier-ignore
  expect(merges.arguments.map((argument) => (argument.kind === 'buffer' ? [argument.position, argument.isWritten] : argument.kind))).toEqual([[1, true], [3, false], 'size']); // prettier-ignore
  expect(printIndex(workspaceBytes)).toContain('s0');
  expect(pieces.isCollective).toBe(true);
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
   "extern "C" __global__ void __launch_bounds__(256) fused_out_dcd994f2(const f32 *__restrict__ x, const f32 *__restrict__ row, const f32 *__restrict__ column, f32 *__restrict__ out) {
     const i64 block = blockIdx.x;
     const i64 blocks = gridDim.x;
     const i64 thread = threadIdx.x;
     for (i64 point = block * 256 + thread; point < 16384; point += blocks * 256) {
       const i64 j_chunk = point % 256;
       const i64 i = point / 256;
       const i64 j = j_chunk * 4;
       alignas(16) f32 x_chunk[4];
       alignas(16) f32 row_chunk[4];
       alignas(16) f32 out_chunk[4];
       store_f32x4(x_chunk, load_f32x4(x + i * 1024 + j));
       store_f32x4(row_chunk, load_f32x4(row + j));
       const f32 column_1 = column[i];
       #pragma unroll 4
       for (i64 element = 0; element < 4; ++element) {
         const f32 x_chunk_1 = x_chunk[element];
         const f32 mul = x_chunk_1 * 2.0f;
         const f32 row_chunk_1 = row_chunk[element];
         const f32 add = mul + row_chunk_1;
         const f32 add_1 = add + column_1;
         out_chunk[element] = add_1;
       }
       store_f32x4(out + i * 1024 + j, load_f32x4(out_chunk));
     }
   }
   "
  `);
});
