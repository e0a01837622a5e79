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
