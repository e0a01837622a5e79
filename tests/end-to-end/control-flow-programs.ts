// Programs of loops and branches as operators, with gradients and vmap.
import { expect } from '@jest/globals';
import {
  arange,
  associativeScan,
  compile,
  cond,
  defineOp,
  grad,
  hessian,
  jvp,
  manualSeed,
  map,
  ones,
  randn,
  scan,
  switchCase,
  tensor,
  vmap,
  whileLoop,
  zeros,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';

export type Program = (...args: Tensor[]) => unknown;

/** Every number of a nesting. */
function flat(value: unknown): readonly number[] {
  if (Array.isArray(value)) return (value as unknown[]).flatMap(flat);
  if (typeof value === 'object' && value !== null && 'toArray' in value)
    return ((value as Tensor).reshape([-1]).toArray() as unknown[]).map(Number);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(flat) : [];
}

export function expectSame(found: unknown, wanted: unknown): void {
  const [left, right] = [flat(found), flat(wanted)];
  expect(left).toHaveLength(right.length);
  left.forEach((value, place) => {
    expect(value).toBeCloseTo(right[place] ?? NaN, 4);
  });
}

manualSeed(7);
const weight = randn([4, 4]).mul(0.5);
export const rows = randn([7, 4]);
export const start = zeros([4]);
const twice = defineOp({
  name: 'flow_test::twice',
  schema: '(Tensor x) -> Tensor',
  meta: ({ x }) => ({ dtype: x.dtype, shape: x.shape }),
  eager: ({ x }) => x.mul(2),
  gradient: (_, { grads: [g] }) => ({ x: g.mul(2) }),
});

const sumOfScan = (x: Tensor, h: Tensor, w: Tensor): Tensor =>
  scan(
    (c: Tensor, r: Tensor) => {
      const next = r.matmul(w).add(c).tanh();
      return [next, next.square()];
    },
    h,
    x,
  )[1].sum();
const product = (x: Tensor): Tensor => scan((c: Tensor, r: Tensor) => [c.mul(r).sin(), c], ones([]), x)[0];

const table: Readonly<Record<string, readonly [Program, ...Tensor[]]>> = {
  'a recurrence': [(h, x) => scan((c: Tensor, r: Tensor) => [c.matmul(weight).add(r), c], h, x), start, rows],
  'from the last row': [(x) => scan((c: Tensor, r: Tensor) => [c.add(r), c], start, x, { reverse: true }), rows],
  'rows of 64 elements': [(x) => scan((c: Tensor, r: Tensor) => [c.add(r), c.mul(r)], zeros([64]), x), randn([33, 64])],
  'one step': [(x) => scan((c: Tensor, r: Tensor) => [c.add(r), c], start, x), randn([1, 4])],
  'no step': [(x) => scan((c: Tensor, r: Tensor) => [c.add(r), c], start, x), zeros([0, 4])],
  'a length alone': [() => scan((c: Tensor) => [c.mul(2), c], ones([]), undefined, { length: 5 })],
  'rows that do not lie in order': [(x) => scan((c: Tensor, r: Tensor) => [c.add(r), r], start, x), randn([4, 6]).t()],
  'nestings and dtypes': [
    (x) =>
      scan(
        ({ n, any }: { n: Tensor; any: Tensor }, { r }: { r: Tensor }) => [
          { n: n.add(1), any: any.logicalOr(r.sum().gt(2)) },
          { n, doubled: [r.mul(2)] },
        ],
        { n: tensor(0, { dtype: 'i64' }), any: tensor(false, { dtype: 'bool' }) },
        { r: x },
      ),
    rows,
  ],
  'a map': [(x) => map((r: Tensor) => r.square().sum(), x), rows],
  'a branch': [
    (x) =>
      cond(
        x.sum().gt(0),
        (y: Tensor) => y.mul(2),
        (y) => y.sub(1),
        x,
      ),
    rows,
  ],
  'the other branch': [
    (x) =>
      cond(
        x.sum().gt(1e9),
        () => ones([2]),
        () => zeros([2]),
      ),
    rows,
  ],
  'a case': [
    (i) =>
      [0, 1, 5, -3].map((more) => switchCase(i.add(more), [() => ones([1]), () => zeros([1]), () => ones([1]).neg()])),
    tensor(0, { dtype: 'i64' }),
  ],
  'a loop': [
    (x) =>
      whileLoop(
        (s: Tensor) => s.square().sum().lt(1000),
        (s) => s.mul(1.5),
        x,
      ),
    ones([4]),
  ],
  'what is carried is closed over besides': [
    (a) =>
      whileLoop(
        (x: Tensor) => x.square().sub(a).abs().gt(1e-4),
        (x) => x.add(a.div(x)).mul(0.5),
        a,
      ),
    tensor(9).to('f32'),
  ],
  'rows are closed over besides': [(x) => scan((c: Tensor, r: Tensor) => [c.add(r.mul(x.sum())), c], start, x), rows],
  'a loop without a step': [
    (x) =>
      whileLoop(
        (s: Tensor) => s.sum().lt(0),
        (s) => s.mul(1.5),
        x,
      ),
    ones([4]),
  ],
  prefixes: [(x) => associativeScan((a: Tensor, b: Tensor) => a.add(b), x), rows],
  'prefixes from the end of an axis': [
    (x) => associativeScan((a: Tensor, b: Tensor) => a.mul(b), x, { axis: -1, reverse: true }),
    rows,
  ],
  'a loop in a loop': [
    (x) => scan((c: Tensor, r: Tensor) => [scan((d: Tensor, q: Tensor) => [d.add(q), d], c, r)[0], c], zeros([]), x),
    rows,
  ],
  'a branch in a loop': [
    (x) =>
      scan(
        (c: Tensor, r: Tensor) => [
          cond(
            r.sum().gt(0),
            () => c.add(r),
            () => c.sub(r),
          ),
          c,
        ],
        start,
        x,
      ),
    rows,
  ],
  'an op of the program in a loop': [(x) => scan((c: Tensor, r: Tensor) => [c.add(twice(r)), c], start, x), rows],
  'gradients of all that is passed': [grad(sumOfScan, { argnums: [0, 1, 2] }), rows, start, weight],
  'a gradient of what is closed over': [(w) => grad((v: Tensor) => sumOfScan(rows, start, v.mul(2)))(w), weight],
  'a gradient through an op of the program': [
    grad((x: Tensor) => scan((c: Tensor, r: Tensor) => [c.mul(twice(r)), c], ones([4]), x)[0].sum()),
    rows,
  ],
  'a second gradient': [hessian(product), randn([4])],
  'a second gradient of a loop in a loop': [
    grad((x: Tensor) =>
      grad(
        (y: Tensor) =>
          scan(
            (c: Tensor, r: Tensor) => [scan((d: Tensor, q: Tensor) => [d.mul(q).sin(), d], c, r)[0], c],
            ones([]),
            y,
          )[0],
      )(x).sum(),
    ),
    randn([2, 2]),
  ],
  'a derivative along a tangent': [(x) => jvp(product, [x], [ones([6])]), randn([6])],
  'a gradient of a branch': [
    grad((x: Tensor) =>
      cond(
        x.sum().gt(0),
        (y: Tensor) => y.mul(2).sin(),
        (y) => y.exp(),
        x,
      ).sum(),
    ),
    rows,
  ],
  'a second gradient of a branch': [
    grad(
      grad((w: Tensor) =>
        cond(
          w.gt(0),
          () => w.sin(),
          () => w.exp(),
        ),
      ),
    ),
    ones([]),
  ],
  'a loop of many samples': [
    vmap((x: Tensor) => scan((c: Tensor, r: Tensor) => [c.add(r), c.mul(r)], start, x)),
    randn([3, 5, 4]),
  ],
  'samples within samples': [
    vmap(vmap((x: Tensor, y: Tensor) => scan((c: Tensor, r: Tensor) => [c.mul(r).add(y), c], ones([]), x))),
    randn([2, 3, 5]),
    randn([2, 3]),
  ],
  'what differs is closed over': [
    vmap((w: Tensor) => scan((c: Tensor, r: Tensor) => [c.mul(w).add(r), w], ones([]), arange(5).to('f32'))),
    randn([3]),
  ],
  'a gradient for each sample': [
    vmap(grad((x: Tensor) => scan((c: Tensor, r: Tensor) => [c.add(r.sin()), c.mul(r)], start, x)[1].sum())),
    randn([3, 5, 4]),
  ],
  'a gradient of all samples': [
    grad((w: Tensor) =>
      vmap((x: Tensor) => scan((c: Tensor, r: Tensor) => [c.mul(w).add(r), c], ones([]), x)[0])(ones([3, 4])).sum(),
    ),
    randn([]),
  ],
  'second gradients for each sample': [vmap(hessian(product)), randn([2, 2])],
  'a branch for each sample': [
    vmap((x: Tensor) =>
      cond(
        x.sum().gt(0),
        (y: Tensor) => y.mul(2),
        (y) => y.sub(1),
        x,
      ),
    ),
    rows,
  ],
  'a gradient of a branch for each sample': [
    vmap(
      grad((w: Tensor) =>
        cond(
          w.gt(0),
          () => w.sin(),
          () => w.exp(),
        ),
      ),
    ),
    randn([5]),
  ],
  'a loop for each sample': [
    vmap((x: Tensor) =>
      whileLoop(
        (s: Tensor) => s.lt(100),
        (s) => s.mul(2),
        x,
      ),
    ),
    tensor([1, 30, 500]),
  ],
};

/** What is passed stands behind each function. */
export const programs: typeof table = { ...table };

/** Compiled as one graph, it gives what it gives as it is. */
export function expectAsEager(
  [program, ...args]: readonly [Program, ...Tensor[]],
  backend: 'aot_eager' | 'inductor',
): void {
  const wanted = program(...args);
  const compiled = compile(program, { backend, fullgraph: true });
  expectSame(compiled(...args), wanted);
  // The second call meets what the first has left in the memory of the loop.
  expectSame(compiled(...args), wanted);
}
