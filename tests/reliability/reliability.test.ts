// A sample of each attack of `npm run reliability`, which runs in full by hand. Each trial is a program of what `npm run build` made.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const built = existsSync(join(import.meta.dirname, '../../packages/cli/dist/bin.js'));
const testBuilt = built && existsSync('/usr/bin/g++') && process.platform === 'linux' ? test : test.skip;
if (!built) console.warn('reliability skipped: npm run build makes what these programs import');

/** Seconds on an idle machine; the limit is for one that is not. */
const patience = 600_000;

testBuilt.each([
  ['parsers', 1000],
  ['environments', 3],
  ['orphans', 3],
  ['kill', 2],
  ['damage', 7],
  ['faults', 4],
  ['concurrent', 1],
])(
  '%s, %i of them',
  async (part, count) => {
    const main = join(import.meta.dirname, 'main.mjs');
    const printed = await new Promise<string>((resolve) => {
      execFile(process.execPath, [main, part, '--count', String(count)], (error, stdout, stderr) => {
        resolve(error === null ? 'well' : stdout + stderr);
      });
    });
    expect(printed).toBe('well');
  },
  patience,
);
