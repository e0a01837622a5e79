// What a build was made of, so that a second one does nothing. In: a project's files, its settings, the bundle. Out: a digest of each, in
// a file beside the bundle; and whether they are what they were.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stableHash } from '@tsinductor/base';
import { buildFingerprint } from '@tsinductor/compiler';
import type { BuiltFunction } from './examples-protocol.ts';
import { replaceFile } from './replace-file.ts';

/** What was built, and of what. */
interface BuildState {
  readonly format: typeof stateFormat;
  /** Of this package, Node and the project's settings. */
  readonly surroundings: string;
  /** By path, digests of the project's files. */
  readonly files: Readonly<Record<string, string>>;
  /** Of the bundle; null where nothing was compiled. */
  readonly bundle: string | null;
  readonly functions: readonly BuiltFunction[];
}

const stateFormat = 'tsinductor build 1';

const digestOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

const stateFile = (bundle: string): string => `${bundle}.json`;

/** A digest of what decides the code beside the files: settings, this package, Node, and which packages are installed. */
export const surroundingsOf = (tsconfig: string, options: unknown): string =>
  stableHash([
    buildFingerprint,
    process.version,
    process.arch,
    tsconfig,
    JSON.stringify(options),
    lockDigest(dirname(tsconfig)),
  ]);

const locks = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock'];

/** Of what a package manager says of installed versions, in the nearest directory where one does; of nothing where none does. */
function lockDigest(directory: string): string {
  const found = locks.map((name) => join(directory, name)).find((path) => existsSync(path));
  const above = dirname(directory);
  if (found !== undefined) return digestOf(found);
  return above === directory ? '' : lockDigest(above);
}

interface Built {
  readonly bundle: string;
  readonly surroundings: string;
  readonly files: readonly string[];
  readonly functions: readonly BuiltFunction[];
}

export function writeState({ bundle, surroundings, files, functions }: Built): void {
  const state: BuildState = {
    format: stateFormat,
    surroundings,
    files: Object.fromEntries([...files].sort().map((file) => [file, digestOf(file)])),
    bundle: existsSync(bundle) ? digestOf(bundle) : null,
    functions,
  };
  replaceFile(stateFile(bundle), `${JSON.stringify(state, undefined, 1)}\n`);
}

/** The state of a build that is still good: `roots` are the files that the project names now. */
export function currentState(bundle: string, surroundings: string, roots: readonly string[]): BuildState | undefined {
  const state = readState(stateFile(bundle));
  if (state?.surroundings !== surroundings) return undefined;
  const known = new Map(Object.entries(state.files));
  if (!roots.every((file) => known.has(file))) return undefined;
  const isSame = [...known].every(([file, digest]) => existsSync(file) && digestOf(file) === digest);
  const isBundleSame = state.bundle === (existsSync(bundle) ? digestOf(bundle) : null);
  return isSame && isBundleSame ? state : undefined;
}

function readState(path: string): BuildState | undefined {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as BuildState;
    return (state.format as unknown) === stateFormat ? state : undefined;
  } catch {
    return undefined;
  }
}
