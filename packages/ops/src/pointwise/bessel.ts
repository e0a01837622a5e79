// Bessel functions: the modified ones of the first kind, at f64 also for f32 operands, and the spherical one of order 0.
//
// exp(-|x|) times the function is a polynomial up to 8, and a polynomial in 1/x over the root of x beyond; each in a variable
// scaled to [-1, 1].
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, copysign, div, mul, sign, sqrt, sub } from './arithmetic.ts';
import { atMost } from './extrema.ts';
import { eq, gt, lt, where } from './comparison.ts';
import { exp } from './exponential.ts';
import { horner, throughF64 } from './polynomial.ts';
import { cos, sin } from './trigonometric.ts';
import { referenceI0, referenceI0e, referenceI1, referenceI1e } from '../reference/bessel.ts';

/** exp(-x) I0(x) in x/4 - 1 for 0 <= x <= 8. */
const i0Small = [
  0.2070019212239867, -0.11300432688620536, 0.09451562853995125, -0.08904344136077733, 0.08734341617550884,
  -0.08496338091542556, 0.07927522590752974, -0.06954119563154397, 0.05677703201501785, -0.04298594929673067,
  0.03017791206221918, -0.019682655784004566, 0.011960077703464203, -0.006792394821044967, 0.0036171271654272855,
  -0.0018119029764120445, 0.0008563135177565376, -0.0003828654139905961, 0.0001624084559061418, -6.55678677969644e-5,
  2.5198651465609148e-5, -9.183910794736519e-6, 3.232396382443255e-6, -1.1419495259048662e-6, 3.659216730162776e-7,
  -8.594601526025913e-8, 2.679771004975793e-8, -1.631130691668671e-8, 4.394426308340083e-9,
];
/** sqrt(x) exp(-x) I0(x) in 16/x - 1 for x >= 8. */
const i0Large = [
  0.4021765094450081, 0.0033605519836678944, 0.00013621607439186705, 1.1143033787545386e-5, 1.4838475687894938e-6,
  2.9735996224521226e-7, 8.872214307451732e-8, 3.932437699533459e-8, 2.15488936175863e-8, 7.566352487698237e-9,
  -6.750552282740284e-9, -1.346629294837396e-8, -5.394456734259438e-9, 7.737147033780934e-9, 7.406235049001522e-9,
  -3.905230623712341e-9, -5.91556056510856e-9, 2.1053080134403423e-9, 3.5985362919394714e-9, -1.1448789558755036e-9,
  -1.5930354799216344e-9, 5.122212147228388e-10, 4.4789181847911815e-10, -1.5066113686101474e-10,
  -5.905024573995148e-11, 2.0820835852793106e-11,
];
/** exp(-x) I1(x) / x in x/4 - 1 for 0 <= x <= 8. */
const i1Small = [
  0.04468770987560883, -0.06112433802966629, 0.06805759990951267, -0.06848260620582576, 0.06376740371333725,
  -0.05528003922703299, 0.04467457262304859, -0.03367135552039122, 0.023686016933733296, -0.015571309250544394,
  0.009583962342948091, -0.0055345678088487725, 0.003005761422600446, -0.0015388747130763492, 0.0007445158546973146,
  -0.00034117562574038554, 0.0001484126353082137, -6.142435066991627e-5, 2.4248618918164148e-5, -9.135581253751598e-6,
  3.2758896983910484e-6, -1.133551346432692e-6, 3.9091632529126733e-7, -1.2376686539665326e-7, 2.9883402742599985e-8,
  -9.144761049555143e-9, 5.211654337723065e-9, -1.3931836382589292e-9,
];
/** sqrt(x) exp(-x) I1(x) in 16/x - 1 for x >= 8. */
const i1Large = [
  0.38939845902587233, -0.009749577193235768, -0.00021923576383382282, -1.5038547197358572e-5, -1.8349101357991557e-6,
  -3.4838567401229716e-7, -1.0001282610189342e-7, -4.312778920167609e-8, -2.337446787242448e-8, -8.43880090582137e-9,
  6.737493433374833e-9, 1.408852075202545e-8, 5.963645798166707e-9, -7.816968266767898e-9, -7.863004697555056e-9,
  3.803814960536081e-9, 6.202984113000443e-9, -1.992076551203188e-9, -3.75344338735913e-9, 1.0715528639398075e-9,
  1.657764699456319e-9, -4.798751536934023e-10, -4.6561597954216946e-10, 1.417650842869536e-10, 6.135932778393812e-11,
  -1.9677083272584384e-11,
];

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}

const near = (x: Term, coefficients: readonly number[]): Term =>
  horner('f64', sub(mul(atMost(x, 8), 0.25), 1), coefficients);
const far = (x: Term, coefficients: readonly number[]): Term =>
  div(horner('f64', sub(div(16, x), 1), coefficients), sqrt(x));

/** exp(-|x|) I0(x). */
function scaledI0(x: Term): Term {
  const magnitude = abs(x);
  return where(gt(magnitude, 8), far(magnitude, i0Large), near(magnitude, i0Small));
}

/** exp(-|x|) I1(x). */
function scaledI1(x: Term): Term {
  const magnitude = abs(x);
  return copysign(where(gt(magnitude, 8), far(magnitude, i1Large), mul(magnitude, near(magnitude, i1Small))), x);
}

/** exp(|x|) times the scaled function, in two halves so that only the product overflows. */
function grown(x: Term, scaled: Term): Term {
  const half = exp(mul(0.5, abs(x)));
  return mul(mul(half, scaled), half);
}

// As in PyTorch, NaN at infinities: exp overflows, and the scaled function is 0.
const grownI0 = (x: Term): Term => grown(x, scaledI0(x));
const grownI1 = (x: Term): Term => grown(x, scaledI1(x));

export const i0: Unary = unary('i0', {
  doc: 'Modified Bessel function of the first kind, of order 0.',
  torch: ['i0', 'special.i0'],
  rule: 'promoteToFloat',
  reference: referenceI0,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 180 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(grownI0, x) : grownI0(x)),
  gradient: ({ g, x }) => [mul(g, i1(x))],
});

export const i0e: Unary = unary('i0e', {
  doc: 'Exponentially scaled modified Bessel function of the first kind, of order 0.',
  torch: ['special.i0e', 'i0e'],
  formula: 'exp(-|x|) i0(x)',
  rule: 'promoteToFloat',
  reference: referenceI0e,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 140 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(scaledI0, x) : scaledI0(x)),
  gradient: ({ g, x, out }) => [mul(g, sub(i1e(x), mul(sign(x), out)))],
});

export const i1: Unary = unary('i1', {
  doc: 'Modified Bessel function of the first kind, of order 1.',
  torch: ['special.i1', 'i1'],
  rule: 'promoteToFloat',
  reference: referenceI1,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 180 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(grownI1, x) : grownI1(x)),
  gradient: ({ g, x, out }) => [mul(g, sub(i0(x), where(eq(x, 0), 0.5, div(out, x))))],
});

export const i1e: Unary = unary('i1e', {
  doc: 'Exponentially scaled modified Bessel function of the first kind, of order 1.',
  torch: ['special.i1e', 'i1e'],
  formula: 'exp(-|x|) i1(x)',
  rule: 'promoteToFloat',
  reference: referenceI1e,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 140 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(scaledI1, x) : scaledI1(x)),
  gradient: ({ g, x, out }) => [mul(g, where(eq(x, 0), 0.5, sub(i0e(x), mul(out, add(sign(x), div(1, x))))))],
});

/** (-1)^n / (2n + 1)!: the series of sin(x) / x in the square of x, and that of its derivative over x, where they are short. */
const sineOverX = Array.from({ length: 8 }, (_, n) => (-1) ** n / factorial(2 * n + 1));
const slopeOverX = sineOverX.slice(1).map((coefficient, n) => 2 * (n + 1) * coefficient);

export const sphericalBesselJ0: Unary = unary('sphericalBesselJ0', {
  doc: 'Spherical Bessel function of the first kind of order 0; 1 at 0, and 0 at infinities.',
  torch: ['special.spherical_bessel_j0'],
  formula: 'sin(x) / x',
  rule: 'promoteToFloat',
  traits: { cost: 40 },
  decompose: ({ x }, dtype) => {
    const series = horner(dtype, mul(x, x), sineOverX);
    const magnitude = abs(x);
    return where(lt(magnitude, 0.5), series, where(eq(magnitude, Infinity), 0, div(sin(x), x)));
  },
  reference: (x = 0) => (x === 0 ? 1 : Math.abs(x) === Infinity ? 0 : Math.sin(x) / x),
  // The sine's error twice, and the quotient's.
  ulp: 6.5,
  gradient: ({ g, x, out }) => {
    const series = mul(x, horner('f64', mul(x, x), slopeOverX));
    const slope = where(eq(abs(x), Infinity), 0, div(sub(cos(x), out), x));
    return [mul(g, where(lt(abs(x), 0.5), series, slope))];
  },
});
