// Every primitive on small shapes, run by the interpreter and compared with a direct computation here: sizes 0 and 1,
// symbolic sizes, and chains of views among them.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { GraphBuilder, scalar } from '@tsinductor/graph';
import type { Attrs } from '@tsinductor/graph';
import { int, interpretProgram } from '@tsinductor/ir';
import { lowerGraph } from './index.ts';
import { nd, get, ramp, lowered, run, runOne, call, f32 } from './test-support/run-lowered.ts';
import type { LoweringOptions } from './lowering.ts';
import type { Nd, Input, Build } from './test-support/run-lowered.ts';

describe('pointwise', () => {
  test('operands broadcast, aligned at the right', () => {
    const [a, b] = [ramp(2, 1, 3), ramp(4, 1)];
    const expected = nd([2, 4, 3], ([i = 0, j = 0, k = 0]) => get(a, [i, 0, k]) + get(b, [j, 0]));
    expect(runOne([f32(a), f32(b)], call('add'))).toEqual(expected);
  });

  test('scalars are constants of the compute dtype', () => {
    const a = ramp(3);
    expect(runOne([f32(a)], call('mul', {}, [scalar(2)]))).toEqual(nd([3], (_, i) => 2 * at(a.data, i)));
    expect(runOne([{ value: a, dtype: 'i64' }], call('add', {}, [scalar(3)])).data).toEqual(a.data.map((x) => x + 3));
  });

  test('operands of different dtypes are cast to the promoted one', () => {
    const a = ramp(3);
    const sum = runOne([{ value: a, dtype: 'i32' }, f32(nd([3], () => 0.5))], call('add'));
    expect(sum.data).toEqual(a.data.map((x) => x + 0.5));
  });

  test('f16 is computed in f32 and rounded once', () => {
    const a = nd([2], (_, i) => at([1, 2049], i));
    expect(runOne([{ value: a, dtype: 'f16' }], call('add', {}, [scalar(1)])).data).toEqual([2, 2048]);
  });

  test('casts', () => {
    expect(runOne([f32(nd([3], (_, i) => i - 0.5))], call('cast', { dtype: { dtype: 'bool' } })).data).toEqual([
      1, 1, 1,
    ]);
    expect(runOne([f32(nd([3], (_, i) => i - 1.5))], call('cast', { dtype: { dtype: 'i64' } })).data).toEqual([
      -1, 0, 0,
    ]);
  });

  test('a tensor of size 0, and one of rank 0', () => {
    expect(runOne([f32(ramp(0, 3))], call('exp'))).toEqual({ shape: [0, 3], data: [] });
    expect(runOne([f32(nd([], () => 4))], call('sqrt'))).toEqual({ shape: [], data: [2] });
  });
});

describe('views', () => {
  const x = ramp(2, 3, 4);
  const views: readonly (readonly [string, Attrs, Nd])[] = [
    ['permute', { dims: [2, 0, 1] }, nd([4, 2, 3], ([k = 0, i = 0, j = 0]) => get(x, [i, j, k]))],
    [
      'slice',
      { dim: 2, start: 1, end: 4, step: 2 },
      nd([2, 3, 2], ([i = 0, j = 0, k = 0]) => get(x, [i, j, 1 + 2 * k])),
    ],
    ['flip', { dims: [0, 2] }, nd([2, 3, 4], ([i = 0, j = 0, k = 0]) => get(x, [1 - i, j, 3 - k]))],
    ['diagonal', { offset: 1, dim1: 1, dim2: 2 }, nd([2, 3], ([i = 0, d = 0]) => get(x, [i, d, d + 1]))],
    ['diagonal', { offset: -1, dim1: 2, dim2: 0 }, nd([3, 2], ([j = 0, d = 0]) => get(x, [d, j, d + 1]))],
    ['reshape', { shape: [4, 6] }, nd([4, 6], (_, flat) => at(x.data, flat))],
    [
      'asStrided',
      { size: [2, 2], stride: [3, 5], storageOffset: 1 },
      nd([2, 2], ([i = 0, j = 0]) => at(x.data, 1 + 3 * i + 5 * j)),
    ],
  ];
  test.each(views)('%s %j', (target, attrs, expected) => {
    expect(runOne([f32(x)], call(target, attrs))).toEqual(expected);
    expect(runOne([f32(x)], (b, value) => b.call('neg', [b.call(target, [b.call('neg', [value])], attrs)]))).toEqual(
      expected,
    );
  });

  test('expand and unfold', () => {
    const row = ramp(1, 3);
    expect(runOne([f32(row)], call('broadcastTo', { size: [2, 2, 3] })).data).toEqual([
      ...row.data,
      ...row.data,
      ...row.data,
      ...row.data,
    ]);
    const windows = nd([2, 3, 2, 2], ([i = 0, j = 0, w = 0, u = 0]) => get(x, [i, j, 2 * w + u]));
    expect(runOne([f32(x)], call('unfold', { dimension: 2, size: 2, step: 2 }))).toEqual(windows);
  });

  test('a chain of views is one map, without a division where axes only split and join', () => {
    const chain: Build = (b, value) => {
      const joined = b.call('reshape', [b.call('permute', [value], { dims: [1, 0, 2] })], { shape: [3, 8] });
      return b.call('neg', [b.call('reshape', [b.call('flip', [joined], { dims: [0] })], { shape: [3, 2, 4] })]);
    };
    const { program } = lowered([f32(x)], chain);
    expect(program.nodes).toHaveLength(1);
    expect(JSON.stringify(program.nodes)).not.toMatch(/floorDiv|"mod"/);
    expect(runOne([f32(x)], chain)).toEqual(nd([3, 2, 4], ([j = 0, i = 0, k = 0]) => -get(x, [i, 2 - j, k])));
  });

  test('a reshape across a permutation', () => {
    const crossed: Build = (b, value) =>
      b.call('reshape', [b.call('permute', [value], { dims: [2, 1, 0] })], { shape: [6, 4] });
    const turned = nd([4, 3, 2], ([k = 0, j = 0, i = 0]) => get(x, [i, j, k]));
    expect(runOne([f32(x)], crossed)).toEqual({ shape: [6, 4], data: turned.data });
  });

  test('a reshape of symbolic sizes joins and splits without divisions', () => {
    const flat: Build = (b, value) => b.call('neg', [b.call('reshape', [value], { shape: [-1, 4] })]);
    const input: Input = { value: x, symbols: { 0: 's0', 1: 's1' } };
    expect(JSON.stringify(lowered([input], flat).program.nodes)).not.toMatch(/floorDiv|"mod"/);
    expect(runOne([input], flat).data).toEqual(x.data.map((value) => -value));
  });
});

describe('outputs', () => {
  test('inputs, views and duplicates are copied into buffers of their own', () => {
    const x = ramp(2, 3);
    const results = run([f32(x)], (b, value) => {
      const sum = b.call('neg', [value]);
      return [value, sum, sum, b.call('permute', [sum], { dims: [1, 0] })];
    });
    const negated = x.data.map((item) => -item);
    expect(results.map(({ data }) => data)).toEqual([
      x.data,
      negated,
      negated,
      nd([3, 2], ([j = 0, i = 0]) => -get(x, [i, j])).data,
    ]);
  });

  test('an input that is not contiguous is read through its strides', () => {
    const builder = new GraphBuilder({ expand: true });
    const value = builder.placeholder('x', { shape: [int(2), int(3)], strides: [int(1), int(2)], dtype: 'f32' });
    builder.output(builder.call('neg', [value]));
    const program = lowerGraph(builder.finish());
    const out = new Float32Array(6);
    interpretProgram(program, {
      buffers: new Map([
        [at(program.inputs, 0), Float32Array.of(0, 1, 2, 3, 4, 5)],
        [at(program.outputs, 0), out],
      ]),
      sizes: new Map(),
    });
    expect([...out]).toEqual([-0, -2, -4, -1, -3, -5]);
  });
});

describe('reductions', () => {
  const x = ramp(2, 3, 4);
  test.each([[[0]], [[1]], [[0, 2]], [[0, 1, 2]]])('sum over %j', (dims) => {
    const kept = [0, 1, 2].filter((axis) => !dims.includes(axis));
    const shape = kept.map((axis) => at(x.shape, axis));
    const expected = nd(shape, (coordinates) =>
      nd(x.shape, (all, flat) =>
        kept.every((axis, place) => all[axis] === coordinates[place]) ? at(x.data, flat) : 0,
      ).data.reduce((a, b) => a + b, 0),
    );
    expect(runOne([f32(x)], call('sum', { dim: dims }))).toEqual(expected);
    const keepdim = runOne([f32(x)], call('sum', { dim: dims, keepdim: true }));
    expect(keepdim).toEqual({
      shape: x.shape.map((extent, axis) => (dims.includes(axis) ? 1 : extent)),
      data: expected.data,
    });
  });

  test('over nothing, over one, and of a 0-d tensor', () => {
    expect(runOne([f32(ramp(0, 3))], call('sum', { dim: [0] })).data).toEqual([0, 0, 0]);
    expect(runOne([f32(ramp(2, 1))], call('amax', { dim: [1] })).data).toEqual(ramp(2, 1).data);
    expect(runOne([f32(nd([], () => 5))], call('sum')).data).toEqual([5]);
  });

  test('argmax is the flat position over the reduced axes', () => {
    const flat = x.data.indexOf(Math.max(...x.data));
    expect(runOne([f32(x)], call('argmax'))).toEqual({ shape: [], data: [flat] });
    const rows = nd([2, 3], ([i = 0, j = 0]) => {
      const row = [0, 1, 2, 3].map((k) => get(x, [i, j, k]));
      return row.indexOf(Math.max(...row));
    });
    expect(runOne([f32(x)], call('argmax', { dim: 2 }))).toEqual(rows);
    expect(
      runOne([f32(x)], (b, value) => b.call('argmax', [b.call('permute', [value], { dims: [2, 0, 1] })])).data,
    ).toEqual([nd([4, 2, 3], ([k = 0, i = 0, j = 0]) => get(x, [i, j, k])).data.indexOf(Math.max(...x.data))]);
  });

  test('integers are summed as i64, f16 in f32', () => {
    expect(runOne([{ value: nd([2], () => 2 ** 31 - 1), dtype: 'i32' }], call('sum')).data).toEqual([2 ** 32 - 2]);
    const halves = nd([3000], () => 1);
    expect(runOne([{ value: halves, dtype: 'f16' }], call('sum')).data).toEqual([3000]);
  });

  test('running sums and products', () => {
    const sums = nd([2, 3, 4], ([i = 0, j = 0, k = 0]) =>
      [0, 1, 2].slice(0, j + 1).reduce((sum, at_) => sum + get(x, [i, at_, k]), 0),
    );
    expect(runOne([f32(x)], call('cumsum', { dim: 1 }))).toEqual(sums);
    expect(runOne([f32(nd([4], (_, i) => i + 1))], call('cumprod', { dim: 0 })).data).toEqual([1, 2, 6, 24]);
    expect(runOne([f32(nd([], () => 3))], call('cumsum', { dim: 0 })).data).toEqual([3]);
  });

  const writtenOut: LoweringOptions = {
    catInputs: 8,
    unrollBelow: 8,
    checkIndices: true,
    divideRows: false,
    hasLanes: false,
    channelsLast: 'never',
    keepOutputStrides: true,
  };

  test.each<[string, readonly number[], readonly number[]]>([
    ['sum', [2 ** 25, 1, -(2 ** 25), 1], [2]],
    ['sum', [-0, -0, -0, -0], [0]],
    ['prod', [2 ** 100, 2 ** 90, 2 ** -100, 2 ** 10], [2 ** 100]],
    ['amax', [-Infinity, -3, -Infinity, -4], [-3]],
    ['amin', [1, NaN, 2, 3], [NaN]],
    ['argmax', [1, 7, 7, 3], [1]],
    ['any', [0, 0, 0, 5], [1]],
  ])('%s of 2 x 2 elements that are written out: folds join down columns first', (target, data, expected) => {
    const x = nd([2, 2], (_, flat) => at(data, flat));
    const build = call(target, target === 'argmax' ? {} : { dim: [0, 1] });
    const { program } = lowered([f32(x)], build, writtenOut);
    expect(program.nodes.map(({ kind }) => kind)).toEqual(['map']);
    expect(runOne([f32(x)], build, writtenOut).data).toEqual(expected);
  });

  test('over no elements where they are written out', () => {
    expect(runOne([f32(nd([3, 0, 2], () => 0))], call('sum', { dim: [1, 2] }), writtenOut).data).toEqual([0, 0, 0]);
  });

  test('over a symbolic axis', () => {
    const result = runOne([{ value: x, symbols: { 1: 's0' } }], call('sum', { dim: [1] }));
    expect(result).toEqual(nd([2, 4], ([i = 0, k = 0]) => [0, 1, 2].reduce((sum, j) => sum + get(x, [i, j, k]), 0)));
  });
});

/** What kernels in lanes are lowered by. */
const inLanes: LoweringOptions = {
  catInputs: 8,
  unrollBelow: 0,
  checkIndices: true,
  divideRows: false,
  hasLanes: true,
  channelsLast: 'never',
  keepOutputStrides: true,
};

describe('padding of what lies across', () => {
  const x = f32(ramp(2, 20, 9, 15));
  const turned: Build = (b, image) =>
    b.call('pad', [b.call('permute', [image], { dims: [0, 2, 3, 1] })], {
      pad: [0, 3, 2, 0, 1, 2],
      value: scalar(1.5),
    });

  test('is a node for each border, and one without a mask for what is inside', () => {
    const { program } = lowered([x], turned, inLanes);
    expect(program.nodes).toHaveLength(5);
    expect(new Set(program.nodes.flatMap(({ outs }) => outs)).size).toBe(1);
    expect(runOne([x], turned, inLanes)).toEqual(runOne([x], turned));
  });

  test('is one node where elements lie as they did, where there are few, and where it cuts', () => {
    const straight: Build = (b, image) => b.call('pad', [image], { pad: [1, 1], value: scalar(0) });
    const cut: Build = (b, image) =>
      b.call('pad', [b.call('permute', [image], { dims: [0, 2, 3, 1] })], { pad: [0, 0, -1, 1], value: scalar(0) });
    for (const [input, build] of [
      [x, straight],
      [x, cut],
      [f32(ramp(1, 3, 4, 5)), turned],
    ] as const)
      expect(lowered([input], build, inLanes).program.nodes).toHaveLength(1);
  });
});

describe('an operand that no strides describe', () => {
  test('is copied once for a batch that repeats it', () => {
    const repeated: Build = (b, image, weight) => {
      const part = b.call('slice', [image], { dim: 2, start: 0, end: 4, step: 1 });
      const rows = b.call('reshape', [b.call('permute', [part], { dims: [1, 2, 0] })], { shape: [1, 12, 5] });
      return b.call('bmm', [b.call('expand', [rows], { shape: [3, 12, 5] }), weight]);
    };
    const inputs = [f32(ramp(5, 3, 7)), f32(ramp(3, 5, 2))];
    const { program } = lowered(inputs, repeated);
    const copies = program.buffers.filter(({ role }) => role === 'temporary');
    expect(copies.map(({ size }) => size)).toEqual([int(60)]);
    const terms = [0, 1, 2, 3, 4];
    const [image, weight] = [ramp(5, 3, 7), ramp(3, 5, 2)];
    expect(runOne(inputs, repeated)).toEqual(
      nd([3, 12, 2], ([batch = 0, row = 0, column = 0]) =>
        terms.reduce(
          (sum, k) => sum + get(image, [k, Math.floor(row / 4), row % 4]) * get(weight, [batch, k, column]),
          0,
        ),
      ),
    );
  });
});

describe('windows that a product reads', () => {
  const inputsOf = (image: readonly number[], weight: readonly number[]): readonly Input[] =>
    [image, weight].map((shape) => f32(nd(shape, (_, flat) => flat % 7)));
  const kindsOf = (inputs: readonly Input[], attrs: Attrs, options?: LoweringOptions): readonly string[] => {
    const { program } = lowered(inputs, call('conv2d', attrs), options);
    return program.nodes.map((node) =>
      node.kind === 'contract' ? `over ${String(node.over.length)} axes` : node.kind,
    );
  };

  test('lie where the image does: rows of the window, and the places and channels of a row', () => {
    // The padded image with its channels last, the weight, the product, and its result in eager order.
    const padded = inputsOf([2, 3, 6, 6], [8, 3, 3, 3]);
    expect(kindsOf(padded, { padding: 1 })).toEqual(['map', 'map', 'over 2 axes', 'map']);
    const grouped = inputsOf([2, 6, 8, 8], [8, 3, 3, 3]);
    expect(kindsOf(grouped, { groups: 2 })).toEqual(['map', 'map', 'over 3 axes', 'map']);
  });

  test('are copied where a row has few places', () => {
    expect(kindsOf(inputsOf([2, 3, 5, 5], [8, 3, 3, 3]), {})).toContain('over 1 axes');
  });

  test('have a weight that is read where it lies, in lanes and for many channels', () => {
    const many = inputsOf([1, 16, 6, 6], [8, 16, 3, 3]);
    expect(kindsOf(many, { padding: 1 }, inLanes)).toEqual(['map', 'over 3 axes', 'map']);
    expect(runOne(many, call('conv2d', { padding: 1 }), inLanes)).toEqual(runOne(many, call('conv2d', { padding: 1 })));
    expect(kindsOf(inputsOf([1, 3, 6, 6], [8, 3, 3, 3]), { padding: 1 }, inLanes)).toContain('over 2 axes');
    const doubles = many.map((input): Input => ({ ...input, dtype: 'bf16' }));
    expect(kindsOf(doubles, { padding: 1 }, inLanes)).toContain('over 2 axes');
  });
});
