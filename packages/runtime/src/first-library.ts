// The first library that a compiler makes is loaded by a process of its own, which may die of it, before it is published: what a compiler
// does right once, it does again, and its later libraries are only looked into. In: the compiler, a library that is no addon, and where it
// is recorded that one was loaded. Out: nothing; an error where the process did not live, or rounded otherwise afterwards.
import { stableHash } from '@tsinductor/base';
import { libraryUnfit } from './errors.ts';
import { readRecord, writeRecord } from './json-record.ts';
import { runCommand, runCommandSync } from './run-command.ts';
import type { CommandEnd, CommandOptions } from './run-command.ts';
import type { Toolchain } from './toolchain.ts';

interface FirstLibrary {
  readonly toolchain: Toolchain;
  readonly library: string;
  /** Where records are kept. */
  readonly directory: string;
}

/** Loading takes a twentieth of a second. */
const milliseconds = 10_000;

/** Node loads it, finds that it is no addon, and says so: what counts is that it lives, and that subnormal numbers do. */
const loading = `
try { process.dlopen({ exports: {} }, process.argv[1]); } catch (error) {}
process.exit(new Float64Array([1e-310])[0] * 0.5 > 0 ? 0 : 3);`;

/** Checks the library if it is the first one. */
export async function checkFirstLibrary(first: FirstLibrary): Promise<void> {
  if (isKnown(first)) return;
  judge(first, (await runCommand(...commandOf(first))).end);
}

/** The same while the caller waits. */
export function checkFirstLibraryNow(first: FirstLibrary): void {
  if (isKnown(first)) return;
  judge(first, runCommandSync(...commandOf(first)).end);
}

const commandOf = ({ library, toolchain }: FirstLibrary): [readonly string[], CommandOptions] => [
  [process.execPath, '-e', loading, library],
  { milliseconds, environment: toolchain.environment },
];

const keyOf = ({ toolchain }: FirstLibrary): string =>
  stableHash({ format: 1, compiler: toolchain.fingerprint, abi: [process.version, process.arch] });

const placeOf = (first: FirstLibrary): Parameters<typeof writeRecord>[0] => ({
  directory: first.directory,
  name: `loads-${keyOf(first).slice(0, 16)}.json`,
});

const isKnown = (first: FirstLibrary): boolean =>
  readRecord(placeOf(first), keyOf(first), (value): value is true => value === true) === true;

/** A process that did not start, or not in time, says nothing of the library. */
function judge(first: FirstLibrary, end: CommandEnd): void {
  if (end.kind === 'signalled' || (end.kind === 'exited' && end.status === 3))
    throw libraryUnfit(first.library, end.kind === 'signalled' ? `it ended with ${end.signal}` : 'it rounds otherwise');
  if (end.kind === 'exited' && end.status === 0) writeRecord(placeOf(first), keyOf(first), true);
}
