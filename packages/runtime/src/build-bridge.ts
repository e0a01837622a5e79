// Builds the native bridge on first use, and finds it again later. In: a compiler and a directory that belongs to the
// user. Out: the path of an addon whose bytes have just been compared with the digest beside it.
//
// The addon lies in a directory named after everything that went into it: the sources, the headers of Node-API, flags,
// compiler and Node's version. That directory appears by one rename, so processes that build it at once agree on the first;
// a damaged one is moved away and built anew. Before it is published it is looked into, and loaded once by a process that may die
// of it.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processTag, sha256, stableHash } from '@tsinductor/base';
import {
  mayPass,
  bridgeUnfit,
  compilerCrashed,
  compilerFailed,
  compilerNotStarted,
  compilerTimeout,
  outputDamaged,
  outputMissing,
  outputNotWritten,
  platformUnsupported,
} from './errors.ts';
import type { CommandTrace } from './errors.ts';
import { bridgeFlags } from './flags.ts';
import { runCommand, runCommandSync } from './run-command.ts';
import type { CommandOptions, CommandOutcome } from './run-command.ts';
import { sharedObjectFault } from './shared-object.ts';
import { readSmallFile } from './small-file.ts';
import { makeStage, removeQuietly } from './staging.ts';
import type { Toolchain } from './toolchain.ts';

export interface BridgeBuildOptions {
  readonly toolchain: Toolchain;
  /** Where built bridges are kept: a directory that only the user can write to. */
  readonly directory: string;
  /** A directory with bridges of others, which is only read. */
  readonly readable?: string | undefined;
  /** How long the compiler may take; it needs half a second. */
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
  'loop.h',
  'thread-pool.h',
  'watches.h',
] as const;
export const libraryName = 'bridge.node';
export const digestName = 'bridge.sha256';

const defaultMilliseconds = 20_000;
const day = 86_400_000;
/** More is no bridge. */
const mostBytes = 64 << 20;

/** The path of a verified addon, built now if it is not there yet. */
export function buildBridge(options: BridgeBuildOptions): string {
  const known = findBridge(options);
  if (known !== undefined) return known;
  const build = beginBuild(options);
  const compile = (): void => {
    checkCompiled(build, runCommandSync(build.compile, build.settings));
  };
  try {
    try {
      compile();
    } catch (failure) {
      if (!mayPass(failure)) throw failure;
      compile();
    }
    checkLoading(build, runCommandSync(build.load, build.settings));
    return publish(build);
  } finally {
    removeQuietly(build.stage);
  }
}

/** The same without blocking: a thread that waits for a compiler cannot be stopped. */
export async function buildBridgeAsync(options: BridgeBuildOptions): Promise<string> {
  const known = findBridge(options);
  if (known !== undefined) return known;
  const build = beginBuild(options);
  const compile = async (): Promise<void> => {
    checkCompiled(build, await runCommand(build.compile, build.settings));
  };
  try {
    await compile().catch((failure: unknown) => {
      if (!mayPass(failure)) throw failure;
      return compile();
    });
    checkLoading(build, await runCommand(build.load, build.settings));
    return publish(build);
  } finally {
    removeQuietly(build.stage);
  }
}

/** The path of the verified addon, if it is there already. */
export function findBridge(options: BridgeBuildOptions): string | undefined {
  const name = bridgeName(options);
  const home = [options.directory, options.readable].find(
    (place) => place !== undefined && isIntact(join(place, name)),
  );
  if (home === undefined) return undefined;
  noteUse(join(home, name));
  return join(home, name, libraryName);
}

/** A bridge's directory has the time of its last use, to the day: what nobody uses is removed some day. */
function noteUse(home: string): void {
  try {
    if (Date.now() - lstatSync(home).mtimeMs < day) return;
    const now = new Date();
    utimesSync(home, now, now);
  } catch {
    // It is only read, or was replaced.
  }
}

function sourceDirectory(): string {
  if (process.platform !== 'linux') throw platformUnsupported(process.platform);
  return fileURLToPath(new URL('../native', import.meta.url));
}

/** What the addon's directory is called. */
export const bridgeName = (options: BridgeBuildOptions): string =>
  `bridge-${bridgeKey(options, sourceDirectory()).slice(0, 32)}`;

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

/** Whether the directory holds an addon of ours, or of the system's, with the bytes it was built with. */
function isIntact(home: string): boolean {
  try {
    const owner = process.geteuid?.();
    if (owner !== undefined && ![owner, 0].includes(lstatSync(home).uid)) return false;
    const library = readSmallFile(join(home, libraryName), mostBytes);
    const digest = readSmallFile(join(home, digestName), 1024).toString('utf8').trim();
    return createHash('sha256').update(library).digest('hex') === digest;
  } catch {
    return false;
  }
}

/** A bridge on its way: its stage, the two commands, and where it goes. */
interface BridgeBuild {
  readonly stage: string;
  readonly home: string;
  readonly output: string;
  readonly source: string;
  readonly compile: readonly string[];
  /** Loads what was compiled, in a process that may die of it. */
  readonly load: readonly string[];
  readonly settings: CommandOptions;
}

/** Loads an addon and says how doubles are: with status 3 for subnormal numbers that became zero. */
const loading = `
process.dlopen({ exports: {} }, process.argv[1]);
const tiny = new Float64Array([1e-310]);
process.exit(tiny[0] * 0.5 > 0 ? 0 : 3);`;

function beginBuild(options: BridgeBuildOptions): BridgeBuild {
  const { toolchain, directory, milliseconds = defaultMilliseconds } = options;
  const sources = sourceDirectory();
  const stage = makeStage(directory, '.bridge-');
  const output = join(stage, libraryName);
  const source = join(sources, sourceNames[0]);
  const compile = [...toolchain.command, ...flagsOf(options), '-I', headerDirectory(), source, '-o', output];
  return {
    stage,
    home: join(directory, bridgeName(options)),
    output,
    source,
    compile,
    load: [process.execPath, '-e', loading, output],
    settings: { milliseconds, environment: { ...toolchain.environment, TMPDIR: stage }, scratch: stage },
  };
}

const traceOf = ({ compile, source }: BridgeBuild, stderr: string): CommandTrace => ({
  command: compile,
  stderr,
  sourcePath: source,
});

/** Throws unless the compiler succeeded and left an addon; then its digest is beside it. */
function checkCompiled(build: BridgeBuild, { end, stderr }: CommandOutcome): void {
  const trace = traceOf(build, stderr);
  switch (end.kind) {
    case 'exited':
      if (end.status !== 0) throw compilerFailed(trace, end.status);
      break;
    case 'timedOut':
    case 'aborted':
      throw compilerTimeout(trace, build.settings.milliseconds);
    case 'signalled':
      throw compilerCrashed(trace, end.signal);
    case 'notStarted':
      throw compilerNotStarted(trace, end.reason);
  }
  const library = bytesOf(build, trace);
  const fault = sharedObjectFault(library, ['napi_register_module_v1']);
  if (fault !== undefined) throw outputDamaged(trace, fault);
  try {
    writeFileSync(join(build.stage, digestName), `${sha256(library)}\n`, { mode: 0o600 });
  } catch (cause) {
    throw outputNotWritten(build.stage, cause);
  }
}

function bytesOf({ output }: BridgeBuild, trace: CommandTrace): Buffer {
  try {
    return readSmallFile(output, mostBytes);
  } catch {
    throw outputMissing(trace);
  }
}

/** Throws where the process that loaded the addon did not live. A Node that does not start in so bare an environment says nothing. */
function checkLoading({ output }: BridgeBuild, { end, stderr }: CommandOutcome): void {
  if (end.kind === 'notStarted') return;
  if (end.kind === 'exited' && [0, 126, 127].includes(end.status)) return;
  const how = end.kind === 'exited' ? `status ${String(end.status)}` : end.kind === 'signalled' ? end.signal : end.kind;
  // Of an error of Node's the line that says what it is, and neither program nor stack.
  const said = /^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr.trim().split('\n').slice(0, 8).join('\n');
  throw bridgeUnfit(output, said === '' ? how : `${how}, ${said}`);
}

/** Makes the staged directory the home, unless another process was faster with an intact one; gives the addon's path. */
function publish({ stage, home }: BridgeBuild): string {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      renameSync(stage, home);
      break;
    } catch (cause) {
      if (isIntact(home)) break;
      if (attempt === 2) throw outputNotWritten(home, cause);
      moveAway(home);
    }
  }
  return join(home, libraryName);
}

/** Removes a damaged home: first out of sight by a rename, since others may be looking at it. */
function moveAway(home: string): void {
  const aside = join(dirname(home), `.bridge-${processTag()}${String(process.hrtime.bigint())}`);
  try {
    renameSync(home, aside);
    removeQuietly(aside);
  } catch {
    // Someone else moved it; the next attempt decides.
  }
}
