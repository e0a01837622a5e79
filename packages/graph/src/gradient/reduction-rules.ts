// Gradients of reductions and scans. What several elements share alike (a maximum that occurs twice) is shared out evenly, as
// in PyTorch; products have a gradient where elements are zero, too.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import type { ValueRef } from '../graph.ts';
import { ofFirst, spread, withoutGradient, zeros } from './rule.ts';
import type { DifferentiatedCall, GradientRule } from './rule.ts';

const inputOf = (a: ArgumentReader): ValueRef => a.tensor('input');

/** What a reduction gave, or its cotangent, for each element of the input. */
function forEach(c: Composer, { a }: DifferentiatedCall, reduced: ValueRef): ValueRef {
  const x = inputOf(a);
  return c.cast(spread(c, reduced, { dims: a.ints('dims'), shape: c.shape(x) }), c.dtype(x));
}

const sum = ofFirst((c, call, g) => [forEach(c, call, g)]);

const nansum = ofFirst((c, call, g) => {
  const x = inputOf(call.a);
  return [c.where(c.op('isnan', x), zeros(c, x), forEach(c, call, g))];
});

/** A maximum or minimum, or NaN, which no element equals. */
const extreme = ofFirst((c, call, g) => {
  const x = inputOf(call.a);
  const attained = c.cast(c.op('eq', x, forEach(c, call, at(call.results, 0))), c.dtype(x));
  const count = c.reduce('sum', attained, { dims: call.a.ints('dims'), keepdim: true });
  return [c.op('div', c.op('mul', forEach(c, call, g), attained), c.expand(count, c.shape(x)))];
});

/** Of each element, the product of all others: of those that are not zero, if one zero was put away. */
const product = ofFirst((c, call, g) => {
  const x = inputOf(call.a);
  const over = { dims: call.a.ints('dims'), keepdim: true };
  const isZero = c.op('eq', x, float(0));
  const others = c.where(isZero, c.full(1, c.shape(x), c.dtype(x)), x);
  const count = c.expand(c.reduce('sum', c.cast(isZero, 'i64'), over), c.shape(x));
  const product = c.expand(c.reduce('prod', others, over), c.shape(x));
  const none = zeros(c, x);
  const ofZero = c.where(c.op('eq', count, 1), product, none);
  const ofOthers = c.where(c.op('eq', count, 0), c.op('div', product, others), none);
  return [c.op('mul', forEach(c, call, g), c.where(isZero, ofZero, ofOthers))];
});

const logsumexp = ofFirst((c, call, g) => {
  const share = c.op('exp', c.op('sub', inputOf(call.a), forEach(c, call, at(call.results, 0))));
  return [c.op('mul', forEach(c, call, g), share)];
});

/** The sum of what comes from each element on. */
const sumFrom = (c: Composer, x: ValueRef, dim: number): ValueRef =>
  c.flip(c.call('cumsum', [c.flip(x, [dim])], { dim }), [dim]);

const cumsum = ofFirst((c, { a }, g) => [c.cast(sumFrom(c, g, a.int('dim')), c.dtype(inputOf(a)))]);

/**
 * Before the first zero, the running products are as they would be without it. Of the zero itself they are those in which it
 * is left out; what comes after has no part in any product that is not zero.
 */
const cumprod = ofFirst((c, { a, results }, g) => {
  const [x, dim] = [inputOf(a), a.int('dim')];
  const none = zeros(c, x);
  const isZero = c.op('eq', x, float(0));
  const zerosSoFar = c.call('cumsum', [c.cast(isZero, 'i64')], { dim });
  const isFirst = c.op('logicalAnd', isZero, c.op('eq', zerosSoFar, 1));
  const without = c.call('cumprod', [c.where(isFirst, c.full(1, c.shape(x), c.dtype(x)), x)], { dim });
  const before = c.op(
    'div',
    sumFrom(c, c.op('mul', g, at(results, 0)), dim),
    c.where(isZero, c.full(1, c.shape(x), c.dtype(x)), x),
  );
  const ofFirstZero = c.where(isFirst, sumFrom(c, c.op('mul', g, without), dim), none);
  return [c.where(c.op('eq', zerosSoFar, 0), before, ofFirstZero)];
});

/** What each place of a running maximum gives goes to the element that is the maximum there. */
const runningExtreme = (positions: string): GradientRule =>
  ofFirst((c, { a }, g) => {
    const [x, dim] = [inputOf(a), a.int('dim')];
    const index = c.call(positions, [x], { dim });
    return [c.scatter(zeros(c, x), dim, { index, source: g, mode: 'add' })];
  });

/** The most that a row's running results may be apart, so that exponentials of their distances are ordinary numbers. */
const mostApart = (dtype: DType): number => (dtype === 'f64' ? 600 : 80);

/**
 * The sum over later results of g exp(x - out): as it stands, which is linear in g, where a row's results are close together; else in
 * logarithms, apart for positive and negative cotangents, so that no exponential overflows.
 */
const cumlogsumexp = ofFirst((c, { a, results }, g) => {
  const [x, dim, out] = [inputOf(a), a.int('dim'), at(results, 0)];
  if (c.sizes.isZero(c.size(x, dim))) return [c.op('mul', g, x)];
  const [last, first] = ['amax', 'amin'].map((extreme) => c.reduce(extreme, out, { dims: [dim], keepdim: true })) as [
    ValueRef,
    ValueRef,
  ];
  const isClose = c.op('lt', c.op('sub', last, first), float(mostApart(c.dtype(x))));
  // Neither way may meet what is for the other, as derivatives of what is not taken are multiplied by 0.
  const ifClose = (value: ValueRef): ValueRef => c.where(isClose, value, zeros(c, value));
  const ifApart = (value: ValueRef): ValueRef => c.where(isClose, c.op('add', zeros(c, value), float(1)), value);
  const shift = ifClose(c.op('mul', c.op('add', last, first), float(0.5)));
  const laterSums = (value: ValueRef, sum: string): ValueRef =>
    c.flip(c.call(sum, [c.flip(value, [dim])], { dim }), [dim]);
  const close = c.op(
    'mul',
    laterSums(c.op('mul', g, c.op('exp', c.op('sub', shift, ifClose(out)))), 'cumsum'),
    c.op('exp', c.op('sub', ifClose(x), shift)),
  );
  const flowing = (part: ValueRef): ValueRef => {
    const scaled = c.op('sub', c.op('log', ifApart(part)), out);
    return c.op('exp', c.op('add', laterSums(scaled, 'cumlogsumexp'), x));
  };
  const positive = c.op('maximum', g, zeros(c, g));
  const negative = c.op('maximum', c.op('neg', g), zeros(c, g));
  return [c.where(isClose, close, c.op('sub', flowing(positive), flowing(negative)))];
});

export const reductionRules: Readonly<Record<string, GradientRule>> = {
  sum,
  nansum,
  prod: product,
  amax: extreme,
  amin: extreme,
  logsumexp,
  any: withoutGradient,
  all: withoutGradient,
  countNonzero: withoutGradient,
  argmax: withoutGradient,
  argmin: withoutGradient,
  argmaxLast: withoutGradient,
  argminLast: withoutGradient,
  cumsum,
  cumprod,
  cumamax: runningExtreme('cumargmax'),
  cumamin: runningExtreme('cumargmin'),
  cumargmax: withoutGradient,
  cumargmin: withoutGradient,
  cumlogsumexp,
};
