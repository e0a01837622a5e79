// A few programs under each variant of the settings with every `npm test`; `npm run variants` has 300, and the golden cases.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { defaultSession } from '@tsinductor/compiler';
import { ProgramChecker } from './check-programs.ts';
import { generate, OperatorChoice } from './generate.ts';
import { variants } from '../../variants/variants.mjs';

const hasCompiler = defaultSession().machine().kind === 'native';
const ring = hasCompiler ? describe : describe.skip;
if (!hasCompiler) process.stderr.write('host ring skipped: no C++ compiler\n');

const choice = new OperatorChoice();
const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-variants-'));
afterAll(() => {
  rmSync(cacheDir, { recursive: true, force: true });
});

ring('compiled programs give what interpreted ones give', () => {
  const each = 3;
  test.each(Object.entries(variants).map(([name, settings], at) => ({ name, settings, at })))(
    'with $name',
    async ({ settings, at }) => {
      const programs = Array.from(
        { length: each },
        (_, index) => generate({ seed: 33, index: at * each + index, choice }).program,
      );
      using checker = new ProgramChecker({ ...settings, cacheDir, emulatePrecisionCasts: true });
      const verdicts = await checker.check(programs);
      expect(verdicts.filter(({ status }) => status === 'failed')).toEqual([]);
    },
    120_000,
  );
});
