// The forward bounds of pointwise operators with attributes, with their derivations: see `ForwardBound`. Numbers such as
// 0.37 stand for any that f32 does not hold.
import { pointwise } from '@tsinductor/ops';
import { float } from '../composer.ts';
import { boundOf, ulpOf } from '../forward-bound.ts';
import type { ForwardBound } from '../forward-bound.ts';
import type { ValueRef } from '../graph.ts';
import type { Builder } from '../operator.ts';

type Bounds = readonly ForwardBound[];

const rounded = Math.fround;

/** input + alpha other, or minus. */
export const scaledSumBounds = (name: 'add' | 'sub', sign: 1 | -1): Bounds => [
  boundOf(name, { alpha: float(1) }),
  {
    attrs: { alpha: float(0.37) },
    ulp: 2,
    because: 'alpha 1, its product 0.5, the sum 0.5',
    scale: (x = 0, y = 0) => Math.abs(x) + Math.abs(0.37 * y),
    reference: (x = 0, y = 0) => x + sign * 0.37 * y,
  },
];

export const reversedDifferenceBounds: Bounds = [
  {
    attrs: { alpha: float(0.37) },
    ulp: 2,
    because: 'alpha 1, its product 0.5, the difference 0.5',
    scale: (x = 0, y = 0) => Math.abs(y) + Math.abs(0.37 * x),
    reference: (x = 0, y = 0) => y - 0.37 * x,
  },
];

/** The quotient rounded down, from the exact remainder. */
function flooredQuotient(x: number, y: number): number {
  const remains = x % y;
  const whole = (x - remains) / y;
  return y === 0 ? x / y : remains !== 0 && remains < 0 !== y < 0 ? whole - 1 : whole;
}

const floorBound: ForwardBound = {
  attrs: {},
  ulp: 3,
  because: 'x less its remainder 1, the quotient 1, one taken away 0.5; small quotients are whole again after it',
  reference: (x = 0, y = 0) => flooredQuotient(x, y),
};

export const floorDivideBounds: Bounds = [floorBound];

export const divBounds: Bounds = [
  boundOf('div', { roundingMode: null }),
  {
    attrs: { roundingMode: 'trunc' },
    ulp: 0,
    because: 'the rounded quotient, cut off',
    reference: (x = 0, y = 0) => Math.trunc(rounded(x / y)),
  },
  { ...floorBound, attrs: { roundingMode: 'floor' } },
];

export const clampBounds: Bounds = [
  {
    attrs: {},
    ulp: 0,
    because: 'one of the operands',
    reference: (x = 0, low = 0, high = 0) => Math.min(Math.max(x, low), high),
  },
];

const toEven = (x: number): number => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

export const roundBounds: Bounds = [
  boundOf('round', { decimals: 0 }),
  {
    attrs: { decimals: 2 },
    ulp: 0.5,
    because: 'what is rounded to a whole number is the product with 100 in f32, as in PyTorch; the quotient 0.5',
    reference: (x = 0) => toEven(rounded(x * 100)) / 100,
  },
  {
    attrs: { decimals: -1 },
    ulp: 0.5,
    because: 'what is rounded to a whole number is the quotient by 10 in f32, as in PyTorch; the product 0.5',
    reference: (x = 0) => toEven(rounded(x / 10)) * 10,
  },
];

const largest = 2 ** 128 - 2 ** 103;

export const nanToNumBounds: Bounds = [
  {
    attrs: { nan: 0.37, posinf: null, neginf: null },
    ulp: 0.5,
    because: 'the numbers that are given, in f32',
    reference: (x = 0) => (Number.isNaN(x) ? 0.37 : Math.max(-largest, Math.min(x, largest))),
  },
];

const held = (x: number): number => Math.min(Math.max(x, rounded(0.13)), rounded(0.87));

export const logitBounds: Bounds = [
  boundOf('logit', { eps: null }),
  {
    ...boundOf('logit', { eps: 0.13 }),
    because: 'it is logit of x held between eps and 1 - eps in f32',
    reference: (x = 0) => pointwise.logit.reference?.(held(x)) ?? NaN,
  },
];

/** input + value (first op second). */
const ternaryBounds = (op: (x: number, y: number) => number): Bounds => {
  const bound = (value: number, ulp: number, because: string): ForwardBound => ({
    attrs: { value: float(value) },
    ulp,
    because,
    // Beyond, the product with value alone may leave the range of f32.
    measured: [2 ** -40, 2 ** 40],
    scale: (x = 0, y = 0, z = 0) => Math.abs(x) + Math.abs(value * op(y, z)),
    reference: (x = 0, y = 0, z = 0) => x + value * op(y, z),
  });
  return [
    bound(1, 1, 'the product or quotient 0.5, the sum 0.5'),
    bound(0.37, 3, 'value 1, its product 1, the second product or quotient 0.5, the sum 0.5'),
  ];
};

export const addcmulBounds: Bounds = ternaryBounds((x, y) => x * y);
export const addcdivBounds: Bounds = ternaryBounds((x, y) => x / y);

export const floatPowerBounds: Bounds = [{ ...boundOf('pow'), because: 'it is pow at f64', format: 'f64' }];

export const ldexpBounds: Bounds = [
  {
    attrs: {},
    ulp: 2 * ulpOf('pow') + 0.5,
    because: 'the power twice, the product 0.5',
    // Beyond, the power alone leaves the normal numbers of f32.
    within: (_, y = 0) => !(Math.abs(y) > 126) || Math.abs(y) === Infinity,
    reference: (x = 0, y = 0) => x * 2 ** y,
  },
];

const logPi = Math.log(Math.PI);
const logGamma = (x: number): number => pointwise.lgamma.reference?.(x) ?? NaN;

export const mvlgammaBounds: Bounds = [
  { ...boundOf('lgamma', { p: 1 }), because: 'it is lgamma, and 0', within: (x = 0) => !(x <= 0) },
  {
    attrs: { p: 3 },
    ulp: 2 * ulpOf('lgamma') + 4,
    because:
      'the terms, whose units add up to two of the sum; x - i / 2 beyond 2^23 1.1, three sums 1.5, the constant 1',
    within: (x = 0) => !(x <= 1),
    scale: (x = 0) => Math.abs(logGamma(x)) + Math.abs(logGamma(x - 0.5)) + Math.abs(logGamma(x - 1)) + 1.5 * logPi,
    reference: (x = 0) => logGamma(x) + logGamma(x - 0.5) + logGamma(x - 1) + 1.5 * logPi,
  },
];

/** The limits at infinities are those that PyTorch has. */
function derivative(n: number, factorial: number): ForwardBound {
  const zeta = (x: number): number => factorial * (pointwise.zeta.reference?.(n + 1, x) ?? NaN);
  const { measured } = pointwise.zeta;
  return {
    attrs: { n },
    ulp: 2 * ulpOf('zeta') + 0.5,
    because: 'zeta twice, the product 0.5',
    ...(measured && { measured }),
    reference: (x = 0) => (x === Infinity ? (n === 1 ? 0 : NaN) : n === 1 && x === -Infinity ? NaN : zeta(x)),
  };
}

export const polygammaBounds: Bounds = [
  boundOf('digamma', { n: 0 }),
  derivative(1, 1),
  derivative(2, -2),
  derivative(4, -24),
];

/** A slope below 0: where the product is. */
const slopeBound = (attrs: ForwardBound['attrs'], slope: number): ForwardBound => ({
  attrs,
  ulp: 1.5,
  because: 'the slope 1, the product 0.5',
  reference: (x = 0) => (x > 0 ? x : x * slope),
});

export const leakyReluBounds: Bounds = [slopeBound({ negativeSlope: 0.37 }, 0.37)];
export const rreluBounds: Bounds = [slopeBound({ lower: 0.125, upper: 1 / 3, training: false }, (0.125 + 1 / 3) / 2)];

/** A row of channels, each with its own weight. */
function preluOfChannels(builder: Builder, [x, weight]: readonly ValueRef[]): ValueRef {
  const row = builder.call('unsqueeze', [x ?? null], { dim: 0 });
  return builder.call('squeeze', [builder.call('prelu', [row, weight ?? null])], { dim: 0 });
}

const gluOfHalves = (builder: Builder, halves: readonly ValueRef[]): ValueRef =>
  builder.call('glu', [builder.call('cat', [halves], { dim: 0 })]);

export const preluBounds: Bounds = [
  {
    attrs: {},
    ulp: 0.5,
    because: 'the product 0.5',
    reference: (x = 0, weight = 0) => (x > 0 ? x : x * weight),
    form: { arity: 2, build: preluOfChannels },
  },
];

export const gluBounds: Bounds = [
  {
    attrs: {},
    ulp: 2 * ulpOf('sigmoid') + 0.5,
    because: 'the sigmoid twice, the product 0.5',
    // Beyond, the sigmoid is no normal number of f32.
    within: (_, gate = 0) => !(gate < -80) || gate === -Infinity,
    reference: (x = 0, gate = 0) => x * (pointwise.sigmoid.reference?.(gate) ?? NaN),
    form: { arity: 2, build: gluOfHalves },
  },
];

const below = (x: number, value: number): number => (x > 0 ? x : value);

export const eluBounds: Bounds = [
  {
    attrs: { alpha: 1 },
    ulp: ulpOf('expm1'),
    because: 'it is x or expm1',
    reference: (x = 0) => below(x, Math.expm1(x)),
  },
  {
    attrs: { alpha: 0.37 },
    ulp: 2 * ulpOf('expm1') + 1.5,
    because: 'expm1 twice, alpha 1, the product 0.5',
    reference: (x = 0) => below(x, 0.37 * Math.expm1(x)),
  },
];

export const celuBounds: Bounds = [
  {
    attrs: { alpha: 0.37 },
    ulp: 2 * ulpOf('expm1') + 3.5,
    because: 'x / alpha 2, which weigh no more in expm1 below 0; expm1 twice, alpha 1, the product 0.5',
    reference: (x = 0) => below(x, 0.37 * Math.expm1(x / 0.37)),
  },
];

const softplus = (x: number, beta: number): number => (beta * x > 20 ? x : Math.log1p(Math.exp(beta * x)) / beta);

export const softplusBounds: Bounds = [
  {
    attrs: { beta: 1, threshold: 20 },
    ulp: 2 * ulpOf('exp') + ulpOf('log1p'),
    because: 'exp twice, as its error weighs no more in log1p; log1p',
    reference: (x = 0) => softplus(x, 1),
  },
  {
    attrs: { beta: 0.37, threshold: 20 },
    ulp: 2 * (2 * ulpOf('exp') + ulpOf('log1p')) + 3.5,
    because:
      'beta x 2, which weigh up to |beta x| times in exp: so does the scale; exp and log1p, doubled by the quotient; beta 1, the quotient 0.5',
    scale: (x = 0) => softplus(x, 0.37) * (1 + Math.abs(0.37 * x)),
    reference: (x = 0) => softplus(x, 0.37),
  },
];

export const hardtanhBounds: Bounds = [
  {
    attrs: { minVal: float(-0.37), maxVal: float(2.7) },
    ulp: 0.5,
    because: 'the bounds in f32',
    reference: (x = 0) => Math.min(Math.max(x, -0.37), 2.7),
  },
];

export const thresholdBounds: Bounds = [
  {
    attrs: { threshold: float(0.37), value: float(2.7) },
    ulp: 0.5,
    because: 'x, or the value in f32; the threshold is that in f32',
    reference: (x = 0) => (x <= rounded(0.37) ? 2.7 : x),
  },
];

export const softshrinkBounds: Bounds = [
  {
    attrs: { lambd: 0.37 },
    ulp: 1.5,
    because: 'lambd 1, the sum 0.5',
    scale: (x = 0) => (Math.abs(x) === Infinity ? 0 : Math.abs(x) + 0.37),
    reference: (x = 0) => (x > 0.37 ? x - 0.37 : x < -0.37 ? x + 0.37 : 0),
  },
];

export const hardshrinkBounds: Bounds = [
  {
    attrs: { lambd: 0.37 },
    ulp: 0,
    because: 'x or 0; lambd is that in f32',
    reference: (x = 0) => (Math.abs(x) <= rounded(0.37) ? 0 : x),
  },
];
