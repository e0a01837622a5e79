// What is known of an expression's values. First interval arithmetic over numbers; where variables are shared between
// terms or bounds are symbolic (axis i with extent s0: i <= s0 - 1), variables are eliminated one at a time, each
// replaced by its symbolic bound, until a polynomial in sizes is left whose least value can be read off.
//
// Assumed: every axis that occurs has a value, so that its extent is at least 1; divisors are positive.
import type { Index, IndexRange } from '../index-expr.ts';
import { equal } from './order.ts';
import { add, fromTerms, int, multiply, negate, subtract, termOf, termsOf } from './polynomial.ts';
import type { Term } from './polynomial.ts';

/** Both ends inclusive; infinite where unbounded. */
interface Interval {
  readonly low: number;
  readonly high: number;
}

const interval = (low: number, high: number): Interval => ({ low, high });

/** The numbers between which all values of `index` lie, null where unbounded. */
export function rangeOf(index: Index): IndexRange {
  const { low, high } = boundsOf(index);
  return { min: Number.isFinite(low) ? low : null, max: Number.isFinite(high) ? high : null };
}

/** As `rangeOf`, with infinities. */
export function boundsOf(index: Index): Interval {
  switch (index.kind) {
    case 'int':
      return interval(index.value, index.value);
    case 'size':
      return interval(index.min, index.max ?? Infinity);
    case 'axis':
      return interval(0, Math.max(0, boundsOf(index.axis.extent).high - 1));
    case 'indirect':
      return interval(0, Math.max(0, boundsOf(index.extent).high - 1));
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
    case 'floorDiv':
    case 'mod':
      return boundsOfComputed(index);
  }
}

type Computed = Exclude<Index, { readonly kind: 'int' | 'size' | 'axis' | 'indirect' }>;

/**
 * The bounds of expressions that have been asked for. Those of a sum ask for those of its factors several times over, and quotients of
 * quotients lie within each other: without this the time doubles with each level.
 */
const known = new WeakMap<Computed, Interval>();

function boundsOfComputed(index: Computed): Interval {
  const before = known.get(index);
  if (before !== undefined) return before;
  const bounds = findBounds(index);
  known.set(index, bounds);
  return bounds;
}

function findBounds(index: Computed): Interval {
  switch (index.kind) {
    case 'floorDiv':
      return quotientBounds(boundsOf(index.dividend), divisorBounds(index.divisor));
    case 'mod': {
      const [dividend, divisor] = [boundsOf(index.dividend), divisorBounds(index.divisor)];
      return interval(0, Math.min(divisor.high - 1, dividend.low >= 0 ? dividend.high : Infinity));
    }
    case 'min':
    case 'max': {
      const bounds = index.items.map(boundsOf);
      const pick = index.kind === 'min' ? Math.min : Math.max;
      return interval(pick(...bounds.map(({ low }) => low)), pick(...bounds.map(({ high }) => high)));
    }
    case 'product':
      return termBounds(termOf(index));
    case 'sum':
      return sumBounds(termsOf(index));
  }
}

function divisorBounds(divisor: Index): Interval {
  const { low, high } = boundsOf(divisor);
  return interval(Math.max(1, low), Math.max(1, high));
}

function quotientBounds(dividend: Interval, divisor: Interval): Interval {
  const divide = (value: number, by: number): number => {
    if (by === Infinity) return value < 0 ? -1 : 0;
    return Number.isFinite(value) ? Math.floor(value / by) : value;
  };
  const low = divide(dividend.low, dividend.low < 0 ? divisor.low : divisor.high);
  const high = divide(dividend.high, dividend.high < 0 ? divisor.high : divisor.low);
  return interval(low, high);
}

// 0 * Infinity is 0 here: an unbounded factor is still a number.
const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

function termBounds({ coefficient, factors }: Term): Interval {
  let low = coefficient;
  let high = coefficient;
  for (const factor of factors) {
    const { low: a, high: b } = boundsOf(factor);
    const corners = [times(low, a), times(low, b), times(high, a), times(high, b)] as const;
    low = Math.min(corners[0], corners[1], corners[2], corners[3]);
    high = Math.max(corners[0], corners[1], corners[2], corners[3]);
  }
  return interval(low, high);
}

function termwise(terms: readonly Term[]): Interval {
  let low = 0;
  let high = 0;
  for (const term of terms) {
    const bounds = termBounds(term);
    low += bounds.low;
    high += bounds.high;
  }
  return interval(low, high);
}

function sumBounds(terms: readonly Term[]): Interval {
  const direct = termwise(terms);
  if (!isEntangled(terms)) return direct;
  const index = fromTerms(terms);
  return interval(Math.max(direct.low, lowestValue(index)), Math.min(direct.high, -lowestValue(negate(index))));
}

/** Whether terms share what their values depend on, so that bounding them one by one loses something. */
function isEntangled(terms: readonly Term[]): boolean {
  const seen = new Set<string>();
  return terms.some(({ factors }) => {
    const own = new Set<string>();
    for (const factor of factors) collectNames(factor, own);
    const shared = [...own].some((name) => seen.has(name));
    for (const name of own) seen.add(name);
    return shared;
  });
}

function collectNames(index: Index, into: Set<string>): void {
  switch (index.kind) {
    case 'int':
      return;
    case 'size':
      into.add(index.name);
      return;
    case 'axis':
      into.add(index.axis.name);
      collectNames(index.axis.extent, into);
      return;
    case 'indirect':
      into.add(`%${String(index.value)}`);
      collectNames(index.extent, into);
      return;
    case 'floorDiv':
    case 'mod':
      collectNames(index.dividend, into);
      collectNames(index.divisor, into);
      return;
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      for (const item of index.items) collectNames(item, into);
      return;
  }
}

/** A number that `index` is never below, by elimination; -Infinity where that finds none. */
function lowestValue(index: Index): number {
  const positive = new Set<string>();
  let rest = index;
  for (let step = 0; step < 16; step += 1) {
    const variable = findVariable(rest);
    if (variable === undefined) return lowestOfSizes(rest, positive);
    const next = eliminate(rest, variable, positive);
    if (next === undefined) return -Infinity;
    rest = next;
  }
  return -Infinity;
}

/** A factor that varies from point to point: those computed from others first. */
function findVariable(index: Index): Index | undefined {
  let axis: Index | undefined;
  for (const { factors } of termsOf(index)) {
    for (const factor of factors) {
      if (factor.kind !== 'size' && factor.kind !== 'axis' && varies(factor)) return factor;
      if (factor.kind === 'axis') axis ??= factor;
    }
  }
  return axis;
}

function varies(index: Index): boolean {
  switch (index.kind) {
    case 'int':
    case 'size':
      return false;
    case 'axis':
    case 'indirect':
      return true;
    case 'floorDiv':
    case 'mod':
      return varies(index.dividend) || varies(index.divisor);
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return index.items.some(varies);
  }
}

/** `index` with `variable` at the end of its range where it is least; undefined where that end is not known. */
function eliminate(index: Index, variable: Index, positive: Set<string>): Index | undefined {
  const [withIt, without]: [Term[], Term[]] = [[], []];
  for (const term of termsOf(index)) {
    const position = term.factors.findIndex((factor) => equal(factor, variable));
    if (position < 0) without.push(term);
    else withIt.push({ coefficient: term.coefficient, factors: term.factors.filter((_, other) => other !== position) });
  }
  const slope = fromTerms(withIt);
  const sign = signOf(withIt, slope, variable);
  const end = sign === 0 ? undefined : sign > 0 ? lowEnd(variable) : highEnd(variable);
  notePositive(variable, positive);
  return end && add(multiply(slope, end), fromTerms(without));
}

function signOf(terms: readonly Term[], slope: Index, variable: Index): number {
  const rest = terms.flatMap(({ factors }) => factors);
  if (rest.some((factor) => equal(factor, variable) || boundsOf(factor).low < 0)) return 0;
  if (terms.every(({ coefficient }) => coefficient > 0)) return 1;
  if (terms.every(({ coefficient }) => coefficient < 0)) return -1;
  const { low, high } = boundsOf(slope);
  return low >= 0 ? 1 : high <= 0 ? -1 : 0;
}

function lowEnd(variable: Index): Index | undefined {
  const { low } = boundsOf(variable);
  return Number.isSafeInteger(low) ? int(low) : undefined;
}

function highEnd(variable: Index): Index | undefined {
  if (variable.kind === 'axis') return subtract(variable.axis.extent, int(1));
  if (variable.kind === 'indirect') return subtract(variable.extent, int(1));
  if (variable.kind === 'mod' && !varies(variable.divisor)) return subtract(variable.divisor, int(1));
  if (variable.kind === 'min') {
    const fixed = variable.items.find((item) => !varies(item) && item.kind !== 'int');
    if (fixed !== undefined) return fixed;
  }
  const { high } = boundsOf(variable);
  return Number.isSafeInteger(high) ? int(high) : undefined;
}

/** Notes the sizes that are at least 1 because the axis has a value, or the divisor is positive. */
function notePositive(variable: Index, positive: Set<string>): void {
  const size = variable.kind === 'axis' ? variable.axis.extent : variable.kind === 'mod' ? variable.divisor : undefined;
  if (size !== undefined) notePositiveSize(size, positive);
}

function notePositiveSize(size: Index, positive: Set<string>): void {
  const terms = termsOf(size);
  for (const factor of terms.length === 1 ? (terms[0]?.factors ?? []) : []) {
    if (factor.kind === 'size') positive.add(factor.name);
  }
}

/**
 * The least value of a polynomial in sizes (and what is computed from sizes alone): each is written as its least value
 * plus a non-negative rest, after which terms are bounded one by one.
 */
function lowestOfSizes(index: Index, positive: ReadonlySet<string>): number {
  const terms = termsOf(index).map(({ coefficient, factors }) => ({
    coefficient,
    factors: factors.map((factor) => shifted(factor, positive)),
  }));
  const expanded = terms.flatMap(({ coefficient, factors }) =>
    termsOf(factors.reduce((left, factor) => multiply(left, factor), int(coefficient))),
  );
  return termwise(termsOf(fromTerms(expanded))).low;
}

function shifted(factor: Index, positive: ReadonlySet<string>): Index {
  const { low, high } = boundsOf(factor);
  const least = factor.kind === 'size' && positive.has(factor.name) ? Math.max(1, low) : low;
  if (!Number.isSafeInteger(least)) return factor;
  const max = Number.isFinite(high) ? high - least : null;
  // The name stands for the rest; a computed factor gets one that no size can have.
  const name = factor.kind === 'size' ? factor.name : `(${JSON.stringify(factor)})`;
  return max === 0 ? int(least) : add({ kind: 'size', name, min: 0, max }, int(least));
}

/** Whether index >= 0 for certain. `divisors` are known to be positive. */
function isNonNegative(index: Index, divisors: readonly Index[]): boolean {
  const terms = termsOf(index);
  if (termwise(terms).low >= 0) return true;
  const symbolic = divisors.some(({ kind }) => kind !== 'int');
  if (isEntangled(terms) && lowestValue(index) >= 0) return true;
  return symbolic && lowestValue(withPositive(terms, divisors)) >= 0;
}

/** Whether a <= b for certain. `divisors` are known to be positive. */
export function isAtMost(a: Index, b: Index, divisors: readonly Index[] = []): boolean {
  if (a.kind === 'int' && b.kind === 'int') return a.value <= b.value;
  return isNonNegative(subtract(b, a), divisors);
}

/** Terms with the sizes that divide them known to be at least 1. */
function withPositive(terms: readonly Term[], divisors: readonly Index[]): Index {
  const positive = new Set<string>();
  for (const divisor of divisors) notePositiveSize(divisor, positive);
  return fromTerms(
    terms.map(({ coefficient, factors }) => ({
      coefficient,
      factors: factors.map((factor) =>
        factor.kind === 'size' && factor.min < 1 && positive.has(factor.name) ? { ...factor, min: 1 } : factor,
      ),
    })),
  );
}

/** Whether 0 <= index < size for certain, where the size is known to be positive. */
export function isWithin(index: Index, size: Index): boolean {
  const direct = termwise(termsOf(index));
  if (direct.high < 0) return false;
  if (size.kind === 'int' && direct.low >= 0 && direct.high < size.value) return true;
  return isNonNegative(index, [size]) && isAtMost(index, subtract(size, int(1)), [size]);
}
