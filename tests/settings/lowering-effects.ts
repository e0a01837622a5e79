// The effects of the settings of lowering and scheduling, seen in the loops and decisions of a graph.
import { expect } from '@jest/globals';
import { arange, cat, nn, randn, tensor, zeros } from 'tsinductor';
import type { GraphReport, Tensor } from 'tsinductor';
import { compiledWith, reportOf, sourceOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const vectors = (count: number): Tensor[] => Array.from({ length: count }, () => randn([8]));

/** Whether the sum of two inputs is computed again in both of its readers. */
function inlinesShared(options: Options): boolean {
  const fn = (x: Tensor, y: Tensor): Tensor => {
    const shared = x.add(y);
    return shared.neg().mul(shared.sum());
  };
  return reportOf(fn, vectors(2), options).decisions.some(
    (it) => it.kind === 'inlined' && it.producer.startsWith('add'),
  );
}

/** What decisions say of times. */
const measuredIn = ({ decisions }: GraphReport): readonly string[] =>
  decisions.flatMap(({ reason }) =>
    /measured [\d.e-]+ ms as one kernel, [\d.e-]+ ms apart/.test(reason) ? [reason] : [],
  );

/** Whether a long sum is computed in chunks. */
const inChunks = (options: Options): boolean =>
  reportOf((x: Tensor): Tensor => x.sum(), [tensor(new Float32Array(1 << 18))], options).kernels.some(
    ({ description }) => description.includes('in chunks, merged in order'),
  );

/** What a layer over a weight of its own computes once. */
function frozenBy(options: Options): readonly string[] {
  const weight = randn([32, 16]);
  return reportOf((x) => nn.functional.linear(x, weight.mul(2)), [randn([8, 16])], options).frozen ?? [];
}

export const loweringEffects = {
  freezing: () => {
    expect(frozenBy({})).toEqual([]);
    expect(frozenBy({ freezing: true })).toHaveLength(1);
  },
  freezingDiscardParameters: () => {
    const isThere = (freezingDiscardParameters: boolean): boolean => {
      const weight = randn([32, 16]);
      reportOf((x) => nn.functional.linear(x, weight), [randn([8, 16])], { freezing: true, freezingDiscardParameters });
      return !weight.isDisposed;
    };
    expect([false, true].map(isThere)).toEqual([true, false]);
  },
  'cpp.weightPrepack': () => {
    expect(frozenBy({ freezing: true })).toEqual([expect.stringContaining('permute')]);
    expect(frozenBy({ freezing: true, cpp: { weightPrepack: false } })).not.toEqual([
      expect.stringContaining('permute'),
    ]);
  },
  realizeReadsThreshold: () => {
    expect([{}, { realizeReadsThreshold: 1 }].map(inlinesShared)).toEqual([true, false]);
  },
  realizeOpcountThreshold: () => {
    expect([{}, { realizeOpcountThreshold: 0 }].map(inlinesShared)).toEqual([true, false]);
  },
  realizeAccReadsThreshold: () => {
    // Partial sums of twelve inputs are stored where one would read more buffers than the limit.
    const sum = (...xs: Tensor[]): Tensor => xs.reduce((left, right) => left.add(right));
    const stored = (options: Options): number =>
      11 - reportOf(sum, vectors(12), options).decisions.filter((it) => it.kind === 'inlined').length;
    expect(stored({ realizeAccReadsThreshold: 100 })).toBe(1);
    expect(stored({})).toBeGreaterThan(1);
    expect(stored({ realizeAccReadsThreshold: 3 })).toBeGreaterThan(stored({}));
  },
  maxPointwiseCatInputs: () => {
    const joined = (...xs: Tensor[]): Tensor => cat(xs);
    const nodes = (count: number, options: Options): number => reportOf(joined, vectors(count), options).loopNodes;
    expect([nodes(8, {}), nodes(9, {})]).toEqual([1, 9]);
    expect(nodes(9, { maxPointwiseCatInputs: 9 })).toBe(1);
  },
  forcePointwiseCat: () => {
    const joined = (...xs: Tensor[]): Tensor => cat(xs);
    const nodes = (options: Options): number => reportOf(joined, vectors(20), options).loopNodes;
    expect(nodes({})).toBeGreaterThan(1);
    expect(nodes({ forcePointwiseCat: true })).toBe(1);
  },
  unrollReductionsThreshold: () => {
    // A reduction that is written out is a map, which its reader can take in. Sums of whole numbers do not round.
    const x = arange(12, { dtype: 'f32' }).reshape([3, 4]);
    const scaled = (given: Tensor): Tensor => given.sum(-1).mul(0.5);
    const inlined = (options: Options): boolean =>
      reportOf(scaled, [x], options).decisions.some((it) => it.kind === 'inlined' && it.producer.startsWith('sum'));
    expect([{}, { unrollReductionsThreshold: 1 }, { unrollReductionsThreshold: 4 }].map(inlined)).toEqual([
      true,
      false,
      false,
    ]);
    expect(compiledWith(scaled, {})(x).toArray()).toEqual(scaled(x).toArray());
  },
  benchmarkFusion: () => {
    const softmax = (x: Tensor): Tensor => x.softmax(-1);
    const x = randn([8, 16]);
    const report = reportOf(softmax, [x], { benchmarkFusion: true });
    expect(measuredIn(report)).not.toEqual([]);
    expect(compiledWith(softmax, { benchmarkFusion: true })(x).toArray()).toEqual(
      compiledWith(softmax, {})(x).toArray(),
    );
    expect(measuredIn(reportOf(softmax, [x], {}))).toEqual([]);
  },
  benchmarkComboKernel: () => {
    const updates = (x: Tensor, y: Tensor): Tensor[] => [x.mul(0.5), y.mul(0.5)];
    const inputs = [randn([10]), randn([15])];
    expect(measuredIn(reportOf(updates, inputs, {}))).toEqual([]);
    expect(measuredIn(reportOf(updates, inputs, { benchmarkComboKernel: true }))).toHaveLength(1);
  },
  onlineSoftmax: () => {
    // Without, the exponentials of a row of 1 MB are stored until their sum is known.
    const softmax = (x: Tensor): Tensor => x.softmax(-1);
    const length = 1 << 18;
    const x = randn([2, length]);
    const [once, twice] = [{}, { onlineSoftmax: false }].map((options) => reportOf(softmax, [x], options)) as [
      GraphReport,
      GraphReport,
    ];
    expect([once.kernels.length, twice.kernels.length]).toEqual([2, 3]);
    expect(once.workspaceBytes).toBeLessThan(4096);
    expect(twice.workspaceBytes).toBeGreaterThan(8 * length);
    const edges = [0, -Infinity, 2, Infinity, NaN, 1];
    const rows = new Float32Array(7 * length);
    edges.forEach((edge, row) => rows.fill(edge, row * length, (row + 1) * length));
    rows.set((x.toTypedArray() as Float32Array).subarray(0, length), 6 * length);
    for (const given of [x, tensor(rows).reshape([7, length])]) {
      const [fast, slow] = [{}, { onlineSoftmax: false }].map(
        (options) => compiledWith(softmax, options)(given).toTypedArray() as Float32Array,
      ) as [Float32Array, Float32Array];
      const isApart = (value: number, index: number): boolean => {
        const other = fast[index] ?? Infinity;
        return Number.isNaN(value) ? !Number.isNaN(other) : !(Math.abs(value - other) < 1e-6);
      };
      expect(slow.findIndex(isApart)).toBe(-1);
    }
  },
  constantAndIndexPropagation: () => {
    // The slice ends where the second part of the concatenation begins.
    const first = (x: Tensor, y: Tensor): Tensor => cat([x, y], 1).slice(1, 0, 16).add(1);
    const inputs: [Tensor, Tensor] = [randn([8, 16]), randn([8, 16])];
    const source = (options: Options): string => sourceOf(first, inputs, options);
    expect(source({})).not.toMatch(/input_1|masked/);
    expect(source({ constantAndIndexPropagation: false })).toMatch(/load_masked.*in1/);
    expect(compiledWith(first, {})(...inputs).toArray()).toEqual(first(...inputs).toArray());
    // The concatenation itself is two loops, one for each of what it reads, or one that tests every coordinate.
    const joined = (x: Tensor, y: Tensor): Tensor => cat([x, y], 1).mul(2);
    const wide: [Tensor, Tensor] = [randn([8, 64]), randn([8, 64])];
    const printed = (options: Options): string => sourceOf(joined, wide, options);
    expect(printed({})).not.toMatch(/masked/);
    expect(printed({ constantAndIndexPropagation: false })).toMatch(/load_masked/);
    expect(compiledWith(joined, { constantAndIndexPropagation: false })(...wide).toArray()).toEqual(
      joined(...wide).toArray(),
    );
  },
  computeAllBounds: () => {
    const picked = (x: Tensor, index: Tensor): Tensor => x.indexSelect(0, index.clamp(0, 4));
    const [x, index] = [randn([5, 3]), tensor([-7, 2, 9])];
    const checks = (options: Options): boolean => sourceOf(picked, [x, index], options).includes('check_i64');
    expect([{}, { computeAllBounds: true }].map(checks)).toEqual([true, false]);
    expect(compiledWith(picked, { computeAllBounds: true })(x, index).toArray()).toEqual(picked(x, index).toArray());
    // An index that may lie outside keeps its check.
    const loose = (given: Tensor, at: Tensor): Tensor => given.indexSelect(0, at.clamp(0, 5));
    expect(() => compiledWith(loose, { computeAllBounds: true })(x, index)).toThrow(
      expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }),
    );
  },
  assertIndirectIndexing: () => {
    const picked = (x: Tensor, index: Tensor): Tensor => x.gather(0, index);
    const x = tensor([10, 11, 12, 13, 14], { dtype: 'f32' });
    const source = (options: Options): string => sourceOf(picked, [x, tensor([0])], options);
    expect([{}, { assertIndirectIndexing: false }].map((options) => source(options).includes('check_i64'))).toEqual([
      true,
      false,
    ]);
    const index = tensor([4, 3, 0]);
    expect(compiledWith(picked, { assertIndirectIndexing: false })(x, index).toArray()).toEqual([14, 13, 10]);
    expect(() => compiledWith(picked, {})(x, tensor([10]))).toThrow(
      expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }),
    );
  },
  assume32BitIndexing: () => {
    const joined = (x: Tensor, y: Tensor): Tensor => cat([x, y], 1).mul(2);
    const inputs: [Tensor, Tensor] = [randn([5, 40]), randn([5, 61])];
    const source = (options: Options): string => sourceOf(joined, inputs, { dynamic: true, ...options });
    expect(source({})).toMatch(/i64x\d+ \w+ = ramp_i64x/);
    expect(source({ assume32BitIndexing: true })).toMatch(/i32x\d+ \w+ = ramp_i32x/);
    expect(source({ assume32BitIndexing: true })).not.toMatch(/ramp_i64x/);
    const compiled = compiledWith(joined, { dynamic: true, assume32BitIndexing: true });
    expect(compiled(...inputs).toArray()).toEqual(joined(...inputs).toArray());
    // A table of 2^32 elements is refused: where sizes are known before anything is compiled, else by the call.
    const table = (x: Tensor, y: Tensor): Tensor => x.reshape([-1, 1]).add(y);
    const lines = (length: number): [Tensor, Tensor] =>
      [1, 2].map(() => zeros([length], { dtype: 'i8' })) as [Tensor, Tensor];
    const refusal = expect.objectContaining({
      code: 'INDEX_BEYOND_32_BITS',
      message: expect.stringContaining('4294967296'),
    });
    const fixed = compiledWith(table, { dynamic: false, assume32BitIndexing: true });
    expect(() => fixed(...lines(65_536))).toThrow(refusal);
    expect(fixed.graphs()).toEqual([]);
    const any = compiledWith(table, { dynamic: true, assume32BitIndexing: true });
    expect(any(...lines(3)).shape).toEqual([3, 3]);
    expect(() => any(...lines(65_536))).toThrow(refusal);
    expect(any(...lines(4)).shape).toEqual([4, 4]);
  },
  expandDimensionForPointwiseNodes: () => {
    const both = (x: Tensor): Tensor[] => [cat([x, zeros([8, 32])], 1), x.to('f16')];
    const x = randn([8, 64]);
    const patch = { expandDimensionForPointwiseNodes: true };
    const kernels = (options: Options): number => reportOf(both, [x], options).kernels.length;
    expect([kernels({}), kernels(patch)]).toEqual([2, 1]);
    // Both loops of that kernel have no test: they end where the smaller result ends.
    expect(sourceOf(both, [x], patch)).not.toMatch(/masked/);
    expect(compiledWith(both, patch)(x).map((value) => value.toArray())).toEqual(
      both(x).map((value) => value.toArray()),
    );
  },
  smallMemoryAccessThreshold: () => {
    const both = (x: Tensor): Tensor[] => [cat([x, zeros([32])]), x.to('f16')];
    const kernels = (smallMemoryAccessThreshold: number): number =>
      reportOf(both, [randn([64])], { expandDimensionForPointwiseNodes: true, smallMemoryAccessThreshold }).kernels
        .length;
    // The cast reads 256 bytes and writes 128.
    expect([1, 383, 384].map(kernels)).toEqual([2, 2, 1]);
  },
  splitReductions: () => {
    expect([{}, { splitReductions: false }].map(inChunks)).toEqual([true, false]);
  },
  minNumSplit: () => {
    expect([2, 1000].map((minNumSplit) => inChunks({ minNumSplit }))).toEqual([true, false]);
  },
  alwaysKeepTensorConstants: () => {
    const scaled = (x: Tensor): Tensor => x.mul(tensor([0.71875]));
    const source = (options: Options): string => sourceOf(scaled, [randn([8])], options);
    expect(source({})).toContain('0.71875');
    expect(source({ alwaysKeepTensorConstants: true })).not.toContain('0.71875');
    const x = randn([8]);
    expect(compiledWith(scaled, { alwaysKeepTensorConstants: true })(x).toArray()).toEqual(scaled(x).toArray());
  },
  emulatePrecisionCasts: () => {
    const chain = (x: Tensor): Tensor => x.add(0.1).mul(3).sub(0.3);
    const x = randn([512], { dtype: 'f16' });
    const bits = (value: Tensor): string => Buffer.from(value.toTypedArray().buffer).toString('hex');
    const compiled = (options: Options): string => bits(compiledWith(chain, options)(x));
    expect(compiled({ emulatePrecisionCasts: true })).toBe(bits(chain(x)));
    expect(compiled({})).not.toBe(bits(chain(x)));
  },
  epilogueFusion: () => {
    const layer = (x: Tensor, w: Tensor): Tensor => x.matmul(w).relu();
    const kernels = (options: Options): number =>
      reportOf(layer, [randn([8, 16]), randn([16, 8])], options).kernels.length;
    expect([kernels({}), kernels({ epilogueFusion: false })]).toEqual([1, 2]);
  },
  b2bGemmPass: () => {
    const layers = (x: Tensor, w: Tensor, v: Tensor): Tensor => x.matmul(w).relu().matmul(v);
    const inputs = [randn([40, 16]), randn([16, 24]), randn([24, 8])] as const;
    const kernels = (options: Options): number => reportOf(layers, inputs, options).kernels.length;
    expect([kernels({}), kernels({ b2bGemmPass: true })]).toEqual([2, 1]);
    const [apart, together] = [{}, { b2bGemmPass: true }].map((options) => compiledWith(layers, options)(...inputs));
    // Fewer rows than half of what both are summed over: the second operands are larger.
    const wide = [randn([30, 64]), randn([64, 24]), randn([24, 40])];
    const { kernels: two, decisions } = reportOf(layers, wide, { b2bGemmPass: true });
    expect([two.length, JSON.stringify(decisions)]).toEqual([
      2,
      expect.stringContaining('between them are 5760 bytes to write and read, and every block of rows would read 9984'),
    ]);
    expect(
      together
        ?.sub(apart ?? 0)
        .abs()
        .amax()
        .item(),
    ).toBe(0);
  },
  forceFuseIntMmWithMul: () => {
    const scaled = (x: Tensor, w: Tensor, scale: Tensor): Tensor => x.to('i32').matmul(w.to('i32')).mul(scale);
    const inputs = [randn([20, 33]).mul(40).to('i8'), randn([33, 12]).mul(40).to('i8'), randn([12])] as const;
    const [apart, forced] = [{}, { forceFuseIntMmWithMul: true }].map((options) => ({
      epilogueFusion: false,
      ...options,
    }));
    const kernels = (options: Options): number => reportOf(scaled, inputs, options).kernels.length;
    expect([kernels({}), kernels(apart ?? {}), kernels(forced ?? {})]).toEqual([1, 2, 1]);
    // No product is stored: what is whole in the code has a width of 8 bits.
    expect(sourceOf(scaled, inputs, forced ?? {})).not.toMatch(/i32 \*__restrict/);
    expect(compiledWith(scaled, forced ?? {})(...inputs).toArray()).toEqual(scaled(...inputs).toArray());
    // Products of floats, and what does not multiply, stay as epilogueFusion says.
    const floats = (x: Tensor, w: Tensor): Tensor => x.matmul(w).mul(2);
    const shifted = (x: Tensor, w: Tensor): Tensor => x.to('i32').matmul(w.to('i32')).add(2);
    expect(reportOf(floats, [randn([20, 33]), randn([33, 12])], forced ?? {}).kernels).toHaveLength(2);
    expect(reportOf(shifted, inputs.slice(0, 2), forced ?? {}).kernels).toHaveLength(2);
  },
  'cpp.winograd': () => {
    const rules = (cpp: Options): readonly string[] =>
      reportOf((x, w) => nn.functional.conv2d(x, w), [randn([1, 32, 34, 34]), randn([32, 32, 3, 3])], {
        cpp,
      }).decisions.flatMap((it) => (it.kind === 'rewritten' ? [it.rule] : []));
    expect([rules({}), rules({ winograd: true })]).toEqual([[], ['winograd']]);
  },
  'cpp.attentionFusion': () => {
    const attention = (q: Tensor, k: Tensor, v: Tensor): Tensor => q.scaledDotProductAttention(k, v);
    const inputs = [randn([40, 16]), randn([40, 16]), randn([40, 16])] as const;
    const kernels = (attentionFusion: boolean): number =>
      reportOf(attention, inputs, { cpp: { attentionFusion, attentionFusionBytes: 0 } }).kernels.length;
    expect([true, false].map(kernels)).toEqual([1, 3]);
  },
  'cpp.attentionFusionBytes': () => {
    const attention = (q: Tensor, k: Tensor, v: Tensor): Tensor => q.scaledDotProductAttention(k, v);
    const inputs = [randn([40, 16]), randn([40, 16]), randn([40, 16])] as const;
    const kernels = (attentionFusionBytes: number): number =>
      reportOf(attention, inputs, { cpp: { attentionFusionBytes } }).kernels.length;
    expect([40 * 40 * 4, 40 * 40 * 4 + 1].map(kernels)).toEqual([1, 3]);
  },
  maxFusionSize: () => {
    const softmax = (x: Tensor): Tensor => x.softmax(-1);
    const kernels = (options: Options): number => reportOf(softmax, [randn([8, 16])], options).kernels.length;
    expect(kernels({})).toBe(1);
    expect(kernels({ maxFusionSize: 1 })).toBeGreaterThan(1);
  },
} satisfies Record<string, Effect>;
