// Fresh projects of strangers. In: the archive of the package, an installer, a kind of module. Out: a folder in which the package is
// installed, with the programs of `programs/` in it. Folders have names as people give them, with blanks and brackets.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const programs = join(import.meta.dirname, 'programs');

/** Runs a command to its end; gives what it said. Throws with that where it fails. */
export function run(command, { cwd, env = {}, mayFail = false }) {
  const [file, ...args] = command;
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    cwd,
    encoding: 'utf8',
    env: { ...cleanEnvironment(), ...env },
    maxBuffer: 1 << 28,
  });
  if (error !== undefined) throw error;
  if (status !== 0 && !mayFail)
    throw new Error(`${command.join(' ')}\nended with ${String(status)}\n${stdout.slice(-3000)}${stderr.slice(-3000)}`);
  return { status, stdout, stderr };
}

/** What npm tells the scripts that it runs is not what a stranger's shell has. */
const cleanEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|TORCH)/.test(name)));

const npmInstall = (folder, packages) =>
  run(['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], { cwd: folder });

/** How a package comes into a project. `tools` is a folder in which installers themselves are installed. */
export const installers = {
  npm: (folder, { archive, more }) => npmInstall(folder, [archive, ...more]),
  pnpm: (folder, { archive, more, tools }) => {
    const pnpm = toolOf(tools, 'pnpm', 'pnpm@10');
    run([process.execPath, pnpm, 'add', '--prefer-offline', archive, ...more], { cwd: folder });
  },
  yarn: (folder, { archive, more, tools }) => {
    const yarn = toolOf(tools, 'yarn', 'yarn@1');
    run([process.execPath, yarn, 'add', '--silent', '--no-progress', `file:${archive}`, ...more], { cwd: folder });
  },
  // As `npm link` leaves it: a link to where the package and its dependencies really are.
  linked: (folder, { archive, more }) => {
    const elsewhere = join(dirname(folder), 'elsewhere');
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, 'package.json'), '{}');
    npmInstall(elsewhere, [archive]);
    if (more.length > 0) npmInstall(folder, more);
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
    symlinkSync(join(elsewhere, 'node_modules/tsinductor'), join(folder, 'node_modules/tsinductor'));
    symlinkSync('../tsinductor/lib/cli/tsinductor.js', join(folder, 'node_modules/.bin/tsinductor'));
  },
};

/** The program of an installer, which is installed if it is not there. */
function toolOf(tools, name, wanted) {
  mkdirSync(tools, { recursive: true });
  writeFileSync(join(tools, 'package.json'), '{}');
  npmInstall(tools, ['--no-save', wanted]);
  const { bin } = JSON.parse(readFileSync(join(tools, 'node_modules', name, 'package.json'), 'utf8'));
  return join(tools, 'node_modules', name, typeof bin === 'string' ? bin : bin[name]);
}

/** Makes a project in `folder`; `more` are other packages that it needs. */
export function makeProject(folder, { archive, tools, installer = 'npm', kind = 'esm', more = [] }) {
  mkdirSync(folder, { recursive: true });
  const type = kind === 'esm' ? { type: 'module' } : {};
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'stranger', version: '1.0.0', private: true, ...type }),
  );
  cpSync(programs, folder, { recursive: true });
  installers[installer](folder, { archive, tools, more });
  return folder;
}

/** The path of a Node of this major version from npm's packages; undefined where there is none for this machine. */
export function nodeOf(tools, version) {
  if (process.version.startsWith(`v${version}.`)) return process.execPath;
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(tools, `node-${version}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}');
  const { status } = run(['npm', 'install', '--no-audit', '--no-fund', `${name}@${version}`], {
    cwd: folder,
    mayFail: true,
  });
  return status === 0 ? join(folder, 'node_modules', name, 'bin/node') : undefined;
}

/** The environment of a shell in which `node` is this one. */
export const withNode = (node) => ({ PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` });
