// Tensors that a compiled function writes to get their new values in place where that is safe: the same values as in eager mode, in the
// tensors, their views and the results, also where a call fails; and no memory for them.
import { describe, expect, test } from '@jest/globals';
import { compile, memoryStats, noGrad, slice, tensor } from 'tsinductor';
import type { CustomBackend, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

/** Small whole numbers, of which sums are exact in any order. */
const filled = (length: number, phase = 0): Tensor =>
  tensor(Float32Array.from({ length }, (_, place) => Math.round(8 * Math.sin(place * 1.7 + phase))));

type Program = (x: Tensor, y: Tensor) => unknown;

const programs: readonly (readonly [string, Program])[] = [
  ['a step', (x, y) => x.mul_(0.5).add_(y)],
  ['a step of both', (x, y) => (x.add_(y), y.mul_(x))],
  ['a swap', (x, y) => ((old) => (x.copy_(y), y.copy_(old)))(x.clone())],
  ['the old value beside it', (x, y) => ((old) => (x.add_(y), old))(x.mul(2))],
  ['the old value later', (x, y) => ((old) => (x.add_(y), old.sum().add(x)))(x.clone())],
  ['the new value', (x, y) => x.add_(y).mul(1)],
  ['itself, and a view', (x, y) => (x.sub_(y), [x, x.reshape([-1, 1]), x.mul(3)])],
  ['reversed', (x) => x.copy_(x.flip([0]))],
  ['shifted', (x) => x.copy_(x.roll([1], [0]))],
  ['running sums', (x) => x.copy_(x.cumsum(0))],
  ['without the largest', (x) => x.sub_(x.max()).mul_(x.min())],
  ['a part', (x, y) => x.narrow(0, 1, 3).copy_(y.narrow(0, 0, 3))],
  ['a part of what is read', (x, y) => (x.narrow(0, 1, 3).add_(y.narrow(0, 0, 3)), x.sum())],
  ['every other element', (x) => x.at(slice(0, null, 2)).mul_(2)],
  ['filled', (x) => x.fill_(3)],
  ['written twice', (x, y) => (x.add_(y), y.add_(x), x.add_(y))],
];

const arrays = (value: unknown): unknown => (Array.isArray(value) ? value.map(arrays) : (value as Tensor).toArray());

describe.each(programs)('%s', (_name, program) => {
  test.each([4, 5, 16, 33, 1000, 4099])('%i elements', (length) => {
    const compiled = compile((x: Tensor, y: Tensor) => program(x, y), { fullgraph: true, dynamic: false });
    const [x, y, u, v] = [filled(length), filled(length, 1), filled(length), filled(length, 1)];
    for (let call = 0; call < 3; call += 1) expect(arrays(compiled(x, y))).toEqual(arrays(program(u, v)));
    expect(arrays([x, y])).toEqual(arrays([u, v]));
  });

  test('views that begin anywhere', () => {
    const compiled = compile((x: Tensor, y: Tensor) => program(x, y), { fullgraph: true, dynamic: false });
    const [x, y, u, v] = [filled(300), filled(300, 1), filled(300), filled(300, 1)];
    const ofParts = (fn: Program, a: Tensor, b: Tensor): unknown =>
      arrays(fn(a.narrow(0, 3, 200), b.narrow(0, 7, 200)));
    for (let call = 0; call < 2; call += 1) expect(ofParts(compiled, x, y)).toEqual(ofParts(program, u, v));
    expect(arrays([x, y])).toEqual(arrays([u, v]));
  });

  test('one tensor twice', () => {
    const compiled = compile((x: Tensor, y: Tensor) => program(x, y), { dynamic: false });
    const [x, u] = [filled(20), filled(20)];
    for (let call = 0; call < 2; call += 1) expect(arrays(compiled(x, x))).toEqual(arrays(program(u, u)));
    expect(arrays(x)).toEqual(arrays(u));
  });
});

test.each([
  ['a row of a cache', [3, 40, 8], (x: Tensor, y: Tensor) => x.narrow(1, 39, 1).copy_(y.narrow(1, 0, 1))],
  [
    'rows in the middle',
    [3, 40, 8],
    (x: Tensor, y: Tensor) =>
      x
        .narrow(1, 7, 5)
        .mul_(2)
        .add_(y.narrow(1, 30, 5)),
  ],
  [
    'a corner',
    [33, 17],
    (x: Tensor, y: Tensor) =>
      x
        .narrow(0, 2, 9)
        .narrow(1, 5, 7)
        .copy_(y.narrow(0, 0, 9).narrow(1, 10, 7)),
  ],
  ['a part of a part, filled', [9, 31], (x: Tensor) => x.narrow(1, 1, 29).narrow(0, 8, 1).fill_(3)],
  [
    'two parts one after the other',
    [64],
    (x: Tensor, y: Tensor) => (x.narrow(0, 0, 9).copy_(y.narrow(0, 9, 9)), x.narrow(0, 5, 20).add_(1)),
  ],
  ['steps', [64], (x: Tensor, y: Tensor) => x.at(slice(3, 50, 4)).copy_(y.narrow(0, 0, 12))],
  ['no elements', [64], (x: Tensor, y: Tensor) => x.narrow(0, 5, 0).copy_(y.narrow(0, 0, 0))],
] as const)('%s', (_name, shape, program) => {
  for (const dtype of ['f32', 'f16', 'bf16', 'i64', 'u8'] as const) {
    const compiled = compile((x: Tensor, y: Tensor) => void program(x, y), { fullgraph: true, dynamic: false });
    const made = (phase: number): Tensor =>
      filled(
        shape.reduce<number>((a, b) => a * b, 1),
        phase,
      )
        .abs()
        .reshape(shape)
        .to(dtype);
    const [x, y, u, v] = [made(0), made(1), made(0), made(1)];
    for (let call = 0; call < 3; call += 1) {
      compiled(x, y);
      program(u, v);
    }
    expect([dtype, arrays([x, y])]).toEqual([dtype, arrays([u, v])]);
    // Also of one that begins in the middle of a line of the cache.
    const whole = [filled(x.numel + 3).to(dtype), filled(x.numel + 3).to(dtype)];
    const [inside, eager] = whole.map((one) => one.narrow(0, 3, x.numel).reshape(shape)) as [Tensor, Tensor];
    compiled(inside, y);
    program(eager, v);
    expect([dtype, arrays(whole[0])]).toEqual([dtype, arrays(whole[1])]);
  }
});

test('takes no memory', () => {
  const compiled = compile((x: Tensor, y: Tensor) => void x.mul_(0.5).add_(y), { fullgraph: true, dynamic: false });
  // So large that nothing before lived at its peak beside them.
  const [x, y] = [filled(2 ** 23), filled(2 ** 23, 1)];
  const before = memoryStats().peak;
  for (let call = 0; call < 3; call += 1) compiled(x, y);
  expect(memoryStats().peak - before).toBeLessThan(2 ** 20);
  expect(compiled.explain().toString()).toMatch(/reuses input_0: the input is changed/);
});

describe('a backend of the user’s own', () => {
  const changed = (backend: CustomBackend): unknown => {
    const compiled = compile((x: Tensor) => x.copy_(x.t().clone()).mul(2), { backend, dynamic: false });
    const x = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'f32' },
    );
    return [compiled(x).toArray(), x.toArray()];
  };
  const transpose = (x: Tensor): Tensor[] => [x.t().mul(2), x.t().clone()];
  const expected = [
    [
      [2, 6],
      [4, 8],
    ],
    [
      [1, 3],
      [2, 4],
    ],
  ];

  test('gives the new value', () => {
    expect(changed(() => (inputs) => inputs.flatMap(transpose))).toEqual(expected);
  });

  test('gives a view of the old one', () => {
    expect(changed(() => (inputs) => inputs.flatMap((x) => [x.t().mul(2), x.t()]))).toEqual(expected);
  });

  test('has written it', () => {
    const writes = (x: Tensor): Tensor[] => [x.copy_(x.t().clone()).mul(2), x];
    expect(changed(() => (inputs) => inputs.flatMap(writes))).toEqual(expected);
  });
});

describe('where a check fails', () => {
  const index = (value: number): Tensor => tensor([0, value, 1]);
  const programs: readonly (readonly [string, (x: Tensor, i: Tensor) => unknown])[] = [
    ['before the write', (x, i) => x.add_(x.gather(0, i).sum())],
    ['behind it', (x, i) => (x.add_(1), x.gather(0, i))],
    ['between two', (x, i) => (x.add_(1), x.mul_(x.gather(0, i).sum()))],
  ];
  test.each(programs)('%s', (_name, program) => {
    const compiled = compile(program, { fullgraph: true, dynamic: false });
    const [x, u] = [filled(40), filled(40)];
    compiled(x, index(2));
    program(u, index(2));
    expect(() => compiled(x, index(40))).toThrow(/out of range/);
    expect(() => program(u, index(40))).toThrow(/out of range/);
    expect(x.toArray()).toEqual(u.toArray());
  });
});

function gradientOf({ grad }: Tensor): Tensor {
  if (grad === null) throw new Error('backward gives no gradient');
  return grad;
}

test('parameters that gradients are wanted of are updated, and stay leaves', () => {
  const step = compile((w: Tensor, g: Tensor) => noGrad(() => void w.sub_(g.mul(0.5))), { fullgraph: true });
  const w = filled(64).requiresGrad_();
  const expected = w.detach().clone();
  for (let call = 0; call < 3; call += 1) {
    w.grad = null;
    w.mul(w).sum().backward();
    const grad = gradientOf(w);
    expected.sub_(grad.mul(0.5));
    step(w, grad);
    expect(w.isLeaf).toBe(true);
    expect(w.detach().toArray()).toEqual(expected.toArray());
  }
});

test('a gradient through a value from before the update is refused', () => {
  const step = compile((w: Tensor) => noGrad(() => void w.mul_(2)), { fullgraph: true });
  const w = filled(8).requiresGrad_();
  const loss = w.mul(w).sum();
  step(w);
  expect(() => {
    loss.backward();
  }).toThrow(expect.objectContaining({ code: 'GRADIENT_STALE' }));
});
