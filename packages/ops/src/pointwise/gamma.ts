// The gamma function's relatives, at f64 also for f32 operands.
//
// On [1, 2] a polynomial, with the zeros of the function as explicit factors; from 3 on the asymptotic series, whose tail
// is fitted in 1/x^2; between, and below 1, the recurrence by one step; below 1/2 the reflection.
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import { literal } from '../term.ts';
import type { Term } from '../term.ts';
import { abs, add, div, mul, neg, sub } from './arithmetic.ts';
import { eq, gt, isinf, logicalAnd, lt, signbit, where } from './comparison.ts';
import { logOfMagnitude } from './exponential-core.ts';
import { horner, throughF64 } from './polynomial.ts';
import { floor, round } from './rounding.ts';
import { cos, sin } from './trigonometric.ts';
import { zeta } from './zeta.ts';
import { referenceDigamma, referenceLgamma, referenceTrigamma } from '../reference/gamma.ts';

/** The variable that maps [1, 2] to [-1, 1]. */
const centred = (x: Term): Term => sub(mul(2, x), 3);

/** lgamma(x) = (x - 1) (x - 2) p(2x - 3) on [1, 2]. */
const lgammaOneToTwo = [
  0.4831289505409809, -0.07297994795715304, 0.01572785026864542, -0.003913560937627712, 0.0010498186643114226,
  -0.00029455070147065866, 8.510090557578434e-5, -2.5094329288815257e-5, 7.511379855481206e-6, -2.274243403133106e-6,
  6.948877197562772e-7, -2.138781508158277e-7, 6.613648184278213e-8, -2.0587178010528767e-8, 6.5744295616983814e-9,
  -2.0645205106753336e-9, 5.338892309612246e-10, -1.6832632347974095e-10, 1.0811060848639768e-10, -3.44138388395326e-11,
];
/** x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1/x^2, for x >= 3. */
const lgammaTail = [
  0.08333333333333333, -0.002777777777767353, 0.0007936507891020488, -0.0005952373063227016, 0.000841678862598761,
  -0.0019135564194573535, 0.006266355072207451, -0.02591763548428459, 0.11229667461420963, -0.41302940091672014,
  1.0364376287210755, -1.2591741378706647,
];
/** digamma(x) = (x - root) p(2x - 3) on [1, 2]. */
const digammaOneToTwo = [
  0.951055876031833, -0.21181371064073026, 0.06013562106019355, -0.018550615381738605, 0.005936795278433826,
  -0.0019350666647832667, 0.000636888028319074, -0.00021074841215733007, 6.995020484160625e-5, -2.325823828431376e-5,
  7.741156881253708e-6, -2.578107848270217e-6, 8.591324222417666e-7, -2.8628755280038686e-7, 9.500926192924096e-8,
  -3.166618072027162e-8, 1.10370884388543e-8, -3.6788868183645545e-9, 8.668257373761658e-10, -2.889363639216111e-10,
  2.4765474440031764e-10, -8.25512972008104e-11,
];
const digammaRoot = { high: 1.4616321449683622, low: 9.549995429965697e-17 };
/** x^2 (log x - 1/(2x) - digamma(x)) in 1/x^2, for x >= 3. */
const digammaTail = [
  0.08333333333333333, -0.008333333333325033, 0.003968253963318731, -0.004166665495022904, 0.0075756100694986265,
  -0.021081441106059102, 0.08275092617561204, -0.42213739276734025, 2.4853225179572207, -14.509465068315617,
  72.40846099395732, -269.9594777475153, 643.1483984648313, -720.4954060785403,
];
const trigammaOneToTwo = [
  0.9348022005446793, -0.41439832211716, 0.17613637925030454, -0.07238020472223382, 0.02894153281884842,
  -0.011317167657039377, 0.004345012708160208, -0.001643045882955482, 0.0006134890711049094, -0.00022664204411884352,
  8.297732758843392e-5, -3.0146656772655926e-5, 1.08805505121908e-5, -3.904598388086978e-6, 1.394103924758212e-6,
  -4.956264179151566e-7, 1.757842123022093e-7, -6.203701480755089e-8, 2.1467931425188366e-8, -7.534411308632093e-9,
  2.969953732912191e-9, -1.035915693953431e-9, 1.620833605708497e-10, -5.6815796878821247e-11, 8.892283924031835e-11,
  -3.075621282640783e-11,
];
/** x^3 (trigamma(x) - 1/x - 1/(2 x^2)) in 1/x^2, for x >= 3. */
const trigammaTail = [
  0.16666666666666663, -0.033333333333160034, 0.023809523706389883, -0.03333330880144696, 0.07575447786930659,
  -0.25287399814659733, 1.1542975037487164, -6.639068782706134, 42.586552301671425, -262.6816398079848,
  1355.617460055766, -5159.302656872705, 12453.77249775757, -14074.060850362162,
];

interface Steps {
  /** x, x - 1 or x + 1: in [1, 2] where x < 3. */
  readonly base: Term;
  readonly isBelowOne: Term;
  readonly isAboveTwo: Term;
}

/** For x in (0, 3): one step of the recurrence towards [1, 2]. */
function stepToUnit(x: Term): Steps {
  const isBelowOne = lt(x, 1);
  const isAboveTwo = gt(x, 2);
  return { base: where(isBelowOne, add(x, 1), where(isAboveTwo, sub(x, 1), x)), isBelowOne, isAboveTwo };
}

/** For x > 0. */
function lgammaOfPositive(x: Term): Term {
  const { base, isBelowOne, isAboveTwo } = stepToUnit(x);
  const unit = mul(mul(sub(base, 1), sub(base, 2)), horner('f64', centred(base), lgammaOneToTwo));
  const stepped = logOfMagnitude(where(isBelowOne, x, base), 'f64');
  const small = where(isBelowOne, sub(unit, stepped), where(isAboveTwo, add(unit, stepped), unit));
  const inverse = div(1, x);
  const logarithm = sub(logOfMagnitude(x, 'f64'), 1);
  const rest = mul(inverse, horner('f64', mul(inverse, inverse), lgammaTail));
  // (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + rest
  const large = add(mul(sub(x, 0.5), logarithm), add((Math.log(2 * Math.PI) - 1) / 2, rest));
  return where(lt(x, 3), small, large);
}

/** sin(pi x), through the distance to the nearest integer: 0 exactly at integers; up to its sign. */
const sinOfTurns = (x: Term): Term => sin(mul(sub(x, round(x)), Math.PI));

function lgamma64(x: Term): Term {
  const isReflected = lt(x, 0.5);
  const positive = lgammaOfPositive(where(isReflected, sub(1, x), x));
  const reflected = sub(Math.log(Math.PI), add(logOfMagnitude(sinOfTurns(x), 'f64'), positive));
  const value = where(lt(x, 0), reflected, lgammaOfPositive(abs(x)));
  return where(isinf(x), Infinity, where(logicalAnd(lt(x, 0), eq(floor(x), x)), Infinity, value));
}

export const lgamma: Unary = unary('lgamma', {
  doc: 'Logarithm of the absolute value of the gamma function.',
  torch: ['lgamma', 'special.gammaln'],
  rule: 'promoteToFloat',
  reference: referenceLgamma,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 400 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(lgamma64, x) : lgamma64(x)),
  gradient: ({ g, x }) => [mul(g, digamma(x))],
});

function digammaOfPositive(x: Term): Term {
  const { base, isBelowOne, isAboveTwo } = stepToUnit(x);
  const fromRoot = sub(sub(base, digammaRoot.high), digammaRoot.low);
  const unit = mul(fromRoot, horner('f64', centred(base), digammaOneToTwo));
  const small = where(isBelowOne, sub(unit, div(1, x)), where(isAboveTwo, add(unit, div(1, base)), unit));
  const inverse = div(1, x);
  const square = mul(inverse, inverse);
  const rest = add(mul(0.5, inverse), mul(square, horner('f64', square, digammaTail)));
  return where(lt(x, 3), small, sub(logOfMagnitude(x, 'f64'), rest));
}

/** pi / tan(pi x), for x that is not an integer. */
function cotangentOfTurns(x: Term): Term {
  const angle = mul(sub(x, round(x)), Math.PI);
  return div(mul(Math.PI, cos(angle)), sin(angle));
}

function digamma64(x: Term): Term {
  const isReflected = lt(x, 0);
  const positive = digammaOfPositive(where(isReflected, sub(1, x), x));
  const value = where(isReflected, sub(positive, cotangentOfTurns(x)), positive);
  const atPole = where(eq(x, 0), where(signbit(x), Infinity, -Infinity), NaN);
  const isPole = where(gt(x, 0), literal(0), where(eq(floor(x), x), 1, 0));
  return where(eq(x, Infinity), Infinity, where(eq(isPole, 1), atPole, value));
}

export const digamma: Unary = unary('digamma', {
  doc: 'Derivative of lgamma; NaN at negative integers, infinite at 0.',
  torch: ['digamma', 'special.digamma', 'special.psi'],
  rule: 'promoteToFloat',
  reference: referenceDigamma,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 400 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(digamma64, x) : digamma64(x)),
  gradient: ({ g, x }) => [mul(g, trigamma(x))],
});

function trigammaOfPositive(x: Term): Term {
  const { base, isBelowOne, isAboveTwo } = stepToUnit(x);
  const unit = horner('f64', centred(base), trigammaOneToTwo);
  const inverseOf = (v: Term): Term => div(1, mul(v, v));
  const small = where(isBelowOne, add(unit, inverseOf(x)), where(isAboveTwo, sub(unit, inverseOf(base)), unit));
  const inverse = div(1, x);
  const square = mul(inverse, inverse);
  const rest = mul(mul(square, inverse), horner('f64', square, trigammaTail));
  return where(lt(x, 3), small, add(inverse, add(mul(0.5, square), rest)));
}

function trigamma64(x: Term): Term {
  const isReflected = lt(x, 0);
  const positive = trigammaOfPositive(where(isReflected, sub(1, x), x));
  const ratio = div(Math.PI, sinOfTurns(x));
  return where(eq(x, Infinity), 0, where(isReflected, sub(mul(ratio, ratio), positive), positive));
}

export const trigamma: Unary = unary('trigamma', {
  doc: 'Second derivative of lgamma: polygamma of order 1.',
  rule: 'promoteToFloat',
  reference: referenceTrigamma,
  referenceError: 1e-12,
  ulp: 4,
  traits: { cost: 400 },
  internal: true,
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(trigamma64, x) : trigamma64(x)),
  gradient: ({ g, x }) => [mul(g, neg(mul(2, zeta(3, x))))],
});
