// When a compiled function's surroundings are looked at: what it closes over at its first trace, and what its module does to that when
// the first result is out. Reading and parsing a module takes longer than tracing and running a small function from the cache, and
// the first call waits for none of it: it happens when this task has ended, or before the next call or trace, whichever is first.
//
// What is compared at later calls is a value of the trace. Where there is a list, a table or an object, what it holds now counts: if
// variables are watched, it is looked at now. Otherwise all that is told is what is written where, which stays as it is.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import type { Helper } from './called-helpers.ts';
import type { CaptureWatch } from './capture-watch.ts';
import { reportClosure } from './closure-report.ts';
import type { Inspected } from './closure-report.ts';
import { isBuiltIn, isOwn } from './followed-function.ts';
import { sourceOf } from './function-source.ts';
import type { Around } from './outer-reads.ts';

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
    const { fn, given, around } = inspected;
    const canWait = around !== undefined && (!listener.isWatching() || isSteady(fn, given, around));
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

/** Whether nothing that a function is given, or that it and its helpers use, can be another while it is the same object. */
function isSteady(fn: object, given: readonly unknown[], { closure, helpers }: Around): boolean {
  const known = new Set(helpers.map((helper) => helper.fn));
  const staysHere = (value: unknown): boolean => stays(value, known);
  return given.every(staysHere) && [{ fn, closure }, ...helpers].every((one) => usesOnly(one, staysHere));
}

/** Whether the variables that a function uses are all of a kind. */
function usesOnly({ fn, closure }: Helper, isSo: (value: unknown) => boolean): boolean {
  const source = sourceOf(fn);
  // A name may be written with escapes.
  if (source.includes('\\')) return false;
  const names = new Set(source.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));
  return [...closure].every(([name, value]) => !names.has(name) || isSo(value));
}

/** What `known` functions of the program close over is looked at for itself; that of others can change as well. */
function stays(value: unknown, known: ReadonlySet<object>): boolean {
  if (typeof value === 'function')
    return (isOwn(value) || isBuiltIn(value) || known.has(value)) && Object.keys(value).length === 0;
  if (typeof value !== 'object' || value === null) return true;
  return isTensor(value) || types.isModuleNamespaceObject(value) || Object.isFrozen(value);
}
