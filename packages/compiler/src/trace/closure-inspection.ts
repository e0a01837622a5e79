// When a compiled function's surroundings are looked at: what it closes over at its first trace, and what its module does to that when
// the first result is out. Reading and parsing a module takes longer than tracing and running a small function from the cache, and
// the first call waits for none of it: it happens when this task has ended, or before the next call or trace, whichever is first.
//
// Only where that cannot make a difference: all that the function uses from around it is a value that stays as it is (a number, a
// tensor, a function that is not the program's, what is frozen), and the values of the trace are kept. Where there is a list, a table or an object, what it holds
// now counts, so it is looked at now.
import { types } from 'node:util';
import { isTensor } from '@tsinductor/tensor';
import type { CaptureWatch } from './capture-watch.ts';
import { reportClosure } from './closure-report.ts';
import type { Inspected } from './closure-report.ts';
import { isBuiltIn, isOwn } from './followed-function.ts';
import { sourceOf } from './function-source.ts';
import { closureOf } from './inspected.ts';

interface Listener {
  /** Says something once per topic. */
  tell(topic: string, text: string): void;
  /** Whether variables that can change are watched. */
  isWatching(): boolean;
}

export class ClosureInspection {
  readonly #inspected: Inspected;
  readonly #listener: Listener;
  readonly #closure: ReadonlyMap<string, unknown> | undefined;
  #later: NodeJS.Immediate | undefined;
  #watches: readonly CaptureWatch[] = [];

  constructor(inspected: Inspected, listener: Listener) {
    this.#inspected = inspected;
    this.#listener = listener;
    this.#closure = closureOf(inspected.fn);
    const { fn, given } = inspected;
    const isSettled = this.#closure !== undefined && given.every(stays) && isSteady(sourceOf(fn), this.#closure);
    if (isSettled)
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
    const { notes, watches } = reportClosure(this.#inspected, this.#closure);
    for (const { topic, text } of notes) this.#listener.tell(topic, text);
    if (this.#listener.isWatching()) this.#watches = watches;
  }
}

/** Whether no variable that a function uses holds what can be another while it is the same object. */
function isSteady(source: string, closure: ReadonlyMap<string, unknown>): boolean {
  // A name may be written with escapes.
  if (source.includes('\\')) return false;
  const names = new Set(source.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));
  return [...closure].every(([name, value]) => !names.has(name) || stays(value));
}

function stays(value: unknown): boolean {
  // What a function of the program closes over can change as well.
  if (typeof value === 'function') return (isOwn(value) || isBuiltIn(value)) && Object.keys(value).length === 0;
  if (typeof value !== 'object' || value === null) return true;
  return isTensor(value) || types.isModuleNamespaceObject(value) || Object.isFrozen(value);
}
