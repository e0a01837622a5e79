// Floor division and remainder by positive divisors. What they share is a split of the dividend, `quotient * d + rest`:
// terms that d divides go to the quotient; the rest is 0 where its range says so; otherwise common factors cancel
// ((i * 12 + j) / 8 = i * 3 / 2 with 0 <= j < 4), the same for products of symbolic sizes.
import { badIndex } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import { compareLists, equal } from './order.ts';
import {
  add,
  divideTerm,
  fromOrdered,
  fromTerm,
  fromTerms,
  int,
  multiply,
  multiplyTerms,
  subtract,
  termOf,
  termsOf,
} from './polynomial.ts';
import type { Term } from './polynomial.ts';
import { boundsOf, isWithin } from './range.ts';

/** dividend = quotient * divisor + rest. */
interface Split {
  readonly quotient: Index;
  readonly rest: Index;
  /** Whether the rest is known to be the remainder, in [0, divisor). */
  readonly isRemainder: boolean;
}

const isOne = (index: Index): boolean => index.kind === 'int' && index.value === 1;

function requirePositive(divisor: Index): void {
  const high = divisor.kind === 'int' ? divisor.value : boundsOf(divisor).high;
  if (high < 1) throw badIndex(`division by ${JSON.stringify(divisor)}, which is not positive`);
}

/** The largest integer q with q * divisor <= dividend. */
export function floorDivide(dividend: Index, divisor: Index): Index {
  requirePositive(divisor);
  if (isOne(divisor)) return dividend;
  if (dividend.kind === 'int' && divisor.kind === 'int') return int(Math.floor(dividend.value / divisor.value));
  const { quotient, rest, isRemainder } = split(dividend, divisor);
  return isRemainder ? quotient : add(quotient, divideRest(rest, divisor));
}

/** The smallest integer q with q * divisor >= dividend. */
export const ceilDivide = (dividend: Index, divisor: Index): Index =>
  floorDivide(add(dividend, subtract(divisor, int(1))), divisor);

/** dividend - floorDivide(dividend, divisor) * divisor, in [0, divisor). */
export function modulo(dividend: Index, divisor: Index): Index {
  requirePositive(divisor);
  if (isOne(divisor)) return int(0);
  if (dividend.kind === 'int' && divisor.kind === 'int') return int(nonNegative(dividend.value, divisor.value));
  const opened = openRemainders(dividend, divisor);
  const { rest, isRemainder } = split(opened, divisor);
  return isRemainder ? rest : remainderOfRest(rest, divisor);
}

const nonNegative = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;

function split(dividend: Index, divisor: Index): Split {
  const [unit, ...others] = termsOf(divisor);
  if (unit === undefined) throw badIndex('division by 0');
  const exact = others.length === 0 ? splitByTerm(dividend, unit) : splitByPolynomial(dividend, divisor);
  const whole = exact ?? { quotient: int(0), rest: dividend, isRemainder: isWithin(dividend, divisor) };
  if (whole.isRemainder) return whole;
  const multiple = wholeMultiple(whole.rest, divisor);
  if (multiple === undefined) return whole;
  const rest = subtract(whole.rest, multiply(multiple, divisor));
  return { quotient: add(whole.quotient, multiple), rest, isRemainder: true };
}

/** Takes out the terms that the monomial divides, and the whole multiples within coefficients. */
function splitByTerm(dividend: Index, unit: Term): Split {
  const [quotient, rest]: [Term[], Term[]] = [[], []];
  for (const term of termsOf(dividend)) {
    const whole = divideTerm(term, unit);
    if (whole === undefined) rest.push(term);
    else quotient.push(whole);
  }
  const left = fromOrdered(rest);
  const isRemainder = rest.length === 0 || isWithin(left, fromTerm(unit));
  if (unit.factors.length > 0) return { quotient: fromTerms(quotient), rest: left, isRemainder };
  return isRemainder
    ? { quotient: fromOrdered(quotient), rest: left, isRemainder }
    : reduceCoefficients({ quotient, rest }, unit.coefficient);
}

/** Leaves coefficients below the divisor, and a constant in [0, divisor). */
function reduceCoefficients(
  { quotient, rest }: { quotient: readonly Term[]; rest: readonly Term[] },
  divisor: number,
): Split {
  const taken: Term[] = [];
  const reduced = rest.map((term): Term => {
    const { coefficient, factors } = term;
    const times = factors.length === 0 ? Math.floor(coefficient / divisor) : Math.trunc(coefficient / divisor);
    if (times === 0) return term;
    taken.push({ coefficient: times, factors });
    return { coefficient: coefficient - times * divisor, factors };
  });
  if (taken.length === 0) return { quotient: fromOrdered(quotient), rest: fromOrdered(rest), isRemainder: false };
  const small = fromTerms(reduced);
  return { quotient: fromTerms([...quotient, ...taken]), rest: small, isRemainder: isWithin(small, int(divisor)) };
}

/** Long division by a sum, as in (i * (s0 + 1) + j) / (s0 + 1); undefined unless what is left is a remainder. */
function splitByPolynomial(dividend: Index, divisor: Index): Split | undefined {
  const lead = termsOf(divisor).reduce((a, b) => (b.factors.length > a.factors.length ? b : a));
  let quotient: Index = int(0);
  let rest = dividend;
  for (let step = 0; step < 8; step += 1) {
    if (isWithin(rest, divisor)) return { quotient, rest, isRemainder: true };
    const times = termsOf(rest)
      .map((term) => divideTerm(term, lead))
      .find((term) => term !== undefined);
    if (times === undefined) return undefined;
    quotient = add(quotient, fromTerm(times));
    rest = subtract(rest, multiply(fromTerm(times), divisor));
  }
  return undefined;
}

/** The number q, not 0, for which q * d <= rest < (q + 1) * d, where the ranges show that there is one. */
function wholeMultiple(rest: Index, divisor: Index): Index | undefined {
  // n - 1 - i, less the multiple n, lies one divisor too low.
  if (divisor.kind !== 'int') return isWithin(add(rest, divisor), divisor) ? int(-1) : undefined;
  const { low, high } = boundsOf(rest);
  const times = Math.floor(low / divisor.value);
  return Number.isSafeInteger(times) && Math.floor(high / divisor.value) === times ? int(times) : undefined;
}

/** rest / divisor where no term of the rest is a multiple of the divisor. */
function divideRest(rest: Index, divisor: Index): Index {
  const common = commonFactor(rest, divisor);
  if (common !== undefined) {
    const { factor, multiple } = common;
    return floorDivide(exactly(multiple, factor), exactly(divisor, factor));
  }
  if (rest.kind === 'floorDiv') return floorDivide(rest.dividend, multiply(rest.divisor, divisor));
  if (rest.kind === 'mod') {
    const inner = divisorOf(rest.divisor, divisor);
    if (inner !== undefined) return modulo(floorDivide(rest.dividend, divisor), inner);
  }
  return { kind: 'floorDiv', dividend: rest, divisor };
}

function remainderOfRest(rest: Index, divisor: Index): Index {
  const common = commonFactor(rest, divisor);
  if (common === undefined) return { kind: 'mod', dividend: rest, divisor };
  const { factor, multiple, remainder } = common;
  const inner = modulo(exactly(multiple, factor), exactly(divisor, factor));
  return add(multiply(inner, fromTerm(factor)), remainder);
}

/** (x % a) % d = x % d where d divides a: terms c * (x % a) become c * x where d divides c * a, and x is opened in turn. */
function openRemainders(dividend: Index, divisor: Index): Index {
  const terms = termsOf(dividend);
  const opened = terms.map((term): readonly Term[] | undefined => {
    const remainder = term.factors.find((factor) => factor.kind === 'mod');
    if (remainder?.kind !== 'mod') return undefined;
    const cofactor = divideTerm(term, termOf(remainder)) ?? term;
    if (divisorOf(multiply(fromTerm(cofactor), remainder.divisor), divisor) === undefined) return undefined;
    return termsOf(remainder.dividend).map((inner) => multiplyTerms(inner, cofactor));
  });
  if (opened.every((term) => term === undefined)) return dividend;
  return openRemainders(fromTerms(terms.flatMap((term, place) => opened[place] ?? [term])), divisor);
}

/** whole / part as monomials, or undefined. */
function divisorOf(whole: Index, part: Index): Index | undefined {
  const [left, right] = [termsOf(whole), termsOf(part)];
  if (equal(whole, part)) return int(1);
  const [a, b] = [left[0], right[0]];
  if (a === undefined || b === undefined || left.length !== 1 || right.length !== 1) return undefined;
  const quotient = divideTerm(a, b);
  return quotient && fromTerm(quotient);
}

/** index / factor for an index that the factor divides term by term. */
const exactly = (index: Index, factor: Term): Index =>
  fromTerms(termsOf(index).map((term) => divideTerm(term, factor) ?? term));

interface CommonFactor {
  readonly factor: Term;
  /** The terms that the factor divides, and the others: in [0, factor). */
  readonly multiple: Index;
  readonly remainder: Index;
}

/** A factor g of the divisor for which rest = multiple of g + remainder with 0 <= remainder < g; the largest found. */
function commonFactor(rest: Index, divisor: Index): CommonFactor | undefined {
  const units = termsOf(divisor);
  const [unit] = units;
  if (unit === undefined || units.length > 1) return undefined;
  const terms = termsOf(rest);
  const candidates = terms.map((term) => greatestCommon(term, unit)).filter((term) => !isUnit(term));
  candidates.sort((a, b) =>
    a.factors.length === b.factors.length ? b.coefficient - a.coefficient : b.factors.length - a.factors.length,
  );
  for (const [position, factor] of candidates.entries()) {
    const previous = candidates[position - 1];
    if (previous !== undefined && sameTerm(previous, factor)) continue;
    const found = splitByFactor(terms, factor);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The terms that the factor divides and the others, where those are a remainder of it. */
function splitByFactor(terms: readonly Term[], factor: Term): CommonFactor | undefined {
  const [multiple, remainder]: [Term[], Term[]] = [[], []];
  for (const term of terms) (divideTerm(term, factor) === undefined ? remainder : multiple).push(term);
  if (remainder.length === 0) return { factor, multiple: fromTerms(multiple), remainder: int(0) };
  const constant = remainder.length === 1 && remainder[0]?.factors.length === 0 ? remainder[0].coefficient : undefined;
  const left = splitConstant(constant, factor) ?? { multiple: [], remainder: fromTerms(remainder) };
  if (!isWithin(left.remainder, fromTerm(factor))) return undefined;
  return { factor, multiple: fromTerms([...multiple, ...left.multiple]), remainder: left.remainder };
}

/** A constant as a multiple of a constant factor and a remainder. */
function splitConstant(constant: number | undefined, factor: Term): { multiple: Term[]; remainder: Index } | undefined {
  if (constant === undefined || factor.factors.length > 0) return undefined;
  const remainder = nonNegative(constant, factor.coefficient);
  return { multiple: [{ coefficient: constant - remainder, factors: [] }], remainder: int(remainder) };
}

const isUnit = ({ coefficient, factors }: Term): boolean => coefficient === 1 && factors.length === 0;
const sameTerm = (a: Term, b: Term): boolean =>
  a.coefficient === b.coefficient && compareLists(a.factors, b.factors) === 0;

function greatestCommon(a: Term, b: Term): Term {
  const left = [...b.factors];
  const factors = a.factors.filter((factor) => {
    const position = left.findIndex((other) => equal(other, factor));
    if (position >= 0) left.splice(position, 1);
    return position >= 0;
  });
  return { coefficient: greatestCommonDivisor(Math.abs(a.coefficient), Math.abs(b.coefficient)), factors };
}

function greatestCommonDivisor(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}
