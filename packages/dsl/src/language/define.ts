// What an entry of the language says: its parameters, its documentation, and what Block IR it becomes. Arguments are
// positional, or named in one object at the end: `tl.sum(x, { axis: 0, keepDims: true })`.
import type { Node } from 'acorn';
import { isDType, isFloat, isInteger } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Tile } from '@tsinductor/ir';
import { asTile, checkExtent } from '../lower/coerce.ts';
import type { Site } from '../lower/coerce.ts';
import { faultAt } from '../lower/context.ts';
import { describeValue } from '../lower/value.ts';
import type { FunctionValue, KernelValue, PointerValue } from '../lower/value.ts';

export interface LanguageEntry {
  readonly doc: string;
  /** In order; a name that ends in ? may be left out. */
  readonly parameters: readonly string[];
  readonly lower: (call: Call) => KernelValue;
}

/** An argument, and where it stands. */
export interface Argument {
  readonly value: KernelValue;
  readonly node: Node;
}

/** Runs a function of the kernel on values; what expressions do, given to operations that take functions. */
type CallFunction = (callee: FunctionValue, args: readonly KernelValue[], site: Site) => KernelValue;

/** The arguments of one call of an operation, read by name with the checks that each kind needs. */
export class Call {
  readonly name: string;
  readonly site: Site;
  readonly callFunction: CallFunction;
  readonly #args: ReadonlyMap<string, Argument>;

  constructor(
    name: string,
    args: ReadonlyMap<string, Argument>,
    { site, callFunction }: { readonly site: Site; readonly callFunction: CallFunction },
  ) {
    this.name = name;
    this.site = site;
    this.callFunction = callFunction;
    this.#args = args;
  }

  has(name: string): boolean {
    return this.#argument(name) !== undefined;
  }

  #argument(name: string): Argument | undefined {
    const argument = this.#args.get(name);
    return argument?.value.kind === 'undefined' ? undefined : argument;
  }

  /** The place of an argument, or of the whole call. */
  at(name: string): Site {
    const node = this.#argument(name)?.node;
    return node === undefined ? this.site : { ...this.site, node };
  }

  value(name: string): KernelValue {
    return this.#argument(name)?.value ?? { kind: 'undefined' };
  }

  tile(name: string, dtype?: DType): Tile {
    return asTile(this.value(name), this.at(name), dtype);
  }

  /** A combine function sees elements and may run any number of times: it has no effects. Throws where one is wanted there. */
  requireInstance(): void {
    const { node, context } = this.site;
    if (!context.isScalarOnly) return;
    throw faultAt(node, context, [
      'KERNEL_OPERATION',
      `tl.${this.name} stands in a function that combines elements`,
      'move it out of the function, which may run any number of times',
    ]);
  }

  /** Throws an error at an argument. */
  refuse(name: string, expected: string, hint: string): never {
    const site = this.at(name);
    throw faultAt(site.node, site.context, [
      'KERNEL_ARGUMENT',
      `tl.${this.name}: ${name} is ${describeValue(this.value(name))}, not ${expected}`,
      hint,
    ]);
  }

  /** A number that is known when the kernel is compiled. */
  known(name: string, fallback?: number): number {
    const value = this.value(name);
    if (value.kind === 'number') return value.value;
    if (fallback !== undefined && value.kind === 'undefined') return fallback;
    const { node, context } = this.at(name);
    throw faultAt(node, context, [
      'KERNEL_CONSTANT',
      `tl.${this.name}: ${name} is ${describeValue(value)}, and must be known when the kernel is compiled`,
      'use a number or a constexpr of the schema',
    ]);
  }

  flag(name: string): boolean {
    const value = this.value(name);
    if (value.kind === 'undefined') return false;
    if (value.kind === 'boolean') return value.value;
    return value.kind === 'number' ? value.value !== 0 : this.refuse(name, 'a flag', 'use true, false or a constexpr');
  }

  text(name: string): string {
    const value = this.value(name);
    return value.kind === 'string' ? value.value : this.refuse(name, 'a string', 'use a string literal');
  }

  /** A text that may stand in a text of C: no NUL, which ends it, and no half of a character. */
  plainText(name: string): string {
    const text = this.text(name);
    return /[\0\p{Surrogate}]/u.test(text)
      ? this.refuse(name, 'a string of whole characters other than NUL', 'use plain text')
      : text;
  }

  dtype(name: string): DType {
    const value = this.value(name);
    if (value.kind === 'dtype') return value.dtype;
    if (value.kind === 'string' && isDType(value.value)) return value.value;
    return this.refuse(name, 'a dtype', 'use tl.f32, tl.i32 ..., or the dtype of an argument: x.dtype');
  }

  pointer(name: string): PointerValue {
    const value = this.value(name);
    return value.kind === 'pointer'
      ? value
      : this.refuse(name, 'a pointer', 'use a parameter that the schema declares with ptr(), plus offsets');
  }

  fn(name: string): FunctionValue {
    const value = this.value(name);
    return value.kind === 'function' ? value : this.refuse(name, 'a function', 'use (a, b) => a + b');
  }

  shape(name: string): readonly number[] {
    const value = this.value(name);
    if (value.kind === 'number') return [checkExtent(value.value, this.at(name))];
    if (value.kind !== 'list') return this.refuse(name, 'a shape', 'use a list of numbers and constexprs: [BLOCK, 4]');
    return value.items.map((item) => {
      if (item.kind === 'number') return checkExtent(item.value, this.at(name));
      const { node, context } = this.at(name);
      throw faultAt(node, context, [
        'KERNEL_CONSTANT',
        `tl.${this.name}: a shape has ${describeValue(item)} in it`,
        'use numbers and constexprs in shapes',
      ]);
    });
  }

  /** A list of whole numbers, or one as a list of one. */
  numbers(name: string): readonly number[] {
    const value = this.value(name);
    const items = value.kind === 'list' ? value.items : [value];
    return items.map((item) =>
      item.kind === 'number' && Number.isInteger(item.value)
        ? item.value
        : this.refuse(name, 'a list of whole numbers', 'use numbers and constexprs'),
    );
  }

  /** An axis of `tile`, counted from the end where negative. */
  axis(name: string, rank: number, fallback?: number): number {
    const given = this.known(name, fallback);
    const axis = given < 0 ? given + rank : given;
    if (Number.isInteger(axis) && axis >= 0 && axis < rank) return axis;
    const { node, context } = this.at(name);
    throw faultAt(node, context, [
      'KERNEL_SHAPE',
      rank === 0
        ? `tl.${this.name}: a scalar has no axes`
        : `tl.${this.name}: a block of ${rank === 1 ? 'one axis' : `${String(rank)} axes`} has no axis ${String(given)}`,
      rank === 0 ? 'use a block' : `use an axis from ${String(-rank)} to ${String(rank - 1)}`,
    ]);
  }

  /** An integer tile. */
  integers(name: string): Tile {
    const tile = this.tile(name);
    if (isInteger(tile.dtype)) return tile;
    return this.refuse(
      name,
      'of an integer dtype',
      isFloat(tile.dtype) ? 'cast it with tl.cast(x, tl.i32)' : 'use integers',
    );
  }
}

export const entry = (doc: string, parameters: readonly string[], lower: LanguageEntry['lower']): LanguageEntry => ({
  doc,
  parameters,
  lower,
});
