// Functions that are compiled in the background: no call waits for a compiler. The compilers of these tests begin when the test says so
// (a file appears), so that nothing here depends on who is faster: a call that waited would wait for ever.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { compile, defineOp, full, manualSeed, rand, reset, setStance, tensor } from 'tsinductor';
import type { CompiledFunction, CompileOptions, Tensor } from 'tsinductor';
import { forGraphs, freshDirectory, warningsOf, wrappedCompiler } from '../settings/effect.ts';

const hasCompiler = existsSync('/usr/bin/c++');
const whereCompiled = hasCompiler ? describe : describe.skip;
if (!hasCompiler) console.warn('no /usr/bin/c++: compiling in the background is not tested');

type Settings = NonNullable<CompileOptions['options']>;

const gate = join(freshDirectory(), 'open');
const cxx = [wrappedCompiler(forGraphs(`until [ -e ${gate} ]; do sleep 0.02; done`))];
const sharedCache = freshDirectory();

/** Settings under which graphs are built as soon as `open` was called. */
function gated(cacheDir: string = sharedCache): { readonly options: Settings; readonly open: () => void } {
  rmSync(gate, { force: true });
  return {
    options: { cacheDir, cpp: { cxx } },
    open: () => {
      writeFileSync(gate, '');
    },
  };
}

type Compiled = Pick<CompiledFunction<(...args: never[]) => unknown>, 'cacheInfo'>;

/** Calls in a loop in which the event loop never turns, until nothing is built any more. */
function callUntilBuilt(compiled: Compiled, call: () => void): void {
  while (compiled.cacheInfo().building > 0) call();
}

const placeOf = (compiled: Pick<CompiledFunction<(x: Tensor) => Tensor>, 'graphs'>): string =>
  compiled
    .graphs()
    .map(({ runsOn }) => runsOn)
    .join('; ');

const x = tensor([0.5, -1.25, 3, 7, -0.1], { dtype: 'f32' });
let functions = 0;

/** A function that is in no cache. */
function another(): (input: Tensor) => Tensor {
  const factor = 1 / (functions += 1);
  return (input) => input.mul(factor).exp().add(input).tanh();
}

whereCompiled('a function in the background', () => {
  test.each([{}, { forceDisableCaches: true }])(
    'is answered at once, and changes over in a loop that never ends its task (%j)',
    (settings) => {
      const activation = another();
      const { options, open } = gated(freshDirectory());
      const compiled = compile(activation, { background: true, options: { ...options, ...settings } });
      const expected = activation(x).toArray();
      expect(compiled(x).toArray()).toEqual(expected);
      expect(compiled.cacheInfo()).toMatchObject({ entries: 1, building: 1, swaps: 0 });
      expect(placeOf(compiled)).toContain('while native code is built');
      expect(compiled.graphs()[0]?.tiers).toEqual({ state: 'building', calls: 1 });
      expect(compiled.explain().toString()).toContain('native code is being built: 1 call was answered meanwhile');
      open();
      callUntilBuilt(compiled, () => {
        expect(compiled(x).toArray()).toEqual(expected);
      });
      expect(compiled.cacheInfo()).toMatchObject({ entries: 1, building: 0, swaps: 1, recompiles: 0 });
      expect(placeOf(compiled)).toContain('native code for');
      expect(compiled.graphs()[0]?.tiers?.state).toBe('native');
      expect(compiled(x).toArray()).toEqual(expected);
    },
  );

  test('is native at once where it is in the cache', async () => {
    const activation = another();
    const { options, open } = gated();
    open();
    await compile(activation, { background: true, options }).warmup(x);
    const again = compile(activation, { background: true, options });
    again(x);
    expect(again.cacheInfo()).toMatchObject({ building: 0, swaps: 0 });
    expect(placeOf(again)).toContain('native code for');
  });

  test('draws and writes the same in both tiers', () => {
    const { options, open } = gated();
    const step = (state: Tensor, by: Tensor): Tensor => {
      state.add_(by.mul(rand([3])));
      return state.mul(rand([3]));
    };
    const compiled = compile(step, { background: true, options });
    const runAll = (run: typeof step, change: () => void): unknown => {
      manualSeed(7);
      const [state, by] = [full([3], 1, { dtype: 'f32' }), tensor([1, 2, 3], { dtype: 'f32' })];
      const results = [run(state, by), run(state, by)].map((result) => result.toArray());
      change();
      results.push(...[run(state, by), run(state, by)].map((result) => result.toArray()));
      return [results, state.toArray(), rand([2]).toArray()];
    };
    const eager = runAll(step, () => undefined);
    const changing = runAll(compiled, () => {
      expect(compiled.cacheInfo().building).toBe(1);
      open();
      callUntilBuilt(compiled, () => undefined);
    });
    expect(changing).toEqual(eager);
    expect(compiled.cacheInfo()).toMatchObject({ building: 0, swaps: 1 });
  });

  test('is built again there for other sizes, which are symbolic then', () => {
    const activation = another();
    const { options, open } = gated();
    const compiled = compile(activation, { background: true, options });
    for (const size of [2, 3, 4]) expect(compiled(full([size], 1)).shape).toEqual([size]);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 2, building: 2, recompiles: 1 });
    open();
    callUntilBuilt(compiled, () => {
      for (const size of [2, 5]) expect(compiled(full([size], 1)).shape).toEqual([size]);
    });
    expect(compiled.cacheInfo()).toMatchObject({ building: 0, swaps: 2 });
    expect(compiled(full([6], 1)).toArray()).toEqual(activation(full([6], 1)).toArray());
  });

  test('that reads values has segments in the background', () => {
    const { options, open } = gated();
    const clip = (input: Tensor): Tensor => {
      const limit = Number(input.sum().item());
      return limit > 0 ? input.mul(2).exp() : input.neg();
    };
    const compiled = compile(clip, { background: true, options });
    const expected = clip(x).toArray();
    expect(compiled(x).toArray()).toEqual(expected);
    expect(compiled.cacheInfo()).toMatchObject({ building: 2, swaps: 0 });
    open();
    callUntilBuilt(compiled, () => {
      expect(compiled(x).toArray()).toEqual(expected);
    });
    expect(compiled.cacheInfo()).toMatchObject({ building: 0, swaps: 2 });
  });

  test('has parts between calls of the host', () => {
    using halved = defineOp({
      name: 'test::halved',
      schema: '(Tensor x) -> Tensor',
      meta: (args) => args.x,
      eager: (args) => args.x.div(2),
    });
    const { options, open } = gated();
    const fn = (input: Tensor): Tensor => halved(input.exp()).tanh();
    const compiled = compile(fn, { background: true, options });
    const expected = fn(x).toArray();
    expect(compiled(x).toArray()).toEqual(expected);
    expect(compiled.graphs()[0]?.tiers).toEqual({ state: 'building', calls: 1 });
    open();
    callUntilBuilt(compiled, () => {
      expect(compiled(x).toArray()).toEqual(expected);
    });
    expect(compiled.graphs()[0]?.tiers?.state).toBe('native');
    expect(placeOf(compiled)).toMatch(/native code for .*the host/);
  });

  test('goes over to native code though its session was closed meanwhile', () => {
    const activation = another();
    const { options, open } = gated();
    const compiled = compile(activation, { background: true, options });
    compiled(x);
    reset();
    open();
    callUntilBuilt(compiled, () => {
      compiled(x);
    });
    expect(placeOf(compiled)).toContain('native code for');
  });

  test('forgets what is built when it is reset', () => {
    const activation = another();
    const { options, open } = gated();
    const compiled = compile(activation, { background: true, options });
    compiled(x);
    compiled.reset();
    expect(compiled.cacheInfo()).toMatchObject({ entries: 0, building: 0 });
    open();
    expect(compiled(x).toArray()).toEqual(activation(x).toArray());
    callUntilBuilt(compiled, () => undefined);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, swaps: 1 });
  });
});

whereCompiled('who asks for native code', () => {
  test('by warmup waits until it is there; several make one form', async () => {
    const activation = another();
    const { options, open } = gated();
    const compiled = compile(activation, { background: true, options });
    compiled(x);
    expect(compiled.cacheInfo().building).toBe(1);
    open();
    await Promise.all([compiled.warmup(x), compiled.warmup(x), compiled.warmup(full([2], 1))]);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 2, calls: 1, building: 0, swaps: 2 });
  });

  test('by explain with arguments sees kernels', () => {
    const activation = another();
    const { options, open } = gated();
    open();
    const [graph] = compile(activation, { background: true, options }).explain(x).graphs;
    expect(graph?.kernels).toHaveLength(1);
    expect(graph?.tiers).toEqual({ state: 'native', calls: 0 });
  });
});

whereCompiled('a build that fails in the background', () => {
  const failing = (): Settings => ({
    cacheDir: freshDirectory(),
    cpp: { cxx: [wrappedCompiler(forGraphs('echo "no such luck" >&2; exit 3'))] },
  });

  test('is one warning, and an error for who waits for it', async () => {
    const activation = another();
    const compiled = compile(activation, { background: true, options: failing() });
    const expected = activation(x).toArray();
    const warnings = warningsOf(() => {
      compiled(x);
      callUntilBuilt(compiled, () => {
        expect(compiled(x).toArray()).toEqual(expected);
      });
    });
    expect(warnings).toEqual(['BACKGROUND_BUILD']);
    expect(compiled.cacheInfo()).toMatchObject({ building: 0, swaps: 0 });
    expect(compiled(x).toArray()).toEqual(expected);
    expect(placeOf(compiled)).toMatch(/no such luck/);
    expect(compiled.graphs()[0]?.tiers?.state).toBe('lower');
    await expect(compiled.warmup(x)).rejects.toMatchObject({ code: 'COMPILER_FAILED' });
    expect(() => compiled.explain(x)).toThrow(expect.objectContaining({ code: 'COMPILER_FAILED' }));
  });

  test('is no error at all under suppressErrors', async () => {
    const activation = another();
    const compiled = compile(activation, { background: true, options: { ...failing(), suppressErrors: true } });
    await compiled.warmup(x);
    expect(compiled.explain(x).toString()).toContain('no native code came about: 0 calls were answered');
  });

  test('for want of a compiler says so once, and is no error', async () => {
    const activation = another();
    const options = { cacheDir: freshDirectory(), cpp: { cxx: [], searchPath: freshDirectory() } };
    const compiled = compile(activation, { background: true, options });
    const warnings = warningsOf(() => {
      compiled(x);
      callUntilBuilt(compiled, () => compiled(x));
    });
    expect(warnings).toEqual(['COMPILER_NOT_FOUND']);
    await compiled.warmup(x);
    expect(compiled(x).toArray()).toEqual(activation(x).toArray());
    expect(placeOf(compiled)).toContain('no C++ compiler');
  });
});

whereCompiled('what asks for the background', () => {
  test('is also the setting, and the stance eager_then_compile', () => {
    const activation = another();
    const { options, open } = gated();
    const bySetting = compile(activation, { options: { ...options, background: true } });
    bySetting(x);
    expect(bySetting.cacheInfo().building).toBe(1);
    using _ = setStance('eager_then_compile');
    let runs = 0;
    const byStance = compile((input: Tensor) => ((runs += 1), activation(input).neg()), { options });
    for (const size of [3, 4, 5]) byStance(full([size], 1));
    // As it is at the first call, and traced at the second, for all sizes.
    expect([runs, byStance.cacheInfo().building]).toEqual([2, 1]);
    open();
    callUntilBuilt(byStance, () => byStance(full([6], 1)));
    expect(byStance.cacheInfo()).toMatchObject({ entries: 1, swaps: 1 });
  });

  test('is overruled by the function itself', () => {
    const activation = another();
    const { options, open } = gated();
    open();
    using _ = setStance('eager_then_compile');
    const compiled = compile(activation, { background: false, options });
    compiled(x);
    compiled(x);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, building: 0, swaps: 0 });
    expect(placeOf(compiled)).toContain('native code for');
  });

  test('leaves functions alone that have nothing to be built', () => {
    const activation = another();
    const compiled = compile(activation, { background: true, backend: 'aot_eager' });
    compiled(x);
    expect(compiled.cacheInfo()).toMatchObject({ entries: 1, building: 0, swaps: 0 });
  });
});
