// Which products of a CUDA device are padded, by estimate, and what their kernels are then: down to the source, without a device. What a padding
// computes is compared with eager execution on an emulated one.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { contiguousMeta, GraphBuilder } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { manualSeed, randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { emulatedDriver, emulatedNvcc } from '@tsinductor/testing/emulated-cuda';
import { hasCompiler } from '@tsinductor/testing/loops';
import { cudaPipeline } from '../build/pipeline.ts';
import { compile } from '../compile.ts';
import { reset, setConfig } from '../default-compiler.ts';

interface Made {
  /** What became of uneven products. */
  readonly paddings: readonly string[];
  /** Which kernels there are. */
  readonly notes: readonly string[];
}

/** A graph over tensors of these shapes, as a device has it. */
function madeOf(
  { shapes, dtype }: { readonly shapes: readonly (readonly number[])[]; readonly dtype: DType },
  build: (b: GraphBuilder, inputs: readonly ValueRef[]) => ValueRef,
  program: ConfigPatch = {},
): Made {
  const b = new GraphBuilder({ expand: true });
  const inputs = shapes.map((shape, position) =>
    b.placeholder(`x${String(position)}`, contiguousMeta(shape.map(int), dtype)),
  );
  b.output(build(b, inputs));
  const graph = b.finish();
  const config = resolveConfig({ env: {}, program });
  const target = { architecture: 'sm_80', inputAlignment: 16 } as const;
  const { scheduled, program: made } = cudaPipeline().run({ graph, primitives: graph }, { config, target });
  return {
    paddings: scheduled.decisions.flatMap((one) =>
      one.kind === 'rewritten' || (one.kind === 'padded' && one.stage === 'pad-products') ? [one.reason] : [],
    ),
    notes: made.kernels.flatMap(({ notes }) => notes),
  };
}

const product = (size: number, dtype: DType, patch: ConfigPatch = {}): Made =>
  madeOf(
    {
      shapes: [
        [size, size],
        [size, size],
      ],
      dtype,
    },
    (b, [x = null, y = null]) => b.call('matmul', [x, y]),
    patch,
  );

describe('products on a CUDA device', () => {
  test.each<[number, DType, RegExp]>([
    [1023, 'f16', /^matrix instructions read rows in words of 4 bytes; 341 operations for each byte$/],
    [255, 'bf16', /^matrix instructions read rows in words/],
    [1022, 'bf16', /^rows are copied by 16 bytes at a time; 341 operations/],
  ])('of %i by %s are padded', (size, dtype, reason) => {
    const { paddings, notes } = product(size, dtype);
    expect(paddings).toEqual([expect.stringMatching(reason)]);
    expect(notes.join('; ')).toMatch(/matrix product, tiles of/);
  });

  test.each<[number, DType, RegExp]>([
    [127, 'f16', /^42 operations for each byte, and a padding pays from 60$/],
    [254, 'f16', /pays from 148$/],
    [1023, 'f32', /^products of f32 have no matrix instructions/],
  ])('of %i by %s are not', (size, dtype, reason) => {
    expect(product(size, dtype).paddings).toEqual([expect.stringMatching(reason)]);
  });

  test('of even rows are, whatever the number of rows, as they are; and all where the setting says so', () => {
    const tall = { shapes: [[1023, 512], [512, 1024]], dtype: 'f16' } as const; // prettier-ignore
    expect(madeOf(tall, (b, [x = null, y = null]) => b.call('matmul', [x, y])).paddings).toEqual([]);
    expect(product(1023, 'f16', { shapePadding: false }).paddings).toEqual([]);
    expect(product(1023, 'f16', { shapePadding: false }).notes.join('; ')).toMatch(/do not lie in aligned pairs/);
    expect(product(33, 'f32', { forceShapePad: true }).paddings).toEqual(['forceShapePad']);
  });

  test('of attention stay in one kernel', () => {
    const given = { shapes: [[16, 1023, 256], [16, 1023, 256], [16, 1023, 256]], dtype: 'bf16' } as const; // prettier-ignore
    const { paddings } = madeOf(given, (b, [q = null, k = null, v = null]) => {
      const scores = b.call('matmul', [q, b.call('transpose', [k], { dim0: 1, dim1: 2 })]);
      return b.call('matmul', [b.call('softmax', [scores], { dim: -1 }), v]);
    });
    expect(paddings).toEqual([expect.stringMatching(/^it follows another product through sums of rows/)]);
  });
});

const ring = hasCompiler() ? describe : describe.skip;
const directory = mkdtempSync(join(tmpdir(), 'tsinductor-padding-'));

afterAll(() => {
  reset();
  rmSync(directory, { recursive: true, force: true });
});

ring('a padded product', () => {
  test('is what eager mode computes, by matrix instructions', () => {
    const cuda = { cudaCxx: emulatedNvcc(directory), driver: emulatedDriver(directory) };
    setConfig({ cacheDir: join(directory, 'cache'), cuda, forceShapePad: true });
    manualSeed(3);
    const [x, w, bias] = [randn([35, 37]), randn([37, 41]), randn([41])].map((t) => t.to('bf16'));
    const layer = (a: Tensor, b: Tensor, c: Tensor): Tensor => a.matmul(b).add(c).relu();
    const given = [x, w, bias].flatMap((tensor) => tensor ?? []) as [Tensor, Tensor, Tensor];
    const fn = compile(layer, { fullgraph: true });
    const made = fn(...(given.map((tensor) => tensor.cuda()) as [Tensor, Tensor, Tensor]));
    const told = fn.explain().toString();
    for (const text of ['rewrote 1 part by shape_padding', 'matrix product, tiles of']) expect(told).toContain(text);
    const wanted = layer(...given);
    const far = made.cpu().to('f32').sub(wanted.to('f32')).abs().max().item();
    expect(far / wanted.to('f32').abs().max().item()).toBeLessThan(2 ** -7);
    expect(at(made.shape, 1)).toBe(41);
  });
});
