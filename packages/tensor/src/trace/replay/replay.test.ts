// Segments that were done before: they are followed, and nothing of them is recorded, as long as a call does what an earlier one
// did. What comes of them is what eager execution gives, also where a call takes another way.
import { describe, expect, test } from '@jest/globals';
import { arange, cat, tensor } from '../../index.ts';
import type { Tensor } from '../../index.ts';
import { floats, Interpreting, lazily, pair, plain, read } from '../test-support/interpreting-host.ts';
import type { Program } from '../test-support/interpreting-host.ts';

const newton: Program = (a) => {
  let x = a;
  for (let step = 0; step < 20; step += 1) {
    const residual = x.mul(x).sub(a);
    if (Number(residual.abs().amax().item()) < 1e-5) break;
    x = x.sub(residual.div(x.mul(2)));
  }
  return x;
};

const newtonInPlace: Program = (x, a) => {
  x.copy_(a);
  for (let step = 0; step < 20; step += 1) {
    const residual = x.mul(x).sub(a);
    if (Number(residual.abs().amax().item()) < 1e-5) break;
    x.sub_(residual.div(x.mul(2)));
  }
  return x.clone();
};

const branch: Program = (x) => (read(x) > 0 ? x.add(1).relu() : x.sub(1));

/** Calls a program on inputs, eagerly and lazily; gives how many segments were run, and how many of them recorded. */
function callOn(host: Interpreting, program: Program, make: () => Tensor[]): { runs: number; recorded: number } {
  const before = { runs: host.runs, recorded: host.recorded };
  const outcome = (run: (inputs: Tensor[]) => unknown): unknown => {
    const inputs = make();
    try {
      return [plain(run(inputs)), inputs.map(plain)];
    } catch (error) {
      return [(error as { code?: string }).code, inputs.map(plain)];
    }
  };
  const expected = outcome((inputs) => program(...(inputs as [Tensor, Tensor, Tensor])));
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  return { runs: host.runs - before.runs, recorded: host.recorded - before.recorded };
}

describe('the same again', () => {
  const programs: Readonly<Record<string, readonly [program: Program, segments: number]>> = {
    'a branch': [branch, 2],
    'a loop that ends when values say so': [newton, 6],
    'the same in place': [newtonInPlace, 7],
    'numbers that were read': [(x) => x.div(read(x)).mul(2), 2],
    'numbers beside numbers': [(x) => [x.mul(3).clamp(0, read(x)), x.add(3, { alpha: 3 })], 2],
    'several results': [(x) => x.split(2).map((part) => [part.mul(read(x)), part]), 3],
    'writes through views, between reads': [
      (x, y) => {
        x.narrow(0, 0, 2).mul_(read(y));
        y.add_(x);
        return [read(y), x.t()];
      },
      3,
    ],
    'what is disposed on the way': [
      (x) => {
        const twice = x.mul(2);
        const shifted = twice.add(1);
        twice.dispose();
        const total = read(shifted);
        return shifted.mul(total);
      },
      2,
    ],
    'options, lists and subscripts': [
      (x, y) => [cat([x, y], 0).sum({ dim: 0, keepdim: true }), read(x), x.at({ slice: [1, 3, null] }).neg()],
      2,
    ],
    'new tensors': [(x) => [x.add(tensor([1, 2, 3, 4])), read(x), arange(4).mul(x)], 2],
  };

  test.each(Object.entries(programs))('%s', (_, [program, segments]) => {
    const host = new Interpreting();
    for (let call = 0; call < 3; call += 1) callOn(host, program, pair);
    expect(callOn(host, program, pair)).toEqual({ runs: segments, recorded: 0 });
  });

  test('other values, which take the ways that were taken before', () => {
    const host = new Interpreting();
    const positive = (): Tensor[] => [floats(1, 2)];
    const negative = (): Tensor[] => [floats(-1, -2)];
    for (const make of [positive, negative]) callOn(host, branch, make);
    for (const make of [negative, positive, () => [floats(7, -8)], () => [floats(8, -7)]])
      expect(callOn(host, branch, make)).toEqual({ runs: 2, recorded: 0 });
  });

  test('more steps of a loop', () => {
    const host = new Interpreting();
    for (const start of [1.01, 1.1, 4, 900]) callOn(host, newton, () => [floats(start, 1)]);
    const { runs, recorded } = callOn(host, newton, () => [floats(1e6, 1)]);
    expect(runs).toBeGreaterThan(12);
    expect(recorded).toBe(0);
  });

  test('sizes that change, once they are symbolic', () => {
    const host = new Interpreting();
    const scaled: Program = (x) =>
      x
        .reshape([x.shape[0] ?? 0, 1])
        .mul(read(x))
        .sum(1);
    for (const size of [3, 4, 5])
      callOn(
        host,
        (x) => x.mul(read(x)),
        () => [arange(size).to('f32')],
      );
    expect(
      callOn(
        host,
        (x) => x.mul(read(x)),
        () => [arange(9).to('f32')],
      ),
    ).toEqual({ runs: 2, recorded: 0 });
    for (const size of [3, 4, 5, 6, 5]) callOn(host, scaled, () => [arange(size).to('f32')]);
  });
});

describe('something else', () => {
  test('is recorded from the beginning of its segment, once', () => {
    const host = new Interpreting();
    const program =
      (isOther: boolean): Program =>
      (x) => {
        const total = read(x.mul(2));
        const y = x.add(total).neg();
        return isOther ? y.exp() : y.abs();
      };
    callOn(host, program(false), pair);
    callOn(host, program(false), pair);
    expect(callOn(host, program(true), pair)).toEqual({ runs: 2, recorded: 1 });
    expect(callOn(host, program(true), pair)).toEqual({ runs: 2, recorded: 0 });
    expect(callOn(host, program(false), pair)).toEqual({ runs: 2, recorded: 0 });
  });

  test('another dtype, rank, layout, order of arguments, or one argument twice', () => {
    const host = new Interpreting();
    const program: Program = (x, y) => [x.mul(y).sum(), read(x), y.sub(x)];
    const square = (): Tensor => arange(9).to('f32').reshape([3, 3]);
    const inputs: readonly (() => Tensor[])[] = [
      pair,
      () => pair().map((x) => x.to('f64')),
      () => pair().map((x) => x.reshape([2, 2])),
      () => [square(), square().t()],
      () => [square().t(), square()],
      () => {
        const x = square();
        return [x, x];
      },
    ];
    for (let round = 0; round < 3; round += 1) for (const make of inputs) callOn(host, program, make);
    for (const make of inputs) expect(callOn(host, program, make).recorded).toBe(0);
  });

  test('one argument twice where there were two, between other inputs', () => {
    const host = new Interpreting();
    const one = floats(1);
    const program: Program = (x, y, z) => {
      const made = x.sin();
      for (const other of [z, made]) {
        read(one.neg());
        z.sub(other);
        y.copy_(x);
      }
      return one.clone();
    };
    for (let turn = 0; turn < 4; turn += 1) callOn(host, program, () => [...pair(), arange(4).to('f32').add(7)]);
  });

  test('arguments that share memory which is written to', () => {
    const host = new Interpreting();
    const program: Program = (x, y) => {
      const before = x.mul(2);
      y.add_(read(x));
      return [before, x.add(y), read(y)];
    };
    const shared = (): Tensor[] => {
      const base = arange(6).to('f32');
      return [base.narrow(0, 0, 4), base.narrow(0, 2, 4)];
    };
    for (const make of [pair, shared, pair, shared, shared, pair]) callOn(host, program, make);
  });

  test('a number in the place of another that means something else to the operator', () => {
    const host = new Interpreting();
    for (const power of [3, 4, 5, 2, 0.5, -1, 0, 3])
      callOn(
        host,
        (x) => [read(x), x.pow(power)],
        () => [floats(1, 2, 3)],
      );
  });

  test('a check that fails in a segment which is followed', () => {
    const host = new Interpreting();
    const program: Program = (x, index) => {
      x.add_(1);
      const kept = x.mul(2);
      const picked = x.indexSelect(0, index);
      x.add_(1);
      return [read(picked), kept];
    };
    const [fitting, failing] = [0, 5].map((index) => (): Tensor[] => [floats(1, 2), tensor([index])]);
    for (const make of [fitting, fitting, failing, failing, fitting]) callOn(host, program, make ?? pair);
  });

  test('an error of the program in the middle', () => {
    const host = new Interpreting();
    const program: Program = (x) => {
      x.mul_(2);
      if (read(x) > 5) throw new RangeError('too much');
      x.add_(1);
      return x.neg();
    };
    for (const value of [1, 1, 9, 1, 9]) callOn(host, program, () => [floats(value, 1)]);
  });

  test('values that were kept, after what they are made of has changed', () => {
    const host = new Interpreting();
    const kept: Tensor[] = [];
    const program: Program = (x) => {
      read(x);
      kept.push(x.add(1), x.add(2));
    };
    for (let call = 0; call < 3; call += 1) {
      const x = floats(1, 2);
      lazily(host, program, [x]);
      expect(kept[2 * call]?.toArray()).toEqual([2, 3]);
      x.add_(1);
      expect(() => kept[2 * call + 1]?.toArray()).toThrow(expect.objectContaining({ code: 'TRACED_ESCAPED' }));
    }
  });
});

test('a program that never does the same twice is not remembered without end', () => {
  const host = new Interpreting();
  for (let call = 0; call < 300; call += 1)
    lazily(
      host,
      (x) => Array.from({ length: 20 }, (_, i) => x.narrow(0, 0, 1 + ((call >> (i % 8)) & 1)).neg()).at(-1),
      pair(),
    );
  expect(host.steps.size).toBeLessThanOrEqual(4096);
});
