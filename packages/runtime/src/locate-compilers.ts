// Where a C++ compiler could be: the candidates in the order in which they are tried. In: names from the configuration,
// the value of CXX, the value of PATH. Out: one candidate per name, with the file it stands for or the places where it
// was looked for. Nothing is run here.
import { accessSync, constants, readdirSync, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { sortFlags } from './numeric-flags.ts';

export type CandidateOrigin = 'config' | 'CXX' | 'PATH';

/** The file behind a command, as it is now. */
interface CompilerFile {
  readonly path: string;
  /** The file that the path leads to, its size and its time of change. */
  readonly realPath: string;
  readonly size: number;
  readonly modified: number;
}

export interface Candidate {
  readonly origin: CandidateOrigin;
  /** As it was asked for: `g++`, `/opt/bin/clang++`, `ccache g++`. */
  readonly name: string;
  /** Words after the first, without those that change numerics. */
  readonly parameters: readonly string[];
  /** The words that do, which are not passed on. */
  readonly dropped: readonly string[];
  readonly file: CompilerFile | undefined;
  /** Why there is no file. */
  readonly missing: string;
}

export interface LocateOptions {
  /** Commands from the configuration, tried first. */
  readonly compilers?: readonly string[];
  /** The value of the variable CXX. */
  readonly cxx?: string | undefined;
  /** The value of the variable PATH. */
  readonly path: string;
}

const plainNames = ['g++', 'clang++', 'c++'] as const;
const versionedName = /^(g\+\+|clang\+\+)-(\d{1,3})$/;

/** What was asked for by name, then the plain names on PATH. */
export function locateCompilers(options: LocateOptions): Candidate[] {
  const named: Candidate[] = [];
  for (const name of options.compilers ?? []) named.push(candidate('config', name, options.path));
  if (options.cxx !== undefined && options.cxx.trim() !== '') named.push(candidate('CXX', options.cxx, options.path));
  return [...named, ...plainNames.map((name) => candidate('PATH', name, options.path))];
}

/** Versioned names on PATH, the newest first. Lists directories, so it is for when nothing else works. */
export const locateVersioned = (options: LocateOptions): Candidate[] =>
  versionedNames(options.path).map((name) => candidate('PATH', name, options.path));

function candidate(origin: CandidateOrigin, name: string, path: string): Candidate {
  const [word = '', ...words] = name.trim().split(/\s+/);
  const { kept: parameters, dropped } = sortFlags(words);
  const places = word.includes('/') ? [word] : pathDirectories(path).map((directory) => join(directory, word));
  for (const place of places) {
    const file = isAbsolute(place) ? executable(place) : undefined;
    if (file !== undefined) return { origin, name, parameters, dropped, file, missing: '' };
  }
  const where = word.includes('/')
    ? isAbsolute(word)
      ? `no executable file ${word}`
      : `${word} is not an absolute path`
    : `not in ${path === '' ? 'an empty PATH' : path}`;
  return { origin, name, parameters, dropped, file: undefined, missing: where };
}

/** The absolute directories of PATH; relative ones would depend on where the process was started. */
const pathDirectories = (path: string): string[] => path.split(delimiter).filter((directory) => isAbsolute(directory));

function executable(path: string): CompilerFile | undefined {
  try {
    accessSync(path, constants.X_OK);
    const status = statSync(path);
    if (!status.isFile()) return undefined;
    return { path, realPath: realpathSync(path), size: status.size, modified: status.mtimeMs };
  } catch {
    return undefined;
  }
}

/** Names such as `g++-13` on PATH, the newest first. */
function versionedNames(path: string): string[] {
  const versions = new Map<string, number>();
  for (const directory of pathDirectories(path)) {
    for (const name of listDirectory(directory)) {
      const match = versionedName.exec(name);
      if (match !== null) versions.set(name, Number(match[2]));
    }
  }
  return [...versions].sort(([a, x], [b, y]) => (x === y ? (a < b ? -1 : 1) : y - x)).map(([name]) => name);
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
