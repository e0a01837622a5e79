// Rows: what runs TypeScript, and what runs tests. Wherever the JavaScript comes from, origins are lines of `model.ts`.
import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { cacheOf, checkProgram, checkReport } from './checks.mjs';
import { makeProject, nodeOf, run } from './projects.mjs';

const main = "import { report } from './model.ts';\nconsole.log(JSON.stringify(report()));\n";
const emitted = { target: 'es2022', outDir: 'out', sourceMap: true, rewriteRelativeImportExtensions: true, types: [] };

/** A test that writes the report, for the harness to look at. */
const testOf = (head) =>
  `${head}import { writeFileSync } from 'node:fs';\nimport { report } from './model${head.includes('vitest') ? '.ts' : ''}';\n` +
  "test('report', () => {\n  writeFileSync('report.json', JSON.stringify(report()));\n});\n";

export function runnerRows({ home, archive, tools }) {
  const row = (name, { kind = 'esm', more }, check) => ({
    name,
    check: () => {
      const folder = join(home, name);
      makeProject(folder, { archive, tools, kind, more });
      writeFileSync(join(folder, 'main.ts'), main);
      return check(folder);
    },
  });
  const written = (folder) => {
    checkReport(JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')), join(folder, 'model.ts'));
  };
  const source = 'model.ts';
  return [
    row('tsx, esm', { more: ['tsx@4'] }, (folder) => {
      checkProgram(folder, { args: ['--import', 'tsx'], program: 'main.ts', source });
      const { stdout } = run([process.execPath, join(folder, 'node_modules/.bin/tsinductor'), 'run', 'main.ts'], {
        cwd: folder,
        env: cacheOf(folder),
      });
      checkReport(JSON.parse(stdout), join(folder, source));
    }),
    row('tsx, cjs', { kind: 'cjs', more: ['tsx@4'] }, (folder) => {
      checkProgram(folder, { args: ['--import', 'tsx'], program: 'main.ts', source });
    }),
    ...[false, true].map((experimentalDecorators) =>
      row(`decorators, ${experimentalDecorators ? 'legacy' : 'standard'}`, { more: ['tsx@4'] }, (folder) => {
        writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { experimentalDecorators } }));
        run([process.execPath, '--import', 'tsx', 'decorated.ts'], { cwd: folder, env: cacheOf(folder) });
      }),
    ),
    row('ts-node, cjs', { kind: 'cjs', more: ['ts-node@10', 'typescript@5.9.3', '@types/node@20'] }, (folder) => {
      const options = {
        compilerOptions: { module: 'node16', moduleResolution: 'node16', target: 'es2022', strict: true },
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
      writeFileSync(join(folder, 'main.ts'), main.replace('./model.ts', './model'));
      checkProgram(folder, { args: ['-r', 'ts-node/register'], program: 'main.ts', source });
    }),
    ...['esm', 'cjs'].flatMap((kind) =>
      [[], ['--enable-source-maps']].map((args) =>
        row(
          `tsc, ${kind}${args.length > 0 ? `, ${args.join()}` : ''}`,
          { kind, more: ['typescript@5.9.3'] },
          (folder) => {
            const options = { compilerOptions: { ...emitted, module: 'nodenext' }, files: ['main.ts'] };
            writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
            // Without the types of Node, `console` is what nobody declared.
            run([process.execPath, join(folder, 'node_modules/typescript/bin/tsc')], { cwd: folder, mayFail: true });
            checkProgram(folder, { args, program: 'out/main.js', source });
          },
        ),
      ),
    ),
    row('Node strips types', { more: [] }, (folder) => {
      const node = nodeOf(tools, '24');
      if (node === undefined) return 'no such Node';
      checkProgram(folder, { node, program: 'main.ts', source });
      const { stdout } = run([node, join(folder, 'node_modules/.bin/tsinductor'), 'run', 'main.ts'], {
        cwd: folder,
        env: cacheOf(folder),
      });
      checkReport(JSON.parse(stdout), join(folder, source));
      return undefined;
    }),
    row('Jest, cjs', { kind: 'cjs', more: ['jest@30', '@swc/jest@0.2', '@swc/core@1'] }, (folder) => {
      const transform = { '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }] };
      writeFileSync(join(folder, 'jest.config.json'), JSON.stringify({ transform }));
      writeFileSync(join(folder, 'model.test.ts'), testOf(''));
      run([process.execPath, join(folder, 'node_modules/jest/bin/jest.js')], { cwd: folder, env: cacheOf(folder) });
      written(folder);
    }),
    row('Jest, esm', { more: ['jest@30', '@swc/jest@0.2', '@swc/core@1'] }, (folder) => {
      const transform = {
        '^.+\\.ts$': [
          '@swc/jest',
          { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } },
        ],
      };
      writeFileSync(join(folder, 'jest.config.json'), JSON.stringify({ transform, extensionsToTreatAsEsm: ['.ts'] }));
      writeFileSync(join(folder, 'model.test.ts'), testOf(''));
      const args = ['--experimental-vm-modules', '--no-warnings', join(folder, 'node_modules/jest/bin/jest.js')];
      run([process.execPath, ...args], { cwd: folder, env: cacheOf(folder) });
      written(folder);
    }),
    row('Vitest', { more: ['vitest@4'] }, (folder) => {
      writeFileSync(join(folder, 'model.test.ts'), testOf("import { test } from 'vitest';\n"));
      run([process.execPath, join(folder, 'node_modules/vitest/vitest.mjs'), 'run'], {
        cwd: folder,
        env: cacheOf(folder),
      });
      written(folder);
    }),
  ];
}
