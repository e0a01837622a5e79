// Looking whether what a function closes over is still what it was when it was traced. In: names of variables and of properties. Out:
// an error that names the first that changed. A look takes about a millisecond, so it is taken at a sample of calls that grows
// rarer: it costs less the more often a function is called, and nothing where nothing can change.
import { isTensor } from '@tsinductor/tensor';
import { types } from 'node:util';
import { captureChanged } from '../errors.ts';
import { closureOf } from './inspected.ts';

export class CaptureWatch {
  readonly #fn: object;
  readonly #names: readonly string[];
  readonly #before: ReadonlyMap<string, unknown>;
  #calls = 0;
  #next = 1;

  constructor(fn: object, names: readonly string[], closure: ReadonlyMap<string, unknown>) {
    this.#fn = fn;
    this.#names = names;
    this.#before = valuesOf(names, closure);
  }

  /** Counts a call, and looks at some: the first, the 2nd, the 4th, the 8th; after a change at each. Throws UserError CAPTURE_CHANGED. */
  called(name: string): void {
    this.#calls += 1;
    if (this.#calls < this.#next) return;
    this.look(name);
    this.#next *= 2;
  }

  look(name: string): void {
    const closure = closureOf(this.#fn);
    if (closure === undefined) return;
    const now = valuesOf(this.#names, closure);
    const changed = this.#names.find((variable) => !Object.is(this.#before.get(variable), now.get(variable)));
    if (changed === undefined) return;
    const [before, after] = [this.#before.get(changed), now.get(changed)];
    throw captureChanged(name, { variable: changed, before: printed(before), now: printed(after) });
  }
}

function valuesOf(names: readonly string[], closure: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  return new Map(
    names.map((name) => {
      const [root = '', key] = name.split('.');
      const value = closure.get(root);
      if (key !== undefined) return [name, (value as Readonly<Record<string, unknown>> | null | undefined)?.[key]];
      // What is in a list or a table counts, not which one it is.
      const isData = typeof value === 'object' && value !== null && !isTensor(value);
      return [name, isData ? contentOf(value) : value];
    }),
  );
}

/** Plain content as text; of everything else in it only that it is there. */
function contentOf(value: object): string {
  const items = types.isMap(value) || types.isSet(value) ? [...value] : value;
  return JSON.stringify(items, (_, item: unknown) =>
    isTensor(item) || typeof item === 'function' ? '(object)' : item,
  );
}

function printed(value: unknown): string {
  if (isTensor(value)) return `a tensor ${value.dtype}[${value.shape.join(', ')}]`;
  return typeof value === 'function' ? `the function ${value.name}` : String(value).slice(0, 60);
}
