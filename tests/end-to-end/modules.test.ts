// Modules in compiled functions: one graph each, the same numbers as in eager mode, training, and transforms over their parameters.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile, grad, manualSeed, noGrad, ones, randint, randn, valueAndGrad, vmap } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import * as nn from 'tsinductor/nn';
import { AdamW, SGD } from 'tsinductor/optim';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const difference = (a: Tensor, b: Tensor): number => a.sub(b).abs().amax().item() as number;

class Digits extends nn.Module {
  readonly features = new nn.Sequential(
    new nn.Conv2d(1, 4, { kernelSize: 3, padding: 1 }),
    new nn.BatchNorm2d(4),
    new nn.ReLU(),
    new nn.MaxPool2d(2),
    new nn.Flatten(),
  );
  readonly head = new nn.Linear(4 * 16, 10);

  forward(x: Tensor): Tensor {
    return this.head.forward(this.features.forward(x));
  }
}

class Encoder extends nn.Module {
  readonly embedding = new nn.Embedding(20, 16);
  readonly layer = new nn.TransformerEncoderLayer(16, 2, { dimFeedforward: 32, dropout: 0, batchFirst: true });
  readonly head = new nn.Linear(16, 20);

  forward(tokens: Tensor): Tensor {
    return this.head.forward(this.layer.forward(this.embedding.forward(tokens), { isCausal: true }));
  }
}

class Tagger extends nn.Module {
  readonly lstm = new nn.LSTM(6, 8, { batchFirst: true, bidirectional: true });
  readonly head = new nn.Linear(16, 3);

  forward(x: Tensor): Tensor {
    const [output] = this.lstm.forward(x);
    return this.head.forward(output.mean(1));
  }
}

const made = <Model>(make: () => Model): Model => {
  manualSeed(11);
  return make();
};

interface Trained {
  readonly make: () => nn.Module & { forward(x: Tensor): Tensor };
  readonly input: () => Tensor;
  readonly loss: (made: Tensor, input: Tensor) => Tensor;
}

const next = (scores: Tensor, tokens: Tensor): Tensor =>
  scores
    .narrow(1, 0, 11)
    .flatten(0, 1)
    .crossEntropy(tokens.narrow(1, 1, 11).flatten());

const models: readonly (readonly [string, Trained])[] = [
  [
    'a network of convolutions',
    { make: () => new Digits(), input: () => randn([6, 1, 8, 8]), loss: (y) => y.square().mean() },
  ],
  ['a transformer', { make: () => new Encoder(), input: () => randint(0, 20, [3, 12]), loss: next }],
  [
    'a recurrent network',
    { make: () => new Tagger(), input: () => randn([4, 5, 6]), loss: (y) => y.sub(1).square().mean() },
  ],
];

describe.each(models)('%s', (_, { make, input, loss }) => {
  test('is one graph', () => {
    const model = made(make).eval();
    const x = input();
    const compiled = compile((given: Tensor) => noGrad(() => model.forward(given)), { fullgraph: true });
    expect(
      difference(
        compiled(x),
        noGrad(() => model.forward(x)),
      ),
    ).toBeLessThan(1e-5);
  });

  test('learns as in eager mode, in a step that is one graph', () => {
    manualSeed(5);
    const batches = Array.from({ length: 6 }, input);
    const losses = [false, true].map((isCompiled) => {
      const model = made(make);
      const parameters = Object.fromEntries(model.namedParameters());
      const optimizer = new AdamW(model.parameters(), { lr: 1e-2 });
      const lossOf = (weights: nn.StateDict, x: Tensor): Tensor => loss(nn.functionalCall(model, weights, x), x);
      const step = (x: Tensor): Tensor => {
        const [value, gradients] = valueAndGrad(lossOf)(parameters, x);
        optimizer.step(Object.values(gradients));
        return value;
      };
      const run = isCompiled ? compile(step) : step;
      return batches.map((x) => run(x).item() as number);
    });
    const [eager, compiled] = [at(losses, 0), at(losses, 1)];
    eager.forEach((value, position) => {
      expect(Math.abs(value - at(compiled, position))).toBeLessThan(1e-4 * Math.max(1, Math.abs(value)));
    });
    expect(at(eager, 5)).not.toBe(at(eager, 0));
  });
});

describe('the ways of PyTorch', () => {
  test('backward, step, zeroGrad', () => {
    const model = made(() => new nn.Sequential(new nn.Linear(2, 8), new nn.Tanh(), new nn.Linear(8, 1)));
    const optimizer = new SGD(model.parameters(), { lr: 0.5 });
    const x = randn([64, 2]);
    const y = x.select(1, 0).mul(x.select(1, 1)).unsqueeze(1);
    const losses = Array.from({ length: 60 }, () => {
      const loss = new nn.MSELoss().forward(model.forward(x), y);
      loss.backward();
      optimizer.step();
      model.zeroGrad();
      return loss.item() as number;
    });
    expect(at(losses, 59)).toBeLessThan(at(losses, 0) / 2);
  });

  test('frozen layers stay as they are', () => {
    const model = made(() => new nn.Sequential(new nn.Linear(3, 3).requiresGrad_(false), new nn.Linear(3, 1)));
    const before = at(model.parameters(), 0).clone();
    const optimizer = new SGD(
      model.parameters().filter(({ requiresGrad }) => requiresGrad),
      { lr: 1 },
    );
    model
      .forward(ones([2, 3]))
      .sum()
      .backward();
    optimizer.step();
    expect(difference(at(model.parameters(), 0), before)).toBe(0);
    expect(at(model.parameters(), 0).grad).toBeNull();
  });

  test('gradients of each sample, by vmap of grad', () => {
    const model = made(() => new nn.Linear(3, 1));
    const parameters = Object.fromEntries(model.namedParameters());
    const lossOf = (weights: nn.StateDict, x: Tensor): Tensor =>
      nn.functionalCall(model, weights, x.unsqueeze(0)).square().sum();
    const x = randn([4, 3]);
    const perSample = vmap(grad(lossOf), { inAxes: [null, 0] })(parameters, x);
    const first = grad(lossOf)(parameters, x.select(0, 2));
    expect(difference(perSample['weight']?.select(0, 2) ?? x, first['weight'] ?? x)).toBeLessThan(1e-5);
  });

  test('training and evaluation are two forms of a compiled function', () => {
    const model = made(() => new nn.Sequential(new nn.Linear(4, 4), new nn.Dropout(0.5)));
    const run = compile((x: Tensor) => model.forward(x));
    const x = ones([64, 4]);
    const dropped = (y: Tensor): number => y.eq(0).sum().item() as number;
    expect(dropped(run(x))).toBeGreaterThan(0);
    model.eval();
    expect(dropped(run(x))).toBe(0);
    model.train();
    expect(dropped(run(x))).toBeGreaterThan(0);
  });
});
