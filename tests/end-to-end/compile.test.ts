// compile() as a user meets it: what runs, what is guarded, what is recompiled, what is refused. Every result is
// compared with eager mode.
import { describe, expect, test } from '@jest/globals';
import { arange, cat, compile, full, nn, randn, setConfig, tensor, where, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { warningsOf } from '../settings/effect.ts';
import { useOwnCache } from './own-cache.ts';

const cacheDir = useOwnCache();

const bits = (value: Tensor): string => Buffer.from(value.toTypedArray().buffer).toString('hex');

describe('results', () => {
  test('a pointwise chain is one kernel and bit-equal to eager', () => {
    const scale = randn([19]);
    const shift = randn([19]);
    const chain = (x: Tensor, z: Tensor): Tensor => nn.functional.gelu(x.mul(scale).add(shift)).mul(z.sigmoid());
    const compiled = compile(chain);
    const inputs = [randn([37, 19]), randn([37, 19])] as const;
    expect(bits(compiled(...inputs))).toBe(bits(chain(...inputs)));
    expect(compiled.graphs()[0]?.kernels).toHaveLength(1);
  });

  test('nested arguments and results keep their structure', () => {
    const compiled = compile(({ pair: [a, b], scale }: { pair: [Tensor, Tensor]; scale: number }) => ({
      sum: a.add(b),
      list: [a.mul(scale), 'text', null],
    }));
    const result = compiled({ pair: [full([3], 2), full([3], 5)], scale: 3 });
    expect(result.sum.toArray()).toEqual([7, 7, 7]);
    expect((result.list[0] as Tensor).toArray()).toEqual([6, 6, 6]);
    expect(result.list.slice(1)).toEqual(['text', null]);
  });

  test('in-place updates of arguments and of captured tensors are written back', () => {
    const captured = full([4], 1, { dtype: 'f32' });
    const compiled = compile((x: Tensor) => {
      captured.add_(x);
      x.mul_(2);
      return captured.sum();
    });
    const x = tensor([1, 2, 3, 4], { dtype: 'f32' });
    expect(compiled(x).item()).toBe(14);
    expect(x.toArray()).toEqual([2, 4, 6, 8]);
    expect(captured.toArray()).toEqual([2, 3, 4, 5]);
    expect(compiled(x).item()).toBe(34);
  });

  test('the same tensor given twice is one input, and another pair is another specialisation', () => {
    const compiled = compile((a: Tensor, b: Tensor) => {
      a.add_(1);
      return a.mul(b);
    });
    const x = full([2], 2);
    expect(compiled(x, x).toArray()).toEqual([9, 9]);
    expect(compiled(full([2], 1), full([2], 5)).toArray()).toEqual([10, 10]);
    expect(compiled.cacheInfo().entries).toBe(2);
  });

  test('strided views are read in place', () => {
    const compiled = compile((x: Tensor) => x.add(1));
    const base = arange(12).reshape([3, 4]);
    expect(compiled(base.t()).toArray()).toEqual(base.t().add(1).toArray());
  });
});

describe('guards', () => {
  test('a replaced parameter and a changed flag are seen at the next call', () => {
    class Layer {
      weight = full([2], 3);
      double = false;
      unread = 0;
    }
    const layer = new Layer();
    const compiled = compile((x: Tensor, l: Layer) => (l.double ? x.mul(l.weight).mul(2) : x.mul(l.weight)));
    const x = full([2], 1);
    expect(compiled(x, layer).toArray()).toEqual([3, 3]);
    layer.weight = full([2], 5);
    layer.unread = 1;
    expect(compiled(x, layer).toArray()).toEqual([5, 5]);
    expect(compiled.cacheInfo().entries).toBe(1);
    layer.double = true;
    expect(compiled(x, layer).toArray()).toEqual([10, 10]);
    expect(compiled.explain().recompiles).toEqual([expect.stringContaining('arguments[1].double was true')]);
  });

  test('a decorated method is compiled and guards on what it reads of this', () => {
    class Model {
      readonly #hidden = 1;
      readonly weight = full([3], 2);
      @compile({ fullgraph: true })
      forward(x: Tensor): Tensor {
        return this.scaled(x).add(this.#hidden);
      }
      scaled(x: Tensor): Tensor {
        return x.mul(this.weight);
      }
    }
    expect(new Model().forward(full([3], 4)).toArray()).toEqual([9, 9, 9]);
  });

  test('a decorator of experimentalDecorators gives the descriptor with the compiled method', () => {
    class Model {
      readonly weight = full([3], 2);
      forward(x: Tensor): Tensor {
        return x.mul(this.weight);
      }
      static twice(x: Tensor): Tensor {
        return x.mul(2);
      }
      // eslint-disable-next-line @typescript-eslint/class-literal-property-style -- an accessor is what is tried
      get size(): number {
        return 3;
      }
    }
    const own = (of: object, key: string): PropertyDescriptor => Object.getOwnPropertyDescriptor(of, key) ?? {};
    const plain = own(Model.prototype, 'forward') as TypedPropertyDescriptor<(x: Tensor) => Tensor>;
    const compiled = compile({ fullgraph: true })(Model.prototype, 'forward', plain);
    expect({ ...compiled, value: undefined }).toEqual({ ...plain, value: undefined });
    Object.defineProperty(Model.prototype, 'forward', compiled);
    expect(new Model().forward(full([3], 4)).toArray()).toEqual([8, 8, 8]);
    expect(compiled.value).not.toBe(plain.value);
    const twice = compile(Model, 'twice', own(Model, 'twice') as TypedPropertyDescriptor<(x: Tensor) => Tensor>);
    expect(twice.value?.(full([1], 3)).item()).toBe(6);
    expect(() => compile(Model.prototype, 'size', own(Model.prototype, 'size') as never)).toThrow(
      expect.objectContaining({ code: 'COMPILE_TARGET' }),
    );
  });

  test('the second size of an axis makes it symbolic, and then serves every size', () => {
    const compiled = compile((x: Tensor) => x.softmax(-1));
    for (const rows of [3, 5, 8, 13, 21]) {
      const x = randn([rows, 7]);
      const expected = x.softmax(-1).toTypedArray() as Float32Array;
      const found = compiled(x).toTypedArray() as Float32Array;
      found.forEach((value, index) => {
        expect(Math.abs(value - (expected[index] ?? 0))).toBeLessThan(1e-6);
      });
    }
    expect(compiled.cacheInfo().entries).toBe(2);
  });

  test('a number that changes is an input from its second value on: a schedule of 1000 steps is compiled twice', () => {
    const compiled = compile((weight: Tensor, gradient: Tensor, rate: number) => weight.sub(gradient.mul(rate)));
    const weight = randn([16]);
    const gradient = randn([16]);
    for (let step = 1; step <= 1000; step += 1) {
      const rate = 0.1 * Math.min(1, step / 100) * 0.999 ** step;
      expect(bits(compiled(weight, gradient, rate))).toBe(bits(weight.sub(gradient.mul(rate))));
    }
    expect(compiled.explain().recompiles).toEqual([expect.stringContaining('arguments[2] was 0.00')]);
    expect(compiled.cacheInfo().entries).toBe(2);
  });

  test('a cache that grows from 1 to 512 is compiled three times, though the function reads its sizes', () => {
    const decode = (x: Tensor, cache: Tensor): { cache: Tensor; y: Tensor } => {
      const past = cache.shape[0] ?? 0;
      const all = cat([cache, x], 0);
      const weights = arange(past + 1)
        .to('f32')
        .reshape([past + 1, 1]);
      return {
        cache: all,
        y: all
          .mul(weights)
          .sum(0)
          .div(past + 1),
      };
    };
    const compiled = compile(decode);
    let [cache, expected] = [randn([1, 8]), randn([1, 8])];
    expected = cache;
    for (let step = 1; step < 512; step += 1) {
      const x = randn([1, 8]);
      const found = compiled(x, cache);
      if (step % 50 === 1) {
        const eager = decode(x, expected).y.toTypedArray() as Float32Array;
        (found.y.toTypedArray() as Float32Array).forEach((value, index) => {
          expect(Math.abs(value - (eager[index] ?? 0))).toBeLessThan(1e-3);
        });
      }
      ({ cache } = found);
      expected = cache;
    }
    expect(cache.shape).toEqual([512, 8]);
    expect(compiled.cacheInfo().entries).toBeLessThanOrEqual(3);
    expect(compiled.explain().breaks).toEqual([]);
  });
});

describe('refusals', () => {
  test('a value read while tracing is an error under fullgraph, and ends a segment otherwise', () => {
    const branch = (x: Tensor): Tensor => (Number(x.sum().item()) > 0 ? x.add(1) : x.sub(1));
    expect(() => compile(branch, { fullgraph: true })(full([2], 1))).toThrow(/GRAPH_BREAK|fullgraph/);
    const compiled = compile(branch);
    expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
    expect(compiled(full([2], -1)).toArray()).toEqual([-2, -2]);
    expect(compiled.explain().breaks[0]?.file).toContain('compile.test.ts');
  });

  test('unknown options and wrong values are coded errors', () => {
    const options = { fullGraph: true } as unknown as { fullgraph: boolean };
    expect(() => compile((x: Tensor) => x, options)).toThrow(/no option "fullGraph"/);
    expect(() => compile((x: Tensor) => x, { freezing: true } as never)).toThrow(
      /\{ options: \{ freezing: \.\.\. \} \}/,
    );
    expect(() => compile((x: Tensor) => x, { mode: 'fast' as 'default' })).toThrow(/'default'/);
  });

  test('a shape error names the line of the function', () => {
    const compiled = compile((x: Tensor, y: Tensor) => x.add(y));
    expect(() => compiled(full([3, 4], 1), full([5], 1))).toThrow(/compile\.test\.ts:\d+/);
  });

  test('an index out of range in compiled code is a coded error, not a wild read', () => {
    const compiled = compile((x: Tensor, index: Tensor) => x.indexSelect(0, index));
    expect(compiled(arange(5), tensor([4, 0])).toArray()).toEqual([4, 0]);
    expect(() => compiled(arange(5), tensor([4, 7]))).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }));
  });

  test.each([1, 8, 9])('%i indices into a dim without elements are the same error', (count) => {
    const index = zeros([count], { dtype: 'i64' });
    const outOfRange = expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' });
    const select = compile((x: Tensor, at: Tensor) => x.indexSelect(0, at));
    const gather = compile((x: Tensor, at: Tensor) => x.gather(0, at));
    for (const shape of [[0], [0, 3], [0, 30_000_000]]) expect(() => select(zeros(shape), index)).toThrow(outOfRange);
    expect(() => gather(zeros([0]), index)).toThrow(outOfRange);
    expect(select(zeros([0, 3]), zeros([0], { dtype: 'i64' })).shape).toEqual([0, 3]);
  });

  test('writes by index into a tensor without elements are the same error, and none are fine', () => {
    const outOfRange = expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' });
    const add = compile((x: Tensor, at: Tensor, rows: Tensor) => x.indexAdd(0, at, rows).mul(2));
    const put = compile((x: Tensor, at: Tensor, rows: Tensor) => x.scatter(0, at, rows));
    const none = (shape: number[]): Tensor => zeros(shape, { dtype: 'i64' });
    expect(() => add(zeros([0, 3]), none([2]), zeros([2, 3]))).toThrow(outOfRange);
    expect(() => put(zeros([0, 3]), none([2, 3]), zeros([2, 3]))).toThrow(outOfRange);
    expect(add(zeros([0, 3]), none([0]), zeros([0, 3])).shape).toEqual([0, 3]);
    expect(put(zeros([0, 3]), none([0, 3]), zeros([0, 3])).shape).toEqual([0, 3]);
  });

  test('hostile names reach neither code nor paths', () => {
    const name = '*/ #include "/etc/passwd" \n../../x$(touch y)"\u202e??/';
    const compiled = compile((x: Tensor) => x.add(1), { name });
    expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
    const source = compiled.graphs()[0]?.source?.() ?? '';
    expect(source).not.toContain('passwd');
    expect(source).not.toContain('#include');
  });
});

describe('columns of an array of memory', () => {
  /** Of x[i][j][k], over j, by loops that a reader can check. */
  const byHand = (
    [rows, over, columns]: readonly [number, number, number],
    of: (values: number[]) => number,
  ): number[] =>
    Array.from({ length: rows * columns }, (_, place) => {
      const [row, column] = [Math.floor(place / columns), place % columns];
      return of(Array.from({ length: over }, (__, j) => ((row * over + j) * columns + column) % 1013));
    });
  const sum = (values: number[]): number => values.reduce((left, right) => left + right, 0);

  test.each([[[300, 13, 601]], [[1, 2103, 1001]], [[2, 1100, 1003]]] as const)('%j', (shape) => {
    const x = arange(shape[0] * shape[1] * shape[2])
      .remainder(1013)
      .to('f32')
      .reshape([...shape]);
    const reduced = compile((y: Tensor) => [y.sum(1), y.amax(1)]);
    const [sums, largest] = reduced(x);
    expect(sums?.flatten().toArray()).toEqual(byHand(shape, sum));
    expect(largest?.flatten().toArray()).toEqual(byHand(shape, (values) => Math.max(...values)));
  });
});

describe('positions', () => {
  // Below 2^31 in the end, and above it before they are divided.
  const large = (): Tensor => arange(10_000).mul(999_983);
  const table = arange(1_000_003).to('f32');
  const x = zeros([10_000]);

  test.each<[string, (x: Tensor, table: Tensor) => Tensor]>([
    ['a quotient', () => large().floorDivide(1_000_003).to('f32')],
    ['a comparison of a quotient', (own) => where(large().floorDivide(1_000_003).lt(5000), own, own.add(1))],
    ['a comparison of a remainder', (own) => where(large().remainder(1_000_003).lt(500_000), own, own.add(1))],
    ['elements by a remainder', (own, from) => from.indexSelect(0, large().remainder(1_000_003)).add(own)],
    ['elements by a quotient', (own, from) => from.indexSelect(0, large().floorDivide(1_000_003)).add(own)],
  ])('of %s are as wide as every step towards them', (_, fn) => {
    expect(bits(compile(fn)(x, table))).toBe(bits(fn(x, table)));
  });
});

describe('backends', () => {
  test('eager, aot_eager and a backend of the user give the same numbers', () => {
    const seen: string[] = [];
    const fn = (x: Tensor): Tensor => x.mul(2).sum();
    const x = arange(6).to('f32');
    const own = compile(fn, {
      backend: (graph) => {
        seen.push(...graph.nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : [])));
        return (inputs) => [fn(inputs[0] ?? x)];
      },
    });
    expect(own(x).item()).toBe(30);
    expect(seen).toEqual(['mul', 'sum']);
    for (const backend of ['eager', 'aot_eager', 'inductor'] as const) {
      expect(compile(fn, { backend })(x).item()).toBe(30);
    }
  });

  test('warm-ups at once of one function for the same arguments are one entry', async () => {
    const x = tensor([1, 2, 3]);
    const compiled = compile((y: Tensor) => y.mul(3).add(20.5));
    await Promise.all(Array.from({ length: 20 }, () => compiled.warmup(x)));
    expect(compiled.cacheInfo().entries).toBe(1);
    expect(compiled(x).toArray()).toEqual([23.5, 26.5, 29.5]);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, hits: 1 });
  });

  test('warmup builds without blocking, and the call finds it built', async () => {
    const compiled = compile((x: Tensor) => x.exp().sum(1));
    const x = randn([8, 8]);
    await compiled.warmup(x);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, calls: 0 });
    compiled(x);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, hits: 1 });
  });

  test('without a compiler it runs as generated JavaScript and says so once', () => {
    setConfig({ cacheDir: cacheDir(), cpp: { cxx: ['/nonexistent/compiler'], searchPath: '/nonexistent' } });
    const warnings = warningsOf(() => {
      for (const compiled of [compile((x: Tensor) => x.add(1)), compile((x: Tensor) => x.sub(-1))]) {
        expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
        expect(compiled.graphs()[0]?.runsOn).toContain('generated JavaScript');
      }
    });
    expect(warnings).toEqual(['COMPILER_NOT_FOUND']);
    setConfig({ cpp: { cxx: [], searchPath: '/usr/bin:/bin' } });
  });
});
