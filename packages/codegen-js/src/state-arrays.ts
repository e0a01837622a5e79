// The states of a reduction or scan in the text: arrays with a place for each lane of each output, and the loops that merge them.
// Numbers of every dtype are exact in double precision; an i64 that may not be lies in 64-bit integers.
import { at } from '@tsinductor/base';
import type { ReduceNode, ScanNode } from '@tsinductor/ir';
import { writeOverStates } from './body-writer.ts';
import type { KernelText } from './kernel-text.ts';
import type { LoopForm } from './loop-form.ts';
import { indented, Nest } from './nest.ts';
import { stateValue } from './state-kinds.ts';
import type { StateBounds } from './state-kinds.ts';
import { bigintText } from './values.ts';
import type { Value } from './values.ts';

/** One set of arrays: the names of those of each slot. */
type Arrays = readonly string[];

interface Merging {
  readonly into: Arrays;
  readonly left: Arrays;
  readonly right: Arrays;
  /** How far behind the left elements the right ones lie. */
  readonly shift?: string;
  readonly count: string;
}

export class StateArrays {
  readonly #kernel: KernelText;
  readonly #form: LoopForm<ReduceNode | ScanNode>;
  readonly #bounds: StateBounds;
  /** Before any position. */
  readonly #starts: readonly Value[];
  readonly names: Arrays;

  /** The arrays hold `count` places; `nest` is where the states before any position are known from the start. */
  constructor(form: LoopForm<ReduceNode | ScanNode>, { kernel, nest, bounds, count }: Making) {
    this.#kernel = kernel;
    this.#form = form;
    this.#bounds = bounds;
    const { node } = form;
    this.#starts = writeOverStates(node.init, { kernel, nest, ...form }, (slot) => this.value(slot, '0'));
    this.names = node.state.map(() => kernel.name('s'));
    for (const [slot, name] of this.names.entries()) nest.line(0, `const ${name} = new ${this.#type(slot)}(${count});`);
  }

  #type(slot: number): string {
    return at(this.#form.node.state, slot) === 'i64' && this.#bounds[slot] === undefined
      ? 'BigInt64Array'
      : 'Float64Array';
  }

  /** A state by its text. */
  value(slot: number, text: string, level = 0): Value {
    return { ...stateValue(at(this.#form.node.state, slot), text, this.#bounds[slot]), level };
  }

  /** What is kept of a value in an array of the slot. */
  kept(slot: number, value: Value): string {
    return this.#type(slot) === 'BigInt64Array' ? bigintText(value) : value.text;
  }

  /** Statements that set the first `count` places to the states before any position. */
  clear(count: string, names: Arrays = this.names): readonly string[] {
    return names.map((name, slot) => `${name}.fill(${this.kept(slot, at(this.#starts, slot))}, 0, ${count});`);
  }

  /** A loop that merges arrays, element by element. */
  merge({ into, left, right, shift, count }: Merging): readonly string[] {
    const { node } = this.#form;
    const variable = this.#kernel.name('k');
    const nest = new Nest(this.#kernel, [{ variable, count, stepOf: () => 0 }]);
    const slots = node.state.length;
    const later = shift === undefined ? variable : `${variable} + ${shift}`;
    const states = [...left.map((name) => `${name}[${variable}]`), ...right.map((name) => `${name}[${later}]`)];
    const values = states.map((text, position) => {
      const value = this.value(position % slots, text, 1);
      return { ...value, ...nest.define(value) };
    });
    const surroundings = { kernel: this.#kernel, nest, ...this.#form };
    const results = writeOverStates(node.merge, surroundings, (slot) => at(values, slot));
    results.forEach((value, slot) => {
      nest.line(1, `${at(into, slot)}[${variable}] = ${this.kept(slot, value)};`);
    });
    return nest.printFrom(0);
  }

  /** Merges the upper half into the lower, until `width` places are left of `count`. */
  mergeHalves(count: string, width: string): readonly string[] {
    const half = this.#kernel.name('half');
    const { names } = this;
    const inner = this.merge({ into: names, left: names, right: names, shift: half, count: half });
    return [`for (let ${half} = ${count} >> 1; ${half} >= ${width}; ${half} >>= 1) {`, ...indented(inner), '}'];
  }

  /**
   * Functions that put states aside and take them back, in pairs of equal numbers of positions: `push(pushed, count)` of those that
   * were put aside before, `join(pushed, count)`.
   */
  pairwise(size: string): { readonly lines: readonly string[]; readonly push: string; readonly join: string } {
    const { names } = this;
    const waiting = names.map(() => this.#kernel.name('w'));
    const earlier = names.map(() => this.#kernel.name('e'));
    const [push, join] = [this.#kernel.name('push'), this.#kernel.name('join')];
    const takes = earlier.map((name, slot) => `const ${name} = ${at(waiting, slot)}[depth];`);
    const merging = [...takes, ...this.merge({ into: names, left: earlier, right: names, count: 'count' })];
    const puts = names.map(
      (name, slot) => `(${at(waiting, slot)}[depth] ??= new ${this.#type(slot)}(${size})).set(${name});`,
    );
    const parameters = ['pushed', 'count', ...names].join(', ');
    const lines = [
      ...waiting.map((name) => `const ${name} = [];`),
      `const ${push} = (${parameters}) => {`,
      '  let depth = 0;',
      '  for (let bits = pushed; (bits & 1) === 1; bits >>>= 1, depth += 1) {',
      ...indented(indented(merging)),
      '  }',
      ...indented([...puts, ...this.clear('count')]),
      '};',
      `const ${join} = (${parameters}) => {`,
      '  for (let depth = 0, bits = pushed; bits > 0; bits >>>= 1, depth += 1) {',
      '    if ((bits & 1) === 0) continue;',
      ...indented(indented(merging)),
      '  }',
      '};',
    ];
    const call = (name: string): string => `${name}(pushed, held, ${names.join(', ')})`;
    return { lines, push: call(push), join: call(join) };
  }
}

interface Making {
  readonly kernel: KernelText;
  readonly nest: Nest;
  readonly bounds: StateBounds;
  readonly count: string;
}
