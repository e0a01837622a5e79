// Custom ops as a user meets them: in eager mode, in compiled functions, with symbolic sizes, in functions that are no one
// graph. Results are compared with eager mode, which runs the op's own `eager`.
import { afterEach, describe, expect, test } from '@jest/globals';
import { compile, defineOp, full, isTsInductorError, randn, tensor } from 'tsinductor';
import type { CompiledFunction, CustomOp, OpDefinition, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const defined: Disposable[] = [];
/** As defineOp, until the end of the test. */
function define<const Schema extends string>(definition: OpDefinition<Schema>): CustomOp<Schema> {
  const op = defineOp(definition);
  defined.push(op);
  return op;
}
afterEach(() => {
  for (const op of defined.splice(0)) op[Symbol.dispose]();
});

const bits = (value: Tensor): string => Buffer.from(value.toTypedArray().buffer).toString('hex');

/** Compares a compiled function with itself run eagerly; gives the compiled one. */
function agrees<F extends (...args: Tensor[]) => Tensor>(
  fn: F,
  inputs: readonly Tensor[],
  dynamic = false,
): CompiledFunction<F> {
  const compiled = compile(fn, { fullgraph: true, ...(dynamic ? { dynamic } : {}) });
  expect(bits(compiled(...(inputs as Parameters<F>)))).toBe(bits(fn(...inputs)));
  return compiled;
}

const schema = '(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor';
/** x + alpha * y, with plain arrays: nothing of it can be traced. */
const opaque: OpDefinition<typeof schema> = {
  name: 'test::scaled_add',
  schema,
  meta: ({ x }) => x,
  eager: ({ x, y, alpha }) => {
    const [a, b] = [x.toTypedArray() as Float32Array, y.toTypedArray() as Float32Array];
    return tensor(
      a.map((value, i) => value + Math.fround(alpha * (b[i] ?? 0))),
      { shape: x.shape },
    );
  },
};
const scaledAdd = (): CustomOp<typeof schema> => define(opaque);

describe('an op with a lowering', () => {
  const lowered = (): CustomOp<'(Tensor x, *, float alpha=1.0) -> Tensor'> =>
    define({
      name: 'test::soft_step',
      schema: '(Tensor x, *, float alpha=1.0) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x, alpha }) => x.mul(alpha).sigmoid(),
      lowering: ({ x, alpha }) => x.mul(alpha).sigmoid(),
    });

  test('is fused with what stands around it', () => {
    const op = lowered();
    const compiled = agrees((x: Tensor) => op(x.add(1), { alpha: 2 }).mul(3), [randn([7, 19])]);
    expect(compiled.graphs().map(({ kernels }) => kernels.length)).toEqual([1]);
    expect(compiled.explain().toString()).not.toContain('host callbacks');
  });

  test('is compiled once for all sizes', () => {
    const op = lowered();
    const compiled = agrees((x: Tensor) => op(x), [randn([5])], true);
    for (const size of [6, 7, 8]) expect(compiled(randn([size])).shape).toEqual([size]);
    expect(compiled.cacheInfo().entries).toBe(1);
  });

  test('that is another function is other code, though the name is the same', () => {
    const run = (lowering: (x: Tensor) => Tensor): { readonly key: string | undefined; readonly value: unknown } => {
      using op = defineOp({
        name: 'test::versioned',
        schema: '(Tensor x) -> Tensor',
        meta: ({ x }) => x,
        eager: ({ x }) => lowering(x),
        lowering: ({ x }) => lowering(x),
      });
      const compiled = compile((x: Tensor) => op(x), { fullgraph: true });
      const value = compiled(full([3], 2, { dtype: 'f32' })).toArray();
      return { key: compiled.graphs()[0]?.cacheKey, value };
    };
    const [first, second, again] = [run((x) => x.add(1)), run((x) => x.mul(5)), run((x) => x.add(1))];
    expect([first.value, second.value, again.value]).toEqual([
      [3, 3, 3],
      [10, 10, 10],
      [3, 3, 3],
    ]);
    expect(first.key).toBe(again.key);
    expect(first.key).not.toBe(second.key);
  });

  test('that writes to its argument does so in a compiled function', () => {
    const op = define({
      name: 'test::decay',
      schema: '(Tensor(a!) state, float by) -> Tensor(a!)',
      meta: () => [],
      eager: ({ state, by }) => state.mul_(by),
      lowering: ({ state, by }) => state.mul_(by),
    });
    const [one, two] = [full([4], 8, { dtype: 'f32' }), full([4], 8, { dtype: 'f32' })];
    const fn = (state: Tensor): Tensor => op(state, 0.5).add(1);
    expect(compile(fn, { fullgraph: true })(one).toArray()).toEqual(fn(two).toArray());
    expect(one.toArray()).toEqual([4, 4, 4, 4]);
  });
});

describe('an op without a lowering', () => {
  test('is a node of the one graph, between compiled parts, and explain names it', () => {
    const op = scaledAdd();
    const fn = (x: Tensor, y: Tensor): Tensor => op(x.exp().add(y), y.sin(), { alpha: 0.5 }).mul(y.cos()).amax(-1);
    const compiled = agrees(fn, [randn([6, 5]), randn([6, 5])]);
    const [graph, ...others] = compiled.graphs();
    expect(others).toEqual([]);
    expect(graph?.hosts).toHaveLength(1);
    expect(graph?.graph).toContain('host test::scaled_add(');
    const text = compiled.explain().toString();
    expect(text).toMatch(/host callbacks\n\s+- test::scaled_add, at .*custom-ops\.test\.ts:\d+: it has no lowering/);
    expect(text).not.toContain('broken into segments');
  });

  test('alone, twice, of an input, of a view, and of a result that is also given', () => {
    const op = scaledAdd();
    const [x, y] = [randn([4, 4]), randn([4, 4])];
    agrees((a: Tensor, b: Tensor) => op(a, b), [x, y]);
    agrees((a: Tensor, b: Tensor) => op(op(a, b), b, { alpha: 2 }), [x, y]);
    agrees((a: Tensor, b: Tensor) => op(a.t(), b.t()).add(a.t()), [x, y]);
    const both = (a: Tensor, b: Tensor): readonly Tensor[] => {
      const made = op(a, b);
      return [made, made.add(1), a.mul(2), made.t()];
    };
    expect(compile(both, { fullgraph: true })(x, y).map(bits)).toEqual(both(x, y).map(bits));
  });

  test('is compiled once for all sizes, and again where its meta asks for a number', () => {
    const op = scaledAdd();
    const compiled = agrees((x: Tensor, y: Tensor) => op(x.add(1), y).mul(x), [randn([3, 5]), randn([3, 5])], true);
    expect(compiled(randn([8, 9]), randn([8, 9])).shape).toEqual([8, 9]);
    expect(compiled.cacheInfo().entries).toBe(1);
    const fixing = define({
      ...opaque,
      name: 'test::fixing',
      meta: ({ x }) => ({ dtype: x.dtype, shape: x.shape.map(Number) }),
    });
    const fixed = agrees((x: Tensor, y: Tensor) => fixing(x, y), [randn([5]), randn([5])], true);
    expect(fixed(randn([7]), randn([7])).shape).toEqual([7]);
    expect(fixed.cacheInfo().entries).toBe(2);
  });

  test('sees what is written before it, and what it writes is seen after it', () => {
    const op = define({
      name: 'test::push',
      schema: '(Tensor x, Tensor(a!) state) -> (Tensor, Tensor(a!))',
      meta: ({ x }) => x,
      eager: ({ x, state }) => {
        state.copy_(state.add(x.sum()));
        return x.mul(state);
      },
    });
    const fn = (x: Tensor, state: Tensor): readonly Tensor[] => {
      state.add_(1);
      const [y, given] = op(x, state);
      return [y, given.mul(10)];
    };
    const x = tensor([1, 2, 3], { dtype: 'f32' });
    const [one, two] = [tensor([5], { dtype: 'f32' }), tensor([5], { dtype: 'f32' })];
    const compiled = compile(fn, { fullgraph: true });
    for (let call = 0; call < 2; call += 1) expect(compiled(x, one).map(bits)).toEqual(fn(x, two).map(bits));
    expect(one.toArray()).toEqual(two.toArray());
  });

  test('of arguments that share memory which it writes to does what eager mode does', () => {
    const op = define({
      name: 'test::shift',
      schema: '(Tensor x, Tensor(a!) to) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x, to }) => {
        to.fill_(7);
        return x.clone();
      },
    });
    const fn = (all: Tensor): Tensor =>
      op(all.mul(1).add(0), all)
        .add(all)
        .add(op(all.narrow(0, 0, 4), all));
    const [one, two] = [tensor([1, 2, 3, 4]), tensor([1, 2, 3, 4])];
    expect(bits(compile(fn)(one))).toBe(bits(fn(two)));
    expect(one.toArray()).toEqual(two.toArray());
  });

  test('of views of one tensor that it writes to runs on these, and on no copies', () => {
    const op = define({
      name: 'test::two_views',
      schema: '(Tensor(a!) one, Tensor(b!) two) -> Tensor',
      meta: ({ one }) => one,
      eager: ({ one, two }) => {
        one.add_(1);
        two.mul_(2);
        return one.clone();
      },
    });
    // Elements of both are written twice: in copies they would be written once.
    const given = (all: Tensor): Tensor => op(all.narrow(0, 0, 3), all.narrow(0, 1, 3)).add(all.at(1));
    const made = (all: Tensor): Tensor => given(all.add(1));
    for (const fn of [given, made]) {
      const [one, two] = [tensor([1, 2, 3, 4]), tensor([1, 2, 3, 4])];
      expect(bits(compile(fn)(one))).toBe(bits(fn(two)));
      expect(one.toArray()).toEqual(two.toArray());
    }
  });

  test('runs in a function that reads values, and ends the segment there', () => {
    const op = scaledAdd();
    const fn = (x: Tensor, y: Tensor): Tensor => {
      const made = op(x.exp(), y.mul(2), { alpha: 3 });
      return Number(made.sum().item()) > 0 ? made.sqrt().add(x) : made.neg();
    };
    const compiled = compile(fn);
    for (const value of [1, 2]) {
      const [x, y] = [full([5], value, { dtype: 'f32' }), full([5], value, { dtype: 'f32' })];
      expect(bits(compiled(x, y))).toBe(bits(fn(x, y)));
    }
    expect(
      compiled
        .explain()
        .breaks.map(({ reason }) => reason)
        .join('; '),
    ).toContain('custom op test::scaled_add has no lowering');
  });

  test('whose result is not what its meta said is refused before native code reads it', () => {
    const wrong = define({ ...opaque, name: 'test::wrong', eager: () => full([2], 1, { dtype: 'f32' }) });
    const compiled = compile((x: Tensor, y: Tensor) => wrong(x, y).add(1), { fullgraph: true });
    let error: unknown;
    try {
      compiled(randn([1000]), randn([1000]));
    } catch (thrown) {
      error = thrown;
    }
    expect(isTsInductorError(error) && `${error.code} ${error.message}`).toMatch(
      /CUSTOM_OP_META .*test::wrong: meta said f32\[1000\], and eager gave/,
    );
  });

  test.each(['aot_eager', 'eager'] as const)('runs under backend %s', (backend) => {
    const op = scaledAdd();
    const fn = (x: Tensor, y: Tensor): Tensor => op(x.exp(), y).add(y);
    const [x, y] = [randn([9]), randn([9])];
    expect(bits(compile(fn, { backend, fullgraph: true })(x, y))).toBe(bits(fn(x, y)));
  });

  test('runs under a backend of the user, which gets the parts with examples of their shapes', () => {
    const op = scaledAdd();
    const shapes: string[] = [];
    const compiled = compile((x: Tensor, y: Tensor) => op(x.add(1), y).reshape([6]).mul(2), {
      backend: (graph, examples) => {
        shapes.push(examples.map(({ shape }) => shape.join('x')).join(' '));
        const calls = graph.nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : []));
        return ([input = tensor([0])]) => [calls.includes('add') ? input.add(1) : input.reshape([6]).mul(2)];
      },
    });
    expect(compiled(full([2, 3], 1, { dtype: 'f32' }), full([2, 3], 5, { dtype: 'f32' })).toArray()).toEqual(
      new Array(6).fill(14),
    );
    expect(shapes).toEqual(['2x3', '2x3']);
  });

  test('can be warmed up without being run', async () => {
    let calls = 0;
    const op = define({
      name: 'test::counted',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x }) => {
        calls += 1;
        return x.add(1);
      },
    });
    const compiled = compile((x: Tensor) => op(x.mul(2)).exp());
    await compiled.warmup(full([3], 1));
    expect(calls).toBe(0);
    compiled(full([3], 1));
    expect(calls).toBe(1);
    expect(compiled.cacheInfo().misses).toBe(0);
  });
});
