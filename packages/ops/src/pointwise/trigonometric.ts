// Circular functions and their inverses.
import type { DType } from '@tsinductor/base';
import { binary, unary } from '../define.ts';
import type { Binary, Unary } from '../define.ts';
import { bitcast, bits, cast, literal } from '../term.ts';
import type { Term } from '../term.ts';
import { abs, add, copysign, div, fma, mul, neg, sqrt, square, sub } from './arithmetic.ts';
import { atMost } from './extrema.ts';
import { largeQuadrant, largeRemainder } from './argument-reduction.ts';
import { bitwiseAnd, bitwiseLeftShift, bitwiseXor } from './bitwise.ts';
import { eq, gt, isnan, logicalAnd, logicalNot, logicalOr, lt, ne, signbit, where } from './comparison.ts';
import { roundingShift } from './exponential-core.ts';
import { horner, throughF64 } from './polynomial.ts';
import { isLarge, reduceModerate } from './reduce-by-half-pi.ts';
import { round } from './rounding.ts';

/** sin(r) = r + r^3 s(r^2), cos(r) = 1 - r^2/2 + r^4 c(r^2) for |r| <= pi/4. */
const sinTail32 = [-0.166666641831398, 0.008332747966051102, -0.000195878412341699];
const cosTail32 = [0.0416666641831398, -0.001388830249197781, 2.454789137118496e-5];
const sinTail64 = [
  -0.16666666666666666, 0.008333333333330946, -0.0001984126983675497, 2.755731610068303e-6, -2.5051131455427946e-8,
  1.591810123027412e-10,
];
const cosTail64 = [
  0.041666666666666664, -0.0013888888888887395, 2.4801587298763433e-5, -2.7557317270560326e-7, 2.0876146024689747e-9,
  -1.1382614868556325e-11,
];

function sinOfReduced(r: Term, dtype: DType): Term {
  const z = mul(r, r);
  if (dtype === 'f32') return fma(mul(horner(dtype, z, sinTail32), z), r, r);
  return add(r, mul(mul(r, z), horner(dtype, z, sinTail64)));
}

function cosOfReduced(r: Term, dtype: DType): Term {
  const z = mul(r, r);
  if (dtype === 'f32') return fma(fma(horner(dtype, z, cosTail32), z, -0.5), z, 1);
  const half = mul(0.5, z);
  const near = sub(1, half);
  // 1 - near - half is what rounding took from near.
  return add(near, add(sub(sub(1, near), half), mul(mul(z, z), horner(dtype, z, cosTail64))));
}

/** pi/2 as a sum of three float32. */
const halfPi32 = [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15] as const;

interface Reduced {
  /** In [-pi/4, pi/4] or hardly more. */
  readonly r: Term;
  /** The multiple of pi/2, as an i32 whose last two bits count. */
  readonly quadrant: Term;
}

/** |x| by steps that are fused, and exact or rounded once far below r; beyond their range by the ops with a guard. */
function reduce(x: Term, dtype: DType): Reduced {
  const magnitude = abs(x);
  const near = dtype === 'f32' ? reduce32(magnitude) : reduce64(magnitude);
  const large = isLarge(x, dtype);
  return {
    r: where(large, largeRemainder(x), near.r),
    quadrant: where(large, cast('i32', largeQuadrant(x)), near.quadrant),
  };
}

function reduce32(x: Term): Reduced {
  // The sum's last bits are those of the integer.
  const shifted = fma(x, 2 / Math.PI, roundingShift);
  const n = neg(sub(shifted, roundingShift));
  return { r: halfPi32.reduce<Term>((rest, part) => fma(n, part, rest), x), quadrant: bitcast('i32', shifted) };
}

function reduce64(x: Term): Reduced {
  const { n, r } = reduceModerate(x, 3);
  return { r, quadrant: cast('i32', sub(n, mul(4, round(mul(n, 0.25))))) };
}

const hasBit = (quadrant: Term, bit: 1 | 2): Term => ne(bitwiseAnd(quadrant, bit), 0);

/** `value`, negated where bit 1 of `quadrant` is set and, of an odd function, where x is negative. */
function signed(value: Term, quadrant: Term, { odd, dtype }: { odd: Term | undefined; dtype: DType }): Term {
  if (dtype === 'f64') {
    const isNegated = hasBit(quadrant, 2);
    return where(odd === undefined ? isNegated : ne(isNegated, signbit(odd)), neg(value), value);
  }
  const flip = bitwiseLeftShift(bitwiseAnd(quadrant, 2), 30);
  const sign = odd === undefined ? flip : bitwiseXor(flip, bitwiseAnd(bitcast('i32', odd), lowestInteger));
  return bitcast('f32', bitwiseXor(bitcast('i32', value), sign));
}
const lowestInteger = bits('i32', '80000000');

export const sin: Unary = unary('sin', {
  doc: 'Sine, of arguments of any size.',
  rule: 'promoteToFloat',
  traits: { cost: 25 },
  decompose: ({ x }, dtype) => {
    const { r, quadrant } = reduce(x, dtype);
    const value = where(hasBit(quadrant, 1), cosOfReduced(r, dtype), sinOfReduced(r, dtype));
    // That of |x|: the sign of x comes last, so that sin(-0) is -0.
    return signed(value, quadrant, { odd: x, dtype });
  },
  reference: Math.sin,
  ulp: 3,
  gradient: ({ g, x }) => [mul(g, cos(x))],
});

export const cos: Unary = unary('cos', {
  doc: 'Cosine, of arguments of any size.',
  rule: 'promoteToFloat',
  traits: { cost: 25 },
  decompose: ({ x }, dtype) => {
    const { r, quadrant } = reduce(x, dtype);
    const value = where(hasBit(quadrant, 1), sinOfReduced(r, dtype), cosOfReduced(r, dtype));
    return signed(value, add(quadrant, 1), { odd: undefined, dtype });
  },
  reference: Math.cos,
  ulp: 3,
  gradient: ({ g, x }) => [neg(mul(g, sin(x)))],
});

export const tan: Unary = unary('tan', {
  doc: 'Tangent, of arguments of any size.',
  rule: 'promoteToFloat',
  traits: { cost: 35 },
  decompose: ({ x }, dtype) => {
    const { r, quadrant } = reduce(x, dtype);
    const [sine, cosine, isOdd] = [sinOfReduced(r, dtype), cosOfReduced(r, dtype), hasBit(quadrant, 1)];
    const quotient = div(where(isOdd, neg(cosine), sine), where(isOdd, sine, cosine));
    return where(signbit(x), neg(quotient), quotient);
  },
  reference: Math.tan,
  ulp: 4,
  piece: (x = 0) => Math.floor(x / Math.PI + 0.5),
  gradient: ({ g, out }) => [mul(g, add(1, mul(out, out)))],
});

/** atan(s) = s + s^3 p(s^2) for |s| <= tan(pi/8). */
const atanTail64 = [
  -0.3333333333333333, 0.19999999999999804, -0.14285714285659729, 0.11111111105145725, -0.09090908753017178,
  0.07692296361048218, -0.06666424634599337, 0.05878926110528101, -0.052304330074828924, 0.0455149623749493,
  -0.034568068014968874, 0.016282993238924487,
];
const tanOfEighth = Math.SQRT2 - 1;
/** What the doubles nearest pi/2 and pi/4 leave. */
const halfPiRest = 6.123233995736766e-17;
const quarterPiRest = halfPiRest / 2;

/** atan(n / d) at f64 for n, d >= 0, not both 0: in [0, pi/2]. */
function atanOfRatio(n: Term, d: Term): Term {
  // Of n/d, (n - d)/(n + d) and -d/n, the one that is within tan(pi/8) of 0.
  const isSmall = logicalNot(gt(n, mul(d, tanOfEighth)));
  const isLarge = gt(mul(n, tanOfEighth), d);
  const top = where(isSmall, n, where(isLarge, neg(d), sub(n, d)));
  const bottom = where(isSmall, d, where(isLarge, n, add(n, d)));
  const s = div(top, bottom);
  const z = mul(s, s);
  const tail = mul(mul(s, z), horner('f64', z, atanTail64));
  const base = where(isSmall, 0, where(isLarge, Math.PI / 2, Math.PI / 4));
  const rest = where(isSmall, 0, where(isLarge, halfPiRest, quarterPiRest));
  return add(base, add(s, add(tail, rest)));
}

const atan64 = (x: Term): Term => copysign(atanOfRatio(atMost(abs(x), 2 ** 500), literal(1)), x);

export const atan: Unary = unary('atan', {
  doc: 'Inverse tangent, in [-pi/2, pi/2].',
  rule: 'promoteToFloat',
  traits: { cost: 60 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(atan64, x) : atan64(x)),
  reference: Math.atan,
  ulp: 3,
  gradient: ({ g, x }) => [div(g, add(1, mul(x, x)))],
});

/**
 * atan2 at f64, with the special cases of IEEE 754. Infinities become large numbers of the same quotient, and zeros small
 * ones: atan2(0, 0) is 0 or pi, by the sign of x.
 */
function atan2OfDoubles(y: Term, x: Term): Term {
  const [height, width] = [abs(y), abs(x)];
  const isAnyInfinite = logicalOr(eq(height, Infinity), eq(width, Infinity));
  const ofInfinities = (length: Term): Term => where(eq(length, Infinity), 1, 0);
  // Brings sums of both, and products with tan(pi/8), into range.
  const larger = where(gt(height, width), height, width);
  const scale = where(gt(larger, 2 ** 1000), 2 ** -30, where(lt(larger, 2 ** -900), 2 ** 120, 1));
  const n = where(isAnyInfinite, ofInfinities(height), mul(height, scale));
  const d = where(isAnyInfinite, ofInfinities(width), mul(width, scale));
  const bothZero = logicalAnd(eq(y, 0), eq(x, 0));
  const angle = atanOfRatio(n, where(bothZero, 1, d));
  const obtuse = sub(Math.PI, sub(angle, 2 * halfPiRest));
  return where(logicalOr(isnan(x), isnan(y)), NaN, copysign(where(signbit(x), obtuse, angle), y));
}

export const atan2: Binary = binary('atan2', {
  doc: 'Angle of the point (y, x), the first operand being the height: in [-pi, pi].',
  rule: 'promoteToFloat',
  traits: { cost: 90 },
  decompose: ({ x, y }, dtype) => (dtype === 'f32' ? throughF64(atan2OfDoubles, x, y) : atan2OfDoubles(x, y)),
  reference: Math.atan2,
  ulp: 3,
  gradient: ({ g, x, y }) => {
    const squares = add(mul(x, x), mul(y, y));
    const share = where(eq(squares, 0), 0, div(g, squares));
    return [mul(share, y), mul(share, neg(x))];
  },
});

/** asin(s) = s + s^3 p(s^2) for |s| <= 1/2. */
const asinTail64 = [
  0.16666666666666666, 0.07500000000000119, 0.04464285714255019, 0.030381944475693704, 0.022372157435623815,
  0.017352816768546473, 0.013963775787848137, 0.011566511821890942, 0.00962140274734483, 0.009322101501082774,
  0.0030350071727267623, 0.019579201619744684, -0.019277545928584557, 0.02963502626354855,
];

/** asin(s) - s for |s| <= 1/2. */
const asinTail = (s: Term): Term => {
  const z = mul(s, s);
  return mul(mul(s, z), horner('f64', z, asinTail64));
};

/** For |x| > 1/2: the root s = sqrt((1 - |x|) / 2), for which acos |x| = 2 asin s. */
const rootOfComplement = (x: Term): Term => sqrt(mul(0.5, sub(1, abs(x))));

function asin64(x: Term): Term {
  const root = rootOfComplement(x);
  const outer = sub(Math.PI / 2, sub(mul(2, add(root, asinTail(root))), halfPiRest));
  return where(lt(abs(x), 0.5), add(x, asinTail(x)), copysign(outer, x));
}

function acos64(x: Term): Term {
  const root = rootOfComplement(x);
  const twice = mul(2, add(root, asinTail(root)));
  const outer = where(signbit(x), sub(Math.PI, sub(twice, 2 * halfPiRest)), twice);
  return where(lt(abs(x), 0.5), sub(Math.PI / 2, sub(add(x, asinTail(x)), halfPiRest)), outer);
}

export const asin: Unary = unary('asin', {
  doc: 'Inverse sine, in [-pi/2, pi/2]; NaN outside [-1, 1].',
  rule: 'promoteToFloat',
  traits: { cost: 80 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(asin64, x) : asin64(x)),
  reference: Math.asin,
  ulp: 3,
  gradient: ({ g, x }) => [div(g, sqrt(sub(1, square(x))))],
});

export const acos: Unary = unary('acos', {
  doc: 'Inverse cosine, in [0, pi]; NaN outside [-1, 1].',
  rule: 'promoteToFloat',
  traits: { cost: 80 },
  decompose: ({ x }, dtype) => (dtype === 'f32' ? throughF64(acos64, x) : acos64(x)),
  reference: Math.acos,
  ulp: 3,
  gradient: ({ g, x }) => [neg(div(g, sqrt(sub(1, square(x)))))],
});

export const sinc: Unary = unary('sinc', {
  doc: 'Normalised cardinal sine; 1 at 0.',
  torch: ['sinc', 'special.sinc'],
  formula: 'sin(pi x) / (pi x)',
  rule: 'promoteToFloat',
  measured: [2 ** -149, 2 ** 126],
  reference: (x = 0) => (x === 0 ? 1 : Math.sin(Math.PI * (x - 2 * Math.round(x / 2))) / (Math.PI * x)),
  ulp: 4,
  scale: () => 1,
  traits: { cost: 70 },
  decompose: ({ x }) => where(eq(x, 0), 1, div(sin(mul(x, Math.PI)), mul(x, Math.PI))),
  gradient: ({ g, x }) => {
    const angle = mul(x, Math.PI);
    const slope = div(sub(mul(cos(angle), angle), sin(angle)), mul(angle, x));
    return [where(eq(x, 0), 0, mul(g, slope))];
  },
});

export const angle: Unary = unary('angle', {
  doc: 'Angle of a real number: pi where it is negative, else 0.',
  rule: 'promoteToFloat',
  reference: (x = 0) => (Number.isNaN(x) ? NaN : x < 0 ? Math.PI : 0),
  ulp: 0.5,
  traits: { cost: 2 },
  decompose: ({ x }) => where(isnan(x), x, where(lt(x, 0), Math.PI, 0)),
  gradient: () => [0],
});
