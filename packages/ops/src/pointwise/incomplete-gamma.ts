// The regularised incomplete gamma functions, at f64 also for f32 operands.
//
// Below 100 in the first operand: the power series where x < a + 1, else the continued fraction, each to a fixed number of
// terms that suffices there. From 100 on, where the integrand is nearly a bell, its integral by Gauss and Legendre from x to
// where the bell has vanished.
import { binary } from '../define.ts';
import type { Binary } from '../define.ts';
import type { Term } from '../term.ts';
import { add, div, mul, neg, sqrt, sub } from './arithmetic.ts';
import { atLeast, atMost } from './extrema.ts';
import { eq, gt, logicalOr, lt, where } from './comparison.ts';
import { expBelowLimit, logOfMagnitude } from './exponential-core.ts';
import { exp, log, log1p } from './exponential.ts';
import { lgamma } from './gamma.ts';
import { horner, throughF64 } from './polynomial.ts';
import { referenceIgamma, referenceIgammac } from '../reference/gamma.ts';

/** Terms of the series and of the fraction: beyond the 88 that a = 100, x = 101 needs. */
const terms = 92;

/** x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1/x^2, for x >= 50. */
const stirlingTail = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680];

/** Nodes and weights of Gauss and Legendre on [0, 1]. */
const quadrature: readonly (readonly [node: number, weight: number])[] = [
  [0.0024063900014893447, 0.006170614899994345],
  [0.012635722014345263, 0.01426569431446678],
  [0.0308627239986336, 0.022138719408709706],
  [0.056792236497799464, 0.02964929245771818],
  [0.08999900701304853, 0.03667324070554008],
  [0.12993790421072282, 0.0430950807659766],
  [0.17595317403151223, 0.04880932605205696],
  [0.22728926430558022, 0.05372213505798278],
  [0.28310324618697746, 0.05775283402686276],
  [0.3424786601519183, 0.06083523646390165],
  [0.40444056626319186, 0.06291872817341412],
  [0.4679715535686972, 0.06396909767337601],
  [0.5320284464313028, 0.06396909767337601],
  [0.5955594337368082, 0.06291872817341412],
  [0.6575213398480817, 0.06083523646390165],
  [0.7168967538130225, 0.05775283402686276],
  [0.7727107356944198, 0.05372213505798278],
  [0.8240468259684878, 0.04880932605205696],
  [0.8700620957892772, 0.0430950807659766],
  [0.9100009929869515, 0.03667324070554008],
  [0.9432077635022005, 0.02964929245771818],
  [0.9691372760013663, 0.022138719408709706],
  [0.9873642779856547, 0.01426569431446678],
  [0.9975936099985107, 0.006170614899994345],
];

/** The lower and the upper function: one of them is computed, the other is 1 less it. */
interface Halves {
  readonly lower: Term;
  readonly upper: Term;
}

/** exp(-x) x^a / Gamma(a), for a in (0, 100]. */
function density(a: Term, x: Term): Term {
  const exponent = sub(sub(mul(a, logOfMagnitude(x, 'f64')), x), lgamma(a));
  return expBelowLimit(atMost(exponent, 709), 'f64');
}

function ofModerate(a: Term, x: Term): Halves {
  const scale = density(a, x);
  let term = div(1, a);
  let sum = term;
  for (let n = 1; n <= terms; n++) {
    term = mul(term, div(x, add(a, n)));
    sum = add(sum, term);
  }
  const start = sub(add(x, 1), a);
  let fraction = add(start, 2 * terms);
  for (let n = terms; n >= 1; n--) fraction = add(add(start, 2 * (n - 1)), div(mul(n, sub(a, n)), fraction));
  const isBelow = logicalOr(lt(x, 1), lt(x, add(a, 1)));
  const [lower, upper] = [mul(scale, sum), div(scale, fraction)];
  return { lower: where(isBelow, lower, sub(1, upper)), upper: where(isBelow, sub(1, lower), upper) };
}

function ofLarge(a: Term, x: Term): Halves {
  const peak = sub(a, 1);
  const width = sqrt(peak);
  const isAbove = gt(x, peak);
  const above = larger(add(peak, mul(11.5, width)), add(x, mul(6, width)));
  const below = atLeast(smaller(sub(peak, mul(7.5, width)), sub(x, mul(5, width))), 0);
  const end = where(isAbove, above, below);
  const length = sub(end, x);
  const integral = quadrature
    .map(([node, weight]) => {
      const u = div(sub(add(x, mul(length, node)), peak), peak);
      return mul(weight, exp(mul(peak, sub(log1p(u), u))));
    })
    .reduce((sum, part) => add(sum, part));
  // The integrand at its peak, over Gamma(a): by Stirling's series nothing cancels.
  const inverse = div(1, peak);
  const correction = exp(neg(mul(inverse, horner('f64', mul(inverse, inverse), stirlingTail))));
  const height = div(correction, sqrt(mul(2 * Math.PI, peak)));
  const area = mul(mul(integral, length), height);
  return {
    lower: where(isAbove, sub(1, area), neg(area)),
    upper: where(isAbove, area, add(1, area)),
  };
}

const larger = (x: Term, y: Term): Term => where(gt(x, y), x, y);
const smaller = (x: Term, y: Term): Term => where(lt(x, y), x, y);

function halves(a: Term, x: Term): Halves {
  const moderate = ofModerate(atMost(a, 100), x);
  const large = ofLarge(atMost(atLeast(a, 100), 1e300), x);
  const isLarge = gt(a, 100);
  const between: Halves = {
    lower: where(isLarge, large.lower, moderate.lower),
    upper: where(isLarge, large.upper, moderate.upper),
  };
  // At the ends the lower function is 0 or 1, in PyTorch's order of precedence.
  const ends = (value: Term, [atZero, atOne]: readonly [number, number]): Term => {
    const beyond = where(eq(x, Infinity), atOne, value);
    const ofInfinity = where(eq(x, Infinity), NaN, atZero);
    const inside = where(eq(x, 0), atZero, where(eq(a, Infinity), ofInfinity, beyond));
    const ofZero = where(gt(x, 0), atOne, NaN);
    return where(logicalOr(lt(a, 0), lt(x, 0)), NaN, where(eq(a, 0), ofZero, inside));
  };
  return { lower: ends(between.lower, [0, 1]), upper: ends(between.upper, [1, 0]) };
}

/** The derivative in x of the lower function. */
const slope = (a: Term, x: Term): Term => exp(sub(sub(mul(sub(a, 1), log(x)), x), lgamma(a)));

export const igamma: Binary = binary('igamma', {
  doc: 'Regularised lower incomplete gamma function of x, at y.',
  rule: 'promoteToFloat',
  reference: referenceIgamma,
  referenceError: 1e-9,
  measured: [1e-6, 1e4],
  ulp: 4,
  traits: { cost: 2500 },
  decompose: ({ x, y }, dtype) => {
    const lower = (a: Term, b: Term): Term => halves(a, b).lower;
    return dtype === 'f32' ? throughF64(lower, x, y) : lower(x, y);
  },
  noGradient: 'the derivative in a has no closed form; PyTorch has none either',
  gradient: ({ g, x, y }) => [undefined, mul(g, slope(x, y))],
});

export const igammac: Binary = binary('igammac', {
  doc: 'Regularised upper incomplete gamma function of x, at y.',
  rule: 'promoteToFloat',
  reference: referenceIgammac,
  referenceError: 1e-9,
  measured: [1e-6, 1e4],
  ulp: 4,
  traits: { cost: 2500 },
  decompose: ({ x, y }, dtype) => {
    const upper = (a: Term, b: Term): Term => halves(a, b).upper;
    return dtype === 'f32' ? throughF64(upper, x, y) : upper(x, y);
  },
  noGradient: 'the derivative in a has no closed form; PyTorch has none either',
  gradient: ({ g, x, y }) => [undefined, neg(mul(g, slope(x, y)))],
});
