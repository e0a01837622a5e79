// How generated text differs from that of another commit: the texts of golden cases are written for both, and compared.
//
//   npm run goldens:diff -- COMMIT [PATTERN]
//
// PATTERN, a regular expression, chooses cases by name; without it all are written, which takes some minutes. What the working tree
// says now, committed or not, is the second side.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [commit, pattern] = process.argv.slice(2);
if (commit === undefined) {
  process.stderr.write("usage: npm run goldens:diff -- COMMIT ['PATTERN']\n");
  process.exit(2);
}
const root = join(import.meta.dirname, '..');
const work = mkdtempSync(join(tmpdir(), 'golden-diff-'));
const [tree, before, after] = ['tree', 'before', 'after'].map((name) => join(work, name));
const git = (...args) => execFileSync('git', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });

/** Where dependencies are installed: those of the working tree serve the other commit too. */
const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name));
const holders = ['.', ...packages].filter((holder) => existsSync(join(root, holder, 'node_modules')));

/** Writes the texts that the sources in `directory` generate. */
function writeTexts(directory, folder) {
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const chosen = pattern === undefined ? [] : ['-t', pattern];
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      ...['--experimental-vm-modules', '--no-warnings', jest, '--rootDir', directory],
      ...['--config', join(directory, 'jest.config.mjs'), '--globals', JSON.stringify({ goldens: folder })],
      ...['--testPathIgnorePatterns=/node_modules/', '--testPathPatterns=tests/goldens/digests-full', ...chosen],
    ],
    { cwd: directory, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the texts of ${directory} could not be written:\n${stderr}`);
}

try {
  git('worktree', 'add', '--detach', tree, commit);
  for (const holder of holders) symlinkSync(join(root, holder, 'node_modules'), join(tree, holder, 'node_modules'));
  writeTexts(tree, before);
  writeTexts(root, after);
  if (!existsSync(after)) throw new Error(`no golden case has a name like ${String(pattern)}`);
  const { status } = spawnSync('git', ['diff', '--no-index', '--no-prefix', 'before', 'after'], {
    cwd: work,
    stdio: 'inherit',
  });
  if (status === 0) process.stdout.write('no text differs\n');
} finally {
  git('worktree', 'remove', '--force', tree);
  rmSync(work, { recursive: true, force: true });
}
