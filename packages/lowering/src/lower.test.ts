// Every primitive on small shapes, run by the interpreter and compared with a direct computation here: sizes 0 and 1,
// symbolic sizes, and chains of views among them.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { contiguousMeta, GraphBuilder, scalar } from '@tsinductor/graph';
import type { Arg, Attrs, Meta, ValueRef } from '@tsinductor/graph';
import { allocateElements, evaluateIndex, int, interpretProgram, verifyProgram } from '@tsinductor/ir';
import type { ElementArray, LoopProgram } from '@tsinductor/ir';
import { f16FromBits, f16ToBits } from '@tsinductor/ops';
import { lowerGraph } from './index.ts';

/** A tensor of the reference: row-major numbers. */
interface Nd {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

function unravel(shape: readonly number[], flat: number): readonly number[] {
  let rest = flat;
  const coordinates: number[] = [];
  for (const extent of shape.toReversed()) {
    coordinates.unshift(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return coordinates;
}

const nd = (shape: readonly number[], element: (coordinates: readonly number[], flat: number) => number): Nd => ({
  shape,
  data: Array.from({ length: count(shape) }, (_, flat) => element(unravel(shape, flat), flat)),
});
const get = ({ shape, data }: Nd, coordinates: readonly number[]): number =>
  at(
    data,
    coordinates.reduce((flat, coordinate, axis) => flat * at(shape, axis) + coordinate, 0),
  );

/** Distinct values, some negative. */
const ramp = (...shape: readonly number[]): Nd => nd(shape, (_, flat) => ((flat * 7) % 23) - 9);

const encode = (dtype: DType, { data }: Nd): ElementArray => {
  const array = allocateElements(dtype, data.length);
  data.forEach((value, index) => {
    if (array instanceof BigInt64Array || dtype === 'i64') (array as BigInt64Array)[index] = BigInt(value);
    else array[index] = dtype === 'f16' ? f16ToBits(value) : value;
  });
  return array;
};
const decode = (dtype: DType, array: ElementArray): readonly number[] =>
  Array.from(array as Iterable<number | bigint>, (value) =>
    dtype === 'f16' ? f16FromBits(Number(value)) : Number(value),
  );

interface Input {
  readonly value: Nd;
  readonly dtype?: DType;
  /** Names of symbolic sizes, by axis. */
  readonly symbols?: Readonly<Record<number, string>>;
}

type Build = (b: GraphBuilder, ...inputs: readonly ValueRef[]) => ValueRef | readonly ValueRef[];

function lowered(
  inputs: readonly Input[],
  build: Build,
): { readonly program: LoopProgram; readonly sizes: ReadonlyMap<string, number> } {
  const builder = new GraphBuilder({ expand: true });
  const sizes = new Map<string, number>();
  const values = inputs.map(({ value, dtype = 'f32', symbols = {} }, position) => {
    const shape = value.shape.map((extent, axis) => {
      const name = symbols[axis];
      if (name === undefined) return int(extent);
      sizes.set(name, extent);
      return builder.sizes.declare(name, extent);
    });
    const meta: Meta = contiguousMeta(shape, dtype);
    return builder.placeholder(`x${String(position)}`, meta);
  });
  const results = build(builder, ...values);
  builder.output(...('kind' in results ? [results] : results));
  return { program: lowerGraph(builder.finish()), sizes };
}

/** The outputs, each with its shape. */
function run(inputs: readonly Input[], build: Build): readonly Nd[] {
  const { program, sizes } = lowered(inputs, build);
  verifyProgram(program);
  const buffers = new Map(
    program.inputs.map((id, position) => [id, encode(at(inputs, position).dtype ?? 'f32', at(inputs, position).value)]),
  );
  const outputs = program.outputs.map((id) => {
    const decl = program.buffers.find((buffer) => buffer.id === id);
    if (decl === undefined) throw new TypeError('an output is not declared');
    const shape = decl.shape.map((extent) => evaluateIndex(extent, { sizes }));
    const array = allocateElements(decl.dtype, count(shape));
    buffers.set(id, array);
    return { decl, shape, array };
  });
  interpretProgram(program, { buffers, sizes });
  return outputs.map(({ decl, shape, array }) => ({ shape, data: decode(decl.dtype, array) }));
}

const runOne = (inputs: readonly Input[], build: Build): Nd => at(run(inputs, build), 0);
const call =
  (target: string, attrs: Attrs = {}, rest: readonly Arg[] = []): Build =>
  (b, ...inputs) =>
    b.call(target, [...inputs, ...rest], attrs);

const f32 = (value: Nd): Input => ({ value });
const i64 = (...values: readonly number[]): Input => ({
  value: nd([values.length], (_, flat) => at(values, flat)),
  dtype: 'i64',
});

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
    interpretProgram(program, { buffers: new Map([[at(program.inputs, 0), Float32Array.of(0, 1, 2, 3, 4, 5)], [at(program.outputs, 0), out]]), sizes: new Map() }); // prettier-ignore
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

  test('over a symbolic axis', () => {
    const result = runOne([{ value: x, symbols: { 1: 's0' } }], call('sum', { dim: [1] }));
    expect(result).toEqual(nd([2, 4], ([i = 0, k = 0]) => [0, 1, 2].reduce((sum, j) => sum + get(x, [i, j, k]), 0)));
  });
});

describe('data', () => {
  const x = ramp(2, 3);

  test('full and iota', () => {
    const make: Build = (b) => [
      b.call('full', [], { size: [2, 2], fillValue: scalar(7) }),
      b.call('arange', [], { start: scalar(2), end: scalar(9), step: scalar(3) }),
      b.call('arange', [], { start: scalar(0), end: scalar(1), step: scalar(0.25) }),
    ];
    expect(run([], make).map(({ data }) => data)).toEqual([
      [7, 7, 7, 7],
      [2, 5, 8],
      [0, 0.25, 0.5, 0.75],
    ]);
  });

  test('pad adds, cuts, and pads what is empty', () => {
    const padded = (value: Nd, pad: readonly number[]): Nd =>
      runOne([f32(value)], call('pad', { pad, value: scalar(9) }));
    const inside = (i: number, j: number): boolean => i >= 1 && i < 3 && j >= 0 && j < 3;
    expect(padded(x, [0, 2, 1, 0])).toEqual(nd([3, 5], ([i = 0, j = 0]) => (inside(i, j) ? get(x, [i - 1, j]) : 9)));
    expect(padded(x, [-1, 0])).toEqual(nd([2, 2], ([i = 0, j = 0]) => get(x, [i, j + 1])));
    expect(padded(ramp(0), [1, 1]).data).toEqual([9, 9]);
  });

  test('cat of two, of none but empty ones, and of more than one node can read', () => {
    const joined: Build = (b, ...values) => b.call('cat', [values], { dim: 1 });
    const y = ramp(2, 4);
    expect(runOne([f32(x), f32(y)], joined)).toEqual(
      nd([2, 7], ([i = 0, j = 0]) => (j < 3 ? get(x, [i, j]) : get(y, [i, j - 3]))),
    );
    expect(runOne([f32(ramp(2, 0)), f32(ramp(2, 0))], joined)).toEqual({ shape: [2, 0], data: [] });
    const many = Array.from({ length: 70 }, (_, piece) => nd([2, 1], ([i = 0]) => 2 * piece + i));
    expect(runOne(many.map(f32), joined)).toEqual(nd([2, 70], ([i = 0, j = 0]) => 2 * j + i));
  });

  test('cat of f16 and of symbolic sizes', () => {
    const joined: Build = (b, ...values) => b.call('cat', [values], { dim: 0 });
    const input: Input = { value: x, dtype: 'f16', symbols: { 0: 's0' } };
    expect(runOne([input, { value: x, dtype: 'f16' }], joined).data).toEqual([...x.data, ...x.data]);
  });
});

describe('indices', () => {
  const x = ramp(4, 3);

  test('gather, indexSelect, and several indices', () => {
    const rows = [2, 0, -1];
    const wrapped = (i: number): number => at(rows, i) + (at(rows, i) < 0 ? 4 : 0);
    expect(runOne([f32(x), i64(...rows)], (b, ...both) => b.call('indexSelect', both, { dim: 0 })).data).toEqual(
      nd([3, 3], ([i = 0, j = 0]) => get(x, [wrapped(i), j])).data,
    );
    const index: Input = { value: nd([2, 3], (_, flat) => flat % 4), dtype: 'i64' };
    expect(runOne([f32(x), index], (b, v, i) => b.call('gather', refs(v, i), { dim: 0 }))).toEqual(
      nd([2, 3], ([i = 0, j = 0]) => get(x, [(3 * i + j) % 4, j])),
    );
    const picked = runOne([f32(x), i64(1, 3), i64(2, 0)], (b, ...[v, i, j]) =>
      b.call('index', [...refs(v), refs(i, j)], { dims: [0, 1] }),
    );
    expect(picked.data).toEqual([get(x, [1, 2]), get(x, [3, 0])]);
  });

  test('an index that is out of range names the operator', () => {
    const select: Build = (b, v, i) => b.call('indexSelect', refs(v, i), { dim: 0 });
    expect(() => runOne([f32(x), i64(4)], select)).toThrow(/indexSelect.*4 is out of range for a size of 4/);
  });

  test('scatter and indexPut', () => {
    const into = nd([4], () => 0);
    const add: Build = (b, ...[v, i, s]) => b.call('scatterAdd', refs(v, i, s), { dim: 0 });
    expect(runOne([f32(into), i64(1, 3, 1), f32(nd([3], (_, i) => i + 1))], add).data).toEqual([0, 4, 0, 2]);
    const set: Build = (b, ...[v, i, s]) =>
      b.call('indexPut', [...refs(v), refs(i), ...refs(s)], { dims: [0], accumulate: false });
    const row = nd([1, 3], (_, j) => 100 + j);
    expect(runOne([f32(x), i64(2), f32(row)], set)).toEqual(
      nd([4, 3], ([i = 0, j = 0]) => (i === 2 ? 100 + j : get(x, [i, j]))),
    );
  });

  test('a scatter into a view, and into zeros', () => {
    const turned: Build = (b, ...[v, i, s]) =>
      b.call('scatterAdd', [b.call('permute', refs(v), { dims: [1, 0] }), ...refs(i, s)], { dim: 0 });
    const index: Input = { value: nd([1, 2], () => 2), dtype: 'i64' };
    expect(runOne([f32(ramp(2, 3)), index, f32(nd([1, 2], () => 50))], turned)).toEqual(
      nd([3, 2], ([i = 0, j = 0]) => get(ramp(2, 3), [j, i]) + (i === 2 ? 50 : 0)),
    );
    const zeros: Build = (b, i, s) =>
      b.call('scatterAdd', [b.call('zeros', [], { size: [3] }), ...refs(i, s)], { dim: 0 });
    const { program } = lowered([i64(1), f32(nd([1], () => 5))], zeros);
    expect(program.nodes.map((node) => node.kind)).toEqual(['scatter']);
    expect(runOne([i64(1), f32(nd([1], () => 5))], zeros).data).toEqual([0, 5, 0]);
  });
});

const refs = (...values: readonly (ValueRef | undefined)[]): ValueRef[] =>
  values.filter((value) => value !== undefined);

describe('matrix products', () => {
  const [a, b] = [ramp(2, 3, 4), ramp(2, 4, 5)];
  const product = nd([2, 3, 5], ([n = 0, i = 0, j = 0]) =>
    [0, 1, 2, 3].reduce((sum, k) => sum + get(a, [n, i, k]) * get(b, [n, k, j]), 0),
  );

  test('bmm, also of transposed operands in place', () => {
    expect(runOne([f32(a), f32(b)], call('bmm'))).toEqual(product);
    const turned = nd([2, 5, 4], ([n = 0, j = 0, k = 0]) => get(b, [n, k, j]));
    const inPlace: Build = (g, x, y) => g.call('bmm', [...refs(x), g.call('permute', refs(y), { dims: [0, 2, 1] })]);
    expect(lowered([f32(a), f32(turned)], inPlace).program.nodes).toHaveLength(1);
    expect(runOne([f32(a), f32(turned)], inPlace)).toEqual(product);
  });

  test('an operand that is not affine is copied first; no inner size gives zeros', () => {
    const flat = nd([10, 4], ([r = 0, k = 0]) => get(b, [r % 2, k, Math.floor(r / 2)]));
    const crossed: Build = (g, x, y) => {
      const turned = g.call('reshape', [g.call('permute', refs(y), { dims: [1, 0] })], { shape: [4, 5, 2] });
      return g.call('bmm', [...refs(x), g.call('permute', [turned], { dims: [2, 0, 1] })]);
    };
    expect(runOne([f32(a), f32(flat)], crossed)).toEqual(product);
    expect(runOne([f32(ramp(1, 2, 0)), f32(ramp(1, 0, 2))], call('bmm')).data).toEqual([0, 0, 0, 0]);
  });
});
