// Writes, views and launches inside of compiled functions, in orders that seeds draw. `npm run test:full`.
import { afterAll, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reset, setConfig } from 'tsinductor';
import { checkDrawn } from './drawn-launches.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-launches-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

test.each(Array.from({ length: 60 }, (_, seed) => seed))('writes and launches in any order: program %i', (seed) => {
  checkDrawn(seed);
});
