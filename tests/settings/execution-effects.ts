// The effects of the settings of compiled functions.
import { expect } from '@jest/globals';
import { compileGraphs, Session } from '@tsinductor/compiler';
import type { Executable } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import { GraphBuilder } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { arange, defineOp, full, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledWith, forGraphs, freshDirectory, reportOf, wrappedCompiler } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const addOne = (x: Tensor): Tensor => x.add(1);
const one = full([1], 1);

/** A compiled graph itself, which no guard stands before. */
async function rawArtifact(options: Options): Promise<Executable> {
  const builder = new GraphBuilder();
  const x = builder.placeholder('x', { dtype: 'f32', shape: [int(2), int(3)], strides: [int(3), int(1)] });
  builder.output(builder.call('neg', [x]));
  const program = { cacheDir: freshDirectory(), ...options };
  using session = new Session(resolveConfig({ program }), { warn: () => undefined, log: () => undefined });
  const [compiled] = await compileGraphs([builder.finish()], session);
  if (compiled?.kind !== 'compiled') throw new RangeError('the graph was not compiled');
  return compiled.executable;
}

/** How many forms of a function are kept while a text that it reads changes. */
function formsOf(options: Options): number {
  const scaled = compiledWith((x: Tensor, text: string) => x.mul(text.length), options);
  for (let length = 1; length <= 8; length += 1) expect(scaled(one, 'x'.repeat(length)).item()).toBe(length);
  return scaled.cacheInfo().entries;
}

export const executionEffects = {
  sizeAsserts: async () => {
    const input = arange(6).to('f32').reshape([3, 2]).t();
    const checked = await rawArtifact({});
    expect(() => checked.run([input])).toThrow(/input 0 .* strides \[1, 2\].* strides \[3, 1\]/);
    expect(() => checked.run([])).toThrow(expect.objectContaining({ code: 'INPUT_LAYOUT' }));
    const good = input.contiguous();
    for (let call = 0; call < 2; call += 1) expect(checked.run([good])[0]?.toArray()).toEqual(input.neg().toArray());
    // What was met is known by its lists; other lists are looked into.
    expect(() => checked.run([input])).toThrow(expect.objectContaining({ code: 'INPUT_LAYOUT' }));
    expect(() => checked.run([good.to('f64')])).toThrow(expect.objectContaining({ code: 'INPUT_LAYOUT' }));
    const unchecked = await rawArtifact({ sizeAsserts: false });
    expect(unchecked.run([input])[0]?.shape).toEqual([2, 3]);
  },
  scalarAsserts: () => {
    // A table of 2^32 elements: its indices are beyond 32 bits. It is built, and not computed.
    const table = (x: Tensor, y: Tensor): Tensor => x.reshape([-1, 1]).add(y);
    const lines = [1, 2].map(() => zeros([65_536], { dtype: 'i8' })) as [Tensor, Tensor];
    const built = (scalarAsserts: boolean): (() => unknown) => {
      const compiled = compiledWith(table, {
        cacheDir: freshDirectory(),
        assume32BitIndexing: true,
        dynamic: false,
        scalarAsserts,
      });
      return () => compiled.explain(...lines);
    };
    expect(built(true)).toThrow(expect.objectContaining({ code: 'INDEX_BEYOND_32_BITS' }));
    expect(built(false)).not.toThrow();
  },
  nanAsserts: () => {
    const ratio = (x: Tensor): Tensor[] => [x.add(1), x.div(x)];
    const [zero, infinite] = [full([2], 0), full([2], Infinity)];
    expect(compiledWith(ratio, {})(zero)[1]?.toArray()).toEqual([NaN, NaN]);
    const checked = compiledWith(ratio, { nanAsserts: true });
    expect(checked(one)[1]?.item()).toBe(1);
    expect(() => checked(zero)).toThrow(
      expect.objectContaining({
        code: 'VALUE_NOT_FINITE',
        message: expect.stringMatching(
          /result 1 of ratio, made by div, has the element NaN.*execution-effects\.ts:\d+/,
        ),
      }),
    );
    expect(() => checked(infinite)).toThrow(/input0, which ratio was given, has the element Infinity/);
  },
  implicitFallbacks: () => {
    using twice = defineOp({
      name: 'test::twice',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x }) => x.mul(2),
    });
    const fn = (x: Tensor): Tensor => twice(x).add(1);
    expect(compiledWith(fn, {})(one).item()).toBe(3);
    expect(() => compiledWith(fn, { implicitFallbacks: false })(one)).toThrow(
      expect.objectContaining({ code: 'NO_LOWERING', message: expect.stringContaining('test::twice') }),
    );
  },
  suppressErrors: () => {
    const cpp = { cxx: [wrappedCompiler(forGraphs('echo "no such luck" >&2; exit 3'))] };
    const options = { cacheDir: freshDirectory(), cpp };
    const strict = { ...options, suppressErrors: false };
    expect(() => reportOf(addOne, [one], strict)).toThrow(expect.objectContaining({ code: 'COMPILER_FAILED' }));
    for (const suppressErrors of [true, null]) {
      const compiled = compiledWith(addOne, { ...options, suppressErrors });
      expect(compiled(one).item()).toBe(2);
      expect(compiled.graphs()[0]?.runsOn).toContain('no such luck');
    }
  },
  compileTimeout: () => {
    const cpp = { cxx: [wrappedCompiler(forGraphs('sleep 30'))] };
    const options = { cacheDir: freshDirectory(), compileTimeout: 1, suppressErrors: false, cpp };
    const started = performance.now();
    expect(() => reportOf(addOne, [one], options)).toThrow(expect.objectContaining({ code: 'COMPILE_TIMEOUT' }));
    expect(performance.now() - started).toBeLessThan(20_000);
  },
  background: async () => {
    const options = { cacheDir: freshDirectory() };
    const places = (background: boolean): string => reportOf(addOne, [one], { ...options, background }).runsOn;
    expect(places(true)).toContain('while native code is built');
    const compiled = compiledWith(addOne, { ...options, background: true });
    await compiled.warmup(one);
    expect(compiled.graphs()[0]?.runsOn).toContain('native code for');
    expect(places(false)).toContain('native code for');
  },
  dynamic: () => {
    const entries = (dynamic: boolean | null): number => {
      const compiled = compiledWith(addOne, { dynamic });
      for (const size of [3, 4, 5, 6]) expect(compiled(full([size], 1)).toArray()).toEqual(Array(size).fill(2));
      return compiled.cacheInfo().entries;
    };
    expect([entries(true), entries(false), entries(null)]).toEqual([1, 4, 2]);
  },
  verifyCaptures: () => {
    const errors = (verifyCaptures: boolean): number => {
      let factor = 2;
      const scaled = compiledWith((x: Tensor) => x.mul(factor), { verifyCaptures });
      scaled(one);
      factor = 3;
      try {
        for (let call = 0; call < 4; call += 1) scaled(one);
        return 0;
      } catch (error) {
        expect(error).toMatchObject({ code: 'CAPTURE_CHANGED' });
        return 1;
      }
    };
    expect([errors(true), errors(false)]).toEqual([1, 0]);
  },
  recompileLimit: () => {
    expect([formsOf({ recompileLimit: 2 }), formsOf({ recompileLimit: 5 })]).toEqual([2, 5]);
  },
  accumulatedRecompileLimit: () => {
    expect(formsOf({ accumulatedRecompileLimit: 3 })).toBe(3);
    // The other limit counts per object, this one over all objects of a method.
    const scaleBy = compiledWith(
      function (this: { text: string }, x: Tensor) {
        return x.mul(this.text.length);
      } as never,
      {
        recompileLimit: 1,
        accumulatedRecompileLimit: 4,
      },
    ) as unknown as ((this: { text: string }, x: Tensor) => Tensor) & { cacheInfo(): { entries: number } };
    for (let length = 1; length <= 6; length += 1)
      expect(scaleBy.call({ text: 'x'.repeat(length) }, one).item()).toBe(length);
    expect(scaleBy.cacheInfo().entries).toBe(4);
  },
} satisfies Record<string, Effect>;
