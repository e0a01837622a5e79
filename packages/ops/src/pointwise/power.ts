// Powers and lengths.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { binary } from '../define.ts';
import type { Binary } from '../define.ts';
import { prelude } from '../prelude.ts';
import { cast, literal } from '../term.ts';
import type { Term } from '../term.ts';
import { abs, add, div, fma, mul, neg, sqrt, sub } from './arithmetic.ts';
import { atLeast, atMost, maximum } from './extrema.ts';
import { eq, ge, gt, isinf, isnan, logicalAnd, logicalNot, logicalOr, lt, ne, signbit, where } from './comparison.ts';
import { floats, numbers } from './dtype-sets.ts';
import { expBelowLimit, expOfReduced, logOfMagnitude } from './exponential-core.ts';
import { log } from './exponential.ts';
import { exponent, scalbOrZero, significand } from './float-parts.ts';
import { integerPower } from './integer-semantics.ts';
import { horner } from './polynomial.ts';
import { round, trunc } from './rounding.ts';

/** A number as an unevaluated sum: about 100 bits. */
interface Double {
  readonly high: Term;
  readonly low: Term;
}

const sumOf = (a: Term, b: Term): Double => {
  const high = add(a, b);
  const part = sub(high, a);
  return { high, low: add(sub(a, sub(high, part)), sub(b, part)) };
};
/** As sumOf, where |a| >= |b|. */
const orderedSum = (a: Term, b: Term): Double => {
  const high = add(a, b);
  return { high, low: sub(b, sub(high, a)) };
};
const productOf = (a: Term, b: Term): Double => {
  const high = mul(a, b);
  return { high, low: fma(a, b, neg(high)) };
};
const product = (a: Double, b: Double): Double => {
  const { high, low } = productOf(a.high, b.high);
  return orderedSum(high, add(low, add(mul(a.high, b.low), mul(a.low, b.high))));
};

const ln2 = { high: 0.6931471803691238, low: 1.9082149292705877e-10 };
/** ln 2 beyond its nearest double. */
const ln2Exact = { high: Math.LN2, low: 2.3190468138462996e-17 };
/** 2 atanh(s) = 2 s + 2/3 s^3 + s^5 q(s^2) for -1/7 <= s <= 1/5. */
const atanhRest = [
  0.4, 0.28571428571428487, 0.22222222222278695, 0.18181818167391273, 0.15384617228261813, 0.1333320125384769,
  0.11770245498984806, 0.10391790132801734, 0.11256990431013299,
];

const two = literal(2);
const twoThirds: Double = { high: literal(2 / 3), low: literal(3.700743415417188e-17) };

/** log |x| to about 66 bits, for finite x that is not 0. */
function preciseLog(x: Term): Double {
  const e = exponent(x);
  const f = sub(significand(x), 1);
  const u = orderedSum(two, f);
  const quotient = div(f, u.high);
  const back = productOf(quotient, u.high);
  const rest = sub(sub(sub(f, back.high), back.low), mul(quotient, u.low));
  const s = orderedSum(quotient, div(rest, u.high));
  const z = product(s, s);
  const cube = product(z, s);
  const third = product(cube, twoThirds);
  const tail = mul(mul(cube.high, z.high), horner('f64', z.high, atanhRest));
  // e ln 2 + 2 s + third + tail, largest first.
  const scaled = { high: mul(e, ln2Exact.high), low: fma(e, ln2Exact.high, neg(mul(e, ln2Exact.high))) };
  const first = sumOf(scaled.high, mul(2, s.high));
  const second = sumOf(first.high, third.high);
  const low = add(
    add(add(add(scaled.low, mul(e, ln2Exact.low)), mul(2, s.low)), add(first.low, second.low)),
    add(third.low, tail),
  );
  return orderedSum(second.high, low);
}

/** Beyond 2^64 every power but that of 1 has over- or underflowed. */
const boundedExponent = (y: Term): Term => atMost(atLeast(y, -(2 ** 64)), 2 ** 64);

/** |x|^y at f64, for finite x that is not 0: exp(y log |x|), where y log |x| has about 64 bits. */
function magnitudeOfPower64(x: Term, y: Term): Term {
  const logarithm = preciseLog(x);
  const bounded = boundedExponent(y);
  const { high, low } = productOf(bounded, logarithm.high);
  const rest = add(low, mul(bounded, logarithm.low));
  const clamped = atMost(atLeast(high, -746), 710);
  const n = round(mul(clamped, Math.LOG2E));
  const r = add(sub(sub(clamped, mul(n, ln2.high)), mul(n, ln2.low)), where(eq(clamped, high), rest, 0));
  return scalbOrZero(expOfReduced(r, 'f64'), n);
}

/** |x|^y at f32, by a logarithm and an exponential at f64. */
function magnitudeOfPower32(x: Term, y: Term): Term {
  const product = mul(boundedExponent(cast('f64', y)), logOfMagnitude(cast('f64', x), 'f64'));
  return cast('f32', expBelowLimit(atMost(product, 200), 'f64'));
}

/** x^y for floats, with the special cases of IEEE 754. */
function power(x: Term, y: Term, dtype: DType): Term {
  const half = mul(y, 0.5);
  const isInteger = eq(trunc(y), y);
  const isOdd = logicalAnd(isInteger, ne(trunc(half), half));
  const magnitude = dtype === 'f32' ? magnitudeOfPower32(x, y) : magnitudeOfPower64(x, y);
  const ofZero = where(lt(y, 0), Infinity, 0);
  const ofInfinity = where(lt(y, 0), 0, Infinity);
  const unsigned = where(eq(x, 0), ofZero, where(isinf(x), ofInfinity, magnitude));
  const negated = where(logicalAnd(signbit(x), isOdd), neg(unsigned), unsigned);
  const outside = logicalAnd(lt(x, 0), logicalAnd(logicalNot(isInteger), logicalNot(isinf(x))));
  const valid = where(logicalOr(outside, logicalOr(isnan(x), isnan(y))), NaN, negated);
  return where(logicalOr(eq(y, 0), eq(x, 1)), 1, valid);
}

export const pow: Binary = binary('pow', {
  doc: 'x to the power of y. Integer powers wrap; integers to a negative power are 0, but those of 1 and -1.',
  torch: ['pow', 'special.pow'],
  signature: 'input: operand, exponent: operand',
  formula: 'x^y',
  rule: 'promote',
  accepts: numbers,
  // As PyTorch's: so those of -Infinity are NaN and not Infinity, and those of -0 negative.
  scalarStandIns: new Map([
    [0.5, 'sqrt'],
    [-0.5, 'rsqrt'],
  ]),
  refusesNegative: true,
  traits: { identity: 1, cost: 60 },
  c: prelude('pow_'),
  evaluate: integerPower,
  decompose: ({ x, y }, dtype) => (isFloat(dtype) ? power(x, y, dtype) : undefined),
  // JavaScript's own power is NaN where the exponent is infinite or NaN and the base is 1.
  reference: (x = 0, y = 0) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y),
  ulp: 2,
  gradient: ({ g, x, y, out }) => [
    where(eq(y, 0), 0, mul(g, mul(y, pow(x, sub(y, 1))))),
    where(logicalAnd(eq(x, 0), ge(y, 0)), 0, mul(g, mul(out, log(x)))),
  ],
});

/** 1 or a power of two that brings squares of both into range, and its reciprocal. */
function lengthScale(larger: Term): { readonly down: Term; readonly up: Term } {
  const isHuge = gt(larger, 2 ** 500);
  const isTiny = lt(larger, 2 ** -500);
  return {
    down: where(isHuge, 2 ** -600, where(isTiny, 2 ** 600, 1)),
    up: where(isHuge, 2 ** 600, where(isTiny, 2 ** -600, 1)),
  };
}

function length64(x: Term, y: Term): Term {
  const { down, up } = lengthScale(maximum(abs(x), abs(y)));
  const [a, b] = [mul(x, down), mul(y, down)];
  return mul(sqrt(add(mul(a, a), mul(b, b))), up);
}

function length32(x: Term, y: Term): Term {
  const [a, b] = [cast('f64', x), cast('f64', y)];
  return cast('f32', sqrt(add(mul(a, a), mul(b, b))));
}

export const hypot: Binary = binary('hypot', {
  doc: 'Length of the vector (x, y), without undue overflow; infinite if either is, whatever the other.',
  formula: 'sqrt(x^2 + y^2)',
  rule: 'promote',
  accepts: floats,
  traits: { commutative: true, cost: 30 },
  decompose: ({ x, y }, dtype) =>
    where(logicalOr(isinf(x), isinf(y)), Infinity, dtype === 'f32' ? length32(x, y) : length64(x, y)),
  reference: Math.hypot,
  ulp: 2,
  piece: (x, y) => (x === 0 && y === 0 ? 0 : 1),
  gradient: ({ g, x, y, out }) => [mul(g, div(x, out)), mul(g, div(y, out))],
});
