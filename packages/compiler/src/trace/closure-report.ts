// What is said once of the variables around a compiled function. In: the function. Out: notes with name, line and remedy, and a watch
// over those that can change.
import { captureRemedy } from '../errors.ts';
import { CaptureWatch } from './capture-watch.ts';
import { findOuterWrites } from './closure.ts';
import { findClosureReads } from './closure-reads.ts';

interface ClosureReport {
  readonly notes: readonly { readonly topic: string; readonly text: string }[];
  readonly watch: CaptureWatch | undefined;
}

export interface Inspected {
  readonly name: string;
  readonly fn: (...args: never[]) => unknown;
  /** The file where it was compiled. */
  readonly file: string | undefined;
  /** What `captures` gives: guarded at every call. */
  readonly captured: readonly string[];
}

/** `closure`: what the function closed over when it was traced; undefined where the engine does not tell. */
export function reportClosure(
  { name, fn, file, captured }: Inspected,
  closure: ReadonlyMap<string, unknown> | undefined,
): ClosureReport {
  const writes = findOuterWrites(fn).map(({ name: variable, line }) => ({
    topic: `CLOSURE_WRITE ${name} ${variable}`,
    text: `line ${String(line)} of ${name} writes to ${variable}, which is outside the function: this happens once, when it is traced; return the value instead`,
  }));
  if (closure === undefined) return { notes: writes, watch: undefined };
  const reads = findClosureReads(fn, { file, closure }).filter(
    ({ name: variable }) => !captured.includes(variable.replace(/^.*\./, '')),
  );
  const notes = reads.map(({ name: variable, line, writtenAt }) => {
    const why =
      writtenAt === undefined
        ? 'gives another value each time'
        : `is written to at line ${String(writtenAt)} of its module`;
    const remedy =
      writtenAt === undefined ? 'call it outside, and pass the value as an argument' : captureRemedy(variable);
    return {
      topic: `CLOSURE_READ ${name} ${variable}`,
      text: `line ${String(line)} of ${name} reads ${variable}, which ${why}: what is compiled keeps the value of its trace; ${remedy}`,
    };
  });
  const watched = reads.filter(({ writtenAt }) => writtenAt !== undefined).map(({ name: variable }) => variable);
  return {
    notes: [...writes, ...notes],
    watch: watched.length === 0 ? undefined : new CaptureWatch(fn, watched, closure),
  };
}
