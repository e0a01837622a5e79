// Exponents and significands of floats: what exponentials are built with and logarithms are taken apart with. On AVX-512
// each is an instruction or two.
import { binary, unary } from '../define.ts';
import type { Binary, Unary } from '../define.ts';
import { prelude } from '../prelude.ts';
import { exponentOf, leastScale, scaleByPowerOfTwo, scaleOrZero, significandOf } from '../float-bits.ts';
import { add, copysign, mul, neg } from './arithmetic.ts';
import { eq, isfinite, logicalNot, logicalOr, lt, where } from './comparison.ts';
import { floats } from './dtype-sets.ts';

export const scalb: Binary = binary('scalb', {
  doc: 'x times 2 to the power of the integral y, rounded once. See the prelude for the range that callers keep to.',
  formula: 'x 2^y',
  rule: 'promote',
  accepts: floats,
  internal: true,
  traits: { cost: 1 },
  c: prelude('scalb_'),
  evaluate: { float: scaleByPowerOfTwo },
});

export const scalbOrZero: Binary = binary('scalbOrZero', {
  doc:
    'x times 2 to the power of the integral y, rounded once, for x in [0, 2); 0 where y is so low that the product is, ' +
    'whatever x is there. See the prelude.',
  formula: 'x 2^y',
  rule: 'promote',
  accepts: floats,
  internal: true,
  traits: { cost: 2 },
  c: prelude('scalborzero_'),
  evaluate: {
    float: scaleOrZero(leastScale.f64),
    f32: (x, y) => Math.fround(scaleOrZero(leastScale.f32)(x, y)),
  },
});

export const exponent: Unary = unary('exponent', {
  doc: 'The e for which |x| = significand(x) 2^e.',
  rule: 'promote',
  accepts: floats,
  internal: true,
  traits: { cost: 3 },
  c: prelude('exponent_'),
  evaluate: { float: exponentOf },
});

export const significand: Unary = unary('significand', {
  doc: 'The m in [0.75, 1.5) for which |x| = m 2^e with an integer e; 1 at 0 and infinities.',
  rule: 'promote',
  accepts: floats,
  internal: true,
  traits: { cost: 1 },
  c: prelude('significand_'),
  evaluate: { float: significandOf },
});

export const frexpMantissa: Unary = unary('frexpMantissa', {
  doc: 'The m in [0.5, 1) for which x = m 2^e: the first result of frexp.',
  rule: 'promote',
  accepts: floats,
  traits: { cost: 8 },
  internal: true,
  decompose: ({ x }) => {
    const m = significand(x);
    // A significand below 1 has its exponent already; the others are halved.
    const magnitude = where(lt(m, 1), m, mul(m, 0.5));
    return where(logicalOr(eq(x, 0), logicalNot(isfinite(x))), x, copysign(magnitude, x));
  },
  gradient: ({ g, x }) => [scalb(g, neg(frexpExponent(x)))],
});

export const frexpExponent: Unary = unary('frexpExponent', {
  doc: 'The e, as a float, for which x = m 2^e with m in [0.5, 1): the second result of frexp; 0 at 0, infinities and NaN.',
  rule: 'promote',
  accepts: floats,
  traits: { cost: 8 },
  internal: true,
  decompose: ({ x }) => {
    const e = where(lt(significand(x), 1), exponent(x), add(exponent(x), 1));
    return where(logicalOr(eq(x, 0), logicalNot(isfinite(x))), 0, e);
  },
});
