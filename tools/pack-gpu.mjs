// `npm run pack:gpu`: one archive with Node, the built project and what it needs of node_modules, for a bare Linux machine
// with CUDA, a C++ compiler and PyTorch, and no network.
//
//   node tools/pack-gpu.mjs [--out FILE] [--golden DIR]
//
// Unpacked anywhere: `./tsinductor doctor`, `./test-gpu`, `./bench`. The first two lines of what a script does need no PATH.
// Fails if the archive is larger than 60 MB, or if what was packed does not start.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const limit = 60_000_000;
const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({
  options: { out: { type: 'string', default: 'tsinductor-gpu.tar.gz' }, golden: { type: 'string' } },
});

/** Runs TypeScript through a compiler of its own, which alone would be a sixth of the archive; `tsinductor run` says so. */
const leftOut = ['tsx'];

const manifestOf = (directory) => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
const packageNames = readdirSync(join(root, 'packages')).filter((name) =>
  existsSync(join(root, 'packages', name, 'package.json')),
);
const manifests = packageNames.map((name) => ({ name, manifest: manifestOf(join(root, 'packages', name)) }));
const own = new Map(manifests.map(({ name, manifest }) => [manifest.name, name]));

/** Where Node finds a dependency of the package in `from`. */
function locate(name, from) {
  for (let directory = from; ; directory = dirname(directory)) {
    const candidate = join(directory, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (directory === dirname(directory)) return undefined;
  }
}

/** The directories of everything from the registry that our packages and scripts load. */
function dependencies() {
  const found = new Set();
  const visit = (names, from) => {
    for (const name of names) {
      if (own.has(name) || leftOut.includes(name)) continue;
      const directory = locate(name, from);
      if (directory === undefined || found.has(directory)) continue;
      found.add(directory);
      visit(Object.keys(manifestOf(directory).dependencies ?? {}), directory);
    }
  };
  for (const { name, manifest } of manifests)
    visit(Object.keys(manifest.dependencies ?? {}), join(root, 'packages', name));
  visit(['yargs'], root);
  return [...found];
}

/** What only people and type checkers read. */
const isForPeople = (path) =>
  /\.(map|d\.[mc]?ts|md|tsbuildinfo)$/.test(path) || /\/(docs?|tests?|examples?)$/.test(path);

function copy(path) {
  const filter = (source) => !isForPeople(source);
  cpSync(join(root, path), join(stage, path), { recursive: true, filter, dereference: true });
}

function writeScript(name, program) {
  const path = join(stage, name);
  const lines = [
    '#!/bin/sh',
    'case $0 in */*) here=${0%/*} ;; *) here=. ;; esac',
    `exec "$here/node" "$here/${program}" "$@"`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
}

const temporary = mkdtempSync(join(tmpdir(), 'tsinductor-pack-'));
const stage = join(temporary, 'tsinductor');
try {
  mkdirSync(join(stage, 'node_modules/@tsinductor'), { recursive: true });
  cpSync(process.execPath, join(stage, 'node'), { dereference: true });
  for (const { name, manifest } of manifests) {
    for (const part of ['package.json', 'dist', 'lib', 'native', 'data'])
      if (existsSync(join(root, 'packages', name, part))) copy(join('packages', name, part));
    symlinkSync(
      join(manifest.name.startsWith('@') ? '../..' : '..', 'packages', name),
      join(stage, 'node_modules', manifest.name),
    );
  }
  for (const directory of dependencies()) copy(directory.slice(root.length));
  for (const part of ['package.json', 'tests/gpu', 'tests/conformance', 'benchmarks/dist', 'benchmarks/peers'])
    copyWithout(part);
  if (options.golden !== undefined) cpSync(resolve(options.golden), join(stage, 'golden'), { recursive: true });
  writeScript('tsinductor', 'packages/tsinductor/lib/cli/tsinductor.js');
  writeScript('test-gpu', 'tests/gpu/run.mjs');
  writeScript('bench', 'benchmarks/dist/main.js');
  const archive = resolve(options.out);
  execFileSync('tar', ['-C', temporary, '--use-compress-program=gzip -9', '-cf', archive, 'tsinductor']);
  requireFit(archive);
  requireStart(archive);
  console.log(`${archive}: ${(statSync(archive).size / 1e6).toFixed(1)} MB`);
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

/** The peers' own packages stay here: on the other machine, its PyTorch is the peer. */
function copyWithout(path) {
  const filter = (source) => !source.includes('node_modules') && !isForPeople(source);
  cpSync(join(root, path), join(stage, path), { recursive: true, filter });
}

function requireFit(archive) {
  const { size } = statSync(archive);
  if (size <= limit) return;
  console.error(`${archive} is ${size} bytes, and ${limit} are allowed: leave --golden out, or sample it`);
  process.exitCode = 1;
}

/** Unpacks into an empty directory and runs doctor and the benchmarks' help there, without this machine's PATH and settings. */
function requireStart(archive) {
  const empty = join(temporary, 'elsewhere');
  mkdirSync(empty);
  execFileSync('tar', ['-C', empty, '-xf', archive]);
  const environment = { HOME: empty, PATH: join(empty, 'nothing') };
  const run = (script, ...args) =>
    spawnSync(join(empty, 'tsinductor', script), args, { env: environment, cwd: empty, encoding: 'utf8' });
  const doctor = run('tsinductor', 'doctor', '--json');
  const findings = doctor.error === undefined && doctor.stdout !== '' ? JSON.parse(doctor.stdout).findings : undefined;
  const bench = run('bench', '--help');
  if (findings?.some(({ subject }) => subject === 'CUDA toolkit') && bench.status === 0) return;
  for (const { error, stderr } of [doctor, bench])
    console.error(`what was packed does not start: ${error?.message ?? stderr}`);
  process.exitCode = 1;
}
