import { expect, test } from '@jest/globals';
import { checkViews, fuzzViews } from './check-views.ts';
import { Random } from './random.ts';
import { drawViewProgram } from './view-program.ts';
import type { ViewProgram } from './view-program.ts';

test('random views, writes and reads show what eager mode shows', () => {
  const said: string[] = [];
  const progress = (text: string): void => {
    said.push(text);
  };
  expect(fuzzViews({ programs: 39, seed: 3, first: 1, progress })).toEqual([]);
  expect(said).toEqual([]);
});

test('a program is the same for a seed and a number', () => {
  const draw = (): ViewProgram => drawViewProgram(new Random(1, 17), 'x');
  expect(draw()).toEqual(draw());
});

test('a tensor is copied to a view of it that a read has given memory to', () => {
  const program: ViewProgram = {
    label: 'found by seed 1, program 208',
    shape: [2, 3, 2],
    inputs: 1,
    isShared: false,
    steps: [
      { action: 'split', which: 10, a: 8, b: 0 },
      { action: 'scaled', which: 17, a: 3, b: 2 },
      { action: 'copy', which: 1, a: 4, b: 8 },
    ],
    outputs: [0, 1],
  };
  expect(checkViews(program, [{ backend: 'aot_eager' }])).toBeUndefined();
});

const steps = (
  ...list: readonly (readonly [action: string, which: number, a: number, b: number])[]
): ViewProgram['steps'] => list.map(([action, which, a, b]) => ({ action, which, a, b }));

test.each<ViewProgram>([
  {
    label: 'seed 7, program 669: a sum is copied to a piece of a split that an earlier segment left out',
    shape: [2, 3, 2],
    inputs: 1,
    isShared: false,
    steps: steps(['scaled', 14, 3, 2], ['split', 1, 1, 11], ['copySum', 3, 1, 10]),
    outputs: [1],
  },
  {
    label: 'seed 5, program 524: a sum is copied to a value that an earlier segment left out',
    shape: [6],
    inputs: 2,
    isShared: false,
    steps: steps(
      ['chosen', 0, 0, 10],
      ['addOther', 23, 5, 7],
      ['same', 22, 9, 9],
      ['sameShape', 3, 8, 11],
      ['copySum', 3, 11, 6],
    ),
    outputs: [22],
  },
  {
    label: 'seed 5, program 1014: what was written before a write that is refused stays written',
    shape: [6],
    inputs: 1,
    isShared: false,
    steps: steps(['setRow', 8, 0, 11], ['expand', 20, 4, 10], ['add', 11, 6, 0]),
    outputs: [12],
  },
  {
    label: 'seed 31, program 393: what was filled before a write that is refused stays filled',
    shape: [],
    inputs: 1,
    isShared: false,
    steps: steps(['fill', 0, 8, 0], ['expand', 0, 1, 0], ['add', 1, 3, 0]),
    outputs: [0],
  },
])('$label', (program) => {
  expect(checkViews(program, [{ backend: 'aot_eager' }, { backend: 'aot_eager', dynamic: true }])).toBeUndefined();
});
