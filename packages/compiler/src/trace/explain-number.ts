// Why a number that a trace met is what it is. In: its values in three traces for different numbers and sizes, and expressions of the
// function's source. Out: a formula that gives all three to the last bit, over the numbers and sizes of a call; for sizes also
// as an index of the graph. A number that no formula gives decides something.
import { add, floorDivide, int, multiply, sizeSymbol } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { at } from '@tsinductor/base';

/** The numbers of one trace, or of one call: plain ones by path, sizes by symbol. */
export interface Point {
  readonly numbers: ReadonlyMap<string, number>;
  readonly sizes: ReadonlyMap<string, number>;
}

export type Formula = (point: Point) => number | undefined;

/** The point of the call itself first. */
export type Points = readonly [Point, Point, Point];

const agrees = (formula: Formula, points: Points, values: readonly number[]): boolean =>
  points.every((point, index) => Object.is(formula(point), values[index]));

/** Formulas over one number each, of which the constant is what the first trace says. */
const simple: readonly ((value: number, symbol: number) => (symbol: number) => number)[] = [
  () => (symbol) => symbol,
  () => (symbol) => -symbol,
  (value, symbol) =>
    (
      (k) => (other) =>
        other * k
    )(value / symbol),
  (value, symbol) =>
    (
      (k) => (other) =>
        other / k
    )(symbol / value),
  (value, symbol) =>
    (
      (k) => (other) =>
        k / other
    )(value * symbol),
  (value, symbol) =>
    (
      (k) => (other) =>
        other + k
    )(value - symbol),
  (value, symbol) =>
    (
      (k) => (other) =>
        k - other
    )(value + symbol),
  (value, symbol) =>
    (
      (k) => (other) =>
        Math.sqrt(other) * k
    )(value / Math.sqrt(symbol)),
  (value, symbol) =>
    (
      (k) => (other) =>
        k / Math.sqrt(other)
    )(value * Math.sqrt(symbol)),
  () => (symbol) => 1 / symbol,
  () => (symbol) => 1 - symbol,
  () => (symbol) => symbol * symbol,
  () => (symbol) => Math.log(symbol),
];

/** Formulas over two numbers. */
const double: readonly ((one: number, other: number) => number)[] = [
  (one, other) => one + other,
  (one, other) => one - other,
  (one, other) => one * other,
  (one, other) => one / other,
];

/** A formula for a number with these values, found among `written` first. */
export function formulaFor(
  values: readonly number[],
  points: Points,
  written: readonly Formula[],
): Formula | undefined {
  const [first] = points;
  const symbols: Formula[] = [
    ...[...first.numbers.keys()].map(
      (path): Formula =>
        (point) =>
          point.numbers.get(path),
    ),
    ...[...first.sizes.keys()].map(
      (name): Formula =>
        (point) =>
          point.sizes.get(name),
    ),
  ];
  const of = (symbol: Formula, make: (typeof simple)[number]): Formula => {
    const made = make(at(values, 0), symbol(first) ?? 0);
    return (point) => {
      const value = symbol(point);
      return value === undefined ? undefined : made(value);
    };
  };
  return (
    written.find((formula) => agrees(formula, points, values)) ??
    symbols.find((symbol) => agrees(symbol, points, values)) ??
    simple
      .flatMap((make) => symbols.map((symbol) => of(symbol, make)))
      .find((formula) => agrees(formula, points, values)) ??
    pairsOf(symbols)
      .flatMap(([one, other]) => double.map((make) => ofTwo(one, other, make)))
      .find((formula) => agrees(formula, points, values))
  );
}

/** More symbols than these are not combined. */
const fewSymbols = 8;

const pairsOf = (symbols: readonly Formula[]): readonly (readonly [Formula, Formula])[] =>
  symbols.length > fewSymbols
    ? []
    : symbols.flatMap((one) => symbols.flatMap((other): [Formula, Formula][] => (one === other ? [] : [[one, other]])));

const ofTwo =
  (one: Formula, other: Formula, make: (typeof double)[number]): Formula =>
  (point) => {
    const [left, right] = [one(point), other(point)];
    return left === undefined || right === undefined ? undefined : make(left, right);
  };

/** A whole number of the graph, and a number of sizes that has to divide them for it to hold. */
interface SizeIndex {
  readonly index: Index;
  readonly divides?: { readonly name: string; readonly divisor: number };
}

/** An index over symbolic sizes for a whole number with these values. */
export function indexFor(values: readonly number[], points: Points): SizeIndex | undefined {
  const names = [...points[0].sizes.keys()];
  const symbols = names.map((name) => sizeSymbol(name, 2, null));
  const sizesOf = (name: string): readonly number[] => points.map(({ sizes }) => sizes.get(name) ?? 0);
  const columns = names.map(sizesOf);
  for (const [position, column] of columns.entries()) {
    const symbol = at(symbols, position);
    const found = affine(values, column, symbol);
    if (found !== undefined) return { index: found };
    const divisor = divisorOf(values, column);
    if (divisor !== undefined)
      return { index: floorDivide(symbol, int(divisor)), divides: { name: at(names, position), divisor } };
  }
  for (const [one, left] of columns.entries()) {
    for (const [other, right] of columns.slice(0, one + 1).entries()) {
      const [a, b] = [at(symbols, one), at(symbols, other)];
      const combined =
        affine(
          values,
          left.map((size, index) => size * at(right, index)),
          multiply(a, b),
        ) ??
        affine(
          values,
          left.map((size, index) => size + at(right, index)),
          add(a, b),
        );
      if (combined !== undefined) return { index: combined };
    }
  }
  return undefined;
}

/** `slope * symbol + offset`, in whole numbers. */
function affine(values: readonly number[], sizes: readonly number[], symbol: Index): Index | undefined {
  const slope = (at(values, 1) - at(values, 0)) / (at(sizes, 1) - at(sizes, 0));
  const offset = at(values, 0) - slope * at(sizes, 0);
  if (!Number.isSafeInteger(slope) || !Number.isSafeInteger(offset) || slope === 0) return undefined;
  if (!values.every((value, index) => value === slope * at(sizes, index) + offset)) return undefined;
  return add(multiply(symbol, int(slope)), int(offset));
}

/** The whole number by which each size, exactly divided, is the value. */
function divisorOf(values: readonly number[], sizes: readonly number[]): number | undefined {
  const divisor = Math.round(at(sizes, 0) / at(values, 0));
  if (!Number.isSafeInteger(divisor) || divisor < 2) return undefined;
  return values.every((value, index) => value * divisor === at(sizes, index)) ? divisor : undefined;
}
