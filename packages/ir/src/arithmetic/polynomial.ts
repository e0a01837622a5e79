// Sums and products: polynomials with integer coefficients over atoms (everything that is neither sum nor product).
// A sum is a list of terms in the order of their factors, each with its own factors; products are distributed over
// sums, so that two polynomials are equal exactly if their expressions are. Also here: the leaves, and the one law that
// joins atoms in a sum, x / d * d + x % d = x.
import { at } from '@tsinductor/base';
import { badIndex, sizeOverflow } from '../errors.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { ScalarId } from '../scalar.ts';
import { compareIndex, compareLists, compareTerms, equal } from './order.ts';

/** A coefficient (never 0) times atoms in canonical order; no atoms for a number. */
export interface Term {
  readonly coefficient: number;
  readonly factors: readonly Index[];
}

type Division = Extract<Index, { readonly dividend: Index }>;

const none: readonly Index[] = [];

function safe(value: number): number {
  if (!Number.isSafeInteger(value)) throw sizeOverflow(`an index term of ${String(value)}`);
  return value === 0 ? 0 : value;
}

/** The number `value`, which must be an integer. */
export function int(value: number): Index {
  if (!Number.isInteger(value)) throw badIndex(`${String(value)} is not an integer`);
  return { kind: 'int', value: safe(value) };
}

/** A symbolic size in [min, max]. All occurrences of a name have the same bounds. */
export function sizeSymbol(name: string, min = 0, max: number | null = null): Index {
  return max === min ? int(min) : { kind: 'size', name, min, max };
}

/** The value of a loop's axis; 0 for an axis of size 1. */
export const axisIndex = (axis: Axis): Index =>
  axis.extent.kind === 'int' && axis.extent.value === 1 ? int(0) : { kind: 'axis', axis };

/** A loaded index in [0, extent): `value` is an i64 node of the body in which the expression stands. */
export const indirect = (value: ScalarId, extent: Index): Index => ({ kind: 'indirect', value, extent });

export function termOf(index: Index): Term {
  if (index.kind === 'int') return { coefficient: index.value, factors: none };
  if (index.kind !== 'product') return { coefficient: 1, factors: [index] };
  const first = at(index.items, 0);
  return first.kind === 'int'
    ? { coefficient: first.value, factors: index.items.slice(1) }
    : { coefficient: 1, factors: index.items };
}

/** The terms of a polynomial in canonical order; none for 0. */
export function termsOf(index: Index): readonly Term[] {
  if (index.kind === 'sum') return index.items.map(termOf);
  return index.kind === 'int' && index.value === 0 ? [] : [termOf(index)];
}

export function fromTerm({ coefficient, factors }: Term): Index {
  if (coefficient === 0) return int(0);
  const [first] = factors;
  if (first === undefined) return int(coefficient);
  if (coefficient === 1) return factors.length === 1 ? first : { kind: 'product', items: factors };
  return { kind: 'product', items: [int(coefficient), ...factors] };
}

/** The polynomial with terms that are canonical already: ordered, distinct, no zeros. */
export function fromOrdered(terms: readonly Term[]): Index {
  if (terms.length === 0) return int(0);
  return terms.length === 1 ? fromTerm(at(terms, 0)) : { kind: 'sum', items: terms.map(fromTerm) };
}

/** The polynomial with these terms, in any order and with repetitions. */
export function fromTerms(terms: readonly Term[]): Index {
  if (terms.length < 2) return fromOrdered(terms.filter(({ coefficient }) => coefficient !== 0));
  const sorted = [...terms].sort((a, b) => compareLists(a.factors, b.factors));
  const joined: Term[] = [];
  for (const term of sorted) {
    const last = joined.at(-1);
    if (last === undefined || compareLists(last.factors, term.factors) !== 0) {
      joined.push(term);
      continue;
    }
    joined[joined.length - 1] = { coefficient: safe(last.coefficient + term.coefficient), factors: last.factors };
  }
  return fromOrdered(joinDivisions(joined.filter(({ coefficient }) => coefficient !== 0)));
}

/** What a sum is made of, in order: an expression that is none is the sum of itself, 0 of nothing. */
function itemsOf(index: Index): readonly Index[] {
  if (index.kind === 'sum') return index.items;
  return index.kind === 'int' && index.value === 0 ? none : [index];
}

/** The sum of items that are ordered and distinct, but for the law of divisions. */
function fromItems(items: readonly Index[]): Index {
  if (items.some(isDivided)) return fromOrdered(joinDivisions(items.map(termOf)));
  if (items.length === 0) return int(0);
  return items.length === 1 ? at(items, 0) : { kind: 'sum', items };
}

/** Whether an item of a sum has a quotient or a remainder among its factors. */
const isDivided = (item: Index): boolean =>
  item.kind === 'product' ? item.items.some(isDivided) : item.kind === 'mod' || item.kind === 'floorDiv';

/** Two ordered lists of items in one pass: those of a + by * b. */
function mergeItems(a: readonly Index[], b: readonly Index[], by: 1 | -1 = 1): readonly Index[] {
  const merged: Index[] = [];
  const signed = (item: Index): Index => (by === 1 ? item : withCoefficient(item, -coefficientOfItem(item)));
  let right = 0;
  for (const item of a) {
    for (; right < b.length && compareTerms(at(b, right), item) < 0; right += 1) merged.push(signed(at(b, right)));
    const next = b[right];
    if (next === undefined || compareTerms(next, item) > 0) {
      merged.push(item);
      continue;
    }
    right += 1;
    const coefficient = safe(coefficientOfItem(item) + by * coefficientOfItem(next));
    if (coefficient !== 0) merged.push(withCoefficient(item, coefficient));
  }
  for (; right < b.length; right += 1) merged.push(signed(at(b, right)));
  return merged;
}

function coefficientOfItem(item: Index): number {
  const first = item.kind === 'product' ? at(item.items, 0) : item;
  return first.kind === 'int' ? first.value : 1;
}

const withCoefficient = (item: Index, coefficient: number): Index =>
  fromTerm({ coefficient, factors: termOf(item).factors });

export function add(a: Index, b: Index): Index {
  if (a.kind === 'int' && a.value === 0) return b;
  if (b.kind === 'int' && b.value === 0) return a;
  if (a.kind === 'int' && b.kind === 'int') return int(a.value + b.value);
  return fromItems(mergeItems(itemsOf(a), itemsOf(b)));
}

export const negate = (a: Index): Index => multiply(int(-1), a);

export function subtract(a: Index, b: Index): Index {
  if (a.kind === 'int' && b.kind === 'int') return int(a.value - b.value);
  return a === b ? int(0) : fromItems(mergeItems(itemsOf(a), itemsOf(b), -1));
}

/** The sum of many, ordered once. */
export const sum = (items: readonly Index[]): Index => fromItems(areOrdered(items) ? items : mergeAll(items));

/** Whether these are the items of a sum as they stand: a substitution mostly leaves them so. */
function areOrdered(items: readonly Index[]): boolean {
  let last: Index | undefined;
  for (const item of items) {
    if (item.kind === 'sum' || (item.kind === 'int' && item.value === 0)) return false;
    if (last !== undefined && compareTerms(last, item) >= 0) return false;
    last = item;
  }
  return true;
}

/** The items of all, halves merged. */
function mergeAll(indexes: readonly Index[]): readonly Index[] {
  const [first] = indexes;
  if (first === undefined) return none;
  if (indexes.length === 1) return itemsOf(first);
  const half = indexes.length >> 1;
  return mergeItems(mergeAll(indexes.slice(0, half)), mergeAll(indexes.slice(half)));
}

export function multiply(a: Index, b: Index): Index {
  if (a.kind === 'int' && b.kind === 'int') return int(a.value * b.value);
  if (a.kind === 'int' && a.value === 1) return b;
  if (b.kind === 'int' && b.value === 1) return a;
  if (a.kind === 'int') return scale(b, a.value);
  if (b.kind === 'int') return scale(a, b.value);
  const right = termsOf(b);
  const products = termsOf(a).flatMap((x) => right.map((y) => multiplyTerms(x, y)));
  return fromTerms(products);
}

/** A multiple keeps the order of terms. */
function scale(index: Index, by: number): Index {
  if (by === 0) return int(0);
  const scaled = (item: Index): Index => withCoefficient(item, safe(coefficientOfItem(item) * by));
  return index.kind === 'sum' ? { kind: 'sum', items: index.items.map(scaled) } : scaled(index);
}

export const product = (items: readonly Index[]): Index => items.reduce(multiply, int(1));

export function multiplyTerms(a: Term, b: Term): Term {
  const coefficient = safe(a.coefficient * b.coefficient);
  if (a.factors.length === 0) return { coefficient, factors: b.factors };
  if (b.factors.length === 0) return { coefficient, factors: a.factors };
  return { coefficient, factors: [...a.factors, ...b.factors].sort(compareIndex) };
}

/** a / b where b divides a as monomials, else undefined. */
export function divideTerm(a: Term, b: Term): Term | undefined {
  if (b.coefficient === 0 || a.coefficient % b.coefficient !== 0) return undefined;
  const factors = withoutFactors(a.factors, b.factors);
  return factors && { coefficient: safe(a.coefficient / b.coefficient), factors };
}

/** `factors` less `taken`, each as often as it occurs there; undefined where one is missing. */
function withoutFactors(factors: readonly Index[], taken: readonly Index[]): readonly Index[] | undefined {
  if (taken.length === 0) return factors;
  const left = [...factors];
  for (const item of taken) {
    const position = left.findIndex((factor) => equal(factor, item));
    if (position < 0) return undefined;
    left.splice(position, 1);
  }
  return left;
}

/** Applies x / d * d + x % d = x (times any factor) as often as it fits. */
function joinDivisions(terms: readonly Term[]): readonly Term[] {
  if (terms.length < 2 || !hasFactor(terms, 'mod') || !hasFactor(terms, 'floorDiv')) return terms;
  for (const [position, term] of terms.entries()) {
    for (const factor of term.factors) {
      if (factor.kind !== 'mod') continue;
      const partner = terms.findIndex((other) => completes(other, term, factor));
      if (partner < 0) continue;
      const cofactor = divideTerm(term, termOf(factor)) ?? term;
      const whole = termsOf(factor.dividend).map((part) => multiplyTerms(part, cofactor));
      const others = terms.filter((_, index) => index !== position && index !== partner);
      return termsOf(fromTerms([...others, ...whole]));
    }
  }
  return terms;
}

function hasFactor(terms: readonly Term[], kind: Index['kind']): boolean {
  for (const { factors } of terms) {
    for (const factor of factors) if (factor.kind === kind) return true;
  }
  return false;
}

/** Whether `other` = term / (y % d) * d * (y / d). */
function completes(other: Term, term: Term, remainder: Division): boolean {
  const { dividend, divisor } = remainder;
  return other.factors.some((factor) => {
    if (factor.kind !== 'floorDiv' || !isQuotient(factor, dividend, divisor)) return false;
    const rest = divideTerm(other, termOf(factor));
    const cofactor = divideTerm(term, termOf(remainder));
    return rest !== undefined && cofactor !== undefined && equal(fromTerm(rest), multiply(fromTerm(cofactor), divisor));
  });
}

/** Whether `quotient` is dividend / divisor, where the dividend may be a division that it merged with. */
function isQuotient(quotient: Division, dividend: Index, divisor: Index): boolean {
  if (equal(quotient.dividend, dividend)) return equal(quotient.divisor, divisor);
  return (
    dividend.kind === 'floorDiv' &&
    equal(quotient.dividend, dividend.dividend) &&
    equal(quotient.divisor, multiply(dividend.divisor, divisor))
  );
}
