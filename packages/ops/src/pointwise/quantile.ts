// Inverses of the error function and of the normal distribution.
//
// With w = -log(1 - x^2), erfinv(x) / x is smooth in w near 0, and in 1 / sqrt(w) far out: four polynomials, each in a
// variable that is scaled to [-1, 1]. For the normal quantile of p, 1 - x^2 = 4 p (1 - p) keeps its relative precision down
// to the smallest p.
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import type { Term } from '../term.ts';
import { abs, add, div, mul, neg, sqrt, sub } from './arithmetic.ts';
import { eq, gt, logicalOr, lt, where } from './comparison.ts';
import { logOfMagnitude } from './exponential-core.ts';
import { exp } from './exponential.ts';
import { horner, throughF64 } from './polynomial.ts';
import { referenceErfinv, referenceNdtri } from '../reference/error-function.ts';

/** A polynomial in the variable that maps [low, high] to [-1, 1]. */
interface Piece {
  readonly low: number;
  readonly high: number;
  readonly coefficients: readonly number[];
}

const piece = (v: Term, { low, high, coefficients }: Piece): Term =>
  horner('f64', mul(sub(v, (low + high) / 2), 2 / (high - low)), coefficients);

/** erfinv(x) / x in w. */
const centre: Piece = {
  low: 0,
  high: 6.25,
  coefficients: [
    1.6536545626831027, 0.7504943200799635, -0.05892256710377784, -0.022604447453449802, 0.017808361818295655,
    -0.00413731437741443, -0.0012716922684373015, 0.0012324855686812834, -0.0002643936684366174, -0.0001168888399309713,
    9.33673917780479e-5, -1.5027710420277575e-5, -1.1257319182677936e-5, 7.1300572630824496e-6, -6.83718721812117e-7,
    -1.059321402540731e-6, 5.394320648707009e-7, -1.0185147576818285e-8, -9.867713140174249e-8, 3.915473114023045e-8,
    4.792369996100387e-9, -8.562787796742932e-9, 1.5401738716654886e-9, 7.689312733742569e-10, -2.7032254091069344e-10,
  ],
};
/** erfinv(x) / x in sqrt(w). */
const shoulder: Piece = {
  low: 2.5,
  high: 4,
  coefficients: [
    3.0838856104922208, 0.753944225770624, 0.0030211394363747063, -0.0015825410894073097, 0.0007883078513066945,
    -0.00040063569835358583, 0.00016966502197543766, -4.7391827316182325e-5, 2.405864805789804e-6, 5.127316786334848e-6,
    -2.664793846715906e-6, 5.264621626938461e-7, 9.289338749101434e-8, -9.468946844911027e-8, 2.63990323529153e-8,
    -3.6906087078089294e-10, -2.4605291139227303e-9, 9.891297510532429e-10, -1.179100761769929e-10,
    -6.471554767207546e-11, 2.4355543452655723e-11,
  ],
};
/** erfinv(x) / x / sqrt(w) in 1 / sqrt(w). */
const tail: Piece = {
  low: 1 / 6.2,
  high: 1 / 4,
  coefficients: [
    0.9688428214555691, -0.008947259396963073, -9.28700946373537e-6, 6.385949597342554e-5, -4.5005205257760086e-6,
    3.1478325402039186e-7, -2.0364444670881787e-8, 1.4091844027565476e-8, 4.9490509692512696e-9, 2.0155146825271298e-9,
    1.3239841063194446e-10, -2.1295034477345584e-10, -8.628451418764987e-11, 8.341141198749227e-12,
    1.2075560035873487e-11, 5.805084643505356e-13, -9.782141619568724e-13, -1.0313104719118605e-13,
  ],
};
const farTail: Piece = {
  low: 1 / 27.4,
  high: 1 / 6,
  coefficients: [
    0.988792632209219, -0.011076273510513029, -0.0014491594304710898, 0.0004443900179758411, -7.316832309313775e-5,
    1.813714074022315e-5, -5.93730069982017e-6, 2.185782922953791e-6, -8.74717465770961e-7, 3.734042057013076e-7,
    -1.677234238862461e-7, 7.816521824393147e-8, -3.6435275455671916e-8, 1.7867608196513995e-8, -1.1639836393242415e-8,
    6.114464933076592e-9, 1.0001834453700468e-9, -6.951653689990193e-10, -3.996389895817161e-9, 2.274272070764594e-9,
    1.6537310659418422e-9, -9.556568216058594e-10, -5.715865387940393e-10, 3.267430346876604e-10,
  ],
};

/** erfinv(x) / x, given 1 - x^2 in (0, 1]. */
function inverseRatio(complement: Term): Term {
  const w = neg(logOfMagnitude(complement, 'f64'));
  const root = sqrt(w);
  const inverse = div(1, root);
  const far = mul(root, where(gt(root, 6.1), piece(inverse, farTail), piece(inverse, tail)));
  return where(lt(w, 6.25), piece(w, centre), where(lt(root, 4), piece(root, shoulder), far));
}

function erfinv64(x: Term): Term {
  const complement = mul(sub(1, x), add(1, x));
  const value = mul(x, inverseRatio(complement));
  return where(eq(abs(x), 1), mul(x, Infinity), where(gt(abs(x), 1), NaN, value));
}

export const erfinv: Unary = unary('erfinv', {
  doc: 'Inverse of the error function; infinite at -1 and 1, NaN outside.',
  torch: ['erfinv', 'special.erfinv'],
  rule: 'promoteToFloat',
  reference: referenceErfinv,
  referenceError: 1e-12,
  traits: { cost: 250 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(erfinv64, x) : erfinv64(x)),
  ulp: 4,
  gradient: ({ g, out }) => [mul(g, mul(Math.sqrt(Math.PI) / 2, exp(mul(out, out))))],
});

function ndtri64(p: Term): Term {
  // x = 2 p - 1 loses nothing for p >= 1/4; below, -(1 - 2 p) is as good.
  const x = sub(mul(2, p), 1);
  const complement = mul(mul(4, p), sub(1, p));
  const value = mul(mul(Math.SQRT2, x), inverseRatio(complement));
  const inside = where(eq(p, 0), -Infinity, where(eq(p, 1), Infinity, value));
  return where(logicalOr(lt(p, 0), gt(p, 1)), NaN, inside);
}

export const ndtri: Unary = unary('ndtri', {
  doc: 'Quantile function of the standard normal distribution: the inverse of ndtr.',
  torch: ['special.ndtri', 'ndtri'],
  rule: 'promoteToFloat',
  reference: referenceNdtri,
  referenceError: 1e-12,
  traits: { cost: 250 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(ndtri64, x) : ndtri64(x)),
  ulp: 4,
  gradient: ({ g, out }) => [mul(g, mul(Math.sqrt(2 * Math.PI), exp(mul(0.5, mul(out, out)))))],
});
