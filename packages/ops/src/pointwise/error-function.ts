// The error function and its relatives.
//
// f32: erf is a polynomial near 0 and 1 - 2^v(|x|) elsewhere, with a polynomial v; the normal distribution's lower tail is
// 2^v(|x|) all over. No division, no branch. f64: erfc(x) = exp(-x^2) g(t) / (1 + 2x) with a polynomial g in
// t = (x - 3) / (x + 3), where exp(-x^2) is corrected for the rounding of the square.
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, copysign, div, fma, mul, neg, sub } from './arithmetic.ts';
import { atLeast, atMost } from './extrema.ts';
import { eq, gt, lt, where } from './comparison.ts';
import { expOfReduced, reduceByLn2 } from './exponential-core.ts';
import { exp, log, log1p } from './exponential.ts';
import { scalb, scalbOrZero } from './float-parts.ts';
import { exp2Of } from './normal-tail.ts';
import { horner, throughF64 } from './polynomial.ts';
import {
  referenceErf,
  referenceErfc,
  referenceErfcx,
  referenceLogNdtr,
  referenceNdtr,
} from '../reference/error-function.ts';

/** erf(x) / x - 1 in powers of x^2, for |x| <= 1. */
const erfSmall32 = [
  0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026, 0.005187162198126316,
  -0.0007997853099368513, 7.806903158780187e-5,
];
/** log2(erfc(x)) for 1 <= x <= 4. */
const erfcExponent32 = [
  -0.0004927132977172732, -1.6260459423065186, -0.9206485152244568, -0.14875145256519318, 0.03150558099150658,
  -0.0042525483295321465, 0.0002688858367037028,
];

function erf32(x: Term): Term {
  const small = fma(horner('f32', mul(x, x), erfSmall32), x, x);
  const big = copysign(sub(1, exp2Of(horner('f32', atMost(abs(x), 4), erfcExponent32))), x);
  return where(gt(abs(x), 1), big, small);
}

/** erf(x) / x in powers of x^2, for |x| <= 1. */
const erfSmall64 = [
  1.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.02686617064512984, 0.0052239776254232985,
  -0.000854832702193483, 0.00012055332902888736, -1.4925647567519332e-5, 1.6462045441468418e-6, -1.6364642158167616e-7,
  1.4792401209404813e-8, -1.216456005728345e-9, 8.709045129053106e-11, -4.230945824295338e-12,
];
/** (1 + 2x) exp(x^2) erfc(x) in powers of t = (x - 3) / (x + 3), for x >= 0.47. */
const erfcxTail64 = [
  1.2530080582697296, -0.1356211061245819, -0.0475622943534561, 0.12964515870284948, -0.11927366341499657,
  0.06830802734074398, -0.023770514925373597, 0.0025293918710019023, 0.0018886904277568494, -0.0007798327931669995,
  -0.0001051601499512516, 0.00012510236235707304, 4.950207546264192e-6, -2.011157107366246e-5, -7.304350836527005e-7,
  3.497937999532303e-6, 3.473193169518453e-7, -6.528573042499274e-7, -1.1937146389050938e-7, 1.300161183105544e-7,
  1.7374454523322233e-8, -2.1651215264109792e-8, 2.9133051507912543e-9,
];

/** exp(x^2) erfc(x) for x >= 0.47. */
const scaledErfc64 = (x: Term): Term => div(horner('f64', div(sub(x, 3), add(x, 3)), erfcxTail64), add(1, mul(2, x)));

/** `factor` times exp(-rate x^2), for x >= 0, a factor in [2^-10, 2^10] that is below 1 where x > 26, and a rate that is a power of two. */
function timesExpOfSquare(x: Term, factor: Term, rate: number): Term {
  const scaled = mul(rate, x);
  const square = mul(scaled, x);
  const lost = fma(scaled, x, neg(square));
  const { n, r } = reduceByLn2(neg(square), 'f64');
  return scalbOrZero(mul(mul(expOfReduced(r, 'f64'), sub(1, lost)), factor), n);
}

const erfNearZero64 = (x: Term): Term => mul(x, horner('f64', mul(x, x), erfSmall64));
/** erfc of |x| >= 0.47. */
function erfcOfLarge64(x: Term): Term {
  const magnitude = abs(x);
  return timesExpOfSquare(magnitude, scaledErfc64(magnitude), 1);
}

const erf64 = (x: Term): Term => where(gt(abs(x), 1), copysign(sub(1, erfcOfLarge64(x)), x), erfNearZero64(x));

function erfc64(x: Term): Term {
  const tail = erfcOfLarge64(x);
  return where(lt(abs(x), 0.5), sub(1, erfNearZero64(x)), where(lt(x, 0), sub(2, tail), tail));
}

const twoOverRootPi = 2 / Math.sqrt(Math.PI);

export const erf: Unary = unary('erf', {
  doc: 'Error function.',
  torch: ['erf', 'special.erf'],
  rule: 'promoteToFloat',
  reference: referenceErf,
  referenceError: 1e-12,
  traits: { cost: 31 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? erf32(x) : erf64(x)),
  ulp: 3,
  gradient: ({ g, x }) => [mul(g, mul(twoOverRootPi, exp(neg(mul(x, x)))))],
});

export const erfc: Unary = unary('erfc', {
  doc: 'Complementary error function, 1 - erf(x), accurate for large x.',
  torch: ['erfc', 'special.erfc'],
  rule: 'promoteToFloat',
  reference: referenceErfc,
  referenceError: 1e-12,
  traits: { cost: 120 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(erfc64, x) : erfc64(x)),
  ulp: 4,
  gradient: ({ g, x }) => [neg(mul(g, mul(twoOverRootPi, exp(neg(mul(x, x))))))],
});

function erfcx64(x: Term): Term {
  const positive = where(eq(x, Infinity), 0, scaledErfc64(x));
  // exp(x^2) overflows below -26.7.
  const bounded = atMost(abs(x), 27);
  const square = mul(bounded, bounded);
  const lost = fma(bounded, bounded, neg(square));
  const { n, r } = reduceByLn2(square, 'f64');
  const grown = scalb(mul(expOfReduced(r, 'f64'), add(1, lost)), n);
  const negative = sub(mul(2, grown), scaledErfc64(bounded));
  const near = mul(grown, sub(1, erfNearZero64(x)));
  return where(lt(abs(x), 0.5), near, where(lt(x, 0), negative, positive));
}

export const erfcx: Unary = unary('erfcx', {
  doc: 'Scaled complementary error function.',
  torch: ['special.erfcx', 'erfcx'],
  formula: 'exp(x^2) erfc(x)',
  rule: 'promoteToFloat',
  reference: referenceErfcx,
  referenceError: 1e-12,
  traits: { cost: 150 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(erfcx64, x) : erfcx64(x)),
  ulp: 4,
  gradient: ({ g, x, out }) => [mul(g, sub(mul(2, mul(x, out)), twoOverRootPi))],
});

/** The normal distribution function at f64: half of erfc(-x / sqrt 2), where only the square is sensitive to rounding. */
function ndtr64(x: Term): Term {
  const magnitude = abs(x);
  const tail = timesExpOfSquare(magnitude, mul(0.5, scaledErfc64(mul(magnitude, Math.SQRT1_2))), 0.5);
  const near = mul(0.5, add(1, erfNearZero64(mul(x, Math.SQRT1_2))));
  return where(lt(abs(x), 0.7), near, where(lt(x, 0), tail, sub(1, tail)));
}

export const ndtr: Unary = unary('ndtr', {
  doc: 'Distribution function of the standard normal distribution.',
  torch: ['special.ndtr', 'ndtr'],
  formula: 'erfc(-x / sqrt(2)) / 2',
  rule: 'promoteToFloat',
  reference: referenceNdtr,
  referenceError: 1e-12,
  traits: { cost: 120 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(ndtr64, x) : ndtr64(x)),
  ulp: 4,
  gradient: ({ g, x }) => [mul(g, mul(1 / Math.sqrt(2 * Math.PI), exp(mul(-0.5, mul(x, x)))))],
});

/** Far down, the logarithm of the tail is taken factor by factor, so that it does not underflow. */
function logNdtr64(x: Term): Term {
  const magnitude = abs(x);
  const tail = log(mul(0.5, scaledErfc64(mul(magnitude, Math.SQRT1_2))));
  // At the very end both parts are infinite, with signs that would make NaN of them.
  const far = where(eq(x, -Infinity), x, sub(tail, mul(0.5, mul(x, x))));
  return where(lt(x, -1), far, log1p(neg(ndtr64(neg(atLeast(x, -1))))));
}

export const logNdtr: Unary = unary('logNdtr', {
  doc: 'Logarithm of the distribution function of the standard normal distribution.',
  torch: ['special.log_ndtr', 'log_ndtr'],
  rule: 'promoteToFloat',
  reference: referenceLogNdtr,
  referenceError: 1e-12,
  traits: { cost: 250 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(logNdtr64, x) : logNdtr64(x)),
  ulp: 4,
  gradient: ({ g, x }) => [mul(g, div(Math.sqrt(2 / Math.PI), erfcx(mul(x, -Math.SQRT1_2))))],
});
