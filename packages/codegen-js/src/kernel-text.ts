// The text of one generated function. What differs between loops of one form (sizes, strides, constants of the user) is handed
// over when the function is called, so that equal forms are one function, which V8 compiles once. In: names of buffers,
// numbers and functions as they are asked for. Out: the text, and what is to be handed over.
//
// Law: a text has nothing of a user's in it: names are made here, numbers are printed by JavaScript.
import { get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { BufferId } from '@tsinductor/ir';

/** How the elements of a buffer are seen: as their dtype's array, or as the 32-bit halves of i64. */
type View = 'elements' | 'halves';

interface BufferUse {
  readonly buffer: BufferId;
  readonly dtype: DType;
  readonly view: View;
}

/** What a generated function is called with besides the buffers. */
export interface Handed {
  readonly buffers: readonly BufferUse[];
  /** Sizes, steps and places: in 32 bits, so that V8 computes with integers. */
  readonly integers: Int32Array;
  readonly numbers: readonly number[];
  readonly functions: readonly unknown[];
}

/** Where helper functions are found by name; each is one object, so that V8 sees one function wherever it is called. */
export type Helpers = (name: string, make: () => unknown) => unknown;

export class KernelText {
  readonly #helpers: Helpers;
  readonly #buffers = new Map<string, BufferUse>();
  readonly #integers: number[] = [];
  readonly #numbers: number[] = [];
  readonly #functions = new Map<string, unknown>();
  #names = 0;

  constructor(helpers: Helpers) {
    this.#helpers = helpers;
  }

  /** A name that nothing else has. */
  name(prefix: string): string {
    this.#names += 1;
    return `${prefix}${String(this.#names)}`;
  }

  /** The array of a buffer, named by the order in which buffers are met: equal loops over others are one text. */
  buffer(buffer: BufferId, dtype: DType, view: View = 'elements'): string {
    for (const [name, use] of this.#buffers) if (use.buffer === buffer && use.view === view) return name;
    const name = `${view === 'halves' ? 'halves' : dtype}_${String(this.#buffers.size)}`;
    this.#buffers.set(name, { buffer, dtype, view });
    return name;
  }

  /** A float that may be another one at the next call. */
  number(value: number): string {
    return `n${String(positionIn(this.#numbers, value))}`;
  }

  /** A size, step or place that may be another one at the next call; 0, 1 and -1 are part of the form. */
  integer(value: number): string {
    if (value === 0 || value === 1 || value === -1) return literal(value);
    // Beyond 32 bits it is one of the floats.
    return (value | 0) === value ? `c${String(positionIn(this.#integers, value))}` : this.number(value);
  }

  /** A helper function. */
  helper(name: string, make: () => unknown): string {
    if (!this.#functions.has(name)) this.#functions.set(name, this.#helpers(name, make));
    return name;
  }

  /** What a name of a helper stands for. */
  value(name: string): unknown {
    return get(this.#functions, name);
  }

  /** The whole text, and what goes with it. */
  finish(body: readonly string[]): { readonly text: string; readonly handed: Handed } {
    const list = (names: readonly string[], from: string): string[] =>
      names.map((name, position) => `const ${name} = ${from}[${String(position)}];`);
    const numbered = (prefix: string, { length }: readonly number[]): string[] =>
      Array.from({ length }, (_, position) => `${prefix}${String(position)}`);
    const text = [
      "'use strict';",
      'const { buffers, integers, numbers, functions, fail } = given;',
      ...list([...this.#buffers.keys()], 'buffers'),
      ...list(numbered('c', this.#integers), 'integers'),
      ...list(numbered('n', this.#numbers), 'numbers'),
      ...list([...this.#functions.keys()], 'functions'),
      ...body,
    ].join('\n');
    const handed = {
      buffers: [...this.#buffers.values()],
      integers: Int32Array.from(this.#integers),
      numbers: this.#numbers,
      functions: [...this.#functions.values()],
    };
    return { text, handed };
  }
}

/** Where a number stands in a list, at whose end it is put if it is new. */
function positionIn(list: number[], value: number): number {
  const known = list.indexOf(value);
  return known === -1 ? list.push(value) - 1 : known;
}

/** A number as JavaScript text. */
export function literal(value: number): string {
  if (Object.is(value, -0)) return '(-0)';
  return value < 0 ? `(${String(value)})` : String(value);
}
