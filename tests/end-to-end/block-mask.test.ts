// Attention by block masks: the blocks as PyTorch numbers them, eager beside the same mask without blocks, compiled beside eager.
import { describe, expect, test } from '@jest/globals';
import { arange, compile, grad, manualSeed, nn, rand, randn, tensor } from 'tsinductor';
import type { BlockMask, BlockMaskOptions, FlexAttentionOptions, MaskMod, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { createBlockMask, flexAttention } = nn.functional;
const always = { 'cpp.attentionFusionBytes': 0 };

type Given = [query: Tensor, key: Tensor, value: Tensor];

interface Sizes {
  readonly heads?: number;
  readonly shared?: number;
  readonly rows?: number;
  readonly columns?: number;
}

function given({ heads = 2, shared = heads, rows = 200, columns = rows }: Sizes = {}): Given {
  manualSeed(5);
  return [randn([2, heads, rows, 16]), randn([2, shared, columns, 16]), randn([2, shared, columns, 8])];
}

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

const farthest = (a: Tensor, b: Tensor): number => Number(a.sub(b).abs().amax().item());
const isBefore: MaskMod = (...[, , i, j]) => i.ge(j);
const causal = (size: number): BlockMask => createBlockMask(isBefore, { queries: size, keys: size });
const textOf = (compiled: { graphs: () => readonly { source?: () => string }[] }): string =>
  compiled
    .graphs()
    .map((graph) => graph.source?.() ?? '')
    .join('\n');

/** Documents of these lengths, one behind another: which of them each token is of. */
const documentsOf = (...lengths: number[]): Tensor =>
  tensor(lengths.flatMap((length, own) => new Array<number>(length).fill(own)));
const sameDocument =
  (documents: Tensor): MaskMod =>
  (...[, , i, j]) =>
    documents.index([i]).eq(documents.index([j]));

manualSeed(11);
const sparse = rand([2, 2, 13, 13]).lt(0.2);
const lengths = tensor([40, 150]);

interface Form {
  readonly maskMod: MaskMod;
  readonly mask?: Partial<BlockMaskOptions>;
  readonly sizes?: Sizes;
  readonly options?: FlexAttentionOptions;
}

const forms: Readonly<Record<string, Form>> = {
  'documents one behind another': { maskMod: sameDocument(documentsOf(30, 66, 40, 64)), mask: { blockSize: 32 } },
  'causal documents': {
    maskMod: (...[b, h, i, j]) => sameDocument(documentsOf(30, 66, 40, 64))(b, h, i, j).logicalAnd(i.ge(j)),
    mask: { blockSize: [64, 16] },
  },
  'a prefix that all see': { maskMod: (...[, , i, j]) => j.lt(70).logicalOr(i.ge(j)), mask: { blockSize: 64 } },
  'blocks at random by batch and head': {
    maskMod: (...[b, h, i, j]) => sparse.index([b, h, i.divFloor(16), j.divFloor(16)]),
    mask: { batch: 2, heads: 2, blockSize: 16 },
  },
  'lengths by batch': {
    maskMod: (...[b, , , j]) => j.lt(lengths.index([b])),
    mask: { batch: 2, blockSize: 32 },
  },
  'all, one block': { maskMod: (...[, , i, j]) => i.ge(j), mask: { blockSize: 256 } },
  'heads that share keys': {
    maskMod: sameDocument(documentsOf(100, 100)),
    mask: { blockSize: 64 },
    sizes: { heads: 6, shared: 2 },
    options: { enableGqa: true },
  },
  'scores that fall with the distance': {
    maskMod: sameDocument(documentsOf(64, 136)),
    mask: { blockSize: 64 },
    options: { scoreMod: (score, ...[, , i, j]) => score.sub(i.sub(j).abs().mul(0.1)), scale: 0.5 },
  },
  'rows that see nothing': {
    maskMod: (...[, , i, j]) => i.ge(90).logicalAnd(j.lt(50)).logicalAnd(i.ne(150)),
    mask: { blockSize: [16, 32] },
  },
  'more keys than queries': {
    maskMod: (...[, , i, j]) => i.add(180).ge(j).logicalAnd(j.ge(100)),
    mask: { blockSize: 128 },
    sizes: { rows: 70, columns: 250 },
  },
};

function formOf(name: string): Form {
  const form = forms[name];
  if (form === undefined) throw new TypeError(`there is no form ${name}`);
  return form;
}

function maskOf({ maskMod, mask = {}, sizes = {} }: Form): BlockMask {
  const [q, k] = given(sizes);
  return createBlockMask(maskMod, { queries: q.size(2), keys: k.size(2), ...mask });
}

describe('createBlockMask', () => {
  test('numbers blocks as PyTorch does', () => {
    const mask = createBlockMask((...[, , i, j]) => i.ge(j).logicalAnd(j.lt(5).logicalOr(i.ge(7))), {
      queries: 8,
      keys: 7,
      blockSize: 2,
    });
    expect(mask.used.to('i32').toArray()).toEqual([
      [
        [
          [1, 0, 0, 0],
          [1, 1, 0, 0],
          [1, 1, 1, 0],
          [1, 1, 1, 1],
        ],
      ],
    ]);
    expect(mask.kvNumBlocks.toArray()).toEqual([[[1, 1, 1, 2]]]);
    expect(mask.kvIndices.toArray()).toEqual([
      [
        [
          [0, 1, 2, 3],
          [1, 0, 2, 3],
          [2, 0, 1, 3],
          [2, 3, 0, 1],
        ],
      ],
    ]);
    expect(mask.fullKvNumBlocks.toArray()).toEqual([[[0, 1, 2, 2]]]);
    expect(mask.fullKvIndices.toArray()).toEqual([
      [
        [
          [0, 1, 2, 3],
          [0, 1, 2, 3],
          [0, 1, 2, 3],
          [0, 1, 2, 3],
        ],
      ],
    ]);
    expect([mask.kvIndices.dtype, mask.kvNumBlocks.dtype]).toEqual(['i32', 'i32']);
    expect([mask.shape, mask.blockSize]).toEqual([
      [1, 1, 8, 7],
      [2, 2],
    ]);
  });

  test.each<[string, () => unknown, RegExp]>([
    ['a number for a mask', () => createBlockMask(1 as never, { queries: 2, keys: 2 }), /maskMod is 1/],
    ['a mask of integers', () => createBlockMask((...[, , i]) => i, { queries: 2, keys: 2 }), /maskMod gives i64/],
    ['no lengths', () => createBlockMask(isBefore, {} as never), /queries is a value of type undefined/],
    ['a length of 0', () => createBlockMask(isBefore, { queries: 4, keys: 0 }), /keys is 0/],
    [
      'half a block',
      () => createBlockMask(isBefore, { queries: 4, keys: 4, blockSize: [2, 0.5] }),
      /blockSize of keys is 0.5/,
    ],
    ['another option', () => createBlockMask(isBefore, { queries: 4, keys: 4, size: 2 } as never), /no option "size"/],
    [
      'other lengths',
      () => flexAttention(...given(), { blockMask: causal(199) }),
      /\[1, 1, 199, 199\], scores are \[2, 2, 200, 200\]/,
    ],
    [
      'other heads',
      () => flexAttention(...given(), { blockMask: createBlockMask(isBefore, { heads: 3, queries: 200, keys: 200 }) }),
      /\[1, 3, 200, 200\]/,
    ],
    [
      'a table for a mask',
      () => flexAttention(...given(), { blockMask: randn([2, 2]) as never }),
      /blockMask is a Tensor/,
    ],
  ])('%s is refused', (_, run, message) => {
    expect(run).toThrow(message);

    expect(thrownBy(run)).toMatchObject({
      code: expect.stringMatching(/^(ARGUMENT_VALUE|OPTION_UNKNOWN)$/) as unknown,
    });
  });

  test.each(Object.entries(forms))('%s', (_, form) => {
    const mask = maskOf(form);
    const { shape, used } = mask;
    const places = shape.map((size, axis) => arange(size).view(shape.map((_each, own) => (own === axis ? size : 1))));
    const elements = form.maskMod(...(places as Parameters<MaskMod>)).expand([...shape]);
    const [height, width] = mask.blockSize;
    const inBlocks = elements.toArray() as unknown as boolean[][][][];
    const wanted = (used.toArray() as unknown as boolean[][][][]).map((heads, b) =>
      heads.map((rows, h) =>
        rows.map((row, i) =>
          row.map((_used, j) => {
            const block = inBlocks[b]?.[h]?.slice(i * height, (i + 1) * height) ?? [];
            return block.some((line) => line.slice(j * width, (j + 1) * width).includes(true));
          }),
        ),
      ),
    );
    expect(used.toArray()).toEqual(wanted);
    const all = wanted.flat(3);
    const left = (100 * all.filter((one) => !one).length) / all.length;
    expect(String(mask)).toBe(
      `BlockMask [${shape.join(', ')}] in blocks of ${String(height)} x ${String(width)}, ${left.toFixed(2)} % left out`,
    );
  });
});

describe('flexAttention by a block mask', () => {
  test.each(Object.entries(forms))('%s', (_, form) => {
    const inputs = given(form.sizes);
    const blockMask = maskOf(form);
    const whole = flexAttention(...inputs, { ...form.options, maskMod: form.maskMod });
    const flex = (...parts: Given): Tensor => flexAttention(...parts, { ...form.options, blockMask });
    expect(farthest(flex(...inputs), whole)).toBe(0);
    const compiled = compile(flex, { fullgraph: true, options: always });
    expect(farthest(compiled(...inputs), whole)).toBeLessThan(2e-6);
    expect(compiled.explain(...inputs).toString()).toMatch(/from one product to the other/);
    // All loops over keys go through the runs of blocks that count.
    const left = 'columns of blocks that a table leaves out are not computed';
    expect(
      compiled
        .explain(...inputs)
        .toString()
        .includes(left),
    ).toBe(form.mask?.blockSize !== 256);
    expect(/\brun_count\b/.test(textOf(compiled))).toBe(form.mask?.blockSize !== 256);
  });

  test('values are looked at before: what is infinite or NaN is so in all that see it or leave it out', () => {
    const form = formOf('documents one behind another');
    const [q, k, v] = given();
    const blockMask = maskOf(form);
    const flex = (...parts: Given): Tensor => flexAttention(...parts, { blockMask });
    const compiled = compile(flex, { fullgraph: true, options: always });
    const spoilt = v.add(arange(200).eq(150).unsqueeze(-1).to('f32').mul(Infinity).nanToNum(0, Infinity));
    const [made, wanted] = [compiled(q, k, spoilt), flex(q, k, spoilt)];
    expect(made.isfinite().eq(wanted.isfinite()).all().item()).toBe(true);
  });

  test('gradients', () => {
    for (const name of ['causal documents', 'blocks at random by batch and head', 'rows that see nothing']) {
      const form = formOf(name);
      const inputs = given();
      const blockMask = maskOf(form);
      const lossBy =
        (options: FlexAttentionOptions) =>
        (...parts: Given): Tensor =>
          flexAttention(...parts, options)
            .square()
            .sum();
      const gradients = grad(lossBy({ blockMask }), { argnums: [0, 1, 2] });
      const wanted = grad(lossBy({ maskMod: form.maskMod }), { argnums: [0, 1, 2] })(...inputs);
      const compiled = compile(gradients, { fullgraph: true, options: always });
      for (const made of [gradients(...inputs), compiled(...inputs)])
        wanted.forEach((one, index) => {
          expect(farthest(made[index] as Tensor, one)).toBeLessThan(1e-5);
        });
    }
  });

  test('the mask may be an argument, and another one of the same function needs no new code', () => {
    const inputs = given();
    const byTable =
      (table: Tensor): MaskMod =>
      (...[b, h, i, j]) =>
        table.index([b, h, i.divFloor(16), j.divFloor(16)]);
    const flex = (...[blockMask, table, ...parts]: [BlockMask, Tensor, ...Given]): Tensor =>
      flexAttention(...parts, { blockMask, maskMod: byTable(table) });
    const compiled = compile(flex, { fullgraph: true, options: always });
    for (const share of [0.1, 0.7]) {
      const table = rand([2, 2, 13, 13]).lt(share);
      const blockMask = createBlockMask(byTable(table), { batch: 2, heads: 2, queries: 200, keys: 200, blockSize: 16 });
      const wanted = flexAttention(...inputs, { maskMod: byTable(table) });
      expect(farthest(compiled(blockMask, table, ...inputs), wanted)).toBeLessThan(2e-6);
    }
    expect(compiled.graphs()).toHaveLength(1);
    expect(textOf(compiled)).toMatch(/\brun_count\b/);
  });

  test('the mask may be made where it is used', () => {
    const inputs = given();
    const flex = (...[documents, q, k, v]: [Tensor, ...Given]): Tensor => {
      const options = { queries: q.size(2), keys: k.size(2), blockSize: 32 };
      return flexAttention(q, k, v, { blockMask: createBlockMask(sameDocument(documents), options) });
    };
    const documents = documentsOf(90, 110);
    const compiled = compile(flex, { fullgraph: true, options: always });
    expect(farthest(compiled(documents, ...inputs), flex(documents, ...inputs))).toBeLessThan(2e-6);
    expect(textOf(compiled)).toMatch(/\brun_count\b/);
  });

  test('a mask of its own goes before that of the blocks', () => {
    const inputs = given();
    const options = { blockMask: causal(200), maskMod: (...[, , i, j]: Parameters<MaskMod>) => i.gt(j.add(3)) };
    const wanted = flexAttention(...inputs, { maskMod: options.maskMod });
    const flex = (...parts: Given): Tensor => flexAttention(...parts, options);
    expect(farthest(flex(...inputs), wanted)).toBe(0);
    expect(farthest(compile(flex, { options: always })(...inputs), wanted)).toBeLessThan(2e-6);
  });

  test('lengths may change', () => {
    const flex = (...[blockMask, documents, ...parts]: [BlockMask, Tensor, ...Given]): Tensor =>
      flexAttention(...parts, { blockMask, maskMod: sameDocument(documents) });
    const compiled = compile(flex, { dynamic: true });
    for (const rows of [100, 200, 330]) {
      const documents = documentsOf(30, rows - 30);
      const blockMask = createBlockMask(sameDocument(documents), { queries: rows, keys: rows, blockSize: 32 });
      const inputs = given({ rows });
      const wanted = flexAttention(...inputs, { maskMod: sameDocument(documents) });
      expect(farthest(compiled(blockMask, documents, ...inputs), wanted)).toBeLessThan(2e-6);
    }
    expect(compiled.graphs()).toHaveLength(1);
  });
});
