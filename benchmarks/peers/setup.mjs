// `npm run bench:setup`: installs the peers that come from the package registry (no install scripts are run), and builds
// the C++ contenders for which this machine has the headers. What is missing is said, with what to install.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, '..', 'dist', 'native');
const vendorFlags = ['-std=c++17', '-O2', '-march=native'];
const programs = [
  { name: 'limits', flags: ['-std=c++17', '-O3', '-march=native', '-ffp-contract=fast', '-pthread'], libraries: [] },
  { name: 'native_cpp', flags: ['-std=c++17', '-Ofast', '-march=native', '-fopenmp'], libraries: [] },
  { name: 'openblas', flags: vendorFlags, libraries: ['-lopenblas'], install: 'libopenblas-dev' },
  { name: 'onednn', flags: vendorFlags, libraries: ['-ldnnl'], install: 'libdnnl-dev' },
];

const nodeModules = join(here, 'node_modules');
if (process.argv.includes('--native-only')) {
  console.log('leaving the packages alone');
} else {
  console.log('installing peers (no install scripts are run)');
  const install = existsSync(join(here, 'package-lock.json')) ? 'ci' : 'install';
  const result = spawnSync('npm', [install, '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: 'inherit',
  });
  if (result.status !== 0) console.log(`npm ${install} failed: peers in ${nodeModules} may be missing`);
}

const compiler = ['g++', 'clang++', 'c++'].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
);
if (compiler === undefined) {
  console.log('no C++ compiler: limits and C++ contenders are left out (on Debian, apt install g++)');
} else {
  mkdirSync(out, { recursive: true });
  for (const { name, flags, libraries, install } of programs) {
    const source = join(here, 'native', `${name}.cpp`);
    const args = [...flags, '-o', join(out, name), source, ...libraries];
    const result = spawnSync(compiler, args, { encoding: 'utf8' });
    const reason = result.stderr?.split('\n').find((line) => line.includes('error')) ?? 'failed';
    const hint = install === undefined ? '' : `; on Debian, apt install ${install}`;
    console.log(result.status === 0 ? `built ${name}` : `left out ${name}: ${reason.trim()}${hint}`);
  }
}
