// Programs as PyTorch's tutorials teach them, in our own words: each is what a newcomer types first, and each must learn.
import { beforeEach, describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import {
  compile,
  customVjp,
  grad,
  linspace,
  manualSeed,
  noGrad,
  rand,
  randn,
  tensor,
  valueAndGrad,
  vmap,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';
import * as nn from 'tsinductor/nn';
import { Adam, AdamW, RMSprop } from 'tsinductor/optim';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

beforeEach(() => {
  manualSeed(2);
});

const numbersOf = (x: Tensor): number[] => x.detach().flatten().toArray() as number[];
const numberOf = (x: Tensor): number => x.item() as number;
const difference = (a: Tensor, b: Tensor): number => noGrad(() => numberOf(a.sub(b).abs().amax()));
const weightsOf = (model: nn.Module): nn.StateDict => Object.fromEntries(model.namedParameters());

/** A seeded generator of numbers from 0 to 1, for data that is the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One turn of the sine, and the least mean square error of a cubic: 1/2 - 3/π² - 7 (1/π - 15/π³)². */
const x = linspace(-Math.PI, Math.PI, 500);
const y = x.sin();
const least = 0.5 - 3 / Math.PI ** 2 - 7 * (1 / Math.PI - 15 / Math.PI ** 3) ** 2;

describe('a cubic is fitted to the sine', () => {
  test('by backward(), and steps by hand', () => {
    const [a, b, c, d] = [randn([]), randn([]), randn([]), randn([])].map((factor) => factor.requiresGrad_()) as [
      Tensor,
      Tensor,
      Tensor,
      Tensor,
    ];
    const errorOf = (): Tensor =>
      a
        .add(b.mul(x))
        .add(c.mul(x.square()))
        .add(d.mul(x.pow(3)))
        .sub(y)
        .square()
        .mean();
    const before = numberOf(errorOf());
    for (let step = 0; step < 1000; step += 1) {
      errorOf().backward();
      noGrad(() => {
        for (const factor of [a, b, c, d]) {
          if (factor.grad !== null) factor.sub_(factor.grad.mul(4e-3));
          factor.grad = null;
        }
      });
    }
    const after = numberOf(errorOf());
    expect(before).toBeGreaterThan(1);
    expect(after).toBeGreaterThanOrEqual(least);
    expect(after).toBeLessThan(0.02);
  });

  test('by a layer and an optimiser, to the least error that there is', () => {
    const model = new nn.Sequential(new nn.Linear(3, 1), new nn.Flatten(0));
    const powers = x.unsqueeze(1).pow(tensor([1, 2, 3]));
    const lossOf = new nn.MSELoss();
    const optimizer = new RMSprop(model.parameters(), { lr: 1e-3 });
    let loss = lossOf.forward(model.forward(powers), y);
    for (let step = 0; step < 1500; step += 1) {
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      loss = lossOf.forward(model.forward(powers), y);
    }
    expect(numberOf(loss)).toBeGreaterThan(least * 0.98);
    expect(numberOf(loss)).toBeLessThan(least * 1.1);
  });
});

describe('a function with a gradient of its own', () => {
  /** (5 x³ - 3 x) / 2, whose gradient is written out. */
  const legendre = customVjp((t: Tensor) => t.pow(3).mul(5).sub(t.mul(3)).mul(0.5), {
    forward: (t) => [t.pow(3).mul(5).sub(t.mul(3)).mul(0.5), t],
    backward: (t, g) => [g.mul(t.square().mul(5).sub(1).mul(1.5))],
  });

  test('has the gradient that differences show', () => {
    const points = tensor([-1.25, 0.5, 2], { dtype: 'f64' });
    const step = 1e-6;
    const slopes = legendre(points.add(step))
      .sub(legendre(points.sub(step)))
      .div(2 * step);
    expect(difference(grad((t: Tensor) => legendre(t).sum())(points), slopes)).toBeLessThan(1e-7);
  });

  test('is trained through', () => {
    const given = { a: 0, b: -1, c: 0, d: 0.3 };
    const [a, b, c, d] = Object.values(given).map((value) => tensor(value, { dtype: 'f32' }).requiresGrad_()) as [
      Tensor,
      Tensor,
      Tensor,
      Tensor,
    ];
    const errorOf = (): Tensor =>
      a
        .add(b.mul(legendre(c.add(d.mul(x)))))
        .sub(y)
        .square()
        .mean();
    const before = numberOf(errorOf());
    for (let step = 0; step < 600; step += 1) {
      errorOf().backward();
      noGrad(() => {
        for (const factor of [a, b, c, d]) {
          if (factor.grad !== null) factor.sub_(factor.grad.mul(0.02));
          factor.grad = null;
        }
      });
    }
    expect(before).toBeGreaterThan(10 * least);
    expect(numberOf(errorOf())).toBeLessThan(1.5 * least);
  });
});

describe('a recurrent network tells names of three languages apart', () => {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz';
  const languages = [
    { starts: ['ta', 'ki', 'mo', 'ha', 'yu'], ends: ['ko', 'shi', 'ro', 'mi', 'da'] },
    { starts: ['sch', 'kr', 'br', 'fr', 'gr'], ends: ['mann', 'bach', 'berg', 'stein', 'ner'] },
    { starts: ['mac', 'don', 'ros', 'bel', 'lor'], ends: ['elli', 'etti', 'ini', 'ucci', 'ano'] },
  ] as const;
  const longest = 10;

  /** Names of syllables of a language with a letter of any kind between, so that no list of them is learnt by heart. */
  function named(count: number, random: () => number): { letters: Tensor; language: Tensor } {
    const pick = (from: ArrayLike<string>): string => from[Math.floor(random() * from.length)] ?? '';
    const rows = Array.from({ length: count }, (_, row) => {
      const { starts, ends } = at(languages, row % 3);
      return `${pick(starts)}${pick(alphabet)}${pick(ends)}`.slice(0, longest).padStart(longest);
    });
    const values = new Float32Array(count * longest * 27);
    rows.forEach((name, row) => {
      Array.from(name).forEach((letter, place) => {
        values[(row * longest + place) * 27 + alphabet.indexOf(letter) + 1] = 1;
      });
    });
    const language = tensor(BigInt64Array.from(rows, (_, row) => BigInt(row % 3)));
    return { letters: tensor(values, { shape: [count, longest, 27] }), language };
  }

  class NameClassifier extends nn.Module {
    readonly rnn = new nn.RNN(27, 32, { batchFirst: true });
    readonly output = new nn.Linear(32, 3);

    forward(letters: Tensor): Tensor {
      const [states] = this.rnn.forward(letters);
      return this.output.forward(states.select(1, longest - 1));
    }
  }

  test('that are drawn anew', () => {
    const random = seeded(5);
    const [seen, unseen] = [named(300, random), named(150, random)];
    const model = new NameClassifier();
    const lossOf = new nn.CrossEntropyLoss();
    const optimizer = new Adam(model.parameters(), { lr: 0.01 });
    const weights = weightsOf(model);
    const step = compile(
      (letters: Tensor, language: Tensor) => {
        const [loss, gradients] = valueAndGrad((given: nn.StateDict) =>
          lossOf.forward(nn.functionalCall(model, given, letters), language),
        )(weights);
        optimizer.step(Object.values(gradients));
        return loss;
      },
      { fullgraph: true },
    );
    const shareRight = (): number =>
      noGrad(() => numberOf(model.forward(unseen.letters).argmax(1).eq(unseen.language).to('f32').mean()));
    const before = shareRight();
    for (let epoch = 0; epoch < 60; epoch += 1) noGrad(() => step(seen.letters, seen.language));
    expect(before).toBeLessThan(0.6);
    expect(shareRight()).toBeGreaterThan(0.95);
    expect(step.cacheInfo()).toMatchObject({ entries: 1, recompiles: 0 });
  });
});

describe('what was learnt is used for another task', () => {
  /** Points in a square, by which of four rings around its middle they lie in, and by whether that is one of the inner two. */
  function points(count: number): { at: Tensor; ring: Tensor; isInner: Tensor } {
    const at = rand([count, 2]).mul(2).sub(1);
    const ring = at.square().sum(1).sqrt().mul(4).floor().clamp(0, 3).to('i64');
    return { at, ring, isInner: ring.lt(2).to('i64') };
  }

  const features = (): nn.Sequential =>
    new nn.Sequential(new nn.Linear(2, 32), new nn.Tanh(), new nn.Linear(32, 16), new nn.Tanh());

  function fit(model: nn.Sequential, inputs: Tensor, labels: Tensor): void {
    const trained = model.parameters().filter(({ requiresGrad }) => requiresGrad);
    const optimizer = new AdamW(trained, { lr: 0.02 });
    for (let step = 0; step < 200; step += 1) {
      optimizer.zeroGrad();
      new nn.CrossEntropyLoss().forward(model.forward(inputs), labels).backward();
      optimizer.step();
    }
  }

  const shareRight = (model: nn.Sequential, inputs: Tensor, labels: Tensor): number =>
    noGrad(() => numberOf(model.forward(inputs).argmax(1).eq(labels).to('f32').mean()));

  test('with its layers frozen, which stay the same bit for bit', () => {
    const [seen, few, unseen] = [points(400), points(40), points(400)];
    const learnt = features();
    fit(new nn.Sequential(learnt, new nn.Linear(16, 4)), seen.at, seen.ring);
    learnt.requiresGrad_(false).zeroGrad();
    const before = learnt.parameters().map(numbersOf);
    const head = new nn.Linear(16, 2);
    const headBefore = numbersOf(head.weight);
    const model = new nn.Sequential(learnt, head);
    fit(model, few.at, few.isInner);
    expect(learnt.parameters().map(numbersOf)).toEqual(before);
    expect(learnt.parameters().every(({ grad: left }) => left === null)).toBe(true);
    expect(numbersOf(head.weight)).not.toEqual(headBefore);
    const right = shareRight(model, unseen.at, unseen.isInner);
    // Forty points on features that were drawn and never trained.
    const drawn = new nn.Sequential(features().requiresGrad_(false), new nn.Linear(16, 2));
    fit(drawn, few.at, few.isInner);
    expect(right).toBeGreaterThan(0.9);
    expect(right).toBeGreaterThan(shareRight(drawn, unseen.at, unseen.isInner));
  });
});

describe('weights are learnt from which one step suffices', () => {
  const model = (): nn.Sequential => new nn.Sequential(new nn.Linear(1, 40), new nn.Tanh(), new nn.Linear(40, 1));

  interface Task {
    readonly seen: readonly [Tensor, Tensor];
    readonly unseen: readonly [Tensor, Tensor];
  }

  /** A sine of another height for each task, at ten points to learn from and ten others. */
  function tasks(count: number): Task {
    const height = rand([count, 1, 1]).mul(4).sub(2);
    const drawn = (): readonly [Tensor, Tensor] => {
      const given = rand([count, 10, 1]).mul(4).sub(2);
      return [given, given.mul(2).sin().mul(height)];
    };
    return { seen: drawn(), unseen: drawn() };
  }

  const net = model();
  const errorOf = (weights: nn.StateDict, given: Tensor, wanted: Tensor): Tensor =>
    nn.functionalCall(net, weights, given).sub(wanted).square().mean();
  /** The weights after one step on a task: what the outer gradient goes through, so it is one of a gradient. */
  const adapted = (weights: nn.StateDict, given: Tensor, wanted: Tensor): nn.StateDict => {
    const slopes = grad(errorOf)(weights, given, wanted);
    return Object.fromEntries(
      Object.entries(weights).map(([name, weight]) => [name, weight.sub((slopes[name] ?? weight).mul(0.1))]),
    );
  };
  const errorAfter = (weights: nn.StateDict, ...[x1, y1, x2, y2]: readonly [Tensor, Tensor, Tensor, Tensor]): Tensor =>
    errorOf(adapted(weights, x1, y1), x2, y2);
  const meanError = (weights: nn.StateDict, { seen, unseen }: Task): Tensor =>
    vmap(errorAfter, { inAxes: [null, 0, 0, 0, 0] })(weights, ...seen, ...unseen).mean();

  test('whose gradient is that of the error behind the step', () => {
    const weights = Object.fromEntries(
      Object.entries(weightsOf(net)).map(([name, weight]) => [name, weight.detach().to('f64')]),
    );
    const { seen, unseen } = tasks(1);
    const given = [...seen, ...unseen].map((part) => part.select(0, 0).to('f64')) as [Tensor, Tensor, Tensor, Tensor];
    const direction = Object.fromEntries(
      Object.entries(weights).map(([name, weight]) => [name, randn(weight.shape, { dtype: 'f64' })]),
    );
    const moved = (by: number): nn.StateDict =>
      Object.fromEntries(
        Object.entries(weights).map(([name, weight]) => [name, weight.add((direction[name] ?? weight).mul(by))]),
      );
    const gradients = grad(errorAfter)(weights, ...given);
    const slope = Object.entries(gradients).reduce(
      (sum, [name, gradient]) => sum + numberOf(gradient.mul(direction[name] ?? gradient).sum()),
      0,
    );
    const step = 1e-5;
    const expected =
      (numberOf(errorAfter(moved(step), ...given)) - numberOf(errorAfter(moved(-step), ...given))) / (2 * step);
    expect(Math.abs(slope - expected)).toBeLessThan(1e-5 * Math.abs(expected));
  });

  test('by the gradient of what one step of gradients leads to', () => {
    const weights = weightsOf(net);
    const unseenTasks = tasks(50);
    const errors = (): readonly [number, number] =>
      noGrad(() => {
        const still = vmap(errorOf, { inAxes: [null, 0, 0] })(weights, ...unseenTasks.unseen).mean();
        return [numberOf(still), numberOf(meanError(weights, unseenTasks))];
      });
    const [, before] = errors();
    const optimizer = new Adam(net.parameters(), { lr: 1e-2 });
    const step = compile(
      (...[x1, y1, x2, y2]: readonly [Tensor, Tensor, Tensor, Tensor]) => {
        const [error, gradients] = valueAndGrad(meanError)(weights, { seen: [x1, y1], unseen: [x2, y2] });
        optimizer.step(Object.values(gradients));
        return error;
      },
      { fullgraph: true },
    );
    for (let turn = 0; turn < 500; turn += 1) {
      const { seen, unseen } = tasks(16);
      noGrad(() => step(...seen, ...unseen));
    }
    const [still, after] = errors();
    expect(after).toBeLessThan(0.6 * before);
    expect(after).toBeLessThan(0.8 * still);
  });
});

describe('gradients of each sample', () => {
  const model = (): nn.Sequential =>
    new nn.Sequential(
      new nn.Conv2d(1, 4, { kernelSize: 3 }),
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Flatten(),
      new nn.Linear(4 * 9, 10),
    );

  test.each([false, true])(
    'are those of a loop over the samples, and their mean is that of the batch (compiled: %s)',
    (isCompiled) => {
      const net = model();
      const weights = weightsOf(net);
      const [images, labels] = [
        randn([12, 1, 8, 8]),
        tensor(BigInt64Array.from({ length: 12 }, (_, row) => BigInt(row % 10))),
      ];
      const lossOf = (given: nn.StateDict, image: Tensor, label: Tensor): Tensor =>
        nn.functionalCall(net, given, image.unsqueeze(0)).crossEntropy(label.unsqueeze(0));
      const mapped = vmap(grad(lossOf), { inAxes: [null, 0, 0] });
      const perSample = (isCompiled ? compile(mapped) : mapped)(weights, images, labels);
      const whole = grad((given: nn.StateDict) => nn.functionalCall(net, given, images).crossEntropy(labels))(weights);
      expect(Object.keys(perSample)).toEqual(Object.keys(weights));
      for (const [name, gradients] of Object.entries(perSample)) {
        expect(gradients.shape[0]).toBe(12);
        for (let row = 0; row < 12; row += 1) {
          const alone = grad(lossOf)(weights, images.select(0, row), labels.select(0, row))[name];
          expect(alone === undefined ? NaN : difference(gradients.select(0, row), alone)).toBeLessThan(1e-6);
        }
        expect(difference(gradients.mean(0), whole[name] ?? gradients)).toBeLessThan(1e-6);
        expect(numberOf(gradients.abs().amax())).toBeGreaterThan(1e-4);
      }
    },
  );
});
