// Builds the native bridge on first use, and finds it again later. In: a compiler and a directory that belongs to the
// user. Out: the path of an addon whose bytes have just been compared with the digest beside it.
//
// The addon lies in a directory named after everything that went into it: the sources, the headers of Node-API, flags,
// compiler and Node's version. That directory appears by one rename, so processes that build it at once agree on the first;
// a damaged one is moved away and built anew.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256, stableHash } from '@tsinductor/base';
import {
  compilerCrashed,
  compilerFailed,
  compilerNotStarted,
  compilerTimeout,
  outputMissing,
  outputNotWritten,
  platformUnsupported,
} from './errors.ts';
import { bridgeFlags } from './flags.ts';
import { runCommandSync } from './run-command.ts';
import { makeStage, removeQuietly } from './staging.ts';
import type { Toolchain } from './toolchain.ts';

export interface BridgeBuildOptions {
  readonly toolchain: Toolchain;
  /** Where built bridges are kept: a directory that only the user can write to. */
  readonly directory: string;
  readonly milliseconds?: number;
  /** As on a Node whose finalizers wait for the event loop: those of the addon then do so anywhere. */
  readonly queuedFinalizers?: boolean;
}

const sourceNames = [
  'bridge.cc',
  'abi.h',
  'float-environment.h',
  'foreign-call.h',
  'memory.h',
  'thread-placement.h',
  'thread-pool.h',
  'watches.h',
] as const;
const libraryName = 'bridge.node';
const digestName = 'bridge.sha256';

/** The path of a verified addon, built now if it is not there yet. */
export function buildBridge(options: BridgeBuildOptions): string {
  const sources = sourceDirectory();
  const headers = headerDirectory();
  const home = homeOf(options, sources);
  if (isIntact(home)) return join(home, libraryName);
  const stage = makeStage(options.directory, '.bridge-');
  try {
    compile(options, { sources, headers, stage });
    publish(stage, home);
  } finally {
    removeQuietly(stage);
  }
  return join(home, libraryName);
}

/** Whether the addon is there already. */
export const isBridgeBuilt = (options: BridgeBuildOptions): boolean => isIntact(homeOf(options, sourceDirectory()));

function sourceDirectory(): string {
  if (process.platform !== 'linux') throw platformUnsupported(process.platform);
  return fileURLToPath(new URL('../native', import.meta.url));
}

const homeOf = (options: BridgeBuildOptions, sources: string): string =>
  join(options.directory, `bridge-${bridgeKey(options, sources).slice(0, 32)}`);

const flagsOf = ({ queuedFinalizers = false }: BridgeBuildOptions): readonly string[] =>
  queuedFinalizers ? [...bridgeFlags, '-DTSINDUCTOR_QUEUED_FINALIZERS'] : bridgeFlags;

const headerDirectory = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('node-api-headers/package.json')), 'include');

function bridgeKey(options: BridgeBuildOptions, sources: string): string {
  return stableHash({
    format: 1,
    sources: sourceNames.map((name) => sha256(readFileSync(join(sources, name)))),
    compiler: options.toolchain.fingerprint,
    flags: flagsOf(options),
    // Finalizers that run inside collections belong to Node-API's experimental part, which a release may change.
    abi: [process.version, process.versions['napi'], process.arch],
  });
}

/** Whether the directory holds an addon of ours with the bytes it was built with. */
function isIntact(home: string): boolean {
  try {
    const owner = process.geteuid?.();
    if (owner !== undefined && lstatSync(home).uid !== owner) return false;
    const library = readFileSync(join(home, libraryName));
    return createHash('sha256').update(library).digest('hex') === readFileSync(join(home, digestName), 'utf8').trim();
  } catch {
    return false;
  }
}

function compile(options: BridgeBuildOptions, place: { sources: string; headers: string; stage: string }): void {
  const { toolchain, milliseconds = 120_000 } = options;
  const output = join(place.stage, libraryName);
  const source = join(place.sources, sourceNames[0]);
  const command = [...toolchain.command, ...flagsOf(options), '-I', place.headers, source, '-o', output];
  const environment = { ...toolchain.environment, TMPDIR: place.stage };
  const { end, stderr } = runCommandSync(command, { milliseconds, environment });
  const trace = { command, stderr, sourcePath: source };
  switch (end.kind) {
    case 'exited':
      if (end.status !== 0) throw compilerFailed(trace, end.status);
      break;
    case 'timedOut':
    case 'aborted':
      throw compilerTimeout(trace, milliseconds);
    case 'signalled':
      throw compilerCrashed(trace, end.signal);
    case 'notStarted':
      throw compilerNotStarted(trace, end.reason);
  }
  try {
    writeFileSync(join(place.stage, digestName), `${sha256(readFileSync(output))}\n`, { mode: 0o600 });
  } catch {
    throw outputMissing(trace);
  }
}

/** Makes the staged directory the home, unless another process was faster with an intact one. */
function publish(stage: string, home: string): void {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      renameSync(stage, home);
      return;
    } catch (cause) {
      if (isIntact(home)) return;
      if (attempt === 2) throw outputNotWritten(home, cause);
      moveAway(home);
    }
  }
}

/** Removes a damaged home: first out of sight by a rename, since others may be looking at it. */
function moveAway(home: string): void {
  const aside = `${home}.damaged-${String(process.pid)}-${String(process.hrtime.bigint())}`;
  try {
    renameSync(home, aside);
    removeQuietly(aside);
  } catch {
    // Someone else moved it; the next attempt decides.
  }
}
