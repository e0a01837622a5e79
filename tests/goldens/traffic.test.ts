// What loop programs prefetch and write by non-temporal stores, on each family of processors, against the files in `traffic`.
import { expect, test } from '@jest/globals';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { advice, goldenMode } from './golden-mode.ts';
import { families } from './golden-targets.ts';
import { loopCases } from './loop-cases.ts';
import { trafficOfCases } from './traffic.ts';

const folder = join(import.meta.dirname, 'traffic');
const mode = goldenMode();

test.each(families)(
  'on $family, 2 threads',
  ({ isa, family }) => {
    const text = trafficOfCases(loopCases, { isa, family, threads: 2 });
    const file = join(folder, `${family}.txt`);
    if (mode.kind === 'update') {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, text);
    } else if (mode.kind === 'check' && readFileSync(file, 'utf8') !== text)
      expect(`${text}\n${advice}`).toBe(readFileSync(file, 'utf8'));
  },
  600_000,
);

test('every file is of a family', () => {
  expect([...readdirSync(folder)].sort()).toEqual(families.map(({ family }) => `${family}.txt`).sort());
});
