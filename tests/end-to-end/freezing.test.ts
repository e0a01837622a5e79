// Frozen weights: what is made of them is made once, shared, and never stale.
import { describe, expect, test } from '@jest/globals';
import { compile, fromBuffer, manualSeed, nn, randn, zeros } from 'tsinductor';
import type { CompiledFunction, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { conv2d, gelu, linear } = nn.functional;
const freezing = { options: { freezing: true } };

type Layer = (x: Tensor) => Tensor;

const difference = (made: Tensor, wanted: Tensor): number => made.sub(wanted).abs().amax().item() as number;
const frozenOf = (fn: Pick<CompiledFunction<Layer>, 'graphs'>): readonly string[] =>
  fn.graphs().flatMap(({ frozen }) => frozen ?? []);

/** Whether calls give what eager mode gives, now and again. */
function expectAsEager(fn: Layer, compiled: Layer, x: Tensor): void {
  for (const made of [compiled(x), compiled(x)]) expect(difference(made, fn(x))).toBeLessThan(2e-4);
}

test('a function that runs in segments says that nothing is frozen', () => {
  const weight = randn([16, 16]);
  const layer = compile((x: Tensor) => {
    const made = x.matmul(weight.mul(2));
    return (made.sum().item() as number) > 0 ? made : made.neg();
  }, freezing);
  layer(randn([8, 16]));
  expect(layer.explain().notes.join('\n')).toMatch(/nothing is frozen/);
});

describe('weights that a function closes over', () => {
  test('are packed once, and repacked where they change', () => {
    manualSeed(1);
    const [first, bias, second] = [randn([64, 96]), randn([64]), randn([96, 64])];
    const block: Layer = (x) => linear(gelu(linear(x, first, bias)), second).add(x);
    const compiled = compile(block, freezing);
    const x = randn([10, 96]);
    expectAsEager(block, compiled, x);
    // 64 and 96 columns are whole panels whatever the width of a vector.
    expect(frozenOf(compiled)).toHaveLength(2);
    first.mul_(0.5);
    second.slice(0, 0, 1).fill_(3);
    expectAsEager(block, compiled, x);
    expect(compiled.cacheInfo().recompiles).toBe(0);
  });

  test('of convolutions are turned, with the arithmetic of a norm that follows', () => {
    manualSeed(2);
    const [weight, gain, variance] = [randn([32, 8, 3, 3]), randn([32]), randn([32]).abs()];
    const layer: Layer = (x) => {
      const scale = variance.add(1e-5).rsqrt().mul(gain).reshape([1, 32, 1, 1]);
      return conv2d(x, weight, null, { padding: 1 }).mul(scale).relu();
    };
    const compiled = compile(layer, freezing);
    expectAsEager(layer, compiled, randn([2, 8, 12, 12]));
    expect(frozenOf(compiled).some((line) => /by add, rsqrt, mul\b/.test(line))).toBe(true);
  });

  test('are packed once for functions and sizes that use them', () => {
    manualSeed(3);
    const weight = randn([32, 16]);
    const compiledGraphs: string[] = [];
    const jitPostCompileHook = {
      key: 'names',
      run: ({ name }: { readonly name: string }) => compiledGraphs.push(name),
    };
    const watched = { options: { freezing: true, runJitPostCompileHook: true, jitPostCompileHook } };
    const layer: Layer = (x) => linear(x, weight.mul(2)).relu();
    const other: Layer = (x) => linear(x, weight.mul(2)).neg();
    const [compiled, compiledOther] = [compile(layer, watched), compile(other, watched)];
    for (const rows of [8, 9, 20]) expectAsEager(layer, compiled, randn([rows, 16]));
    expectAsEager(other, compiledOther, randn([8, 16]));
    const once = (): number => compiledGraphs.filter((name) => name.endsWith('what is computed once')).length;
    expect([once(), compiledGraphs.length - once()]).toEqual([1, 3]);
    weight.neg_();
    expectAsEager(other, compiledOther, randn([8, 16]));
    expectAsEager(layer, compiled, randn([8, 16]));
  });

  test('that a typed array shares are looked at in every call', () => {
    const memory = new Float32Array(32 * 16).fill(1);
    const weight = fromBuffer(memory.buffer, { dtype: 'f32', shape: [32, 16] });
    const layer: Layer = (x) => linear(x, weight.mul(2));
    const compiled = compile(layer, freezing);
    const x = randn([8, 16]);
    expectAsEager(layer, compiled, x);
    memory.fill(3);
    expectAsEager(layer, compiled, x);
    expect(frozenOf(compiled)).toEqual([]);
  });

  test('have their gradients', () => {
    manualSeed(4);
    const weight = randn([32, 16]).requiresGrad_();
    const loss = compile((x: Tensor) => linear(x, weight).tanh().sum(), freezing);
    const x = randn([8, 16]);
    const eager: Layer = (given) => linear(given, weight).tanh().sum();
    const [made, wanted] = [loss, eager].map((fn) => {
      weight.grad = zeros([32, 16]);
      fn(x).backward();
      return weight.grad;
    });
    expect(difference(made ?? x, wanted ?? x)).toBeLessThan(1e-4);
  });
});

describe('the tensors of an object whose method is compiled', () => {
  class Model {
    weight = randn([32, 16]);
    forward = compile(forward, freezing);
  }
  function forward(this: { weight: Tensor }, x: Tensor): Tensor {
    return linear(x, this.weight.exp()).relu();
  }

  test('are those of the object of the call', () => {
    const method = compile(forward, freezing);
    const models = [new Model(), new Model()];
    const x = randn([8, 16]);
    for (const model of [...models, ...models])
      expect(difference(method.call(model, x), forward.call(model, x))).toBeLessThan(1e-3);
    expect(method.graphs()).toHaveLength(1);
    expect(frozenOf(method)).toHaveLength(1);
  });

  test('may be replaced', () => {
    const model = new Model();
    const x = randn([8, 16]);
    for (let step = 0; step < 3; step += 1) {
      expect(difference(model.forward(x), forward.call(model, x))).toBeLessThan(1e-3);
      model.weight = randn([32, 16]);
    }
  });
});

test('discarded weights give their memory back', async () => {
  manualSeed(5);
  const weight = randn([64, 16]);
  const x = randn([2, 16]);
  const wanted = linear(x, weight).relu();
  const layer = compile((given: Tensor) => linear(given, weight).relu(), {
    options: { freezing: true, freezingDiscardParameters: true },
    dynamic: true,
  });
  await layer.warmup(x);
  expect(weight.isDisposed).toBe(true);
  expect(difference(layer(x), wanted)).toBeLessThan(1e-4);
  expect(layer(randn([7, 16])).shape).toEqual([7, 64]);
  expect(() => weight.mul(2)).toThrow(expect.objectContaining({ code: 'TENSOR_DISPOSED' }));
});

test('weights of which gradients are wanted are not discarded', () => {
  const weight = randn([32, 16]).requiresGrad_();
  const layer = compile((x: Tensor) => linear(x, weight).sum(), {
    options: { freezing: true, freezingDiscardParameters: true },
  });
  layer(randn([8, 16])).backward();
  expect(weight.isDisposed).toBe(false);
  expect(weight.grad?.shape).toEqual([32, 16]);
});
