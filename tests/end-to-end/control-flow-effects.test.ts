// What loops and branches do beside giving results: writes to tensors from outside, random numbers, calls that the program counts.
// Compiled, all of it is as eager mode leaves it.
import { describe, expect, test } from '@jest/globals';
import {
  arange,
  compile,
  cond,
  grad,
  manualSeed,
  noGrad,
  ones,
  rand,
  scan,
  tensor,
  whileLoop,
  zeros,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { expectSame } from './control-flow-programs.ts';

/** The elements of what `work` gives, or the code of what it throws. */
function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const coded = (code: string): unknown => expect.objectContaining({ code });

describe('a tensor that a gradient needs', () => {
  const write = (tensor: Tensor): unknown => noGrad(() => tensor.add_(1));
  const recurrence = (w: Tensor, x: Tensor): Tensor =>
    scan((c: Tensor, r: Tensor) => [c.mul(w).add(r.mul(w)), c], ones([2]), x)[0].sum();

  test.each<readonly [string, (w: Tensor) => (x: Tensor) => Tensor]>([
    [
      'is closed over by a loop',
      (w) =>
        grad((x: Tensor) => {
          const y = recurrence(w, x);
          write(w);
          return y;
        }),
    ],
    [
      'is closed over by a branch',
      (w) =>
        grad((x: Tensor) => {
          const y = cond(
            x.sum().gt(0),
            () => x.mul(w),
            () => x.sub(w),
          );
          write(w);
          return y.sum();
        }),
    ],
    [
      'is passed row by row',
      () => (x) =>
        grad((w: Tensor) => {
          const xs = x.mul(2);
          const y = recurrence(w, xs);
          write(xs);
          return y;
        })(ones([2])),
    ],
    [
      'is closed over by a loop in a loop',
      (w) => (x) =>
        scan(
          (c: Tensor, r: Tensor) => {
            const gradient = grad((z: Tensor) => {
              const y = scan((d: Tensor, q: Tensor) => [d.mul(w).add(q), d], z, x)[0];
              write(w);
              return y.sum();
            })(r);
            return [c.add(gradient), c];
          },
          zeros([2]),
          x,
        )[0],
    ],
  ])('and that %s may not be written to before', (_, make) => {
    const x = ones([3, 2]);
    const wanted = outcomeOf(() => make(ones([2]).mul(2))(x));
    const compiled = compile(make(ones([2]).mul(2)), { backend: 'aot_eager' });
    const found = outcomeOf(() => compiled(x));
    if (typeof wanted === 'string') expect(found).toBe(wanted);
    else expectSame(found, wanted);
  });

  test('may have been written to before the loop, which stays in the graph', () => {
    const make = (w: Tensor): ((x: Tensor) => Tensor) =>
      grad((x: Tensor) => {
        write(w);
        return recurrence(w, x);
      });
    const x = ones([3, 2]);
    expectSame(compile(make(ones([2])), { backend: 'aot_eager', fullgraph: true })(x), make(ones([2]))(x));
  });

  test('may be written to by the loop itself where the gradient does not need it', () => {
    const make = (seen: Tensor): ((x: Tensor) => Tensor) =>
      grad((x: Tensor) =>
        scan(
          (c: Tensor, r: Tensor) => {
            noGrad(() => seen.add_(r));
            return [c.mul(r), c];
          },
          ones([2]),
          x,
        )[0].sum(),
      );
    const [first, second] = [zeros([2]), zeros([2])];
    const x = rand([3, 2]);
    expectSame([compile(make(second), { backend: 'aot_eager' })(x), second], [make(first)(x), first]);
  });

  test('may not be written to where the function runs in segments', () => {
    const program = (w: Tensor) => (x: Tensor) => {
      if (Number(x.sum().item()) > 1e9) return x;
      const own = x.clone().requiresGrad_();
      const y = own.mul(w).sum();
      write(w);
      y.backward();
      return own.grad;
    };
    expect(() => program(ones([2]))(ones([2]))).toThrow(coded('GRADIENT_STALE'));
    const compiled = compile(program(ones([2])), { backend: 'aot_eager' });
    for (let turn = 0; turn < 2; turn += 1) expect(() => compiled(ones([2]))).toThrow(coded('GRADIENT_STALE'));
  });
});

describe('a loop without a step', () => {
  const make = (seen: Tensor) => (x: Tensor) =>
    scan(
      (c: Tensor, r: Tensor) => {
        seen.add_(1);
        return [c.add(r), [r.sum(), rand([2]).to('f16')]];
      },
      zeros([4]),
      x,
    );

  test.each([
    ['eager mode', (fn: (x: Tensor) => unknown) => fn],
    ['a graph', (fn: (x: Tensor) => unknown) => compile(fn, { backend: 'aot_eager', fullgraph: true })],
  ])('writes and draws nothing in %s', (_, mode) => {
    const seen = zeros([]);
    manualSeed(4);
    const wanted = rand([2]);
    manualSeed(4);
    const [, ys] = mode(make(seen))(zeros([0, 4])) as [Tensor, Tensor[]];
    expect(ys.map(({ dtype, shape }) => [dtype, ...shape])).toEqual([
      ['f32', 0],
      ['f16', 0, 2],
    ]);
    expect(seen.item()).toBe(0);
    expectSame(rand([2]), wanted);
  });

  test('draws nothing where its function reads elements', () => {
    const program = (x: Tensor): unknown =>
      scan((c: Tensor, r: Tensor) => [rand([]).sum().item() === 9 ? c : c.add(r), r.sum()], zeros([4]), x);
    manualSeed(4);
    const wanted = rand([2]);
    manualSeed(4);
    expectSame(program(zeros([0, 4])), [zeros([4]), []]);
    expectSame(rand([2]), wanted);
  });

  test('raises what its function raises', () => {
    expect(() => scan((c: Tensor, r: Tensor) => [c.matmul(r), c], ones([3, 3]), zeros([0, 4]))).toThrow(
      coded('SHAPE_MISMATCH'),
    );
  });
});

describe('the condition of a loop', () => {
  const counting = (x: Tensor): Tensor => {
    let calls = 0;
    return whileLoop(
      () => calls++ < 3,
      (s: Tensor) => s.mul(2),
      x,
    );
  };

  test('is called once for each step where the program decides it', () => {
    expectSame(counting(ones([2])), ones([2]).mul(8));
    expectSame(compile(counting, { backend: 'aot_eager', fullgraph: true })(ones([2])), counting(ones([2])));
  });

  test('may write to tensors where the program decides it', () => {
    const make = (seen: Tensor) => (x: Tensor) => {
      let calls = 0;
      return whileLoop(
        () => {
          seen.add_(rand([]));
          return calls++ < 2;
        },
        (s: Tensor) => s.mul(2),
        x,
      );
    };
    const [first, second] = [zeros([]), zeros([])];
    manualSeed(2);
    const wanted = [make(first)(ones([2])), first, rand([2])];
    manualSeed(2);
    expectSame([compile(make(second), { backend: 'aot_eager' })(ones([2])), second, rand([2])], wanted);
  });
});

describe('a check that fails in a loop or a branch', () => {
  const list = arange(5).to('f32');
  const take = (index: Tensor): Tensor => list.indexSelect(0, index.reshape([1])).sum();
  const far = tensor([0, 1, 99, 2], { dtype: 'i64' });

  test.each<readonly [string, (seen: Tensor) => unknown]>([
    [
      'scan',
      (seen) =>
        scan(
          (c: Tensor, i: Tensor) => {
            seen.add_(1);
            return [c.add(take(i)).mul(rand([])), c];
          },
          zeros([]),
          far,
        ),
    ],
    [
      'whileLoop',
      (seen) =>
        whileLoop(
          (s: Tensor) => s.lt(100),
          (s) => {
            seen.add_(rand([]));
            return s.add(take(s).add(1).to('i64'));
          },
          tensor(0, { dtype: 'i64' }),
        ),
    ],
    [
      'cond',
      (seen) =>
        cond(
          far.sum().gt(0),
          () => {
            seen.add_(1);
            return take(far.select(0, 2));
          },
          () => zeros([]),
        ),
    ],
  ])('of %s leaves what was written and drawn before', (_, work) => {
    const run = (mode: (fn: () => unknown) => () => unknown): unknown => {
      const [seen, before] = [zeros([]), zeros([])];
      manualSeed(6);
      const call = mode(() => {
        before.add_(1);
        work(seen);
        before.add_(10);
      });
      expect(call).toThrow(coded('INDEX_OUT_OF_RANGE'));
      expect(call).toThrow(coded('INDEX_OUT_OF_RANGE'));
      return [seen, before, rand([2])];
    };
    const wanted = run((fn) => fn);
    for (const backend of ['aot_eager', 'inductor'] as const)
      expectSame(
        run((fn) => compile(fn, { backend, fullgraph: true })),
        wanted,
      );
  });
});
