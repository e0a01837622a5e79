// Rows of `--quick`, which the test suite runs: this Node, npm, a project of each kind with one installation, this repository's TypeScript.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkCommand, checkFiles, checkProgram, checkTypes } from './checks.mjs';
import { makeProject } from './projects.mjs';

const root = join(import.meta.dirname, '../..');
const compiler = join(root, 'node_modules/typescript/bin/tsc');
const programs = ['right.ts', 'wrong.ts', 'model.ts', 'decorated.ts'];
const files = programs.flatMap((file) => [file, `cjs/${file}`]);
const options = { module: 'node16', moduleResolution: 'node16' };

/** Packs what is built, beside the archive that `npm run pack` leaves. */
export const packInto = (directory) =>
  execFileSync(process.execPath, [join(root, 'tools/pack.mjs'), directory], { encoding: 'utf8' }).trim();

export function quickRows({ home, archive, tools }) {
  const esm = join(home, 'a project (esm)');
  const cjs = join(esm, 'cjs');
  return [
    {
      name: 'install',
      check: () => {
        makeProject(esm, { archive, tools });
        // It finds the packages of the folder around it.
        mkdirSync(cjs);
        for (const file of ['program.cjs', ...programs]) cpSync(join(esm, file), join(cjs, file));
        writeFileSync(join(cjs, 'package.json'), '{}');
        checkFiles(esm);
      },
    },
    { name: 'ES module', check: () => void checkProgram(esm, { program: 'program.mjs' }) },
    { name: 'CommonJS', check: () => void checkProgram(cjs, { program: 'program.cjs' }) },
    { name: 'the command', check: () => void checkCommand(esm, {}) },
    { name: 'types of both kinds', check: () => void checkTypes(esm, { options, files, compiler }) },
  ];
}
