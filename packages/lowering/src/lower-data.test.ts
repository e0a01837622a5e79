// What makes, rearranges, indexes and multiplies data, lowered and interpreted.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { scalar } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import { nd, get, ramp, lowered, run, runOne, call, f32, i64 } from './test-support/run-lowered.ts';
import type { Nd, Input, Build } from './test-support/run-lowered.ts';

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
    const none = many.map(() => f32(ramp(0, 1)));
    expect(runOne(none, joined)).toEqual({ shape: [0, 70], data: [] });
    expect(runOne(many.map(f32), joined)).toEqual(nd([2, 70], ([i = 0, j = 0]) => 2 * j + i));
  });

  test('cat of f16 and of symbolic sizes', () => {
    const joined: Build = (b, ...values) => b.call('cat', [values], { dim: 0 });
    const input: Input = { value: x, dtype: 'f16', symbols: { 0: 's0' } };
    expect(runOne([input, { value: x, dtype: 'f16' }], joined).data).toEqual([...x.data, ...x.data]);
  });

  test('a concatenation of concatenations has all pieces stored in place', () => {
    const [one, other] = [ramp(2, 3), nd([2, 3], (_, i) => -i)];
    const rows: Build = (b, v, w) => {
      const row = (...values: readonly (ValueRef | undefined)[]) => b.call('cat', [refs(...values)], { dim: 1 });
      return b.call('cat', [[row(v, w), row(w, v), row(v, v), row(w, w), row(v, w)]], { dim: 0 });
    };
    const isOther = ['01', '10', '00', '11', '01'];
    const wanted = nd([10, 6], ([i = 0, j = 0]) =>
      get(isOther[i >> 1]?.[j < 3 ? 0 : 1] === '1' ? other : one, [i % 2, j % 3]),
    );
    expect(runOne([f32(one), f32(other)], rows)).toEqual(wanted);
    expect(lowered([f32(one), f32(other)], rows).program.nodes).toHaveLength(10);
  });

  test('concatenations that are read more than once are copied whole, so that nodes do not multiply', () => {
    const doubled: Build = (b, v) => {
      let all: readonly (ValueRef | undefined)[] = [v];
      for (let times = 0; times < 6; times += 1) all = [b.call('cat', [refs(...all, ...all)], { dim: 0 })].flat();
      return b.call('cat', [refs(...all)], { dim: 0 });
    };
    expect(runOne([f32(x)], doubled).shape).toEqual([128, 3]);
    expect(lowered([f32(x)], doubled).program.nodes.length).toBeLessThan(16);
  });
});

describe('indices', () => {
  const x = ramp(4, 3);

  test('gather, indexSelect, and several indices', () => {
    const rows = [2, 0, 3];
    expect(runOne([f32(x), i64(...rows)], (b, ...both) => b.call('indexSelect', both, { dim: 0 })).data).toEqual(
      nd([3, 3], ([i = 0, j = 0]) => get(x, [at(rows, i), j])).data,
    );
    const index: Input = { value: nd([2, 3], (_, flat) => flat % 4), dtype: 'i64' };
    expect(runOne([f32(x), index], (b, v, i) => b.call('gather', refs(v, i), { dim: 0 }))).toEqual(
      nd([2, 3], ([i = 0, j = 0]) => get(x, [(3 * i + j) % 4, j])),
    );
    const picked = runOne([f32(x), i64(1, -1), i64(2, 0)], (b, ...[v, i, j]) =>
      b.call('index', [...refs(v), refs(i, j)], { dims: [0, 1], wraps: true }),
    );
    expect(picked.data).toEqual([get(x, [1, 2]), get(x, [3, 0])]);
  });

  test('an index that is out of range names the operator', () => {
    const select: Build = (b, v, i) => b.call('indexSelect', refs(v, i), { dim: 0 });
    expect(() => runOne([f32(x), i64(4)], select)).toThrow(
      /indexSelect: index 4 of dim 0 is out of range for a size of 4/,
    );
    expect(() => runOne([f32(x), i64(-1)], select)).toThrow(
      expect.objectContaining({ hint: 'use an index from 0 to 3' }),
    );
  });

  test('scatter and indexPut', () => {
    const into = nd([4], () => 0);
    const add: Build = (b, ...[v, i, s]) => b.call('scatterAdd', refs(v, i, s), { dim: 0 });
    expect(runOne([f32(into), i64(1, 3, 1), f32(nd([3], (_, i) => i + 1))], add).data).toEqual([0, 4, 0, 2]);
    const set: Build = (b, ...[v, i, s]) =>
      b.call('indexPut', [...refs(v), refs(i), ...refs(s)], { dims: [0], accumulate: false, wraps: true });
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
