// Rounding to integral values. On integers these are the identity.
import { isFloat } from '@tsinductor/base';
import { unary } from '../define.ts';
import type { Unary } from '../define.ts';
import { prelude } from '../prelude.ts';
import { sub } from './arithmetic.ts';
import { floats, numbers } from './dtype-sets.ts';

const roundHalfToEven = (x = 0): number => {
  // Adding and taking away 2^52 rounds to an integral value, half to even, in the direction of the current mode.
  const big = 2 ** 52;
  if (!(Math.abs(x) < big)) return x;
  const rounded = Math.abs(x) + big - big;
  return x < 0 || Object.is(x, -0) ? -rounded : rounded;
};

export const floor: Unary = unary('floor', {
  doc: 'Largest integral value not above x.',
  rule: 'promote',
  reference: Math.floor,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1 },
  c: prelude('floor_'),
  evaluate: { float: Math.floor },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? undefined : x),
  gradient: () => [0],
});

export const ceil: Unary = unary('ceil', {
  doc: 'Smallest integral value not below x.',
  rule: 'promote',
  reference: Math.ceil,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1 },
  c: prelude('ceil_'),
  evaluate: { float: Math.ceil },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? undefined : x),
  gradient: () => [0],
});

export const trunc: Unary = unary('trunc', {
  doc: 'Integral part of x.',
  rule: 'promote',
  reference: Math.trunc,
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1 },
  c: prelude('trunc_'),
  evaluate: { float: Math.trunc },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? undefined : x),
  gradient: () => [0],
});

export const round: Unary = unary('round', {
  doc: 'Nearest integral value, halves to even.',
  rule: 'promote',
  reference: (x = 0) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x)),
  ulp: 0,
  accepts: numbers,
  traits: { cost: 1 },
  c: prelude('round_'),
  evaluate: { float: roundHalfToEven },
  decompose: ({ x }, dtype) => (isFloat(dtype) ? undefined : x),
  gradient: () => [0],
});

export const frac: Unary = unary('frac', {
  doc: 'Fractional part of x, with its sign.',
  formula: 'x - trunc(x)',
  rule: 'promote',
  reference: (x = 0) => x - Math.trunc(x),
  ulp: 0,
  accepts: floats,
  traits: { cost: 2 },
  decompose: ({ x }) => sub(x, trunc(x)),
  gradient: ({ g }) => [g],
});
