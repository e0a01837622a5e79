// Gradients and the compiler: transforms within compiled functions are one graph with what they differentiate, and compiled
// functions are steps of a backward pass.
import { describe, expect, test } from '@jest/globals';
import { compile, grad, manualSeed, noGrad, ones, randn, tensor, valueAndGrad } from 'tsinductor';
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

  test('gives what was detached as what it is', () => {
    const { step } = train();
    expect(compile((given: Tensor) => step(given).detach())(x).requiresGrad).toBe(false);
  });

  test('that writes to a leaf outside of noGrad raises what eager mode raises', () => {
    const w = ones([3]).requiresGrad_();
    expect(() => compile((given: Tensor) => w.add_(given))(x)).toThrow(
      expect.objectContaining({ code: 'IN_PLACE_LEAF' }),
    );
  });

  test('does so also where it was compiled within noGrad', () => {
    const w = ones([3]).requiresGrad_();
    const compiled = compile((given: Tensor) => w.add_(given));
    noGrad(() => compiled(x));
    expect(() => compiled(x)).toThrow(expect.objectContaining({ code: 'IN_PLACE_LEAF' }));
  });
});
