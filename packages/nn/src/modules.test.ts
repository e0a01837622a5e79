// Modules as objects: what their fields are found to be, state, training and evaluation, first values, wrong options.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { loadSafetensors, manualSeed, ones, randn, saveSafetensors, tensor, zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import * as nn from './index.ts';
import { init } from './index.ts';

class Block extends nn.Module {
  readonly norm = new nn.BatchNorm1d(4);
  readonly scaleOf = nn.parameter(ones([4]));
  readonly offset = zeros([4]);
  readonly branches = [new nn.Linear(4, 4), { deep: new nn.Linear(4, 2, { bias: false }) }] as const;
  readonly name = 'block';

  forward(x: Tensor): Tensor {
    return this.branches[1].deep.forward(this.norm.forward(this.branches[0].forward(x)).mul(this.scaleOf));
  }
}

const numbersOf = (x: Tensor): number[] => x.flatten().toArray() as number[];

describe('members', () => {
  test('are found in fields, lists and records, in order, by PyTorch’s names', () => {
    const block = new Block();
    expect(block.namedParameters().map(([name]) => name)).toEqual([
      'scale_of',
      'norm.weight',
      'norm.bias',
      'branches.0.weight',
      'branches.0.bias',
      'branches.1.deep.weight',
    ]);
    expect(block.namedBuffers().map(([name]) => name)).toEqual([
      'offset',
      'norm.running_mean',
      'norm.running_var',
      'norm.num_batches_tracked',
    ]);
    expect(block.namedModules().map(([name]) => name)).toEqual(['', 'norm', 'branches.0', 'branches.1.deep']);
  });

  test('that are one tensor count once', () => {
    const [first, second] = [new nn.Linear(3, 3), new nn.Linear(3, 3)];
    const tied = new nn.Sequential(first, Object.assign(second, { weight: first.weight }));
    expect(tied.namedParameters().map(([name]) => name)).toEqual(['0.weight', '0.bias', '1.bias']);
  });

  test('of containers go by their own names', () => {
    const list = new nn.ModuleList<nn.Module>([new nn.Linear(2, 2)]).push(new nn.ReLU(), new nn.PReLU());
    expect(Object.keys(list.stateDict())).toEqual(['0.weight', '0.bias', '2.weight']);
    expect([...list]).toHaveLength(list.length);
    const record = new nn.ModuleDict({ a: new nn.Linear(2, 2, { bias: false }), bigB: new nn.PReLU() });
    expect(Object.keys(record.stateDict())).toEqual(['a.weight', 'bigB.weight']);
    expect(record.get('a')).toBeInstanceOf(nn.Linear);
    expect(record.get('toString')).toBeUndefined();
  });

  test('that are frozen remain parameters', () => {
    const layer = new nn.Linear(2, 2).requiresGrad_(false);
    expect(layer.parameters().map(({ requiresGrad }) => requiresGrad)).toEqual([false, false]);
  });
});

describe('training and evaluation', () => {
  test('reach every module below', () => {
    const block = new Block().eval();
    expect(block.modules().map(({ training }) => training)).toEqual([false, false, false, false]);
    expect(block.train().norm.training).toBe(true);
  });

  test('dropout drops in training only', () => {
    const layer = new nn.Dropout(0.4);
    const x = ones([2000]);
    const dropped = numbersOf(layer.forward(x));
    expect(new Set(dropped).size).toBe(2);
    expect(dropped.filter((value) => value === 0).length / 2000).toBeCloseTo(0.4, 1);
    expect(numbersOf(layer.eval().forward(x))).toEqual(numbersOf(x));
  });

  test('evaluation uses running statistics, and leaves them', () => {
    const layer = new nn.BatchNorm1d(2);
    layer.forward(tensor([1, 10, 3, 30], { dtype: 'f32' }).view(2, 2));
    const before = numbersOf(layer.eval().runningMean ?? zeros([1]));
    expect(before.map((value) => Number(value.toFixed(5)))).toEqual([0.2, 2]);
    layer.forward(randn([5, 2]));
    expect(numbersOf(layer.runningMean ?? zeros([1]))).toEqual(before);
    layer.resetRunningStats();
    expect(numbersOf(layer.runningVar ?? zeros([1]))).toEqual([1, 1]);
  });

  test('gradients are forgotten', () => {
    const layer = new nn.Linear(2, 1);
    layer
      .forward(ones([1, 2]))
      .sum()
      .backward();
    expect(layer.weight.grad).not.toBeNull();
    layer.zeroGrad();
    expect(layer.weight.grad).toBeNull();
  });
});

describe('state', () => {
  test('goes through a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tsinductor-nn-'));
    try {
      const [saved, loaded] = [new Block(), new Block()];
      saved.forward(randn([8, 4]));
      await saveSafetensors(join(folder, 'block.safetensors'), saved.stateDict());
      const { tensors } = await loadSafetensors(join(folder, 'block.safetensors'));
      expect(loaded.loadStateDict(tensors)).toEqual({ missingKeys: [], unexpectedKeys: [] });
      const x = randn([3, 4]);
      expect(numbersOf(loaded.eval().forward(x))).toEqual(numbersOf(saved.eval().forward(x)));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('of another module is refused, and nothing is changed', () => {
    const layer = new nn.Linear(2, 3);
    const before = numbersOf(layer.weight);
    const wrong = { weight: ones([3, 2]), bias: ones([4]), more: ones([1]) };
    expect(() => layer.loadStateDict(wrong)).toThrow(expect.objectContaining({ code: 'NN_STATE' }));
    expect(() => layer.loadStateDict(wrong)).toThrow(/more besides; bias has shape \[4\] in it, and \[3\] here/);
    expect(() => layer.loadStateDict({ weight: ones([3, 2]) })).toThrow(/lacks bias/);
    expect(() => layer.loadStateDict(null as never)).toThrow(/no record of tensors/);
    expect(numbersOf(layer.weight)).toEqual(before);
    const report = layer.loadStateDict({ weight: ones([3, 2]), more: ones([1]) }, { strict: false });
    expect(report).toEqual({ missingKeys: ['bias'], unexpectedKeys: ['more'] });
    expect(numbersOf(layer.weight)).toEqual([1, 1, 1, 1, 1, 1]);
  });
});

describe('first values', () => {
  test('follow from the seed', () => {
    const made = [1, 1, 2].map((seed) => {
      manualSeed(seed);
      return numbersOf(new nn.Linear(3, 3).weight);
    });
    expect(made[0]).toEqual(made[1]);
    expect(made[0]).not.toEqual(made[2]);
  });

  const spread = (x: Tensor): { mean: number; std: number; most: number } => ({
    mean: x.mean().item() as number,
    std: x.std().item() as number,
    most: x.abs().amax().item() as number,
  });

  test.each([
    ['kaiming, uniform', (x: Tensor) => init.kaimingUniform_(x, { nonlinearity: 'relu' }), Math.sqrt(2 / 400)],
    ['kaiming, normal, by outputs', (x: Tensor) => init.kaimingNormal_(x, { mode: 'fanOut' }), Math.sqrt(2 / 300)],
    ['xavier, uniform', (x: Tensor) => init.xavierUniform_(x, 2), 2 * Math.sqrt(2 / 700)],
    ['xavier, normal', (x: Tensor) => init.xavierNormal_(x), Math.sqrt(2 / 700)],
    ['truncated', (x: Tensor) => init.truncNormal_(x, { std: 0.5, low: -4, high: 4 }), 0.5],
    ['sparse', (x: Tensor) => init.sparse_(x, 0.75, 1), 0.5],
  ])('%s', (_, fill, std) => {
    manualSeed(7);
    const found = spread(fill(zeros([300, 400])));
    expect(Math.abs(found.mean)).toBeLessThan(0.01);
    expect(found.std / std).toBeCloseTo(1, 1);
  });

  test('what is truncated stays within its bounds', () => {
    const x = init.truncNormal_(zeros([5000]), { low: -0.5, high: 1 });
    expect(x.amin().item()).toBeGreaterThanOrEqual(-0.5);
    expect(x.amax().item()).toBeLessThanOrEqual(1);
  });

  test.each([
    [3, 5],
    [5, 3],
    [4, 4],
  ])('orthogonal, %i by %i', (rows, columns) => {
    const x = init.orthogonal_(zeros([rows, columns]), 2);
    const square = rows < columns ? x.matmul(x.t()) : x.t().matmul(x);
    const wanted = init.eye_(zeros([Math.min(rows, columns), Math.min(rows, columns)])).mul(4);
    expect(square.sub(wanted).abs().amax().item()).toBeLessThan(1e-5);
  });

  test('dirac copies channels', () => {
    const weight = init.dirac_(zeros([4, 2, 3]), 2);
    const x = randn([1, 4, 6]);
    const layer = new nn.Conv1d(4, 4, { kernelSize: 3, padding: 1, groups: 2, bias: false });
    layer.loadStateDict({ weight });
    expect(numbersOf(layer.forward(x).detach())).toEqual(numbersOf(x));
  });
});

describe('a module as a function of its parameters', () => {
  test('leaves the module as it is', () => {
    const block = new Block().eval();
    const x = randn([2, 4]);
    const before = numbersOf(block.forward(x));
    const doubled = nn.functionalCall(block, { 'branches.1.deep.weight': block.branches[1].deep.weight.mul(2) }, x);
    expect(doubled.sub(block.forward(x).mul(2)).abs().amax().item()).toBeLessThan(1e-6);
    expect(numbersOf(block.forward(x))).toEqual(before);
  });

  test('of a name that it does not have is an error', () => {
    const call = (): Tensor => nn.functionalCall(new nn.Linear(2, 2), { wieght: ones([2, 2]) }, ones([1, 2]));
    expect(call).toThrow(expect.objectContaining({ code: 'NN_MEMBER' }));
  });
});

describe('masks of attention', () => {
  const x = randn([2, 5, 8]);
  const isPadding = tensor([0, 0, 0, 0, 1, 0, 0, 0, 0, 0]).view(2, 5).to('bool');
  const later = ones([5, 5]).triu(1).to('bool');

  test.each([{}, { addZeroAttn: true }, { addBiasKv: true }])('causal and padded are both, with %o', (options) => {
    const layer = new nn.MultiheadAttention(8, 2, { batchFirst: true, ...options });
    const wanted = layer.forward(x, x, x, { attnMask: later, keyPaddingMask: isPadding });
    const made = layer.forward(x, x, x, { isCausal: true, keyPaddingMask: isPadding });
    const alone = layer.forward(x, x, x, { isCausal: true, keyPaddingMask: isPadding, needWeights: false });
    expect(made[0].sub(wanted[0]).abs().amax().item()).toBeLessThan(1e-6);
    expect(alone[0].sub(wanted[0]).abs().amax().item()).toBeLessThan(1e-6);
    expect(made[1]?.narrow(-1, 0, 5).mul(later.to('f32')).abs().amax().item()).toBe(0);
  });

  test('causal alone hides later keys, weights or not', () => {
    const layer = new nn.MultiheadAttention(8, 2);
    const rows = x.transpose(0, 1);
    const wanted = layer.forward(rows, rows, rows, { attnMask: later });
    for (const needWeights of [true, false]) {
      const [made] = layer.forward(rows, rows, rows, { isCausal: true, needWeights });
      expect(made.sub(wanted[0]).abs().amax().item()).toBeLessThan(1e-6);
    }
  });

  test('a layer of a transformer hands both on', () => {
    const layer = new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 8, dropout: 0, batchFirst: true });
    const wanted = layer.forward(x, { srcMask: later, srcKeyPaddingMask: isPadding });
    const made = layer.forward(x, { isCausal: true, srcKeyPaddingMask: isPadding });
    expect(made.sub(wanted).abs().amax().item()).toBeLessThan(1e-6);
  });
});

describe('wrong options', () => {
  const wrong: readonly (readonly [string, () => unknown, string])[] = [
    ['no outputs', () => new nn.Linear(3, 0), 'NN_OPTION'],
    ['a part of an input', () => new nn.Linear(2.5, 1), 'NN_OPTION'],
    ['an option that there is not', () => new nn.Linear(2, 2, { bais: false } as never), 'NN_OPTION_UNKNOWN'],
    ['groups that do not divide', () => new nn.Conv2d(3, 4, { kernelSize: 3, groups: 2 }), 'NN_OPTION'],
    ['a window of two dims of three', () => new nn.Conv3d(1, 1, [3, 3]), 'NN_OPTION'],
    [
      'a stride and the same size',
      () => new nn.Conv1d(1, 1, { kernelSize: 3, stride: 2, padding: 'same' }),
      'NN_OPTION',
    ],
    ['a probability above 1', () => new nn.Dropout(1.5), 'NN_OPTION'],
    ['a row beyond the table', () => new nn.Embedding(3, 2, { paddingIdx: 3 }), 'NN_OPTION'],
    ['heads that do not divide', () => new nn.MultiheadAttention(10, 3), 'NN_OPTION'],
    ['a reduction that there is not', () => new nn.MSELoss({ reduction: 'avg' as never }), 'NN_OPTION'],
    ['a projection as wide as the state', () => new nn.LSTM(2, 4, { projSize: 4 }), 'NN_OPTION'],
    ['what is no module', () => new nn.Sequential(((x: Tensor) => x) as never), 'NN_NOT_A_MODULE'],
    ['a parameter of whole numbers', () => nn.parameter(tensor([1], { dtype: 'i64' })), 'NN_INPUT'],
    ['an image of three dims', () => new nn.BatchNorm2d(3).forward(ones([2, 3, 4])), 'NN_INPUT'],
    ['a sequence of one dim', () => new nn.GRU(2, 2).forward(ones([2])), 'NN_INPUT'],
    ['a first state of another batch', () => new nn.GRU(2, 3).forward(ones([4, 5, 2]), ones([1, 4, 3])), 'NN_INPUT'],
    ['a loss with an option that it has not', () => new nn.MSELoss({ beta: 1 } as never), 'NN_OPTION_UNKNOWN'],
    ['an identity of three dims', () => init.eye_(ones([2, 2, 2])), 'NN_INPUT'],
  ];

  test.each(wrong)('%s', (_, make, code) => {
    expect(make).toThrow(expect.objectContaining({ code }));
  });
});
