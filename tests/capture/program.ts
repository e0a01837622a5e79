// A small program of the capture tests: a function, the calls that are made of it, and what capturing it comes to. It runs
// once as it is and once compiled (on the interpreter: no kernel is the matter here); both have to give the same.
import { compile, isTensor } from 'tsinductor';
import type { CompileOptions } from 'tsinductor';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- programs have functions of any type, and call them as they please
export type AnyFunction = (...args: any[]) => any;

export interface Program<F extends AnyFunction = AnyFunction> {
  /** Gives the function: a fresh one for each of the two runs, with state of its own. */
  readonly make: () => F;
  /** Calls it; gives everything that is to be equal. */
  readonly calls: (fn: F) => unknown;
  /** Graphs that were compiled in the end, places where the function broke, recompilations. */
  readonly graphs: number;
  readonly breaks?: number;
  readonly recompiles?: number;
  readonly options?: CompileOptions;
}

/** States the type of a program's function once. */
export const program = <F extends AnyFunction>(stated: Program<F>): Program => stated as unknown as Program;

export type Programs = Readonly<Record<string, Program>>;

export interface Outcome {
  readonly eager: string;
  readonly compiled: string;
  readonly graphs: number;
  readonly breaks: number;
  readonly recompiles: number;
  /** Guards and messages as text, in which no path or line of this checkout stands. */
  readonly text: string;
}

export function outcomeOf({ make, calls, options }: Program): Outcome {
  const eager = printed(() => calls(make()));
  const fn = compile(make(), { backend: 'aot_eager', name: 'program', ...options });
  const compiled = printed(() => calls(fn));
  const { graphs, breaks, recompiles, notes } = fn.explain();
  const lines = [
    ...graphs.flatMap(({ guards }, index) => [`graph ${String(index)}`, ...guards.map((guard) => `  ${guard}`)]),
    ...recompiles.map((reason) => `recompiled: ${reason}`),
    ...breaks.map(({ reason }) => `broke: ${reason}`),
    ...notes.map((note) => `note: ${note}`),
  ];
  return {
    eager,
    compiled,
    graphs: graphs.length,
    breaks: breaks.length,
    recompiles: recompiles.length,
    text: lines.join('\n').replace(/(?:\/[\w.@-]+)+\/([\w.-]+):\d+/g, '$1'),
  };
}

/** A result in one line, or the error instead. */
function printed(run: () => unknown): string {
  try {
    return JSON.stringify(run(), (_, value: unknown) => {
      if (isTensor(value)) return { dtype: value.dtype, shape: value.shape, values: value.toArray() };
      return Object.is(value, -0) ? '-0' : typeof value === 'bigint' ? String(value) : value;
    });
  } catch (error) {
    return `threw ${String((error as { code?: unknown }).code ?? error)}`;
  }
}
