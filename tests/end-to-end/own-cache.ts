// A cache for the tests of one file: what others compiled is not found, and nothing is left behind.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { reset, setConfig } from 'tsinductor';

/** All tests of the file compile into a new folder, which is removed behind the last of them. Gives the folder, once they run. */
export function useOwnCache(): () => string {
  let cacheDir = '';
  beforeAll(() => {
    cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-test-'));
    setConfig({ cacheDir });
  });
  afterAll(() => {
    reset();
    rmSync(cacheDir, { recursive: true, force: true });
  });
  return () => cacheDir;
}
