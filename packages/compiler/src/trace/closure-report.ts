// What is said once of the variables around a compiled function. In: the function. Out: notes with name, line and remedy, and a watch
// over those that can change.
import { partsOfDerived } from '@tsinductor/tensor/internal';
import { captureRemedy } from '../errors.ts';
import { CaptureWatch } from './capture-watch.ts';
import { findOuterWrites } from './closure.ts';
import { findClosureReads } from './closure-reads.ts';
import type { Helper } from './called-helpers.ts';
import { accessorOf, findDescriptor } from './readers.ts';

interface ClosureReport {
  readonly notes: readonly { readonly topic: string; readonly text: string }[];
  readonly watches: readonly CaptureWatch[];
}

export interface Inspected {
  readonly name: string;
  readonly fn: object;
  /** The file where it was compiled. */
  readonly file: string | undefined;
  /** What `captures` gives: guarded at every call. */
  readonly captured: readonly string[];
  /** Objects around it at which every call looks: fields of them are guarded where they were read, or were not there. */
  readonly guarded: ReadonlySet<unknown>;
  /** What it was called with. */
  readonly given: readonly unknown[];
  /** It and its helpers, with what they closed over when it was traced. None where the engine does not tell. */
  readonly functions: readonly Helper[];
}

/** Of the function, and of those of the program that it names or is given. */
export function reportClosure(inspected: Inspected): ClosureReport {
  const [first, ...helpers] = inspected.functions;
  const { name } = inspected;
  const own = reportOne(inspected, first?.closure);
  const ofHelpers = helpers.map((helper) => {
    const { name: called } = helper.fn as { readonly name: string };
    const text = called === '' ? `a function that ${name} calls` : `${called}, which ${name} calls,`;
    return reportOne({ ...inspected, name: text, fn: helper.fn }, helper.closure);
  });
  const all = [own, ...ofHelpers];
  return { notes: all.flatMap(({ notes }) => notes), watches: all.flatMap(({ watches }) => watches) };
}

function reportOne(
  { name, fn, file, captured, guarded }: Inspected,
  closure: ReadonlyMap<string, unknown> | undefined,
): ClosureReport {
  // Of what is ours there is nothing to say: what it was made of is among the helpers.
  if (partsOfDerived(fn) !== undefined) return { notes: [], watches: [] };
  const writes = findOuterWrites(fn).map(({ name: variable, line }) => ({
    topic: `CLOSURE_WRITE ${name} ${variable}`,
    text: `line ${String(line)} of ${name} writes to ${variable}, which is outside the function: this happens once, when it is traced; return the value instead`,
  }));
  if (closure === undefined) return { notes: writes, watches: [] };
  const reads = findClosureReads(fn, { file, closure }).filter(
    ({ name: variable }) => !isGuarded(variable, guarded, closure) && !captured.includes(variable.replace(/^.*\./, '')),
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
  // The engine does not tell what `this` of an arrow function is.
  const isWatched = ({ name: variable, writtenAt }: (typeof reads)[number]): boolean =>
    writtenAt !== undefined && !variable.startsWith('this.');
  const watched = reads.filter(isWatched).map(({ name: variable }) => variable);
  return {
    notes: [...writes, ...notes],
    watches: watched.length === 0 ? [] : [new CaptureWatch(fn, watched, closure)],
  };
}

/** Whether every call looks at the object that a variable holds, or that has the field, unless that is computed. */
function isGuarded(variable: string, guarded: ReadonlySet<unknown>, closure: ReadonlyMap<string, unknown>): boolean {
  const [root = '', key] = variable.split('.');
  const object = closure.get(root);
  if (!guarded.has(object)) return false;
  return key === undefined || accessorOf(findDescriptor(object as object, key)) === undefined;
}
