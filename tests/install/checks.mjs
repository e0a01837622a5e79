// What a stranger looks at. Each check takes a project's folder, and throws where something is not as it should be.
import { existsSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { run, withNode } from './projects.mjs';

/** What a program said on its last line. */
const reported = ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1) ?? '');

/** Holds a program's report against its source: results, one instance, and every origin the line that has its operator. */
export function checkReport(report, source) {
  assert.deepEqual(
    report.rows.map((row) => row.toFixed(3)),
    Array.from({ length: 8 }, () => '1.000'),
  );
  assert.equal(report.kernel, 2000);
  assert.deepEqual(report.trained, [0.5, 0.5, 0.5]);
  assert.equal(report.isOneInstance, true);
  const lines = readFileSync(source, 'utf8').split('\n');
  const origins = report.graphs.flatMap(({ graph }) =>
    [...graph.matchAll(/ = (\w+)\([^\n]*\) {2}# ([^\n]*):(\d+)$/gm)].map(([, op, file, line]) => ({ op, file, line })),
  );
  assert.deepEqual(
    origins.map(({ op }) => op),
    ['matmul', 'gelu', 'matmul', 'softmax'],
  );
  for (const { op, file, line } of origins) {
    assert.equal(realpathSync(file), realpathSync(source));
    assert.match(lines[Number(line) - 1] ?? '', new RegExp(`\\.${op}\\(`), `line ${line} of ${file}`);
  }
  const mistaken = lines.findIndex((line) => line.includes('randn([5, 5])')) + 1;
  assert.ok(report.mistake.includes(`:${String(mistaken)}`), `${report.mistake} names line ${String(mistaken)}`);
}

/** Runs a program, and checks what it says. `source` is what it was made of. */
export function checkProgram(folder, { node = process.execPath, args = [], program, source = program, env = {} }) {
  const report = reported(run([node, ...args, program], { cwd: folder, env: { ...cacheOf(folder), ...env } }));
  checkReport(report, join(folder, source));
  return report;
}

/** Each project begins with an empty cache. */
export const cacheOf = (folder) => ({ TORCHINDUCTOR_CACHE_DIR: join(folder, '.cache') });

/** The command, as `npx tsinductor` runs it. */
export function checkCommand(folder, { node = process.execPath }) {
  const command = (...args) =>
    run([node, realpathSync(join(folder, 'node_modules/tsinductor/lib/cli/tsinductor.js')), ...args], {
      cwd: folder,
      env: cacheOf(folder),
    }).stdout;
  const doctor = run(['npx', '--no-install', 'tsinductor', 'doctor'], {
    cwd: folder,
    env: { ...cacheOf(folder), ...withNode(node) },
  });
  assert.match(doctor.stdout, /Node\.js/);
  writeFileSync(
    join(folder, 'exported.mjs'),
    "import { compile, randn } from 'tsinductor';\nexport const double = compile((x) => x.add(x));\ndouble(randn([5]));\n",
  );
  assert.match(command('explain', 'exported.mjs'), /# .*exported\.mjs:2$/m);
  assert.match(command('run', 'program.mjs'), /"isOneInstance":true/);
}

/** Nothing but files came, and no code of another machine. */
export function checkFiles(folder) {
  const home = realpathSync(join(folder, 'node_modules/tsinductor'));
  const files = readdirSync(home, { recursive: true }).filter((file) => !file.startsWith('node_modules'));
  assert.deepEqual(
    files.filter((file) => /\.(map|tsbuildinfo|bin)$|\.test\./.test(file)),
    [],
  );
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  assert.deepEqual(
    Object.keys(manifest.dependencies).filter((name) => name.startsWith('@tsinductor/')),
    [],
  );
  assert.deepEqual([manifest.scripts, manifest.devDependencies], [undefined, undefined]);
  for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', 'THIRD-PARTY-NOTICES'])
    assert.ok(files.includes(file), file);
}

const strict = {
  strict: true,
  target: 'es2022',
  noEmit: true,
  skipLibCheck: false,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
};

const typed = ['right.ts', 'wrong.ts', 'model.ts', 'decorated.ts'];

/** Type-checks the programs of right and of wrong uses, by the project's compiler or another. */
export function checkTypes(
  folder,
  { options, files = typed, compiler = join(folder, 'node_modules/typescript/bin/tsc') },
) {
  const name = `tsconfig.${Object.values(options).join('-').toLowerCase()}.json`;
  const types = existsSync(join(folder, 'node_modules/@types/node')) ? ['node'] : [];
  writeFileSync(
    join(folder, name),
    JSON.stringify({
      compilerOptions: { ...strict, ...options, types },
      files,
    }),
  );
  run([process.execPath, compiler, '-p', name], { cwd: folder });
}
