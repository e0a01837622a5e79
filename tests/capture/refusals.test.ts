// What compile() refuses at once, and what happens beyond the limit of forms.
import { expect, test } from '@jest/globals';
import { arange, compile, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { warningsOf } from '../settings/effect.ts';
import { changing, counting } from './closures-programs.ts';

const three = (): Tensor => arange(3).to('f32');
const refusal = (code: string): unknown => expect.objectContaining({ code });

test('async and generator functions are refused when they are compiled, and have no compiled type', () => {
  expect(() => compile(async (x: Tensor) => Promise.resolve(x))).toThrow(refusal('ASYNC_FUNCTION'));
  expect(() =>
    compile(function* (x: Tensor) {
      yield x.ndim;
    }),
  ).toThrow(refusal('ASYNC_FUNCTION'));
  expect(() =>
    compile(async function* (x: Tensor) {
      yield Promise.resolve(x.ndim);
    }),
  ).toThrow(/compile the part that computes/);
  expect(() => {
    // @ts-expect-error -- what compiling an async function gives cannot be called
    compile(async (x: Tensor) => Promise.resolve(x))(three());
  }).toThrow(refusal('ASYNC_FUNCTION'));
  // A function whose type says nothing may be compiled.
  expect(compile((x: Tensor) => JSON.parse(String(x.ndim)) as never, { backend: 'eager' })(three())).toBe(1);
});

test('a promise that a function of another kind gives is an error of the call, and of no later one', async () => {
  const fn = (x: Tensor): object => Promise.resolve().then(() => x.add(1).item());
  const compiled = compile(fn);
  expect(() => compiled(three())).toThrow(refusal('ASYNC_FUNCTION'));
  const reading = compile((x: Tensor) => {
    x.sum().item();
    return fn(x);
  });
  expect(() => reading(three())).toThrow(refusal('ASYNC_FUNCTION'));
  await new Promise((resolve) => setImmediate(resolve));
});

test('settings that do not exist, or have no such value, are refused when a function is compiled', () => {
  const fn = (x: Tensor): Tensor => x;
  expect(() => compile(fn, { options: { maxFusionSizes: 3 } })).toThrow(/maxFusionSize/);
  expect(() => compile(fn, { options: { recompileLimit: -1 } })).toThrow(/recompileLimit/);
});

test('setConfig changes nothing where it refuses', () => {
  expect(() => {
    setConfig({ recompileLimit: -1 });
  }).toThrow(/recompileLimit/);
  expect(() => {
    setConfig({ nothingOfTheKind: 1 });
  }).toThrow(/nothingOfTheKind/);
  expect(compile((x: Tensor) => x.add(1), { backend: 'aot_eager' })(three()).toArray()).toEqual([1, 2, 3]);
});

test('beyond the limit what was compiled goes on answering, and one warning names guard, values and remedy', () => {
  let seen = '';
  const fn = (x: Tensor, mode: string): Tensor => {
    // A trace assigns to a variable once; a list that it adds to would make the function run in segments.
    seen += `${mode} `;
    return x.add(mode.length);
  };
  const compiled = compile(fn, { backend: 'aot_eager', name: 'limited', options: { recompileLimit: 2 } });
  const modes = ['a', 'bb', 'ccc', 'dddd'];
  const texts: string[] = [];
  const codes = warningsOf(() => {
    for (const mode of [...modes, ...modes, ...modes]) texts.push(String(compiled(three(), mode).toArray()));
  });
  expect(texts.slice(0, 4)).toEqual(modes.map((mode) => String(fn(three(), mode).toArray())));
  expect(texts.slice(4, 8)).toEqual(texts.slice(0, 4));
  expect(codes).toEqual(['CLOSURE_WRITE', 'RECOMPILE_LIMIT']);
  // Each of the compiled ones was traced once; the others ran at every call.
  expect(seen.split(' ').filter((mode) => mode === 'a')).toHaveLength(2);
  expect(seen.split(' ').filter((mode) => mode === 'bb')).toHaveLength(2);
  expect(seen.split(' ').filter((mode) => mode === 'ccc')).toHaveLength(4);
  expect(compiled.cacheInfo()).toMatchObject({ entries: 2, recompiles: 1 });
  const note = compiled.explain().notes.find((line) => line.startsWith('RECOMPILE_LIMIT')) ?? '';
  expect(note).toContain('arguments[1] was "ccc", expected "bb"');
  expect(note).toContain('raise recompileLimit');
});

test('under fullgraph every call beyond the limit is an error, and those that fit are answered', () => {
  const compiled = compile((x: Tensor, mode: string) => x.add(mode.length), {
    backend: 'aot_eager',
    fullgraph: true,
    options: { recompileLimit: 1 },
  });
  compiled(three(), 'a');
  for (let time = 0; time < 2; time += 1) {
    expect(() => compiled(three(), 'bb')).toThrow(refusal('RECOMPILE_LIMIT'));
    expect(compiled(three(), 'a').toArray()).toEqual([1, 2, 3]);
  }
});

test('what the trace itself assigns to a variable is no change of it, under verifyCaptures', () => {
  counting.reset();
  const compiled = compile(counting.fn, { backend: 'aot_eager', options: { verifyCaptures: true } });
  for (let call = 0; call < 5; call += 1) expect(compiled(three()).toArray()).toEqual([0, 1, 2]);
  expect(counting.count()).toBe(1);
});

test('a variable that changed is an error that names it, under verifyCaptures', () => {
  const compiled = compile(changing.fn, { backend: 'aot_eager', name: 'stale', options: { verifyCaptures: true } });
  compiled(three());
  compiled(three());
  changing.change();
  expect(() => Array.from({ length: 3 }, () => compiled(three()))).toThrow(
    expect.objectContaining({
      code: 'CAPTURE_CHANGED',
      message: expect.stringMatching(/^stale closes over factor, which was 2 when it was traced and is 3: .*captures/),
    }),
  );
  changing.change();
  expect(compiled(three()).toArray()).toEqual([0, 2, 4]);
});
