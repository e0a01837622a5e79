// A sample of generated kernels through the real compiler, for both architectures: no warnings, nothing spilled, and the
// instructions that the strategies are after. The whole of the golden data goes through it in `npm run conformance:nvcc`.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileCuda, findCudaToolkit } from '@tsinductor/runtime';
import { productCase } from '@tsinductor/testing/sample-kernels';
import { cases } from '@tsinductor/testing/loops';
import { generateCudaBlocks } from './block/generate-block.ts';
import { generateCudaBatch } from './generate.ts';
import type { Architecture } from './target.ts';
import { exactCases } from './test-support/block-run.ts';

const { toolkit, searched } = findCudaToolkit({ path: process.env['PATH'] ?? '' });
if (toolkit === undefined) {
  const places = searched.map(({ place }) => place).join(', ');
  process.stderr.write(`nvcc ring skipped: no CUDA toolkit in ${places}\n`);
}
const ring = toolkit === undefined ? describe.skip : describe;
const home = mkdtempSync(join(tmpdir(), 'tsinductor-nvcc-'));
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const rows = cases.symbolic('s0', 301);

const sample = [
  cases.broadcasts(300, 412),
  cases.broadcasts(rows.extent, 77, rows.sizes),
  cases.transposed(130, 259),
  cases.scanned(5, 2590),
  cases.summed('rows', [300, 1030]),
  cases.summed('columns', [9000, 20]),
  cases.summed('nothing', [1000, 333]),
  cases.positions(30, 1031),
  cases.softmax('rows', [20, 1030]),
  cases.picked(7, 20),
  cases.product({ m: 65, n: 103, k: 77 }),
  cases.product({ m: 20, n: 33, k: 70, dtype: 'f16' }),
  cases.product({ m: 20, n: 33, k: 40, dtype: 'bf16', transposed: 'b' }),
  cases.product({ m: 40, n: 33, k: 50, dtype: 'i64' }),
];

ring('nvcc', () => {
  test.each<[Architecture]>([['sm_80'], ['sm_90a']])(
    '%s',
    async (architecture) => {
      if (toolkit === undefined) return;
      const target = { architecture, inputAlignment: 16 };
      const { source, programs } = generateCudaBatch(
        sample.map(({ schedule }) => schedule),
        target,
      );
      const paths = { ptxPath: join(home, `${architecture}.ptx`), cubinPath: join(home, `${architecture}.cubin`) };
      const { facts } = await compileCuda(toolkit, { source, architecture }, { ...paths, warnings: 'errors' });
      const kernels = new Set(programs.flatMap((program) => program.kernels.map(({ name }) => name)));
      expect(new Set(facts.map(({ kernel }) => kernel))).toEqual(kernels);
      expect(facts.filter(({ spillStoreBytes, spillLoadBytes }) => spillStoreBytes + spillLoadBytes > 0)).toEqual([]);
      const ptx = readFileSync(paths.ptxPath, 'utf8');
      expect(ptx).toContain(`.target ${architecture}`);
      for (const instruction of [
        'ld.global.nc.v4.f32',
        'st.global.v4.f32',
        'shfl.sync.down.b32',
        'bar.sync',
        'fma.rn.f32',
        'ld.shared.f32',
      ])
        expect(ptx).toContain(instruction);
    },
    180_000,
  );

  test.each<[Architecture]>([['sm_80'], ['sm_90a']])(
    'products of graphs by matrix instructions for %s',
    async (architecture) => {
      if (toolkit === undefined) return;
      const products = [
        cases.product({ m: 2048, n: 1024, k: 512, dtype: 'bf16', transposed: 'b', followed: true }),
        cases.product({ m: 200, n: 136, k: 90, dtype: 'f16', batch: 3, transposed: 'a' }),
        cases.product({ m: 9, n: 512, k: 72, dtype: 'bf16' }),
        cases.product({ m: rows.extent, n: 512, k: 72, dtype: 'f16', followed: true, sizes: rows.sizes }),
        cases.windowed({ images: 2, places: [14, 14], channels: 64, outputs: 72, kernel: [3, 3], dtype: 'bf16' }),
      ];
      const { source, programs } = generateCudaBatch(
        products.map(({ schedule }) => schedule),
        { architecture, inputAlignment: 16 },
      );
      const paths = {
        ptxPath: join(home, `products-${architecture}.ptx`),
        cubinPath: join(home, `products-${architecture}.cubin`),
      };
      const { facts } = await compileCuda(toolkit, { source, architecture }, { ...paths, warnings: 'errors' });
      expect(facts).toHaveLength(products.length);
      expect(facts.filter(({ spillStoreBytes, spillLoadBytes }) => spillStoreBytes + spillLoadBytes > 0)).toEqual([]);
      const ptx = readFileSync(paths.ptxPath, 'utf8');
      const kernels = ptx.split('.visible .entry ').slice(1);
      expect(kernels).toHaveLength(programs.flatMap((program) => program.kernels).length);
      for (const kernel of kernels)
        for (const instruction of [
          'mma.sync.aligned.m16n8k16.row.col.f32.',
          'ldmatrix.sync.aligned.m8n8.x4',
          'cp.async.c',
          'cp.async.wait_group',
        ])
          expect(kernel).toContain(instruction);
    },
  );

  test.each<[Architecture]>([['sm_80'], ['sm_90a']])(
    'attention for %s',
    async (architecture) => {
      if (toolkit === undefined) return;
      const shape = { rows: 2048, columns: 2048, batch: 8, isCausal: true } as const;
      const attentions = [
        cases.attention({ ...shape, width: 64, dtype: 'bf16' }),
        cases.attention({ ...shape, width: 128, dtype: 'f16' }),
        cases.attention({ rows: 300, columns: 310, width: 80, dtype: 'bf16' }),
        cases.attention({ ...shape, width: 64 }),
      ];
      const { source } = generateCudaBatch(
        attentions.map(({ schedule }) => schedule),
        { architecture, inputAlignment: 16 },
      );
      const paths = {
        ptxPath: join(home, `attention-${architecture}.ptx`),
        cubinPath: join(home, `attention-${architecture}.cubin`),
      };
      const { facts } = await compileCuda(toolkit, { source, architecture }, { ...paths, warnings: 'errors' });
      expect(facts).toHaveLength(attentions.length);
      expect(facts.filter(({ spillStoreBytes, spillLoadBytes }) => spillStoreBytes + spillLoadBytes > 0)).toEqual([]);
      const [bf16, f16, odd, f32] = readFileSync(paths.ptxPath, 'utf8').split('.visible .entry ').slice(1);
      for (const kernel of [bf16, f16, odd])
        for (const instruction of [
          'mma.sync.aligned.m16n8k16.row.col.f32.',
          'ldmatrix.sync.aligned.m8n8.x4.trans',
          'cp.async.c',
        ])
          expect(kernel).toContain(instruction);
      expect(f32).toContain('fma.rn.f32');
      expect(f32).not.toContain('mma.sync');
    },
    180_000,
  );

  test.each<[Architecture]>([['sm_80'], ['sm_90a']])('hand-written kernels for %s', async (architecture) => {
    if (toolkit === undefined) return;
    const programs = [
      ...exactCases(),
      productCase({ dtype: 'f16', precision: 'ieee', sizes: [64, 64, 64], divisor: 16 }),
      productCase({ dtype: 'f32', precision: 'tf32', sizes: [64, 64, 64], divisor: 16 }),
    ].map(({ program }) => program);
    const { source } = generateCudaBlocks(programs, { architecture, warps: 4, stages: 3, mayAlias: false });
    const paths = {
      ptxPath: join(home, `blocks-${architecture}.ptx`),
      cubinPath: join(home, `blocks-${architecture}.cubin`),
    };
    const { facts } = await compileCuda(toolkit, { source, architecture }, { ...paths, warnings: 'errors' });
    expect(facts).toHaveLength(programs.length);
    expect(facts.filter(({ spillStoreBytes, spillLoadBytes }) => spillStoreBytes + spillLoadBytes > 0)).toEqual([]);
    const ptx = readFileSync(paths.ptxPath, 'utf8');
    for (const instruction of [
      'mma.sync.aligned.m16n8k16',
      'mma.sync.aligned.m16n8k8',
      'ldmatrix.sync',
      'cp.async.cg',
      'cp.async.wait_group',
    ])
      expect(ptx).toContain(instruction);
  });
});
