// The value of an index expression: directly, and as a closure for loops that evaluate it often.
import { badIndex, sizeOverflow } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import type { ScalarId } from '../scalar.ts';
import { printIndex } from '../print/print-index.ts';

interface IndexEnvironment {
  readonly axes?: ReadonlyMap<string, number>;
  readonly sizes?: ReadonlyMap<string, number>;
  readonly indirect?: (value: ScalarId) => number;
}

/** The value of `index`; every name that occurs must have one. */
export function evaluateIndex(index: Index, environment: IndexEnvironment): number {
  const value = evaluate(index, environment);
  if (!Number.isSafeInteger(value)) throw sizeOverflow(`${printIndex(index)} = ${String(value)}`);
  // Never -0.
  return value + 0;
}

function named(name: string, values: ReadonlyMap<string, number> | undefined): number {
  const value = values?.get(name);
  if (value === undefined) throw badIndex(`${name} has no value`);
  return value;
}

function evaluate(index: Index, environment: IndexEnvironment): number {
  switch (index.kind) {
    case 'int':
      return index.value;
    case 'size':
      return named(index.name, environment.sizes);
    case 'axis':
      return named(index.axis.name, environment.axes);
    case 'indirect':
      if (environment.indirect === undefined) throw badIndex(`%${String(index.value)} has no value`);
      return environment.indirect(index.value);
    case 'sum':
      return index.items.reduce((total, item) => total + evaluate(item, environment), 0);
    case 'product':
      return index.items.reduce((total, item) => total * evaluate(item, environment), 1);
    case 'min':
      return Math.min(...index.items.map((item) => evaluate(item, environment)));
    case 'max':
      return Math.max(...index.items.map((item) => evaluate(item, environment)));
    case 'floorDiv':
    case 'mod':
      return divisionOf(index)(evaluate(index.dividend, environment), evaluate(index.divisor, environment));
  }
}

/** What a quotient or a remainder does to numbers. */
function divisionOf({ kind, rounding }: Division): (dividend: number, divisor: number) => number {
  if (rounding === undefined) return combiners[kind];
  return kind === 'mod' ? (a, b) => (a % b) + 0 : (a, b) => Math.trunc(a / b) + 0;
}

type Division = Index & { readonly kind: 'floorDiv' | 'mod' };

/** In [0, divisor), and never -0. */
export const remainder = (dividend: number, divisor: number): number => {
  const rest = dividend % divisor;
  return rest < 0 ? rest + divisor : rest + 0;
};

/** The value at a point: `axes` and `indirect` by the slots that the compilation asked for. */
type CompiledIndex = (axes: ArrayLike<number>, indirect: ArrayLike<number>) => number;

interface CompileOptions {
  /** The slot of an axis in the array of axes. */
  readonly axis: (name: string) => number;
  /** The values of sizes; or their slots, in the same array. */
  readonly sizes: ReadonlyMap<string, number> | ((name: string) => number);
  /** The slot of a loaded index in the array of indirects. */
  readonly indirect?: (value: ScalarId) => number;
}

const constant =
  (value: number): CompiledIndex =>
  () =>
    value;
const slotted =
  (slot: number): CompiledIndex =>
  (axes) =>
    Number(axes[slot]);

/** `index` as nested closures over the values of its axes and loaded indices. */
export function compileIndex(index: Index, options: CompileOptions): CompiledIndex {
  switch (index.kind) {
    case 'int':
      return constant(index.value);
    case 'size': {
      const { sizes } = options;
      return typeof sizes === 'function' ? slotted(sizes(index.name)) : constant(named(index.name, sizes));
    }
    case 'axis':
      return slotted(options.axis(index.axis.name));
    case 'indirect': {
      const slot = options.indirect?.(index.value) ?? -1;
      if (slot < 0) throw badIndex(`%${String(index.value)} has no slot`);
      return (_axes, indirect) => Number(indirect[slot]);
    }
    case 'sum':
    case 'product':
    case 'min':
    case 'max': {
      const combine = combiners[index.kind];
      return index.items
        .map((item) => compileIndex(item, options))
        .reduce((left, right) => (axes, indirect) => combine(left(axes, indirect), right(axes, indirect)));
    }
    case 'floorDiv':
    case 'mod': {
      const [dividend, divisor] = [compileIndex(index.dividend, options), compileIndex(index.divisor, options)];
      const combine = divisionOf(index);
      return (axes, indirect) => combine(dividend(axes, indirect), divisor(axes, indirect));
    }
  }
}

type Combined = Exclude<Index['kind'], 'int' | 'size' | 'axis' | 'indirect'>;
const combiners: Readonly<Record<Combined, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  product: (a, b) => a * b,
  min: Math.min,
  max: Math.max,
  floorDiv: (a, b) => Math.floor(a / b),
  mod: remainder,
};

/** The value of an index of sizes alone, which are given by their positions in `names`. What it gives throws as `evaluateIndex` does. */
export function compileSize(index: Index, names: readonly string[]): (sizes: ArrayLike<number>) => number {
  if (index.kind === 'int') return constant(index.value) as (sizes: ArrayLike<number>) => number;
  const slotOf = (name: string): number => {
    const slot = names.indexOf(name);
    if (slot < 0) throw badIndex(`${name} has no value`);
    return slot;
  };
  const noAxis = (name: string): never => {
    throw badIndex(`${name} has no value`);
  };
  const compiled = compileIndex(index, { axis: noAxis, sizes: slotOf });
  return (sizes) => {
    const value = compiled(sizes, noIndirect);
    if (!Number.isSafeInteger(value)) throw sizeOverflow(`${printIndex(index)} = ${String(value)}`);
    return value + 0;
  };
}

const noIndirect: ArrayLike<number> = [];
