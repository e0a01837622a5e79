// The total order of index expressions, by structure: what keeps sums and products canonical. Axes come first, by name,
// then what is computed from them, sizes, and numbers last.
import { at } from '@tsinductor/base';
import type { Index } from '../index-expr.ts';

const rank: Readonly<Record<Index['kind'], number>> = {
  axis: 0,
  indirect: 1,
  floorDiv: 2,
  mod: 3,
  min: 4,
  max: 5,
  product: 6,
  sum: 7,
  size: 8,
  int: 9,
};

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Lexicographic, where a list sorts before its own beginnings: i * s0 before i, and everything before nothing. */
export function compareLists(a: readonly Index[], b: readonly Index[]): number {
  const length = Math.min(a.length, b.length);
  for (let position = 0; position < length; position += 1) {
    const [left, right] = [a[position], b[position]];
    const order = left === undefined || right === undefined ? 0 : compareIndex(left, right);
    if (order !== 0) return order;
  }
  return b.length - a.length;
}

/** The order of items of a sum: by their factors, whatever their coefficients are. */
export function compareTerms(a: Index, b: Index): number {
  const [from, start] = [firstFactor(a), firstFactor(b)];
  const [count, other] = [factorCount(a), factorCount(b)];
  for (let factor = 0; factor < count && factor < other; factor += 1) {
    const order = compareIndex(factorAt(a, from + factor), factorAt(b, start + factor));
    if (order !== 0) return order;
  }
  return other - count;
}

/** A product has its coefficient first, if that is not 1. */
const firstFactor = (index: Index): number => (index.kind === 'product' && index.items[0]?.kind === 'int' ? 1 : 0);

function factorCount(index: Index): number {
  if (index.kind === 'int') return 0;
  return index.kind === 'product' ? index.items.length - firstFactor(index) : 1;
}

const factorAt = (index: Index, position: number): Index =>
  index.kind === 'product' ? at(index.items, position) : index;

/** Negative, zero or positive: zero exactly for equal expressions. */
export function compareIndex(a: Index, b: Index): number {
  if (a === b) return 0;
  if (a.kind !== b.kind) return rank[a.kind] - rank[b.kind];
  switch (a.kind) {
    case 'int':
      return a.value - (b as typeof a).value;
    case 'size':
      return compareText(a.name, (b as typeof a).name);
    case 'axis': {
      const other = (b as typeof a).axis;
      if (a.axis === other) return 0;
      const order = compareText(a.axis.name, other.name);
      return order === 0 ? compareIndex(a.axis.extent, other.extent) : order;
    }
    case 'indirect': {
      const other = b as typeof a;
      return a.value === other.value ? compareIndex(a.extent, other.extent) : a.value - other.value;
    }
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return compareLists(a.items, (b as typeof a).items);
    case 'floorDiv':
    case 'mod': {
      const other = b as typeof a;
      const order = compareIndex(a.dividend, other.dividend);
      return order === 0 ? compareIndex(a.divisor, other.divisor) : order;
    }
  }
}

/** Whether two expressions are the same: canonical form makes this the question whether they are equal as polynomials. */
export const equal = (a: Index, b: Index): boolean => compareIndex(a, b) === 0;
