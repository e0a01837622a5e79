// Schedules of the learning rate against PyTorch's.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { tensor } from '@tsinductor/tensor';
import {
  cosine,
  exponentialDecay,
  linear,
  multiStepDecay,
  oneCycle,
  ReduceOnPlateau,
  Schedule,
  sequence,
  SGD,
  stepDecay,
} from './index.ts';
import type { RateFactor } from './index.ts';

const { schedules } = JSON.parse(readFileSync(join(import.meta.dirname, 'test-support/steps.json'), 'utf8')) as {
  readonly schedules: Readonly<Record<string, readonly number[]>>;
};

const factors: Readonly<Record<string, RateFactor>> = {
  step: stepDecay(3, 0.5),
  multiStep: multiStepDecay([2, 5]),
  exponential: exponentialDecay(0.9),
  linear: linear(4, { start: 0.25 }),
  cosine: cosine(6, 0.02),
  oneCycle: oneCycle(10),
};

const optimizerOf = (lr = 0.1): SGD => new SGD([tensor([0], { dtype: 'f32' })], { lr });

describe('schedules', () => {
  test.each(Object.entries(schedules))('%s gives the rates of PyTorch', (name, rates) => {
    const optimizer = optimizerOf();
    const schedule = new Schedule(optimizer, factors[name] ?? (() => NaN));
    for (const rate of rates) {
      expect(optimizer.lr).toBeCloseTo(rate, 12);
      schedule.step();
    }
  });

  test('follow one another', () => {
    const optimizer = optimizerOf(1);
    const schedule = new Schedule(optimizer, sequence(linear(2, { start: 0.5 }), 2, exponentialDecay(0.5)));
    const rates = [0, 1, 2, 3].map(() => {
      const { lr } = optimizer;
      schedule.step();
      return lr;
    });
    expect(rates).toEqual([0.5, 0.75, 1, 0.5]);
  });

  test('go on from where they were', () => {
    const [first, second] = [optimizerOf(), optimizerOf(7)];
    const [one, other] = [new Schedule(first, stepDecay(2)), new Schedule(second, stepDecay(2))];
    for (let k = 0; k < 5; k += 1) one.step();
    other.loadStateDict(one.stateDict());
    expect([second.lr, other.epoch]).toEqual([first.lr, 5]);
  });

  test.each([
    null,
    {},
    { epoch: 1 },
    { epoch: '1', bases: [1] },
    { epoch: -1, bases: [1] },
    { epoch: 1, bases: [] },
    { epoch: 1, bases: [NaN] },
    { epoch: 1, bases: [1, 1] },
  ])('not from %j, and nothing is changed', (state) => {
    const optimizer = optimizerOf(4);
    const schedule = new Schedule(optimizer, stepDecay(2));
    expect(() => {
      schedule.loadStateDict(state as never);
    }).toThrow(expect.objectContaining({ code: 'OPTIM_STATE' }));
    expect([optimizer.lr, schedule.epoch]).toEqual([4, 0]);
  });
});

describe('ReduceOnPlateau', () => {
  test.each([null, {}, { best: 1, waited: 1.5, cooling: 0 }, { best: '1', waited: 1, cooling: 0 }])(
    'does not go on from %j',
    (state) => {
      const plateau = new ReduceOnPlateau(optimizerOf(1));
      expect(() => {
        plateau.loadStateDict(state as never);
      }).toThrow(expect.objectContaining({ code: 'OPTIM_STATE' }));
      expect(plateau.stateDict()).toEqual({ best: Infinity, waited: 0, cooling: 0 });
    },
  );

  test('lowers the rate where nothing gets better for long', () => {
    const optimizer = optimizerOf(1);
    const plateau = new ReduceOnPlateau(optimizer, { patience: 1, factor: 0.5, cooldown: 1, minLr: 0.25 });
    const rates = [3, 2, 2, 2, 2, 2, 2, 2, 2].map((loss) => {
      plateau.step(loss);
      return optimizer.lr;
    });
    expect(rates).toEqual([1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]);
  });
});
