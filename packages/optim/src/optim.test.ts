// Optimisers against PyTorch's: the parameters after each of five steps, eager and within compiled functions.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { compile, reset, setConfig } from '@tsinductor/compiler';
import { arange, noGrad, tensor, valueAndGrad } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { Adagrad, Adam, AdamW, clipGradNorm_, clipGradValue_, Lion, RMSprop, SGD } from './index.ts';

const f32 = (...values: readonly number[]): Tensor => tensor([...values], { dtype: 'f32' });

interface Row {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly dtype: string;
  readonly steps: readonly (readonly (readonly number[])[])[];
}

const fixtures = JSON.parse(readFileSync(join(import.meta.dirname, 'test-support/steps.json'), 'utf8')) as {
  readonly start: readonly (readonly number[])[];
  readonly optimizers: readonly Row[];
};

setConfig({ 'cpp.threads': 1 });
afterAll(() => {
  reset();
});

const optimizers = { SGD, Adam, AdamW, RMSprop, Adagrad };

/** `weight_decay` as `weightDecay`. */
const camel = (options: Row['options']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

const startOf = (dtype: 'f32' | 'f64'): readonly Tensor[] =>
  fixtures.start.map((values) => tensor([...values], { dtype }).requiresGrad_());

const waveOf = (param: Tensor, step: number, index: number): Tensor =>
  arange(param.numel, { dtype: 'f64' })
    .mul(0.7)
    .add(step * 1.3)
    .add(index)
    .to(param.dtype)
    .sin();

/** As `gradients` in make-fixtures.py. */
function leaveGradients(step: number, params: readonly Tensor[]): void {
  noGrad(() => {
    params.forEach((param, index) => {
      param.grad = index === 1 && step === 2 ? null : waveOf(param, step, index).add(param.mul(0.1));
    });
  });
}

const worst = (found: readonly number[], expected: readonly number[]): number =>
  Math.max(...found.map((value, index) => Math.abs(value - (expected[index] ?? NaN)) / (1e-3 + Math.abs(value))));

describe('steps', () => {
  test.each(
    fixtures.optimizers.map((row) => [`${row.name} ${JSON.stringify(row.options)} ${row.dtype}`, row] as const),
  )('%s are those of PyTorch', (_, { name, dtype, options, steps }) => {
    const isDouble = dtype === 'float64';
    const params = startOf(isDouble ? 'f64' : 'f32');
    const Kind = optimizers[name as keyof typeof optimizers] as unknown as new (
      params: readonly Tensor[],
      options: object,
    ) => { step(): void };
    const optimizer = new Kind(params, camel(options));
    for (const [step, expected] of steps.entries()) {
      leaveGradients(step, params);
      optimizer.step();
      params.forEach((param, index) => {
        const found = param.toArray() as number[];
        expect(worst(found, expected[index] ?? [])).toBeLessThan(isDouble ? 1e-12 : 2e-5);
      });
    }
  });

  test('of Lion are of one size, in the direction of the mean', () => {
    const param = tensor([1, -2, 3], { dtype: 'f64' }).requiresGrad_();
    const optimizer = new Lion([param], { lr: 0.1, weightDecay: 0.5 });
    param.grad = tensor([4, -1e-9, 0], { dtype: 'f64' });
    optimizer.step();
    const first = [1 * 0.95 - 0.1, -2 * 0.95 + 0.1, 3 * 0.95];
    expect(worst(param.toArray() as number[], first)).toBeLessThan(1e-12);
    param.grad = tensor([-0.1, 0, 0], { dtype: 'f64' });
    optimizer.step();
    // 0.9 * 0.04 - 0.1 * 0.1 is above 0.
    expect((param.toArray() as number[])[0]).toBeCloseTo((first[0] ?? 0) * 0.95 - 0.1, 12);
  });
});

const lossOf = ({ w, b }: { w: Tensor; b: Tensor }, x: Tensor): Tensor => x.matmul(w).add(b).square().mean();

function weights(): { w: Tensor; b: Tensor } {
  return {
    w: arange(12).div(7).sin().reshape([4, 3]).clone(),
    b: arange(3).add(1).cos(),
  };
}

describe('a training step', () => {
  const batches = [0, 1, 2, 3, 4, 5].map((k) => arange(20).add(k).sin().reshape([5, 4]));

  test('is one compiled function, which serves every learning rate and every number of steps', () => {
    const [eager, compiled] = [weights(), weights()];
    const [first, second] = [new AdamW(eager, { lr: 0.05 }), new AdamW(compiled, { lr: 0.05 })];
    const step = compile(
      (x: Tensor) => {
        const [loss, gradients] = valueAndGrad(lossOf)(compiled, x);
        second.step(gradients);
        return loss;
      },
      { fullgraph: true },
    );
    for (const [k, x] of batches.entries()) {
      first.lr = 0.05 / (k + 1);
      second.lr = 0.05 / (k + 1);
      const [expected, gradients] = valueAndGrad(lossOf)(eager, x);
      first.step(gradients);
      expect(Number(step(x).item())).toBeCloseTo(Number(expected.item()), 5);
    }
    expect(Number(eager.w.sub(compiled.w).abs().max().item())).toBeLessThan(1e-5);
    expect(step.cacheInfo()).toMatchObject({ entries: 1, recompiles: 0 });
  });

  test('goes on from a saved state bit for bit', () => {
    const params = weights();
    const optimizer = new Adam(params, { lr: 0.1, amsgrad: true });
    const run = (given: { w: Tensor; b: Tensor }, by: Adam, xs: readonly Tensor[]): void => {
      for (const x of xs) by.step(valueAndGrad(lossOf)(given, x)[1]);
    };
    run(params, optimizer, batches.slice(0, 3));
    const { state, paramGroups } = optimizer.stateDict();
    const saved = {
      paramGroups,
      state: Object.fromEntries(
        Object.entries(state).map(([index, parts]) => [
          index,
          Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.clone()])),
        ]),
      ),
    };
    const copies = { w: params.w.clone(), b: params.b.clone() };
    run(params, optimizer, batches.slice(3));
    const again = new Adam(copies, { lr: 1, amsgrad: true });
    again.loadStateDict(saved);
    expect(again.lr).toBe(0.1);
    run(copies, again, batches.slice(3));
    expect(copies.w.toArray()).toEqual(params.w.toArray());
    expect(copies.b.toArray()).toEqual(params.b.toArray());
  });

  test('leaves parameters without a gradient as they are', () => {
    const params = weights();
    const optimizer = new SGD(Object.values(params), { lr: 1 });
    params.b.grad = f32(1, 1, 1);
    const before = params.w.toArray();
    optimizer.step();
    expect(params.w.toArray()).toEqual(before);
    optimizer.zeroGrad();
    expect(params.b.grad).toBeNull();
  });

  test('has options by groups', () => {
    const { w, b } = weights();
    const optimizer = new SGD([{ params: w, lr: 0.5 }, { params: { b } }], { lr: 0.25 });
    expect(optimizer.groups.map(({ lr }) => lr)).toEqual([0.5, 0.25]);
    [w.grad, b.grad] = [w.detach().clone(), b.detach().clone()];
    const [halfW, restB] = [w.mul(0.5).toArray(), b.mul(0.75).toArray()];
    optimizer.step();
    expect([w.toArray(), b.toArray()]).toEqual([halfW, restB]);
  });
});

describe('clipping', () => {
  const withGradients = (): readonly Tensor[] => {
    const params = [f32(0, 0), f32(0)];
    [params[0], params[1]].forEach((param, index) => {
      if (param !== undefined) param.grad = index === 0 ? f32(3, 4) : f32(12);
    });
    return params;
  };
  const gradients = (params: readonly Tensor[]): unknown => params.map(({ grad }) => grad?.toArray());

  test('by norm scales all of them alike, or none', () => {
    const params = withGradients();
    expect(Number(clipGradNorm_(params, 100).item())).toBeCloseTo(13, 5);
    expect(gradients(params)).toEqual([[3, 4], [12]]);
    clipGradNorm_(params, 6.5);
    expect((gradients(params) as number[][]).flat().map((value) => Math.round(value * 1e5) / 1e5)).toEqual([1.5, 2, 6]);
    expect(Number(clipGradNorm_(withGradients(), 1, { normType: Infinity }).item())).toBe(12);
    expect(Number(clipGradNorm_(withGradients(), 1, { normType: 1 }).item())).toBe(19);
  });

  test('by value takes each by itself', () => {
    const params = withGradients();
    clipGradValue_(params, 3.5);
    expect(gradients(params)).toEqual([[3, 3.5], [3.5]]);
  });

  test('of doubles is a double', () => {
    const param = tensor([1], { dtype: 'f64' }).requiresGrad_();
    param.grad = tensor([1 + 1e-12], { dtype: 'f64' });
    expect(clipGradNorm_([param], 2).item()).toBe(1 + 1e-12);
  });

  test('says where the norm is no number', () => {
    const [first, second] = withGradients();
    if (second !== undefined) second.grad = f32(NaN);
    expect(() => clipGradNorm_([first, second] as Tensor[], 1, { errorIfNonfinite: true })).toThrow(
      expect.objectContaining({ code: 'OPTIM_NORM' }),
    );
  });
});

describe('refused', () => {
  const x = f32(1, 2);
  test.each<[string, () => unknown]>([
    ['OPTIM_NO_PARAMETERS', () => new SGD([])],
    ['OPTIM_PARAMETER', () => new SGD([x, x])],
    ['OPTIM_PARAMETER', () => new SGD([tensor([1, 2], { dtype: 'i32' })])],
    ['OPTIM_PARAMETER', () => new SGD([x.clone().requiresGrad_().mul(2)])],
    ['OPTIM_PARAMETER', () => new SGD([x, undefined as never])],
    ['OPTIM_PARAMETER', () => new SGD([{ params: [x, 3 as never] }])],
    ['OPTIM_PARAMETER', () => clipGradNorm_([x, null as never], 1)],
    ['OPTIM_OPTION', () => new SGD([x], { lr: -1 })],
    ['OPTIM_OPTION', () => new Adam([x], { betas: [0.9, 1] })],
    ['OPTIM_OPTION_UNKNOWN', () => new SGD([x], { learningRate: 1 } as object)],
    ['OPTIM_GRADIENTS', () => new SGD([x]).step([])],
    ['OPTIM_GRADIENTS', () => new SGD([x]).step([f32(1)])],
    ['OPTIM_GRADIENTS', () => new SGD([x]).step([null as never])],
    ['OPTIM_STATE', () => new SGD([x]).loadStateDict(new SGD([{ params: [x] }, { params: [x.clone()] }]).stateDict())],
    ['OPTIM_STATE', () => new SGD([x], { momentum: 1 }).loadStateDict(new SGD([x]).stateDict())],
    ...[
      null,
      {},
      { state: {} },
      { state: null, paramGroups: [{ lr: 1, params: [0] }] },
      { state: {}, paramGroups: [null] },
    ].map((state): [string, () => unknown] => ['OPTIM_STATE', () => new SGD([x]).loadStateDict(state as never)]),
    [
      'OPTIM_STATE',
      () => new SGD([x]).loadStateDict({ state: { 0: null }, paramGroups: [{ lr: 1, params: [0] }] } as never),
    ],
    [
      'OPTIM_STATE',
      () => new SGD([x]).loadStateDict({ ...new SGD([x]).stateDict(), paramGroups: [{ lr: 1, params: [0, 1] }] }),
    ],
    [
      'OPTIM_STATE',
      () => new SGD([x]).loadStateDict({ ...new SGD([x]).stateDict(), paramGroups: [{ lr: NaN, params: [0] }] }),
    ],
    ['OPTIM_OPTION', () => clipGradNorm_([x], -1)],
  ])('%s', (code, attempt) => {
    expect(attempt).toThrow(expect.objectContaining({ code }));
  });
});
