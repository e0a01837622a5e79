// Installs the workspace's packages when they are missing or older than the lockfile: what makes `npm test` and
// `npm run demo` whole on a fresh clone. Runs no install scripts of any package.
import { existsSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = `${root}/node_modules/.package-lock.json`;
const lockfile = `${root}/package-lock.json`;
const current =
  existsSync(installed) && existsSync(lockfile) && statSync(installed).mtimeMs >= statSync(lockfile).mtimeMs;
if (!current) {
  // `npm install`, not `npm ci`: a lockfile made where the registry lacks another platform's optional packages has no
  // entries for them, which `ci` takes for an error. What the lockfile does say is kept to.
  console.log('installing packages (no install scripts are run)');
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = spawnSync('npm', args, { cwd: root, stdio: 'inherit' });
  if (result.status !== 0) process.exit(result.status ?? 1);
}
