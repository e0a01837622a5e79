// Launches of kernels inside compiled functions: nodes of the one graph, with what they write to known. Every function runs
// eagerly as well, on inputs of its own: results and what the inputs hold afterwards must be the same bits.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, defineOp, isTsInductorError, markDynamic, reset, setConfig, tensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { cdiv, constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import { addRows, agrees, bits, scale, scaled, values } from './launching.ts';
import type { Program } from './launching.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-launches-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (isTsInductorError(error)) return error.code;
    throw error;
  }
  return 'none';
};

describe('a launch is a node of the graph', () => {
  const between = (x: Tensor): Tensor => {
    const out = zeros([24]);
    scaled(x.exp(), out, 0.5);
    return out.sub(1).mul(x);
  };

  test('between compiled parts, with its grid and what it is given', () => {
    const compiled = agrees(between, () => [values(24)]);
    const [graph, ...others] = compiled.graphs();
    expect(others).toEqual([]);
    expect(graph?.graph).toMatch(
      /: f32\[24\] = launch scale\(x=%\d+, out=%\d+, n=24, factor=0.5, BLOCK=16, grid=\[2, 1, 1\]\)/,
    );
    expect(graph?.hosts).toBeUndefined();
    expect(graph?.kernels.map(({ name }) => name)).toContain('scale');
    const text = compiled.explain().toString();
    expect(text).toMatch(/- scale: launched as it was written, at .*launching\.ts:\d+/);
    expect(text).not.toContain('broken into segments');
  });

  test('also where ops must not run by their own functions, and where all is interpreted', () => {
    agrees(between, () => [values(24)], { fullgraph: true, options: { implicitFallbacks: false } });
    agrees(between, () => [values(24)], { fullgraph: true, backend: 'aot_eager' });
  });

  test('on the emulation of CUDA', () => {
    const emulated: Program = (x) => {
      const out = zeros([24]);
      scale.launch([2], { x: x.neg(), out, n: 24, factor: 3, BLOCK: 16 }, { backend: 'cuda-emulated', numWarps: 1 });
      return out.add(x);
    };
    agrees(emulated, () => [values(24)]);
  });

  test('whose specialisation follows from the tensors of each call', () => {
    const compiled = compile((x: Tensor) => between(x), { fullgraph: true });
    for (const offset of [0, 1, 3]) {
      const x = values(40).slice(0, offset, offset + 24);
      expect(bits([compiled(x)])).toEqual(bits([between(x)]));
    }
    expect(compiled.cacheInfo().entries).toBe(1);
  });

  test('that is another kernel is other code, though the name is the same', () => {
    const twice = kernel('same', { x: ptr(f32) }, ({ x }, tl) => {
      tl.store(x, tl.load(x) * 2);
    });
    const less = kernel('same', { x: ptr(f32) }, ({ x }, tl) => {
      tl.store(x, tl.load(x) - 1);
    });
    const results = [twice, less].map((same) =>
      agrees(
        (x) => (same.launch([1], { x }), x.add(1)),
        () => [values(3).add(2)],
      ),
    );
    expect(results).toHaveLength(2);
  });
});

describe('what it writes is seen', () => {
  test('by what follows, and not by what stands before', () => {
    agrees(
      (x, y) => {
        const before = y.mul(2);
        scaled(x, y, 3);
        return [before, y.mul(2), y.amax()];
      },
      () => [values(20), values(20)],
    );
  });

  test('in an input that was written to before, and is written to afterwards', () => {
    agrees(
      (x, y) => {
        y.add_(1);
        scaled(y, y, 2);
        const middle = y.clone();
        y.mul_(2);
        scaled(x, y.slice(0, 4, 12), -1);
        return middle;
      },
      () => [values(20).slice(0, 0, 8), values(20)],
    );
  });

  test('through views: of results, of inputs, of transposed inputs', () => {
    agrees(
      (x) => {
        const made = x.mul(2);
        addRows(made.t());
        addRows(made.slice(1, 1, 3));
        addRows(x.slice(0, 1, 3));
        return [made, made.t().amax(0)];
      },
      () => [values(4, 5)],
    );
    agrees(
      (x) => (addRows(x), x.mul(1)),
      () => [values(4, 5).t()],
    );
    agrees(
      (x) => (x.add_(1), addRows(x), x.mul_(2), x.amax(0)),
      () => [values(4, 10).slice(1, 0, 10, 2)],
    );
  });

  test('in a captured tensor', () => {
    const [one, other] = [zeros([20]), zeros([20])];
    const fn = (state: Tensor, x: Tensor): Tensor => {
      scaled(x.add(1), state, 2);
      return state.sub(x);
    };
    const compiled = compile((x: Tensor) => fn(one, x), { fullgraph: true });
    for (const x of [values(20), values(21).slice(0, 1)]) {
      expect(bits([compiled(x), one])).toEqual(bits([fn(other, x), other]));
    }
  });

  test('where two memories began as one value', () => {
    agrees(
      (x) => {
        const made = x.exp();
        const copy = zeros([20]).copy_(made);
        const third = zeros([20]).copy_(x);
        scaled(made, copy, 2);
        scaled(copy, third, 3);
        scaled(x, x, 5);
        return [made, copy, third, zeros([20]).copy_(x), x.add(third)];
      },
      () => [values(20)],
    );
    agrees(
      (x, y) => {
        const old = zeros([20]).copy_(x);
        x.copy_(y);
        scaled(old, x, 2);
        scaled(old, y, 3);
        return [old, x.add(y)];
      },
      () => [values(20), values(20).cos()],
    );
  });

  test('where two results are made alike', () => {
    agrees(
      (x) => {
        const [a, b] = [zeros([20]), zeros([20])];
        scaled(x, a, 2);
        scaled(x, b, 3);
        return [a, b];
      },
      () => [values(20)],
    );
  });

  test('one tensor under two names', () => {
    agrees(
      (x) => (scaled(x, x, 2), x.add(1)),
      () => [values(20)],
    );
    agrees(
      (x) => {
        const made = x.neg();
        scaled(made.slice(0, 0, 10), made.slice(0, 5, 15), 2);
        return made;
      },
      () => [values(20)],
    );
  });

  test('by a custom op beside it', () => {
    using twice = defineOp({
      name: 'test::twice',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x }) => tensor(x.toTypedArray() as Float32Array).mul(2),
    });
    agrees(
      (x) => {
        const made = twice(x.add(1));
        scaled(made, made, 3);
        return twice(made.add(x));
      },
      () => [values(20)],
    );
  });
});

describe('tuned kernels', () => {
  test('are tuned when the graph runs, and leave nothing of that', () => {
    const grow = kernel('grow', { x: ptr(f32), n: i32, BLOCK: constexpr }, ({ x, n, BLOCK }, tl) => {
      const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
      tl.store(x + offs, tl.load(x + offs, offs < n) + 1, offs < n);
    });
    const tuned = grow.autotune({
      configs: [{ BLOCK: 16 }, { BLOCK: 64, numWarps: 2 }],
      key: ['n'],
      bench: { warmup: 1, rep: 2 },
    });
    const grid = ({ BLOCK }: { readonly BLOCK: number }): readonly number[] => [cdiv(100, BLOCK)];
    const fn = (x: Tensor): Tensor => {
      const made = x.mul(2);
      tuned.launch(grid, { x: made, n: 100 });
      return made.sub(x);
    };
    const compiled = compile(fn, { fullgraph: true });
    for (let call = 0; call < 2; call += 1) expect(bits([compiled(values(100))])).toEqual(bits([fn(values(100))]));
    expect(compiled.graphs()[0]?.graph).toContain('tuned=["{\\"BLOCK\\":16}", "{\\"BLOCK\\":64,\\"numWarps\\":2}"]');
    const measures = compile((x: Tensor) => x.mul(tuned.best(grid, { x, n: 100 }).config.BLOCK), { fullgraph: true });
    expect(codeOf(() => measures(values(100)))).toBe('GRAPH_BREAK');
  });
});

describe('sizes', () => {
  test('that it is not told are symbols', () => {
    const first = (x: Tensor): Tensor => {
      const out = zeros(x.shape);
      scale.launch([1], { x, out, n: 4, factor: 2, BLOCK: 4 });
      return out.add(x);
    };
    const compiled = agrees(
      (x) => first(x),
      () => [values(9)],
      { fullgraph: true, dynamic: true },
    );
    for (const size of [12, 33]) expect(bits([compiled(values(size))].flat())).toEqual(bits([first(values(size))]));
    expect(compiled.cacheInfo().entries).toBe(1);
  });

  test('that it is told are guarded', () => {
    const fn = (x: Tensor): Tensor => {
      const out = zeros(x.shape);
      scaled(x.neg(), out, 2);
      return out.add(x);
    };
    const compiled = agrees(
      (x) => fn(x),
      () => [values(9)],
      { fullgraph: true, dynamic: true },
    );
    expect(bits([compiled(values(12))].flat())).toEqual(bits([fn(values(12))]));
    expect(compiled.cacheInfo().entries).toBe(2);
    const marked = values(9);
    markDynamic(marked, 0);
    expect(codeOf(() => compile(fn, { fullgraph: true })(marked))).toBe('MARKED_SIZE_FIXED');
  });
});

describe('what no graph stands for', () => {
  test('memory that two arguments share runs in segments, and is an error under fullgraph', () => {
    const fn: Program = (x, y) => {
      scaled(x, y, 2);
      return x.add(y);
    };
    // The same elements twice: an instance that read what another one writes would be a race.
    const shared = (): readonly Tensor[] => {
      const base = values(24);
      return [base.slice(0, 0, 20), base.slice(0, 0, 20)];
    };
    agrees(fn, shared, {});
    expect(codeOf(() => compile(fn, { fullgraph: true })(...shared()))).toBe('GRAPH_BREAK');
  });

  test('in a function that reads values a launch ends a segment', () => {
    const fn: Program = (x) => {
      const out = zeros([20]);
      scaled(x.add(1), out, 2);
      const norm = out.sum().item();
      scaled(out, x, norm > 0 ? 1 : -1);
      return x.mul(2);
    };
    agrees(fn, () => [values(20)], {});
  });

  test('a body that does not compile is an error when it is traced, with its line', () => {
    const wrong = kernel('wrong', { x: ptr(f32) }, ({ x }, tl) => {
      tl.store(x, tl.zeros([3], tl.f32));
    });
    expect(
      codeOf(() =>
        compile(
          (x: Tensor) => {
            wrong.launch([1], { x });
            return x.add(1);
          },
          { fullgraph: true },
        )(values(3)),
      ),
    ).toMatch(/^KERNEL_/);
  });

  test('an error of a launch leaves what was written before it', () => {
    const fn = (x: Tensor): Tensor => {
      x.add_(1);
      scale.launch([2000], { x, out: x, n: 2_000_000, factor: 2, BLOCK: 4 }, { backend: 'interpreter' });
      return x;
    };
    const [one, two] = [zeros([4]), zeros([4])];
    expect(codeOf(() => compile(fn, { fullgraph: true })(one))).toBe(codeOf(() => fn(two)));
    expect(bits([one])).toEqual(bits([two]));
  });
});
