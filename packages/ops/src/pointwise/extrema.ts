// The larger and the smaller of two arguments, by what they make of NaN, and bounds.
import { isFloat } from '@tsinductor/base';
import { binary } from '../define.ts';
import type { Binary } from '../define.ts';
import { prelude } from '../prelude.ts';
import type { Term } from '../term.ts';
import { mul } from './arithmetic.ts';
import { bitwiseAnd, bitwiseOr } from './bitwise.ts';
import { eq, ge, gt, isnan, le, logicalOr, lt, where } from './comparison.ts';
import { floats } from './dtype-sets.ts';

/** Half of g to each where both are equal, else all to the one that was chosen. */
const shareOfTies = (g: Term, chosen: Term, tie: Term): Term => where(tie, mul(0.5, g), where(chosen, g, 0));

export const maximum: Binary = binary('maximum', {
  doc: 'The larger of two values; NaN if either is.',
  rule: 'promote',
  reference: (x = 0, y = 0) => Math.max(x, y),
  ulp: 0,
  traits: { associative: true, idempotent: true, cost: 2 },
  c: prelude('max_'),
  evaluate: {
    float: (x = 0, y = 0) => (y !== y || y > x ? y : x),
    int: (x = 0, y = 0) => (y > x ? y : x),
    bigint: (x = 0n, y = 0n) => (y > x ? y : x),
  },
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseOr(x, y) : undefined),
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => [shareOfTies(g, gt(x, y), eq(x, y)), shareOfTies(g, gt(y, x), eq(x, y))],
});

export const minimum: Binary = binary('minimum', {
  doc: 'The smaller of two values; NaN if either is.',
  rule: 'promote',
  reference: (x = 0, y = 0) => Math.min(x, y),
  ulp: 0,
  traits: { associative: true, idempotent: true, cost: 2 },
  c: prelude('min_'),
  evaluate: {
    float: (x = 0, y = 0) => (y !== y || y < x ? y : x),
    int: (x = 0, y = 0) => (y < x ? y : x),
    bigint: (x = 0n, y = 0n) => (y < x ? y : x),
  },
  decompose: ({ x, y }, dtype) => (dtype === 'bool' ? bitwiseAnd(x, y) : undefined),
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => [shareOfTies(g, lt(x, y), eq(x, y)), shareOfTies(g, lt(y, x), eq(x, y))],
});

export const fmax: Binary = binary('fmax', {
  doc: 'The larger of two values; NaN only if both are.',
  rule: 'promote',
  reference: (x = 0, y = 0) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y)),
  ulp: 0,
  traits: { associative: true, idempotent: true, cost: 4 },
  decompose: ({ x, y }, dtype) => (isFloat(dtype) ? where(logicalOr(gt(y, x), isnan(x)), y, x) : maximum(x, y)),
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => {
    const first = logicalOr(ge(x, y), isnan(y));
    return [where(first, g, 0), where(first, 0, g)];
  },
});

export const fmin: Binary = binary('fmin', {
  doc: 'The smaller of two values; NaN only if both are.',
  rule: 'promote',
  reference: (x = 0, y = 0) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y)),
  ulp: 0,
  traits: { associative: true, idempotent: true, cost: 4 },
  decompose: ({ x, y }, dtype) => (isFloat(dtype) ? where(logicalOr(lt(y, x), isnan(x)), y, x) : minimum(x, y)),
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => {
    const first = logicalOr(le(x, y), isnan(y));
    return [where(first, g, 0), where(first, 0, g)];
  },
});

export const atLeast: Binary = binary('atLeast', {
  doc: 'y > x ? y : x. NaN of x comes through, NaN of y gives x: one machine operation where y is a constant.',
  rule: 'promote',
  reference: (x = 0, y = 0) => (y > x ? y : x),
  ulp: 0,
  accepts: floats,
  internal: true,
  traits: { idempotent: true, cost: 1 },
  c: prelude('atleast_'),
  evaluate: { float: (x = 0, y = 0) => (y > x ? y : x) },
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => [where(gt(y, x), 0, g), where(gt(y, x), g, 0)],
});

export const atMost: Binary = binary('atMost', {
  doc: 'y < x ? y : x. NaN of x comes through, NaN of y gives x: one machine operation where y is a constant.',
  rule: 'promote',
  reference: (x = 0, y = 0) => (y < x ? y : x),
  ulp: 0,
  accepts: floats,
  internal: true,
  traits: { idempotent: true, cost: 1 },
  c: prelude('atmost_'),
  evaluate: { float: (x = 0, y = 0) => (y < x ? y : x) },
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => [where(lt(y, x), 0, g), where(lt(y, x), g, 0)],
});

export const clampMin: Binary = binary('clampMin', {
  doc: 'x, but at least y; NaN if either is.',
  signature: 'input: tensor, min: operand',
  rule: 'promote',
  reference: (x = 0, y = 0) => Math.max(x, y),
  ulp: 0,
  traits: { idempotent: true, cost: 2 },
  decompose: ({ x, y }) => maximum(x, y),
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => [where(ge(x, y), g, 0), where(lt(x, y), g, 0)],
});

export const clampMax: Binary = binary('clampMax', {
  doc: 'x, but at most y; NaN if either is.',
  signature: 'input: tensor, max: operand',
  rule: 'promote',
  reference: (x = 0, y = 0) => Math.min(x, y),
  ulp: 0,
  traits: { idempotent: true, cost: 2 },
  decompose: ({ x, y }) => minimum(x, y),
  piece: (x = 0, y = 0) => Math.sign(x - y),
  gradient: ({ g, x, y }) => [where(le(x, y), g, 0), where(gt(x, y), g, 0)],
});
