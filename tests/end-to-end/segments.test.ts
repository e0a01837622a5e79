// Functions that read values, as a user meets them: compiled segment by segment, natively, with the results, writes and
// errors of eager mode, and an explanation of every break.
import { describe, expect, jest, test } from '@jest/globals';
import { arange, compile, full, manualSeed, nn, randn, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const bits = (value: Tensor): string => Buffer.from(value.toTypedArray().buffer).toString('hex');

describe('a function that reads values', () => {
  test('runs natively, a segment for each path, and compiles each once', () => {
    const branch = (x: Tensor): Tensor => (Number(x.sum().item()) > 0 ? x.add(1).relu() : x.sub(1));
    const compiled = compile(branch);
    for (let call = 0; call < 3; call += 1) {
      for (const x of [full([4], 1), full([4], -1)]) expect(bits(compiled(x))).toBe(bits(branch(x)));
    }
    expect(compiled.graphs()).toHaveLength(3);
    for (const { runsOn, source } of compiled.graphs()) {
      expect(runsOn).toContain('native code');
      expect(source?.()).toContain('extern "C"');
    }
    expect(compiled.cacheInfo()).toMatchObject({ calls: 6, misses: 2 });
  });

  test('says where and why it breaks', () => {
    const compiled = compile((x: Tensor) => {
      const mean = Number(x.mean().item());
      return x.sub(mean).div(Number(x.std().item()));
    });
    compiled(randn([8]));
    const { breaks } = compiled.explain();
    expect(breaks).toHaveLength(2);
    expect(breaks[0]).toMatchObject({ file: expect.stringMatching(/segments\.test\.ts$/), line: expect.any(Number) });
    expect(breaks[1]?.line).toBe((breaks[0]?.line ?? 0) + 1);
    expect(compiled.explain().toString()).toMatch(
      /broken into segments because\n\s+- item\(\).*segments\.test\.ts:\d+/,
    );
  });

  test('numbers that it reads, and sizes that change, do not compile anything again', () => {
    const normalise = (x: Tensor): Tensor => x.div(Number(x.abs().amax().item())).mul(2);
    const compiled = compile(normalise);
    for (let size = 3; size < 12; size += 1) {
      const x = randn([size, 5]);
      expect(bits(compiled(x))).toBe(bits(normalise(x)));
    }
    expect(compiled.graphs().length).toBeLessThanOrEqual(4);
  });

  test('a thousand reads are a thousand native calls of a few segments', () => {
    const power = (x: Tensor, matrix: Tensor): number => {
      let [vector, norm] = [x, 0];
      for (let step = 0; step < 1000; step += 1) {
        const next = matrix.matmul(vector);
        norm = Number(next.mul(next).sum().sqrt().item());
        vector = next.div(norm);
      }
      return norm;
    };
    const compiled = compile(power);
    expect(
      compiled(
        full([2], 1, { dtype: 'f32' }),
        tensor(
          [
            [2, 1],
            [1, 3],
          ],
          { dtype: 'f32' },
        ),
      ),
    ).toBeCloseTo((5 + Math.sqrt(5)) / 2, 4);
    expect(compiled.graphs().length).toBeLessThan(5);
  });

  test('a loop with a test at each step compiles a few segments, however often it goes round', () => {
    const newton = (a: Tensor): Tensor => {
      let x = a;
      for (let step = 0; step < 30; step += 1) {
        const residual = x.mul(x).sub(a);
        if (Number(residual.abs().amax().item()) < 1e-5) break;
        x = x.sub(residual.div(x.mul(2)));
      }
      return x;
    };
    const inPlace = (a: Tensor): Tensor => {
      const x = full([4], 1, { dtype: 'f32' });
      x.copy_(a);
      for (let step = 0; step < 30; step += 1) {
        const residual = x.mul(x).sub(a);
        if (Number(residual.abs().amax().item()) < 1e-5) break;
        x.sub_(residual.div(x.mul(2)));
      }
      return x;
    };
    for (const root of [newton, inPlace]) {
      const compiled = compile(root);
      const check = (scale: number): void => {
        const a = arange(4).to('f32').add(1).mul(scale);
        expect(bits(compiled(a))).toBe(bits(root(a)));
      };
      for (const scale of [1, 2]) check(scale);
      const known = compiled.graphs().length;
      expect(known).toBeLessThanOrEqual(6);
      for (const scale of [5, 0.01, 3, 2]) check(scale);
      expect(compiled.graphs()).toHaveLength(known);
    }
  });

  test('state that it keeps on `this` has its value', () => {
    class Average {
      total: Tensor = full([3], 0);
      count = 0;
      @compile()
      add(x: Tensor): Tensor {
        this.count += 1;
        const scaled = x.mul(2);
        this.total = this.total.add(scaled);
        return this.total.div(this.count);
      }
    }
    const average = new Average();
    average.add(full([3], 1));
    expect(average.add(full([3], 2)).toArray()).toEqual([3, 3, 3]);
    expect([average.total.toArray(), average.count]).toEqual([[6, 6, 6], 2]);
  });

  test('a compiled function inside another is part of its segments', () => {
    const inner = compile((x: Tensor) => x.exp().sum());
    const outer = compile((x: Tensor) => (Number(inner(x).item()) > 1 ? inner(x.mul(2)) : x));
    const x = randn([4]);
    expect(bits(outer(x))).toBe(bits(x.mul(2).exp().sum()));
    expect(inner.graphs()).toHaveLength(0);
  });

  test('random numbers and writes are those of eager mode', () => {
    const step = (x: Tensor, index: Tensor): number[] => {
      x.add_(randn([3]));
      const first = Number(x.sum().item());
      x.set([0], first);
      x.at(1).mul_(2);
      return [first, ...(x.indexSelect(0, index).toArray() as number[])];
    };
    const compiled = compile(step);
    const outcome = (fn: typeof step): unknown => {
      manualSeed(3);
      const x = full([3], 1, { dtype: 'f32' });
      return [fn(x, tensor([2, 0])), fn(x, tensor([1, 0])), x.toArray()];
    };
    expect(outcome(compiled)).toEqual(outcome(step));
  });

  test('copies are memory of their own', () => {
    const copies = (x: Tensor, y: Tensor): Tensor[] => {
      const [source, copy, other] = [x.mul(2), x.sub(x), x.sub(x)];
      copy.copy_(source);
      other.copy_(y);
      source.add_(Number(copy.sum().item()));
      other.mul_(3);
      return [source, copy, other, y];
    };
    const inputs = (): [Tensor, Tensor] => [arange(3).to('f32'), full([3], 2, { dtype: 'f32' })];
    expect(compile(copies)(...inputs()).map(bits)).toEqual(copies(...inputs()).map(bits));
  });

  test('an error in the middle leaves what was written before it', () => {
    const compiled = compile((x: Tensor, index: Tensor) => {
      x.add_(1);
      const total = x.sum().item();
      const chosen = x.indexSelect(0, index);
      x.add_(1);
      return [chosen.toArray(), total];
    });
    const x = full([3], 0);
    expect(compiled(x, tensor([0]))).toEqual([[1], 3]);
    expect(() => compiled(x, tensor([5]))).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }));
    expect(x.toArray()).toEqual([3, 3, 3]);
  });

  test('stops compiling variants of a segment at the limit, with one warning', () => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const compiled = compile((x: Tensor, count: number) => Number(x.repeat([count]).sum().item()), { name: 'repeats' });
    for (let count = 2; count < 14; count += 1) expect(compiled(full([2], 1), count)).toBe(2 * count);
    expect(compiled.graphs()).toHaveLength(8);
    expect(emit.mock.calls.map(([message]) => message)).toEqual([expect.stringContaining('8 of its segments')]);
    emit.mockRestore();
  });

  test('under fullgraph it is an error at the line', () => {
    const compiled = compile((x: Tensor) => x.mul(Number(x.sum().item())), { fullgraph: true });
    expect(() => compiled(full([2], 1))).toThrow(/segments\.test\.ts:\d+/);
    expect(() => compiled(full([2], 1))).toThrow(expect.objectContaining({ code: 'GRAPH_BREAK' }));
  });
});

describe('operators whose results depend on values', () => {
  const chosen = (x: Tensor): Tensor => x.maskedSelect(x.gt(0)).mul(2);
  const cases: readonly (readonly [string, (x: Tensor) => Tensor | Tensor[]])[] = [
    ['maskedSelect', chosen],
    ['nonzero', (x) => x.gt(0).nonzero()],
    ['a mask as subscript', (x) => x.at(x.gt(0.5)).amax()],
    ['unique', (x) => x.round().unique({ returnInverse: true, returnCounts: true })],
    ['unique rows', (x) => x.round().unique({ dim: 0 })],
    ['uniqueConsecutive', (x) => x.gt(0).uniqueConsecutive({ returnCounts: true })],
    ['bincount', (x) => x.abs().mul(3).floor().to('i64').flatten().bincount()],
    ['oneHot', (x) => nn.functional.oneHot(x.abs().mul(3).floor().to('i64'))],
    ['repeatInterleave', (x) => x.repeatInterleave(x.at(0).abs().mul(3).floor().to('i64'), 1)],
    ['tensorSplit', (x) => x.flatten().tensorSplit(x.abs().mul(3).floor().to('i64').flatten().at({ slice: [0, 2, null] }) as never)],
  ]; // prettier-ignore

  test.each(cases)('%s: natively what eager mode gives, however many there are', (_, fn) => {
    manualSeed(11);
    const compiled = compile(fn);
    for (let call = 0; call < 6; call += 1) {
      const x = randn([5, 7]);
      expect([compiled(x)].flat().map(bits)).toEqual([fn(x)].flat().map(bits));
    }
    const graphs = compiled.graphs();
    expect(graphs.length).toBeLessThanOrEqual(6);
    for (const { runsOn } of graphs) expect(runsOn).toContain('native code');
    const known = graphs.length;
    compiled(randn([5, 7]));
    expect(compiled.graphs()).toHaveLength(known);
  });

  test('under fullgraph they are errors at the line', () => {
    expect(() => compile(chosen, { fullgraph: true })(randn([4]))).toThrow(/GRAPH_BREAK|segments\.test\.ts:\d+/);
  });

  test('one value wherever a mask is true needs no break', () => {
    const compiled = compile((x: Tensor) => x.clone().set([x.lt(0)], 0), { fullgraph: true });
    const x = randn([6]);
    expect(bits(compiled(x))).toBe(bits(x.clamp(0)));
  });
});

describe('memory that arguments share', () => {
  const update = (x: Tensor, y: Tensor): Tensor => {
    x.add_(y);
    return x.mul(y);
  };
  const overlapping = (): [Tensor, Tensor] => {
    const base = arange(6).to('f32');
    return [base.at({ slice: [0, 4, null] }), base.at({ slice: [2, 6, null] })];
  };
  const outcome = (fn: typeof update, inputs: [Tensor, Tensor]): unknown => [
    fn(...inputs).toArray(),
    ...inputs.map((input) => input.toArray()),
  ];

  test.each([true, false])(
    "a call in which they do is eager mode's, others are one graph (shared first: %s)",
    (first) => {
      const compiled = compile(update);
      const apart = (): [Tensor, Tensor] => [full([4], 1), full([4], 2)];
      const order = first ? [overlapping, apart, overlapping, apart] : [apart, overlapping, apart, overlapping];
      for (const make of order) expect(outcome(compiled, make())).toEqual(outcome(update, make()));
      expect(compiled.explain().breaks.map(({ reason }) => reason)).toEqual([expect.stringContaining('share')]);
      expect(compiled.cacheInfo().entries).toBe(1);
    },
  );
});
