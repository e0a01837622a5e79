// Finds a C++ compiler that works. In: where to look, and the values of the environment that matter. Out: a report that
// lists every place and what happened there, and the compiler that was chosen, if any.
//
// A candidate is accepted when `--version` ends in time and names a compiler we know, new enough. A report with a compiler is kept
// on disk under the identity of every candidate's file, so a warm start reads one small file and starts no process. A candidate
// that failed is asked again by every process, for the cause may be gone: docs/notes/trust.md. Where there is none, the one stands in by
// which artifacts from another machine were made, if there are such: their code runs, and nothing new can be compiled.
import { stableHash } from '@tsinductor/base';
import { compilerNotFound } from './errors.ts';
import { readRecord, writeRecord } from './json-record.ts';
import type { RecordPlace } from './json-record.ts';
import { locateCompilers, locateVersioned } from './locate-compilers.ts';
import type { Candidate, CandidateOrigin, LocateOptions } from './locate-compilers.ts';
import { runCommandSync } from './run-command.ts';
import type { CommandEnd } from './run-command.ts';

export type CompilerFamily = 'gcc' | 'clang';

/** Identifies a compiler in cache keys: equal strings compile equal text to equal code on one CPU. */
export type CompilerFingerprint = string & { readonly __fingerprint: never };

export interface Toolchain {
  /** The compiler's absolute path and the words that always follow it. */
  readonly command: readonly string[];
  readonly family: CompilerFamily;
  /** The first line of `--version`. */
  readonly version: string;
  readonly fingerprint: CompilerFingerprint;
  /** Flags behind the compiler's name that are not passed on, because they change numerics; none, if absent. */
  readonly droppedFlags?: readonly string[];
  /** Flags that stand behind all others wherever generated code is compiled; none, if absent. */
  readonly lastFlags?: readonly string[];
  /** The whole environment that compilers are started with. */
  readonly environment: Readonly<Record<string, string>>;
}

type CandidateOutcome = 'chosen' | 'missing' | 'hangs' | 'crashes' | 'fails' | 'unknown' | 'too old';

interface SearchedPlace {
  readonly origin: CandidateOrigin;
  readonly name: string;
  readonly path: string | undefined;
  readonly outcome: CandidateOutcome;
  readonly detail: string;
}

export interface ToolchainReport {
  readonly toolchain: Toolchain | undefined;
  readonly searched: readonly SearchedPlace[];
}

interface ToolchainOptions extends LocateOptions {
  /** Where the report is kept; nothing is kept without it. */
  readonly directory?: string;
  /** A directory with reports of others, which is only read. */
  readonly readable?: string | undefined;
  /** How long one `--version` may take. */
  readonly milliseconds?: number;
  /** How long all of them may take together; each has half a second in any case. */
  readonly totalMilliseconds?: number;
  /** Further variables for the compilers, such as those of Nix or Conda wrappers. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A `--version` takes some milliseconds; what takes so long hangs. */
const versionMilliseconds = 3000;
const searchMilliseconds = 6000;
/** What a candidate is given when those before it have used up the time. */
const leastMilliseconds = 500;

const oldest: Readonly<Record<CompilerFamily, number>> = { gcc: 9, clang: 11 };

/** Looks for a compiler, or recalls what the last look found. */
export function findToolchain(options: ToolchainOptions): ToolchainReport {
  const settings = settingsOf(options);
  const plain = recall(plainRecord, locateCompilers(options), settings);
  if (plain.toolchain !== undefined) return plain;
  const versioned = recall(versionedRecord, locateVersioned(options), settings);
  const toolchain = versioned.toolchain ?? carried(settings)?.toolchain;
  return { toolchain, searched: [...plain.searched, ...versioned.searched] };
}

/** What `findToolchain` would find without starting anything: an earlier look is on disk, or there is no file to look at. */
export function knownToolchain(options: ToolchainOptions): ToolchainReport | undefined {
  const settings = settingsOf(options);
  const plain = recorded(plainRecord, locateCompilers(options), settings).known;
  if (plain === undefined || plain.toolchain !== undefined) return plain;
  const versioned = recorded(versionedRecord, locateVersioned(options), settings).known;
  return versioned?.toolchain === undefined ? (carried(settings) ?? versioned) : versioned;
}

const plainRecord = 'toolchain.json';
const versionedRecord = 'toolchain-versioned.json';
const carriedRecord = 'toolchain-carried.json';

/** A compiler's file says nothing about a machine that has none. */
const carriedKey = (): string => stableHash({ format: 1, platform: process.platform, arch: process.arch });

/** Keeps the compiler of another machine, by which code was made that is used here: for where there is no compiler. */
export function keepCarried({ toolchain, searched }: ToolchainReport, directory: string): void {
  if (toolchain === undefined) return;
  // What lies under its path here, if anything does, is another compiler, or one that nobody asked for.
  const command = [`/another machine's${toolchain.command[0] ?? ''}`];
  writeRecord({ directory, name: carriedRecord }, carriedKey(), { toolchain: { ...toolchain, command }, searched });
}

const carried = ({ directory, readable }: ProbeSettings): ToolchainReport | undefined =>
  readRecord({ directory, readable, name: carriedRecord }, carriedKey(), isReport);

const settingsOf = (options: ToolchainOptions): ProbeSettings => ({
  environment: { LC_ALL: 'C', PATH: options.path, ...options.environment },
  milliseconds: options.milliseconds ?? versionMilliseconds,
  deadline: performance.now() + (options.totalMilliseconds ?? searchMilliseconds),
  directory: options.directory,
  readable: options.readable,
});

/** What is known of a look at these candidates, and where and under which key it is kept. */
function recorded(
  name: string,
  candidates: readonly Candidate[],
  { directory, readable, environment }: ProbeSettings,
): { readonly place: RecordPlace; readonly key: string; readonly known: ToolchainReport | undefined } {
  const place = { directory, readable, name };
  const key = stableHash({ format: 2, candidates, environment, platform: process.platform, arch: process.arch });
  const isNone = candidates.every(({ file }) => file === undefined);
  const none = { toolchain: undefined, searched: candidates.map(missingPlace) };
  return { place, key, known: isNone ? none : readRecord(place, key, isReport) };
}

function recall(name: string, candidates: readonly Candidate[], settings: ProbeSettings): ToolchainReport {
  const { place, key, known } = recorded(name, candidates, settings);
  if (known !== undefined) return known;
  const report = search(candidates, settings);
  if (report.toolchain !== undefined && report.searched.every(isLasting)) writeRecord(place, key, report);
  return report;
}

/** Whether the outcome follows from the files that the key names: then another process would find the same. */
const isLasting = ({ outcome }: SearchedPlace): boolean => ['chosen', 'missing', 'too old'].includes(outcome);

/** The chosen compiler; throws COMPILER_NOT_FOUND, with every place that was searched, where there is none. */
export function requireToolchain(report: ToolchainReport): Toolchain {
  if (report.toolchain === undefined) throw compilerNotFound(report.searched.map(describePlace).join('; '));
  return report.toolchain;
}

/** The toolchain that compiles generated code with these flags besides, and is another one for cache keys. */
export function withFlags(toolchain: Toolchain, flags: readonly string[]): Toolchain {
  if (flags.length === 0) return toolchain;
  const fingerprint = stableHash([toolchain.fingerprint, flags]) as CompilerFingerprint;
  return { ...toolchain, lastFlags: flags, fingerprint };
}

/** One searched place in words: `g++ (PATH): missing, not in /usr/bin`. */
export const describePlace = ({ name, origin, outcome, detail }: SearchedPlace): string =>
  `${name} (${origin}): ${outcome}${detail === '' ? '' : `, ${detail}`}`;

interface ProbeSettings {
  readonly environment: Readonly<Record<string, string>>;
  readonly milliseconds: number;
  readonly deadline: number;
  readonly directory: string | undefined;
  readonly readable: string | undefined;
}

function search(candidates: readonly Candidate[], settings: ProbeSettings): ToolchainReport {
  const searched: SearchedPlace[] = [];
  for (const candidate of candidates) {
    const first = probe(candidate, settings);
    // Once more, for what killed it, or kept it from starting, may be over.
    const isWorthAnother = ['crashes', 'fails', 'unknown'].includes(first.place.outcome);
    const { place, toolchain } = isWorthAnother ? probe(candidate, settings) : first;
    searched.push(place);
    if (toolchain !== undefined) return { toolchain, searched };
  }
  return { toolchain: undefined, searched };
}

function probe(candidate: Candidate, settings: ProbeSettings): { place: SearchedPlace; toolchain?: Toolchain } {
  const { origin, name, file, parameters } = candidate;
  const place = (outcome: CandidateOutcome, detail: string): SearchedPlace => ({
    origin,
    name,
    path: file?.path,
    outcome,
    detail,
  });
  if (file === undefined) return { place: missingPlace(candidate) };
  const command = [file.path, ...parameters];
  const milliseconds = Math.min(
    settings.milliseconds,
    Math.max(leastMilliseconds, settings.deadline - performance.now()),
  );
  const { end, stdout } = runCommandSync([...command, '--version'], { ...settings, milliseconds });
  if (end.kind !== 'exited' || end.status !== 0) return { place: place(...failure(end, milliseconds)) };
  const parsed = parseVersion(stdout);
  if (parsed === undefined) return { place: place('unknown', 'its --version names neither GCC nor clang') };
  const { family, major, version } = parsed;
  if (major < oldest[family]) {
    return { place: place('too old', `${version}; ${family} ${String(oldest[family])} or later is needed`) };
  }
  const { PATH: _path, ...variables } = settings.environment;
  const identity = [file.realPath, file.size, file.modified];
  const fingerprint = stableHash({ family, version, identity, parameters, variables });
  const { dropped } = candidate;
  return {
    place: place('chosen', dropped.length === 0 ? version : `${version}; without ${dropped.join(' ')}`),
    toolchain: {
      ...(dropped.length === 0 ? {} : { droppedFlags: dropped }),
      command,
      family,
      version,
      fingerprint: fingerprint as CompilerFingerprint,
      environment: settings.environment,
    },
  };
}

const missingPlace = ({ origin, name, missing }: Candidate): SearchedPlace => ({
  origin,
  name,
  path: undefined,
  outcome: 'missing',
  detail: missing,
});

function failure(end: CommandEnd, milliseconds: number): [CandidateOutcome, string] {
  switch (end.kind) {
    case 'timedOut':
      return ['hangs', `--version was stopped after ${String(Math.round(milliseconds))} ms`];
    case 'signalled':
      return ['crashes', `--version ended with ${end.signal}`];
    case 'exited':
      return ['fails', `--version ended with status ${String(end.status)}`];
    case 'notStarted':
      return ['fails', end.reason];
    case 'aborted':
      return ['fails', 'aborted'];
  }
}

/** Reads what `--version` prints; undefined for anything but GCC and clang. */
function parseVersion(text: string): { family: CompilerFamily; major: number; version: string } | undefined {
  const version = (text.split('\n')[0] ?? '').trim().slice(0, 200);
  const clang = /\bclang version (\d{1,3})\./.exec(version);
  if (clang !== null) return { family: 'clang', major: Number(clang[1]), version };
  const gcc = /\)\s+(\d{1,3})\.\d+(\.\d+)?\b/.exec(version) ?? /\s(\d{1,3})\.\d+\.\d+\b/.exec(version);
  if (gcc !== null && text.includes('Free Software Foundation'))
    return { family: 'gcc', major: Number(gcc[1]), version };
  return undefined;
}

/** The digest beside a record vouches for its content; this only guards against records of another make. */
const isReport = (value: unknown): value is ToolchainReport =>
  typeof value === 'object' && value !== null && Array.isArray((value as { searched?: unknown }).searched);
