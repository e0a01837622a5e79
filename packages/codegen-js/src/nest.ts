// Loops within loops, with the pointers that follow linear places and the statements of every level. Level 0 is ahead of the
// loops, level n within the first n. A statement stands at the outermost level where all that it uses is known.
import { at } from '@tsinductor/base';
import type { KernelText } from './kernel-text.ts';
import type { Linear } from './linear.ts';

/** One loop: `variable` counts from 0 to before `count` by 1. */
export interface Loop {
  readonly variable: string;
  /** Text of how often it runs. */
  readonly count: string;
  /** What a step of it adds to a place. */
  readonly stepOf: (linear: Linear) => number;
  /** The loop around the statements of the level within, where it is not a plain one. */
  readonly around?: (header: Header, inner: readonly string[]) => readonly string[];
}

/** Pointers as they begin and as they step. */
export interface Header {
  readonly variable: string;
  readonly count: string;
  readonly pointers: readonly Pointer[];
}

interface Pointer {
  readonly name: string;
  readonly start: string;
  readonly step: string;
}

/** An expression, and the level from which on it is known. */
export interface Placed {
  readonly text: string;
  readonly level: number;
}

/** The bits of the upper half of the least double that is a normal f32. */
const usualBits: number = 0x38100000;

/** What stands in a nest: statements of every level, and pointers of every loop. */
interface Content {
  readonly before: readonly string[][];
  readonly after: readonly string[][];
  readonly pointers: readonly Pointer[][];
}

const emptyContent = (loops: readonly Loop[]): Content => ({
  before: [[], ...loops.map(() => [])],
  after: [[], ...loops.map(() => [])],
  pointers: loops.map(() => []),
});

export class Nest {
  readonly #kernel: KernelText;
  readonly #loops: readonly Loop[];
  readonly #content: Content;
  readonly #known = new Map<string, Placed>();
  #usual: string | undefined;

  constructor(kernel: KernelText, loops: readonly Loop[], content: Content = emptyContent(loops)) {
    this.#kernel = kernel;
    this.#loops = loops;
    this.#content = content;
  }

  /**
   * Other loops within the outermost `level` ones of this nest: what they need of those stands there, the rest is what
   * `printFrom(level)` of the new nest gives.
   */
  branch(level: number, inner: readonly Loop[]): Nest {
    const { before, after, pointers } = this.#content;
    const own = emptyContent(inner);
    const content = {
      before: [...before.slice(0, level), ...own.before],
      after: [...after.slice(0, level), ...own.after],
      pointers: [...pointers.slice(0, level), ...own.pointers],
    };
    return new Nest(this.#kernel, [...this.#loops.slice(0, level), ...inner], content);
  }

  /** The level within all loops. */
  get innermost(): number {
    return this.#loops.length;
  }

  /** A statement ahead of the loops within the level. */
  line(level: number, text: string): void {
    at(this.#content.before, level).push(text);
  }

  /** A statement behind the loops within the level. */
  lineAfter(level: number, text: string): void {
    at(this.#content.after, level).push(text);
  }

  /**
   * A variable that is `usualBits` but for the first point, where it is above the bits of all numbers: what a rare case is told by, so
   * that it is met once at the beginning. V8 throws away what it has compiled when it meets arithmetic that it has never seen.
   */
  usual(): string {
    if (this.#usual !== undefined) return this.#usual;
    this.#usual = this.#kernel.name('usual');
    this.line(0, `let ${this.#usual} = 2147483647;`);
    this.lineAfter(this.innermost, `${this.#usual} = ${String(usualBits)};`);
    return this.#usual;
  }

  /** A value that has a name from here on. */
  define({ text, level }: Placed, prefix = 'v'): Placed {
    const name = this.#kernel.name(prefix);
    this.line(level, `const ${name} = ${text};`);
    return { text: name, level };
  }

  /** A pointer to a linear place. */
  pointer(linear: Linear): Placed {
    const steps = this.#loops.map(({ stepOf }) => stepOf(linear));
    const key = `${String(linear.base)}: ${steps.join()}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    let placed: Placed = { text: this.#kernel.integer(linear.base), level: 0 };
    steps.forEach((step, position) => {
      if (step === 0) return;
      const { variable } = at(this.#loops, position);
      if (step === 1 && placed.text === '0') placed = { text: variable, level: position + 1 };
      else placed = this.#step(placed, position, step);
    });
    this.#known.set(key, placed);
    return placed;
  }

  #step({ text: start }: Placed, position: number, step: number): Placed {
    const name = this.#kernel.name('p');
    at(this.#content.pointers, position).push({ name, start, step: this.#kernel.integer(step) });
    return { text: name, level: position + 1 };
  }

  /** The loops within the outermost `level` ones, with all their statements. */
  printFrom(level: number): readonly string[] {
    const [before, after] = [at(this.#content.before, level), at(this.#content.after, level)];
    const loop = this.#loops[level];
    if (loop === undefined) return [...before, ...after];
    const inner = this.printFrom(level + 1);
    const header = { variable: loop.variable, count: loop.count, pointers: at(this.#content.pointers, level) };
    const around = loop.around ?? (level + 1 === this.#loops.length ? innermostLoop : plainLoop);
    return [...before, ...around(header, inner), ...after];
  }
}

export const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

/** A loop from 0 up. */
function plainLoop({ variable, count, pointers }: Header, inner: readonly string[]): readonly string[] {
  const starts = pointers.map(({ name, start }) => `, ${name} = ${start}`).join('');
  return [
    `for (let ${variable} = 0${starts}; ${variable} < ${count}; ${stepsOf(variable, pointers)}) {`,
    ...indented(inner),
    '}',
  ];
}

/** Up to this many statements a loop's body is written out several times. */
const mostRepeated = 12;

/**
 * Note [several points at a turn]: V8 unrolls no loops over arrays, and what a turn costs beside its statements is as much as a
 * sum of two elements. So turns of an innermost loop take several points, and a loop behind it those that are left.
 */
const repeated = 4;

/** A loop of which the variables are declared, in turns of several points. */
export function severalAtATurn(header: Header, steps: string, inner: readonly string[]): readonly string[] {
  const { variable, count } = header;
  const rest = [`for (; ${variable} < ${count}; ${steps}) {`, ...indented(inner), '}'];
  if (inner.length > mostRepeated) return rest;
  const point = ['{', ...indented(inner), '}', `${steps};`];
  return [
    `for (const last = ${count} - ${String(repeated - 1)}; ${variable} < last; ) {`,
    ...Array.from({ length: repeated }, () => indented(point)).flat(),
    '}',
    ...rest,
  ];
}

/** A loop without loops in it. */
function innermostLoop(header: Header, inner: readonly string[]): readonly string[] {
  if (inner.length > mostRepeated) return plainLoop(header, inner);
  const { variable, pointers } = header;
  const starts = pointers.map(({ name, start }) => `, ${name} = ${start}`).join('');
  return [`let ${variable} = 0${starts};`, ...severalAtATurn(header, stepsOf(variable, pointers), inner)];
}

/** What each turn of a loop ends with. */
export const stepsOf = (variable: string, pointers: readonly Pointer[]): string =>
  [`${variable} += 1`, ...pointers.map(({ name, step }) => `${name} += ${step}`)].join(', ');
