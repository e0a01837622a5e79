// Programs that unroll loops, and concatenate many pieces: compiled, they give the bits of eager mode, whatever of them is computed
// once for all, in steps, or in parts of a result.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cat, compile, linspace, randn, stack, where, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

type Function = (x: Tensor) => Tensor | Tensor[];

/** The Mandelbrot iteration over values that are made here: each is used several times in the next step. */
function mandelbrot(x: Tensor): Tensor {
  let [re, im, count] = [zeros([8, 40]), zeros([8, 40]), zeros([8, 40])];
  const [a, b] = [linspace(-2, 0.5, 40).reshape([1, 40]), linspace(-1, 1, 8).reshape([8, 1])];
  for (let step = 0; step < 14; step += 1) {
    const [rr, ii] = [re.mul(re), im.mul(im)];
    const inside = rr.add(ii).le(4);
    const next = [where(inside, rr.sub(ii).add(a), re), where(inside, re.mul(im).mul(2).add(b), im)] as const;
    count = count.add(inside.to('f32'));
    [re, im] = next;
  }
  return count.add(x.sum().mul(0));
}

function averages(x: Tensor, dim: number): Tensor[] {
  const steps = [x.select(dim, 0)];
  for (let step = 1; step < at(x.shape, dim); step += 1)
    steps.push(
      at(steps, step - 1)
        .mul(0.9)
        .add(x.select(dim, step).mul(0.1)),
    );
  return steps;
}

const rows = (x: Tensor): Tensor[] => Array.from({ length: at(x.shape, 0) }, (_, row) => x.select(0, row));

const programs: Readonly<Record<string, Function>> = {
  'an iteration over values made inside': mandelbrot,
  'averages down rows, stacked': (x) => stack(averages(x, 0)),
  'averages along rows, stacked as columns': (x) => stack(averages(x, 1), 1),
  'averages, stacked in the middle of what follows': (x) => stack(averages(x, 0)).exp().amax(0),
  'averages, stacked and returned one by one too': (x) => [stack(averages(x, 0)), ...averages(x, 0).slice(0, 3)],
  'pieces of several lengths, end to end': (x) => cat(rows(x).map((row, turn) => row.narrow(0, turn % 5, 3 + turn).mul(turn + 1))),
  'pieces side by side': (x) => cat(Array.from({ length: 20 }, (_, turn) => x.narrow(1, turn, 1 + (turn % 3)).mul(turn)), 1),
  'one piece many times': (x) => cat(Array.from({ length: 12 }, () => x)),
  'a concatenation of concatenations': (x) => cat(Array.from({ length: 10 }, (_, turn) => cat(rows(x.mul(turn))))),
  'pieces among which some are empty': (x) => cat(rows(x).flatMap((row) => [row.narrow(0, 0, 0), row.mul(2)])),
  'pieces that one step makes and the next one reads': (x) => {
    const joined = cat(rows(x).map((row) => row.mul(2)));
    return joined.add(cat(rows(joined.reshape(x.shape)).map((row) => row.add(1)).reverse()));
  },
  'pieces and the whole': (x) => {
    const parts = rows(x).map((row) => row.tanh());
    return [cat(parts), at(parts, 3).mul(2), cat(parts).amax()];
  },
  'pieces of halves': (x) => cat(rows(x).map((row) => row.mul(3).to('f16'))),
  'rows that are written in place': (x) => {
    const table = x.mul(1);
    for (let row = 0; row < 12; row += 1) table.select(0, row).add_(table.select(0, row + 1));
    return table;
  },
}; // prettier-ignore

const options = { whole: {}, dynamic: { dynamic: true } } as const;

describe.each(Object.entries(options))('%s', (_, how) => {
  test.each(Object.entries(programs))('%s', (_name, program) => {
    const x = randn([16, 64]);
    const list = (result: Tensor | Tensor[]): Tensor[] => (Array.isArray(result) ? result : [result]);
    const [actual, expected] = [list(compile(program, how)(x)), list(program(x))];
    expect(actual.map((result) => result.toArray())).toEqual(expected.map((result) => result.toArray()));
  });
});
