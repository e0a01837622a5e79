// Breakpoints in a kernel's source: a process with a debugger attached launches a kernel in the interpreter, and stops on the
// lines of the kernel with its variables in sight. Runs what `npm run build` made.
import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const script = join(import.meta.dirname, 'breakpoints/debugged.mjs');
const lineOf = (text: string): number =>
  readFileSync(script, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1;

interface Outcome {
  readonly out: readonly number[];
  readonly seen: readonly unknown[];
}

function debug(line: number, expression: string, flags: readonly string[] = ['--inspect=127.0.0.1:0']): Outcome {
  const args = [...flags, script, String(line), expression];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  if (stdout === '') throw new RangeError(stderr);
  return JSON.parse(stdout) as Outcome;
}

const out = [101, 201, 301];

test('stop on a line in each program instance, with the variables that there are by then', () => {
  expect(debug(lineOf('let sum ='), '({ program, offs, mask, n, sum: typeof sum })')).toEqual({
    out,
    seen: [
      { program: [0, 0, 0], offs: [0, 1], mask: [1, 1], n: 3, sum: 'undefined' },
      { program: [1, 0, 0], offs: [2, 3], mask: [1, 0], n: 3, sum: 'undefined' },
    ],
  });
});

test('stop in each iteration of a loop', () => {
  expect(debug(lineOf('sum = sum * 10'), 'sum')).toEqual({
    out,
    seen: [
      [1, 2],
      [10, 20],
      [3, 0],
      [30, 0],
    ],
  });
});

test('without a debugger there is nothing to stop in', () => {
  expect(debug(lineOf('let sum ='), 'offs', [])).toEqual({ out, seen: [] });
});
