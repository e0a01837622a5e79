// When it is read what a module does to the variables that a compiled function closes over. Reading and parsing a module takes longer
// than tracing and running a small function from the cache, so it waits until this task has ended, or until just before the next call or
// trace, whichever is first. What the variables held after the trace is kept until then.
//
// Where variables are watched and one holds an object that no guard looks at, or of which fields are computed, later calls compare what is in
// it, which may have changed by then. So in that case the module is read at once, within the first call.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import type { Helper } from './called-helpers.ts';
import type { CaptureWatch } from './capture-watch.ts';
import { reportClosure } from './closure-report.ts';
import type { Inspected } from './closure-report.ts';
import { isBuiltIn, isOwn } from './followed-function.ts';
import { namesIn, sourceOf } from './function-source.ts';
import { accessorOf, prototypeOf } from './readers.ts';

interface Listener {
  /** Says something once per topic. */
  tell(topic: string, text: string): void;
  /** Whether variables that can change are watched. */
  isWatching(): boolean;
}

export class ClosureInspection {
  /** Until it is reported: values of a closure are not kept alive after that. */
  #inspected: Inspected | undefined;
  readonly #listener: Listener;
  #later: NodeJS.Immediate | undefined;
  #watches: readonly CaptureWatch[] = [];

  constructor(inspected: Inspected, listener: Listener) {
    this.#inspected = inspected;
    this.#listener = listener;
    const canWait = inspected.functions.length > 0 && (!listener.isWatching() || isSteady(inspected));
    if (canWait)
      this.#later = setImmediate(() => {
        this.finish();
      });
    else this.#report();
  }

  /** A call that was compiled. Throws UserError CAPTURE_CHANGED where a look shows that a variable is another. */
  called(name: string): void {
    if (this.#later !== undefined) this.finish();
    for (const watch of this.#watches) watch.called(name);
  }

  /** Looks now. Throws UserError CAPTURE_CHANGED. */
  look(name: string): void {
    this.finish();
    for (const watch of this.#watches) watch.look(name);
  }

  /** Reports what was put off. */
  finish(): void {
    if (this.#later === undefined) return;
    this.cancel();
    this.#report();
  }

  /** What was put off is not asked for any more. */
  cancel(): void {
    clearImmediate(this.#later);
    this.#later = undefined;
  }

  #report(): void {
    if (this.#inspected === undefined) return;
    const { notes, watches } = reportClosure(this.#inspected);
    this.#inspected = undefined;
    for (const { topic, text } of notes) this.#listener.tell(topic, text);
    if (this.#listener.isWatching()) this.#watches = watches;
  }
}

/** Whether nothing that is given, or that these functions use from around them, can hold something else while it is the same object. */
function isSteady({ functions, given, guarded }: Inspected): boolean {
  const known = new Set(functions.map(({ fn }) => fn));
  const staysHere = (value: unknown): boolean => stays(value, known) || (guarded.has(value) && !isComputed(value));
  return given.every(staysHere) && functions.every((one) => usesOnly(one, staysHere));
}

/** Whether the variables that a function uses are all of a kind. */
function usesOnly({ fn, closure }: Helper, isSo: (value: unknown) => boolean): boolean {
  const source = sourceOf(fn);
  // A name may be written with escapes.
  if (source.includes('\\')) return false;
  const names = namesIn(source);
  return [...closure].every(([name, value]) => !names.has(name) || isSo(value));
}

/** Whether a value stays as it is. What a function of the program closes over can change; of the `known` ones that is looked at by itself. */
function stays(value: unknown, known: ReadonlySet<object>): boolean {
  if (typeof value === 'function')
    return (isOwn(value) || isBuiltIn(value) || known.has(value)) && Object.keys(value).length === 0;
  if (typeof value !== 'object' || value === null) return true;
  return isTensor(value) || types.isModuleNamespaceObject(value) || Object.isFrozen(value);
}

/** Whether a field of an object is read by calling something. */
function isComputed(object: unknown): boolean {
  for (
    let holder = object as object | null;
    holder !== null && holder !== Object.prototype;
    holder = prototypeOf(holder)
  )
    if (Object.values(Object.getOwnPropertyDescriptors(holder)).some((own) => accessorOf(own) !== undefined))
      return true;
  return false;
}
