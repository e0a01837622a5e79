// What a function's module does to its variables is read behind the first result where that makes no difference, and at once where it
// does.
import { setImmediate as nextTask } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ClosureInspection } from './closure-inspection.ts';
import { closureOf } from './inspected.ts';

/** An inspection of `fn` under the name f, and the topics that it told of. */
function inspect(
  fn: () => unknown,
  isWatching = true,
): { readonly inspection: ClosureInspection; readonly told: readonly string[] } {
  const told: string[] = [];
  const listener = { tell: (topic: string) => told.push(topic), isWatching: () => isWatching };
  return {
    inspection: new ClosureInspection(
      {
        name: 'f',
        fn,
        file: undefined,
        captured: [],
        guarded: new Set(),
        given: [],
        functions: [{ fn, closure: closureOf(fn) ?? new Map() }],
      },
      listener,
    ),
    told,
  };
}

test('a variable that changes is told of when the task has ended', async () => {
  let factor = 2;
  const { told } = inspect(() => factor);
  expect(told).toEqual([]);
  await nextTask();
  expect(told).toEqual(['CLOSURE_READ f factor']);
  factor += 1;
});

test('or before the next call, which is told what the variable was at the first', () => {
  let factor = 2;
  const { inspection, told } = inspect(() => factor);
  factor += 1;
  expect(() => {
    inspection.called('f');
  }).toThrow(expect.objectContaining({ code: 'CAPTURE_CHANGED', message: expect.stringMatching(/2.*3/) }));
  expect(told).toEqual(['CLOSURE_READ f factor']);
});

test('a list is looked into at once, for what it holds now counts', () => {
  const list = [1];
  const { inspection, told } = inspect(() => list);
  expect(told).toEqual(['CLOSURE_READ f list']);
  list.push(2);
  expect(() => {
    inspection.called('f');
  }).toThrow(expect.objectContaining({ code: 'CAPTURE_CHANGED' }));
});

test('what was put off is not told of when nobody asks any more', async () => {
  let factor = 2;
  const { inspection, told } = inspect(() => factor);
  inspection.cancel();
  await nextTask();
  factor += 1;
  inspection.finish();
  expect(told).toEqual([]);
});

test('where variables are not watched, a list can wait: what is written where stays as it is', async () => {
  const list = [1];
  const { told } = inspect(() => list, false);
  expect(told).toEqual([]);
  await nextTask();
  expect(told).toEqual(['CLOSURE_READ f list']);
  list.push(2);
});
