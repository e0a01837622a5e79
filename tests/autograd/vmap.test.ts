// vmap against a loop over the samples: nested, with the transforms of gradients in any order, eagerly and compiled.
import { describe, expect, test } from '@jest/globals';
import {
  compile,
  customVjp,
  defineOp,
  grad,
  hessian,
  jacrev,
  jvp,
  manualSeed,
  rand,
  randn,
  randperm,
  stack,
  tensor,
  vjp,
  vmap,
  zeros,
  zerosLike,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';

manualSeed(5);
const xs = randn([3, 4]);
const w = randn([4]);
const rows = (x: Tensor): readonly Tensor[] => [...x];
const loop = (fn: (x: Tensor) => Tensor, x: Tensor): Tensor => stack(rows(x).map(fn), 0);
const gradientOf = ({ grad: found }: Tensor): Tensor => found ?? zeros([]);
const close = (found: Tensor, wanted: Tensor): void => {
  expect(found.shape).toEqual(wanted.shape);
  const size = Math.max(1, Number(wanted.abs().max().item()));
  expect(Number(found.sub(wanted).abs().max().item()) / size).toBeLessThan(1e-5);
};

const normal = (x: Tensor): Tensor => x.sub(x.mean()).div(x.std()).softmax(0);
const loss = (v: Tensor, x: Tensor): Tensor => x.mul(v).sin().sum().square();

describe('a mapped function', () => {
  test('is a loop over the samples', () => {
    close(vmap(normal)(xs), loop(normal, xs));
  });

  test('takes and gives samples along any axis', () => {
    const mapped = vmap((x: Tensor, y: Tensor) => x.outer(y), { inAxes: [1, null], outAxes: -1 });
    close(mapped(xs.t(), w), loop((x) => x.outer(w), xs).permute([1, 2, 0]));
  });

  test('takes and gives nestings', () => {
    const model = (p: { w: Tensor; b: Tensor }, [x]: [Tensor]) => ({ y: x.mul(p.w).add(p.b), b: p.b });
    const mapped = vmap(model, { inAxes: [{ w: null, b: 0 }, [0]], outAxes: { y: 1, b: 0 } });
    const b = randn([3]);
    const { y, b: same } = mapped({ w, b }, [xs]);
    close(y, xs.mul(w).add(b.unsqueeze(1)).t());
    close(same, b);
  });

  test('gives what is the same for every sample once for each, or once under null', () => {
    expect(vmap((_x: Tensor) => w)(xs).shape).toEqual([3, 4]);
    expect(vmap((_x: Tensor) => w, { outAxes: null })(xs)).toBe(w);
  });

  test('promotes as samples do: one without dims gives way to a vector', () => {
    const scales = tensor([2, 3, 4], { dtype: 'f64' });
    const scaled = vmap((x: Tensor, scale: Tensor) => x.mul(scale))(xs, scales);
    expect(scaled.dtype).toBe('f32');
    close(scaled, xs.mul(scales.to('f32').unsqueeze(1)));
  });

  test('nests', () => {
    const dots = vmap((x: Tensor) => vmap((y: Tensor) => x.dot(y).add(x.sum()))(xs))(xs);
    close(dots, xs.matmul(xs.t()).add(xs.sum(1, true)));
  });

  test('writes each sample in place', () => {
    const filled = vmap((x: Tensor) => {
      const sums = zerosLike(x);
      sums.at(1).add_(x.sum());
      return sums.mul_(2);
    })(xs);
    close(filled.select(1, 1), xs.sum(1).mul(2));
    close(filled.select(1, 0), zeros([3]));
  });
});

describe('with gradients', () => {
  const perSample = vmap(grad(loss), { inAxes: [null, 0] });
  const wanted = loop((x) => grad(loss)(w, x), xs);

  test('gradients of each sample', () => {
    close(perSample(w, xs), wanted);
    const twice = (x: Tensor): Tensor => grad((v: Tensor) => grad(loss)(v, x).sum())(w);
    close(vmap(twice)(xs), loop(twice, xs));
  });

  test('the gradient of a mapped function, and of one that maps gradients', () => {
    close(grad((v: Tensor) => vmap(loss, { inAxes: [null, 0] })(v, xs).sum())(w), wanted.sum(0));
    const outer = (gradients: (v: Tensor) => Tensor) => grad((v: Tensor) => gradients(v).square().sum())(w);
    close(
      outer((v) => perSample(v, xs)),
      outer((v) => loop((x) => grad(loss)(v, x), xs)),
    );
  });

  test('backward() through a mapped function', () => {
    const leaf = w.clone().requiresGrad_();
    vmap((x: Tensor) => loss(leaf, x))(xs)
      .sum()
      .backward();
    close(gradientOf(leaf), wanted.sum(0));
  });

  test('jvp, vjp and Hessians of each sample', () => {
    const directions = randn([3, 4]);
    const along = (x: Tensor, t: Tensor): Tensor => jvp((v: Tensor) => normal(v), [x], [t])[1];
    close(
      vmap(along)(xs, directions),
      stack(
        rows(xs).map((x, i) => along(x, directions.at(i))),
        0,
      ),
    );
    const pulled = (x: Tensor, t: Tensor): Tensor => vjp(normal, x)[1](t)[0];
    close(
      vmap(pulled)(xs, directions),
      stack(
        rows(xs).map((x, i) => pulled(x, directions.at(i))),
        0,
      ),
    );
    const curved = (x: Tensor): Tensor => hessian((v: Tensor) => loss(w, v))(x);
    close(vmap(curved)(xs), loop(curved, xs));
  });

  test('a Jacobian is a mapped pullback', () => {
    const [, pull] = vjp(normal, w);
    const jacobian = vmap((t: Tensor) => pull(t)[0])(
      tensor([
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
      ]),
    );
    close(
      jacobian,
      stack(
        [0, 1, 2, 3].map((i) => grad((v: Tensor) => normal(v).at(i))(w)),
        0,
      ),
    );
  });

  test("a function's own gradient is used, on both sides of vmap", () => {
    const tenfold = customVjp((x: Tensor, v: Tensor) => x.mul(v), {
      forward: (x, v) => [x.mul(v), [x, v] as const],
      backward: ([x, v], g) => [g.mul(v).mul(10), g.mul(x).mul(10)],
    });
    const plain = (v: Tensor, x: Tensor): Tensor => tenfold(x, v).sin().sum();
    const own = loop((x) => grad(plain)(w, x), xs);
    close(vmap(grad(plain), { inAxes: [null, 0] })(w, xs), own);
    const whole = (v: Tensor): Tensor => vmap(plain, { inAxes: [null, 0] })(v, xs).sum();
    close(grad(whole)(w), own.sum(0));
    close(
      grad((x: Tensor) => vmap(plain, { inAxes: [null, 0] })(w, x).sum())(xs),
      loop((x) => grad(plain, { argnums: 1 })(w, x), xs),
    );
    const each = (v: Tensor): Tensor => vmap(plain, { inAxes: [null, 0] })(v, xs);
    close(jacrev(each)(w), own);
    const outer = (gradients: (v: Tensor) => Tensor): Tensor => grad((v: Tensor) => gradients(v).square().sum())(w);
    close(
      outer((v) => vmap(grad(plain), { inAxes: [null, 0] })(v, xs)),
      outer((v) => loop((x) => grad(plain)(v, x), xs)),
    );
  });

  test('of a compiled function, whose operators do the work of all samples', () => {
    const compiled = compile((v: Tensor, x: Tensor) => loss(v, x));
    close(vmap(grad(compiled), { inAxes: [null, 0] })(w, xs), wanted);
  });

  test('compiled', () => {
    close(compile((v: Tensor) => perSample(v, xs))(w), wanted);
    const outer = (v: Tensor): Tensor => perSample(v, xs).square().sum();
    close(compile(grad(outer))(w), grad(outer)(w));
  });
});

test('a compiled mapped function takes any number of samples', () => {
  const compiled = compile(vmap(normal), { dynamic: true });
  for (const count of [3, 5]) {
    const samples = randn([count, 4]);
    close(compiled(samples), vmap(normal)(samples));
  }
});

test('a function that is compiled for itself says that it is not under vmap', () => {
  const inner = compile((x: Tensor) => x.exp().sum());
  close(vmap(inner)(xs), xs.exp().sum(1));
  expect(inner.explain().notes.join()).toMatch(/under vmap/);
});

describe('custom ops', () => {
  const cube = defineOp({
    name: 'mapped::cube',
    schema: '(Tensor x, float scale) -> Tensor',
    meta: ({ x }) => x,
    eager: ({ x, scale }) =>
      tensor(Float32Array.from(x.toTypedArray() as Float32Array, (v) => scale * v ** 3)).reshape([...x.shape]),
    gradient: ({ x, scale }, { grads }) => ({
      x: x
        .square()
        .mul(3 * scale)
        .mul(grads[0]),
    }),
  });
  const raise = defineOp({
    name: 'mapped::raise',
    schema: '(Tensor(a!) x, Tensor y) -> ()',
    meta: () => [],
    eager: ({ x, y }) => {
      x.add_(y);
    },
  });
  const cubes = (x: Tensor): Tensor => cube(x, 2).sum();

  test('are called for each sample, with gradients on both sides', () => {
    close(vmap((x: Tensor) => cube(x, 2))(xs), xs.pow(3).mul(2));
    close(vmap(grad(cubes))(xs), xs.square().mul(6));
    close(grad((x: Tensor) => vmap(cubes)(x).sum())(xs), xs.square().mul(6));
    close(compile(vmap(grad(cubes)))(xs), xs.square().mul(6));
  });

  test('of no samples are no results', () => {
    expect(vmap((x: Tensor) => cube(x, 2))(zeros([0, 4])).shape).toEqual([0, 4]);
  });

  test('write to what is mapped, and to nothing that all samples share', () => {
    const target = xs.clone();
    const raised = (x: Tensor, y: Tensor): Tensor => (raise(x, y), x);
    vmap(raised, { inAxes: [0, null] })(target, w);
    close(target, xs.add(w));
    const shared = vmap(raised, { inAxes: [null, 0] });
    expect(() => shared(w.clone(), xs)).toThrow(expect.objectContaining({ code: 'VMAP_IN_PLACE' }));
  });
});

describe('random numbers', () => {
  test("are each sample's own, or the same for all, as the program says", () => {
    const noisy = (x: Tensor): Tensor => x.zerosLike().add(rand([4]));
    const own = vmap(noisy, { randomness: 'different' })(xs);
    const same = vmap(noisy, { randomness: 'same' })(xs);
    expect(own.at(0).sub(own.at(1)).abs().max().item()).toBeGreaterThan(0);
    expect(same.at(0).sub(same.at(1)).abs().max().item()).toBe(0);
    const order = vmap((x: Tensor) => x.gather(0, randperm(4)), { randomness: 'different' })(xs);
    close(order.sort()[0], xs.sort()[0]);
  });

  test('are those of one draw for all samples, eagerly and compiled', () => {
    const dropped = vmap((x: Tensor) => x.dropout(0.5), { randomness: 'different' });
    manualSeed(7);
    const eager = dropped(xs);
    manualSeed(7);
    close(compile(dropped)(xs), eager);
    manualSeed(7);
    close(xs.dropout(0.5), eager);
  });
});

describe('is refused, at the line of the call', () => {
  const refused = (code: string, work: () => unknown, text?: RegExp): void => {
    expect(work).toThrow(expect.objectContaining({ code, location: expect.anything() as unknown }));
    if (text !== undefined) expect(work).toThrow(text);
  };

  test('what inAxes and outAxes cannot mean', () => {
    const add = vmap((x: Tensor, y: Tensor) => x.add(y));
    refused('VMAP_SIZES', () => add(xs, w), /axis 0 of argument\[0\] has 3, and axis 0 of argument\[1\] has 4/);
    refused('VMAP_AXIS', () => vmap((x: Tensor) => x, { inAxes: 2 })(xs), /argument\[0\] has shape \[3, 4\]/);
    refused('VMAP_AXIS', () => vmap((x: Tensor) => x.sum(), { outAxes: 1 })(xs), /result has shape \[3\]/);
    refused('VMAP_AXES', () => vmap((x: Tensor) => x, { inAxes: [0, 0] as never })(xs));
    refused('VMAP_AXES', () => vmap((x: Tensor) => x, { inAxes: ['rows'] as never })(xs));
    refused('VMAP_NOTHING', () => vmap((x: Tensor) => x, { inAxes: null })(xs));
    refused('VMAP_RESULT', () => vmap((x: Tensor) => x, { outAxes: null })(xs));
    refused('VMAP_RESULT', () => vmap((x: Tensor) => Promise.resolve(x))(xs));
    refused('NOT_A_FUNCTION', () => vmap(xs as never));
    refused('OPTION_UNKNOWN', () => vmap((x: Tensor) => x, { inDims: 0 } as never));
    refused('ARGUMENT_VALUE', () => vmap((x: Tensor) => x, { randomness: 'none' as never }));
  });

  test('reading elements, and what their values decide', () => {
    refused('VMAP_VALUE', () => vmap((x: Tensor) => (Number(x.sum().item()) > 0 ? x : x.neg()))(xs), /item\(\)/);
    refused('VMAP_VALUE', () => vmap((x: Tensor) => x.nonzero())(xs), /nonzero/);
    refused('VMAP_VALUE', () => vmap((x: Tensor) => x.toArray())(xs));
    const kept: Tensor[] = [];
    vmap((x: Tensor) => (kept.push(x), x))(xs);
    refused('VMAP_ESCAPED', () => kept[0]?.toArray());
  });

  test('writing a value of each sample where all samples share the tensor', () => {
    const sums = zeros([4]);
    refused('VMAP_IN_PLACE', () => vmap((x: Tensor) => sums.add_(x))(xs), /add_/);
    refused('VMAP_IN_PLACE', () => vmap((x: Tensor, y: Tensor) => y.copy_(x), { inAxes: [0, null] })(xs, sums));
  });

  test('random numbers without a word on them', () => {
    refused('VMAP_RANDOM', () => vmap((x: Tensor) => x.add(rand([4])))(xs), /rand /);
    refused('VMAP_RANDOM', () => vmap((x: Tensor) => x.dropout(0.5))(xs), /dropout/);
  });

  test('backward() that reaches what all samples share', () => {
    const leaf = w.clone().requiresGrad_();
    const step = (x: Tensor): Tensor => {
      const y = x.clone().requiresGrad_();
      y.mul(y).sum().backward();
      return gradientOf(y);
    };
    close(vmap(step)(xs), xs.mul(2));
    refused('VMAP_BACKWARD', () => vmap((x: Tensor) => (x.mul(leaf).sum().backward(), x))(xs));
    refused('VMAP_BACKWARD', () => vmap((x: Tensor) => (leaf.mul(1).backward(x), x))(xs));
    refused('GRADIENT_NOT_REQUIRED', () => vmap((x: Tensor) => (x.sum().backward(), x))(xs));
  });
});
