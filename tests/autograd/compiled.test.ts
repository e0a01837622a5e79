// Gradients and the compiler: transforms within compiled functions are one graph with what they differentiate, and compiled
// functions are steps of a backward pass.
import { describe, expect, test } from '@jest/globals';
import { compile, customVjp, grad, manualSeed, nn, noGrad, ones, randn, tensor, valueAndGrad, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';

const largest = (a: Tensor, b: Tensor): number => Number(a.sub(b).abs().max().item());

interface Parameters {
  readonly w1: Tensor;
  readonly w2: Tensor;
}

const loss = ({ w1, w2 }: Parameters, x: Tensor): Tensor => x.matmul(w1).tanh().matmul(w2).softmax(-1).log().mean();

function parameters(): Parameters {
  manualSeed(3);
  return { w1: randn([6, 8]), w2: randn([8, 4]) };
}

describe('within a compiled function', () => {
  test('forward and backward are one graph, and give what eager mode gives', () => {
    const [given, x] = [parameters(), randn([5, 6])];
    const step = compile((p: Parameters, batch: Tensor) => valueAndGrad(loss)(p, batch), { fullgraph: true });
    const [value, found] = step(given, x);
    const [expected, eager] = valueAndGrad(loss)(given, x);
    expect(largest(value, expected)).toBeLessThan(1e-6);
    expect(largest(found.w1, eager.w1)).toBeLessThan(1e-6);
    expect(largest(found.w2, eager.w2)).toBeLessThan(1e-6);
    expect(step.graphs()).toHaveLength(1);
  });

  test('gradients are differentiated again', () => {
    const third = compile((a: Tensor) => grad((b: Tensor) => grad((c: Tensor) => c.pow(4).sum())(b).sum())(a));
    const x = randn([9]);
    expect(largest(third(x), x.square().mul(12))).toBeLessThan(1e-4);
  });

  test('what is written after it was used is differentiated as it was', () => {
    const fn = (a: Tensor): Tensor =>
      grad((b: Tensor) => {
        const scale = b.detach().clone();
        const y = b.mul(scale);
        scale.add_(100);
        return y.sum();
      })(a);
    const x = randn([4]);
    expect(largest(compile(fn)(x), x)).toBe(0);
  });
});

describe('a compiled function of what requires gradients', () => {
  const model = (x: Tensor, { w1, w2 }: Parameters): Tensor => x.matmul(w1).relu().matmul(w2);

  function gradients(fn: typeof model): readonly Tensor[] {
    const given = parameters();
    for (const tensor of [given.w1, given.w2]) tensor.requiresGrad_();
    manualSeed(5);
    fn(randn([7, 6]), given)
      .square()
      .mean()
      .backward();
    return [given.w1, given.w2].map(({ grad: found }) => {
      if (found === null) throw new TypeError('no gradient came');
      return found;
    });
  }

  test('is one step, whose gradient is compiled', () => {
    const expected = gradients(model);
    const found = gradients(compile(model));
    found.forEach((gradient, k) => {
      const eager = expected[k];
      if (eager !== undefined) expect(largest(gradient, eager)).toBeLessThan(1e-6);
    });
  });

  test('sees closed-over parameters, and views of its results', () => {
    const w = randn([4, 3]).requiresGrad_();
    const fn = compile((x: Tensor) => [x.matmul(w), x.matmul(w).t()] as const);
    const [product, transposed] = fn(randn([2, 4]));
    expect([product.requiresGrad, transposed.requiresGrad, transposed.shape]).toEqual([true, true, [3, 2]]);
    product.sum().add(transposed.sum()).backward();
    expect(w.grad?.shape).toEqual([4, 3]);
  });

  test('records nothing within noGrad', () => {
    const w = randn([3]).requiresGrad_();
    const fn = compile((a: Tensor) => a.mul(2));
    expect([noGrad(() => fn(w)).requiresGrad, fn(w).requiresGrad]).toEqual([false, true]);
  });

  test('is one graph for any size where it turns gradients off itself, as a model in use does', () => {
    const { w1, w2 } = parameters();
    for (const weight of [w1, w2]) weight.requiresGrad_();
    const seen = zeros([8, 4]);
    const use = compile(
      (x: Tensor): Tensor =>
        noGrad(() => {
          const y = model(x, { w1, w2 });
          seen.narrow(0, 0, 1).copy_(y.narrow(0, 0, 1));
          return y;
        }),
      { dynamic: true },
    );
    for (const rows of [7, 5, 9]) {
      const x = randn([rows, 6]);
      const y = use(x);
      expect(y.requiresGrad).toBe(false);
      expect(largest(y, x.matmul(w1).relu().matmul(w2).detach())).toBeLessThan(1e-5);
      expect(largest(seen.select(0, 0), y.select(0, 0))).toBe(0);
    }
    expect(use.explain().notes).toEqual([]);
    expect(use.graphs()).toHaveLength(1);
  });

  test('is one graph within noGrad of its own where it gives its arguments back, and views of them', () => {
    const { w1, w2 } = parameters();
    for (const weight of [w1, w2]) weight.requiresGrad_();
    const use = compile((x: Tensor, cache: Tensor): Tensor[] =>
      noGrad(() => {
        cache.narrow(0, 0, 7).copy_(model(x, { w1, w2 }));
        return [cache.sum(), cache, cache.narrow(0, 0, 2), w1];
      }),
    );
    const [x, cache] = [randn([7, 6]), zeros([9, 4])];
    for (let call = 0; call < 2; call += 1) {
      const [total = x, whole, part = x, weight] = use(x, cache);
      expect(whole).toBe(cache);
      expect(weight).toBe(w1);
      expect(total.requiresGrad || part.requiresGrad).toBe(false);
      expect(largest(part, x.matmul(w1).relu().matmul(w2).detach().narrow(0, 0, 2))).toBeLessThan(1e-5);
    }
    const second = compile((y: Tensor, seen: Tensor): Tensor[] =>
      noGrad(() => [model(y, { w1, w2 }), seen, seen.narrow(0, 0, 2)]),
    );
    expect(second(x, cache)[1]).toBe(cache);
    expect(second.explain().notes).toEqual([]);
  });

  test('runs operator by operator where it is no single graph, and says so', () => {
    const w = randn([3]).requiresGrad_();
    const fn = compile((a: Tensor) => (Number(a.sum().item()) > 0 ? a.mul(2) : a.mul(-2)));
    fn(w).abs().sum().backward();
    expect(w.grad?.abs().toArray()).toEqual([2, 2, 2]);
    expect(fn.explain().toString()).toContain('run operator by operator');
  });

  test('is differentiated by grad, to any order', () => {
    const cube = compile((a: Tensor) => a.pow(3).sum());
    const x = randn([5]);
    expect(largest(grad(cube)(x), x.square().mul(3))).toBeLessThan(1e-5);
    expect(largest(grad((a: Tensor) => grad(cube)(a).sum())(x), x.mul(6))).toBeLessThan(1e-5);
  });
});

describe('a compiled step of training', () => {
  const train = (): { readonly w: Tensor; readonly step: (x: Tensor) => Tensor } => {
    const w = ones([3]).requiresGrad_();
    const step = (x: Tensor): Tensor => {
      const [loss, gradient] = valueAndGrad((v: Tensor) => v.mul(v).mul(x).sum())(w);
      noGrad(() => w.sub_(gradient.mul(0.01)));
      return loss;
    };
    return { w, step };
  };
  const x = tensor([1, 2, 3]).to('f32');

  test('runs as one graph where its parameters require gradients', () => {
    const [eager, made] = [train(), train()];
    const compiled = compile(made.step);
    for (let turn = 0; turn < 3; turn += 1)
      expect(Number(compiled(x).item())).toBeCloseTo(Number(eager.step(x).item()), 4);
    expect(made.w.toArray()).toEqual(eager.w.toArray());
    const { graphs, notes } = compiled.explain();
    expect([graphs.length, notes.filter((note) => note.includes('operator by operator'))]).toEqual([1, []]);
  });

  test('gives a loss that is differentiated no more, as what it was made of has changed', () => {
    const loss = compile(train().step)(x);
    expect(loss.requiresGrad).toBe(true);
    expect(() => {
      loss.backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_STALE' }));
    expect(() => {
      train().step(x).backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_STALE' }));
  });

  test('gives what is computed after the update as what has no gradient any more', () => {
    const weight = tensor([1.5, 2.5]).requiresGrad_();
    const compiled = compile((w: Tensor) => {
      noGrad(() => w.sub_(0.5));
      return w.mul(3);
    });
    const result = compiled(weight);
    expect(result.requiresGrad).toBe(true);
    expect(() => {
      result.sum().backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_STALE' }));
  });

  test('gives what was detached as what it is', () => {
    const { step } = train();
    expect(compile((given: Tensor) => step(given).detach())(x).requiresGrad).toBe(false);
  });

  describe.each<[string, (w: Tensor, given: Tensor) => Tensor]>([
    ['what is made of it', (w, given) => w.add_(given)],
    ['what is not', (w) => w.zero_()],
    ['what is not, which is no result', (w, given) => (w.copy_(given), given.mul(2))],
  ])('that writes to a leaf outside of noGrad %s', (_, write) => {
    test('raises what eager mode raises', () => {
      const w = ones([3]).requiresGrad_();
      expect(() => compile((given: Tensor) => write(w, given))(x)).toThrow(
        expect.objectContaining({ code: 'IN_PLACE_LEAF' }),
      );
    });

    test('does so also where it was compiled within noGrad', () => {
      const w = ones([3]).requiresGrad_();
      const compiled = compile((given: Tensor) => write(w, given));
      noGrad(() => compiled(x));
      expect(() => compiled(x)).toThrow(expect.objectContaining({ code: 'IN_PLACE_LEAF' }));
    });
  });
});

/** What backward() gives for the tensors that a call was given, and the derivatives of that; undefined where there are none. */
function derivatives(result: Tensor, given: readonly Tensor[]): unknown {
  if (!result.requiresGrad) return undefined;
  result.sum().backward(undefined, { createGraph: true });
  const first = given.map(({ grad: found }) => found);
  for (const each of given) each.grad = null;
  const again = first.find((each) => each?.requiresGrad === true);
  again?.square().sum().backward();
  const second = given.map(({ grad: found }) => found);
  return [first.map(elements), again && second.map(elements)];
}

/** To five digits: compiled kernels add numbers in an order of their own. */
const elements = (found: Tensor | null): unknown =>
  found && Array.from(found.toTypedArray() as Float32Array, (value) => Math.round(value * 1e5) / 1e5 + 0);

/** That in eager mode and compiled. */
function bothWays(
  make: () => readonly Tensor[],
  fn: (...given: readonly Tensor[]) => Tensor,
): readonly { readonly gradients: unknown; readonly notes: readonly string[] }[] {
  const compiled = compile(fn);
  return [fn, compiled].map((run) => {
    manualSeed(3);
    const given = make();
    const gradients = derivatives(run(...given), given);
    return { gradients, notes: compiled.explain().notes.filter((note) => note.includes('operator by operator')) };
  });
}

describe('a compiled function gives the gradients that it gives in eager mode', () => {
  const weight = (): Tensor => tensor([1.5, 2.5, 3.5]).requiresGrad_();
  const straight = customVjp((x: Tensor) => x.round(), {
    forward: (x) => [x.round(), null],
    backward: (_saved, cotangent) => [cotangent],
  });
  const cases: Readonly<Record<string, [() => readonly Tensor[], (...given: readonly Tensor[]) => Tensor]>> = {
    'with random numbers': [() => [ones([8]).requiresGrad_()], (x) => nn.functional.dropout(x.mul(2), 0.5)],
    'with running statistics': [
      () => [
        tensor([
          [1.5, 2],
          [3, 7.5],
        ]).requiresGrad_(),
        zeros([2]),
        ones([2]),
      ],
      (x, mean, variance) => nn.functional.batchNorm(x, mean, variance, { training: true }).square(),
    ],
    'with a counter': [
      () => [weight(), zeros([1], { dtype: 'i64' })],
      (w, count) => {
        count.add_(1);
        return w.mul(count);
      },
    ],
    'with what noGrad wrote': [
      () => [weight(), zeros([3])],
      (w, buffer) => {
        noGrad(() => buffer.copy_(w));
        return w.mul(buffer).mul(w);
      },
    ],
    'with a part in noGrad': [() => [weight()], (w) => w.mul(noGrad(() => w.mul(2))).mul(w)],
    'with a write in noGrad to what it made': [
      () => [weight()],
      (w) => {
        const made = w.mul(2);
        noGrad(() => made.add_(1));
        return made;
      },
    ],
    'with a write in noGrad to a part of what it made': [
      () => [weight()],
      (w) => {
        const made = w.mul(2);
        noGrad(() => made.narrow(0, 0, 1).fill_(1));
        return made.mul(w);
      },
    ],
    'with what was detached': [() => [weight()], (w) => w.mul(w.detach()).mul(w)],
    'all of it in noGrad': [() => [weight()], (w) => noGrad(() => w.mul(2))],
    'of a value that it differentiates itself': [
      () => [weight()],
      (w) => valueAndGrad((v: Tensor) => v.square().sum())(w)[0],
    ],
    'of a gradient': [() => [weight()], (w) => grad((v: Tensor) => v.square().mul(v).sum())(w)],
    'through a gradient of its own': [() => [weight()], (w) => straight(w).mul(2)],
  };
  test.each(Object.entries(cases))('%s', (name, [make, fn]) => {
    const [eager, compiled] = bothWays(make, fn);
    expect(compiled?.gradients).toEqual(eager?.gradients);
    expect(compiled?.notes).toHaveLength(name === 'through a gradient of its own' ? 1 : 0);
  });
});
