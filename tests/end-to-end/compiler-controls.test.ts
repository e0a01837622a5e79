// What steers compiled functions from outside, as a user meets it: disable, allowInGraph, markDynamic, setStance.
import { beforeEach, describe, expect, test } from '@jest/globals';
import { allowInGraph, compile, disable, full, markDynamic, randn, setStance, tensor } from 'tsinductor';
import type { CompiledFunction, CompileOptions, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

/** On the interpreter: what is tested here is when, and what of, a function is compiled. */
const interpreted = <F extends (...args: never[]) => unknown>(
  fn: F,
  options: CompileOptions = {},
): CompiledFunction<F> => compile(fn, { backend: 'aot_eager', ...options });

const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
  return 'nothing thrown';
};

const messageOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing thrown';
};

describe('what a function writes', () => {
  test('to a plain object or an array of its arguments happens at every call, as in eager mode', () => {
    const step = (x: Tensor, state: { count: number; log: number[] }): Tensor => {
      state.count += 1;
      state.log.push(state.count);
      return x.mul(state.count);
    };
    const compiled = interpreted(step);
    const state = { count: 0, log: [] as number[] };
    const x = full([2], 1);
    expect([compiled(x, state).toArray(), compiled(x, state).toArray()]).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(state).toEqual({ count: 2, log: [1, 2] });
    expect(compiled.explain().breaks[0]?.reason).toBe(
      'it writes to arguments[1].count, which a compiled call would not repeat',
    );
  });

  test('to an instance with #private fields happens once a call, the first one as well', () => {
    class Counter {
      readonly #scale = 2;
      count = 0;
      readonly log: number[] = [];
      next(x: Tensor): Tensor {
        const scale = this.#scale;
        this.count += 1;
        this.log.push(this.count);
        return x.mul(scale * this.count);
      }
    }
    const counter = new Counter();
    const compiled = interpreted((x: Tensor, it: Counter) => it.next(x));
    expect([compiled(full([1], 1), counter).item(), compiled(full([1], 1), counter).item()]).toEqual([2, 4]);
    expect([counter.count, counter.log]).toEqual([2, [1, 2]]);
  });
});

describe('fullgraph', () => {
  test('asking of what kind an object is reads no values', () => {
    let kind = '';
    const compiled = compile(
      (x: Tensor) => {
        kind = Object.prototype.toString.call(x);
        return x.add(1);
      },
      { fullgraph: true },
    );
    expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
    expect(kind).toBe('[object Tensor i64[2]]');
  });

  test('says once what breaks, where, and what to do', () => {
    const reads = compile(
      function reads(x: Tensor) {
        return x.mul(Number(x.sum().item()));
      },
      { fullgraph: true },
    );
    expect(messageOf(() => reads(full([2], 1)))).toMatch(
      /^reads is not one graph, as fullgraph asks: item\(\) needs the values of a tensor, which are not known while tracing, at \S+compiler-controls\.test\.ts:\d+; compute with tensors \(where, gather\), or move the read out of the compiled function, or drop fullgraph to run the function segment by segment$/,
    );
    const writes = compile((x: Tensor, state: { n: number }) => ((state.n += 1), x), {
      fullgraph: true,
      name: 'writes',
    });
    expect(messageOf(() => writes(full([2], 1), { n: 0 }))).toBe(
      'writes is not one graph, as fullgraph asks: it writes to arguments[1].n, which a compiled call would not repeat; return the new value instead, or update a tensor in place, or drop fullgraph to run the function segment by segment',
    );
  });

  test('refuses a later call whose arguments share memory that is written to, as it does a first one', () => {
    const add = interpreted((a: Tensor, b: Tensor) => (a.add_(1), a.add(b)), { fullgraph: true });
    const both = tensor([1, 2]);
    expect(add(tensor([1, 2]), tensor([3, 4])).toArray()).toEqual([5, 7]);
    const base = tensor([1, 2, 3]);
    const halves = base.split([2, 1]);
    expect(add(both, halves[0] ?? both).toArray()).toEqual([3, 5]);
    expect(codeOf(() => add(base.narrow(0, 0, 2), base.narrow(0, 1, 2)))).toBe('GRAPH_BREAK');
  });
});

describe('disable', () => {
  test('runs eagerly in the middle of a compiled function, with the values and writes of eager mode', () => {
    const seen: unknown[] = [];
    const look = disable((x: Tensor) => {
      seen.push(x.toArray());
      x.add_(10);
      return x.sum();
    });
    const step = (x: Tensor): Tensor => {
      const twice = x.mul(2);
      x.mul_(3);
      const total = look(x);
      return twice.add(x).mul(total);
    };
    const compiled = interpreted(step);
    const [mine, theirs] = [tensor([1, 2]), tensor([1, 2])];
    for (let call = 0; call < 3; call += 1) {
      expect(compiled(mine).toArray()).toEqual(step(theirs).toArray());
      expect(mine.toArray()).toEqual(theirs.toArray());
    }
    expect(seen.filter((_, index) => index % 2 === 0)).toEqual(seen.filter((_, index) => index % 2 === 1));
    expect(compiled.explain().breaks[0]?.reason).toBe('it calls a function, which is disabled');
    expect(compiled.graphs().length).toBeGreaterThan(1);
  });

  test('is an error with the reason under fullgraph', () => {
    const log = disable(
      function log(x: Tensor) {
        return x;
      },
      { reason: 'it prints' },
    );
    const compiled = interpreted((x: Tensor) => log(x).add(1), { fullgraph: true, name: 'step' });
    expect(messageOf(() => compiled(full([2], 1)))).toMatch(
      /^step is not one graph, as fullgraph asks: it calls log, which is disabled \(it prints\), at \S+:\d+; /,
    );
  });

  test('takes a compiled function back to the one that was compiled, and decorates methods', () => {
    const compiled = interpreted((x: Tensor) => x.add(1));
    expect(disable(compiled)(full([1], 1)).item()).toBe(2);
    expect(compiled.cacheInfo().calls).toBe(0);
    class Model {
      readonly factor = 3;
      @disable({ reason: 'it is short' })
      scale(x: Tensor): Tensor {
        return x.mul(this.factor);
      }
    }
    const model = new Model();
    const outer = interpreted((x: Tensor) => model.scale(x.add(1)));
    expect(outer(full([1], 1)).item()).toBe(6);
    expect(outer.explain().breaks[0]?.reason).toBe('it calls scale, which is disabled (it is short)');
  });

  test('refuses what is no function, and unknown options', () => {
    expect(codeOf(() => disable(3 as never))).toBe('FUNCTION_EXPECTED');
    expect(codeOf(() => disable(() => 1, { because: 'x' } as never))).toBe('DISABLE_OPTION');
  });
});

describe('allowInGraph', () => {
  test('traces a function whole: what it keeps is written once, what it reads is not guarded', () => {
    class Stats {
      traced = 0;
      factor = 2;
    }
    const stats = new Stats();
    const scale = allowInGraph((x: Tensor, it: Stats) => {
      it.traced += 1;
      return x.mul(it.factor);
    });
    const compiled = interpreted((x: Tensor, it: Stats) => scale(x, it).add(1), { fullgraph: true });
    expect([compiled(full([1], 1), stats).item(), compiled(full([1], 4), stats).item()]).toEqual([3, 9]);
    stats.factor = 100;
    expect(compiled(full([1], 1), stats).item()).toBe(3);
    expect(stats.traced).toBe(1);
    expect(compiled.graphs()).toHaveLength(1);
  });

  test('a disabled function in it is traced, and a read in it still breaks the graph', () => {
    const inner = disable((x: Tensor) => x.mul(2));
    const outer = interpreted((x: Tensor) => allowInGraph(inner)(x).add(1), { fullgraph: true });
    expect(outer(full([1], 1)).item()).toBe(3);
    const reads = allowInGraph((x: Tensor) => Number(x.item()));
    expect(codeOf(() => interpreted((x: Tensor) => x.mul(reads(x)), { fullgraph: true })(full([1], 1)))).toBe(
      'GRAPH_BREAK',
    );
    expect(codeOf(() => allowInGraph('f' as never))).toBe('FUNCTION_EXPECTED');
  });
});

describe('markDynamic', () => {
  const marked = (sizes: readonly number[], range = {}): Tensor => {
    const x = randn([...sizes]);
    markDynamic(x, 0, range);
    return x;
  };

  test('one compilation serves all sizes, within the range', () => {
    const compiled = interpreted((x: Tensor) => x.softmax(-1), { fullgraph: true });
    for (const size of [5, 3, 8]) {
      const x = marked([size, 4], { max: 8 });
      expect(compiled(x).toArray()).toEqual(x.softmax(-1).toArray());
    }
    expect(compiled.cacheInfo().entries).toBe(1);
    expect(compiled.graphs()[0]?.guards[0]).toContain('[2..8, 4]');
    compiled(marked([9, 4], { max: 9 }));
    expect(compiled.cacheInfo().entries).toBe(2);
    expect(compiled.explain().recompiles[0]).toContain('with axis 0 marked');
  });

  test('a mark after a compilation for one size compiles again, without waiting for a second size', () => {
    const compiled = interpreted((x: Tensor) => x.mul(2), { dynamic: false });
    const x = randn([4, 3]);
    compiled(x);
    markDynamic(x, -2);
    compiled(x);
    compiled(marked([9, 3]));
    expect(compiled.cacheInfo().entries).toBe(2);
  });

  test('is refused where the function works for one size only', () => {
    const reads = interpreted((x: Tensor) => Array.from({ length: x.shape[0] ?? 0 }, (_, row) => x.select(0, row)));
    expect(messageOf(() => reads(marked([5, 2])))).toMatch(
      /^axis 0 of arguments\[0\] was marked dynamic, and the function works for size 5 only; /,
    );
    const fixed = full([5, 2], 1);
    expect(codeOf(() => interpreted((x: Tensor) => x.add(fixed))(marked([5, 2])))).toBe('MARKED_SIZE_FIXED');
  });

  test('holds in functions that run in segments', () => {
    const compiled = interpreted((x: Tensor) => x.div(Number(x.sum().item())).add(1));
    for (const size of [5, 3, 8]) compiled(marked([size]));
    expect(compiled.graphs()).toHaveLength(2);
  });

  test.each<[string, () => void]>([
    ['an axis that is not there', () => markDynamic(full([3], 1), 1)],
    ['a negative axis that is not there', () => markDynamic(full([3], 1), -2)],
    ['a size that is never symbolic', () => markDynamic(full([1, 3], 1), [1, 0])],
    ['a range without the size', () => markDynamic(full([9], 1), 0, { max: 8 })],
    ['a minimum of 1', () => markDynamic(full([9], 1), 0, { min: 1 })],
    ['a range upside down', () => markDynamic(full([9], 1), 0, { min: 9, max: 8 })],
    ['a tensor that is not contiguous', () => markDynamic(full([3, 4], 1).t(), 0)],
    ['a call inside a compiled function', () => void interpreted((x: Tensor) => (markDynamic(x, 0), x))(full([3], 1))],
  ])('refuses %s', (_, action) => {
    expect(codeOf(action)).toBe('ARGUMENT_VALUE');
  });
});

describe('setStance', () => {
  let runs = 0;
  const count = (x: Tensor): Tensor => ((runs += 1), x.mul(2));
  beforeEach(() => {
    runs = 0;
  });

  test('force_eager runs the function itself, and what was compiled is back afterwards', () => {
    const compiled = interpreted(count);
    compiled(full([2], 1));
    {
      using _ = setStance('force_eager');
      compiled(full([2], 1));
      compiled(full([3], 1));
    }
    compiled(full([2], 1));
    expect(runs).toBe(3);
    expect(compiled.cacheInfo().entries).toBe(1);
  });

  test('eager_on_recompile uses what fits, and runs what does not', () => {
    const compiled = interpreted(count);
    compiled(full([2], 1));
    using _ = setStance('eager_on_recompile');
    expect(compiled(full([2], 5)).toArray()).toEqual([10, 10]);
    expect(runs).toBe(1);
    expect(compiled(full([3], 5)).toArray()).toEqual([10, 10, 10]);
    expect(runs).toBe(2);
    expect(compiled.cacheInfo().entries).toBe(1);
    const broken = interpreted((x: Tensor) => x.mul(Number(x.sum().item())));
    expect(broken(full([2], 1)).toArray()).toEqual([2, 2]);
    expect(broken.graphs()).toHaveLength(0);
  });

  test('fail_on_recompile is an error that names the guard, for segments as well', () => {
    const compiled = interpreted(count, { name: 'count' });
    const broken = interpreted((x: Tensor) => x.mul(Number(x.sum().item())));
    compiled(full([2], 1));
    broken(full([2], 1));
    using _ = setStance('fail_on_recompile');
    compiled(full([2], 1));
    broken(full([2], 7));
    expect(messageOf(() => compiled(full([3], 1)))).toMatch(
      /^count would be compiled, which the stance fail_on_recompile forbids: arguments\[0\] was i64\[3\] strides \[1\], expected i64\[2\] strides \[1\]; /,
    );
    expect(codeOf(() => broken(randn([4, 4])))).toBe('STANCE_RECOMPILE');
    expect(messageOf(() => interpreted(count)(full([2], 1)))).toContain('nothing was compiled before');
  });

  test('eager_then_compile compiles at the second call, for all sizes that the two calls show', () => {
    using _ = setStance('eager_then_compile');
    const compiled = interpreted((x: Tensor, more: { y: Tensor }) => count(x).add(more.y));
    for (const size of [3, 4, 5]) compiled(full([size, 2], 1), { y: full([size, 2], 1) });
    expect(runs).toBe(2);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, recompiles: 0 });
  });

  test('aot_eager_then_compile traces the first call, and keeps nothing of it', () => {
    using _ = setStance('aot_eager_then_compile');
    const traced: string[] = [];
    const compiled = compile((x: Tensor) => x.mul(2), {
      backend: (graph) => {
        traced.push(graph.nodes.map(({ kind }) => kind).join(' '));
        return (inputs) => inputs.map((input) => input.mul(2));
      },
    });
    expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
    expect([traced.length, compiled.cacheInfo().entries]).toEqual([0, 0]);
    expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
    expect([traced.length, compiled.cacheInfo().entries]).toEqual([1, 1]);
  });

  test('forceBackend stands above every function, and does not run what another backend made', () => {
    const compiled = interpreted(count);
    compiled(full([2], 1));
    const used: number[] = [];
    {
      using _ = setStance('default', {
        forceBackend: () => {
          used.push(1);
          return (inputs) => inputs.map((input) => input.mul(5));
        },
      });
      expect(compiled(full([2], 1)).toArray()).toEqual([5, 5]);
    }
    expect(compiled(full([2], 1)).toArray()).toEqual([2, 2]);
    expect([used.length, compiled.cacheInfo().entries]).toEqual([1, 2]);
  });

  test('refuses what it does not know, and a call inside a compiled function', () => {
    expect(codeOf(() => setStance('eager' as never))).toBe('STANCE_VALUE');
    expect(codeOf(() => setStance('default', { backend: 'eager' } as never))).toBe('STANCE_OPTION');
    expect(codeOf(() => setStance('force_eager', { forceBackend: 'eager' }))).toBe('STANCE_OPTION');
    expect(codeOf(() => setStance('default', { forceBackend: 'fast' as never }))).toBe('STANCE_OPTION');
    const inside = interpreted((x: Tensor) => (setStance('default'), x));
    expect(codeOf(() => inside(full([2], 1)))).toBe('STANCE_IN_TRACE');
  });
});
