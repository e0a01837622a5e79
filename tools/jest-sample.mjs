// `npm test`'s own run of the tests: all suites that are quick, and an eighth of the slow ones, which the commit chooses. `npm run test:all`
// has all of them. What is left out is printed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import config from '../jest.config.mjs';
import { samples, sampleOfCommit, slowSuites, suitesOf } from './slow-suites.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const missing = Object.keys(slowSuites).filter((name) => !existsSync(`${root}${name}`));
if (missing.length > 0) throw new Error(`tools/slow-suites.mjs names what is no suite: ${missing.join(', ')}`);
const sample = sampleOfCommit(root);
const chosen = new Set(suitesOf(sample));
const left = Object.keys(slowSuites).filter((name) => !chosen.has(name));
console.log(
  `of ${String(Object.keys(slowSuites).length)} slow suites sample ${String(sample + 1)} of ${String(samples)} is run; left to \`npm run test:all\`:\n${left.map((name) => `  ${name}`).join('\n')}`,
);
const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
const usual = config.testPathIgnorePatterns.map((pattern) => pattern.replace('<rootDir>/', ''));
const patterns = [...usual, ...left.map((name) => `${name.replaceAll('.', '\\.')}$`)];
const ignored = patterns.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
const { status } = spawnSync(process.execPath, [...jest, ...ignored, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
