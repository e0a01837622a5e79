// The reductions, one export each; the export's name is the reduction's.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { abs, add, mul, neg, sub } from '../pointwise/arithmetic.ts';
import { maximum, minimum } from '../pointwise/extrema.ts';
import { bitwiseAnd, bitwiseOr } from '../pointwise/bitwise.ts';
import { exp, log } from '../pointwise/exponential.ts';
import {
  eq,
  ge,
  gt,
  isnan,
  le,
  logicalAnd,
  logicalNot,
  logicalOr,
  lt,
  ofTwoOrders,
  where,
} from '../pointwise/comparison.ts';
import { floats, numbers } from '../pointwise/dtype-sets.ts';
import type { ReductionOp } from '../reduction.ts';
import { cast, literal, wild } from '../term.ts';
import type { Term } from '../term.ts';
import { highest, lowest } from './lowest.ts';
import type { ReductionName } from './table.ts';

const [s0, s1, a0, a1, b0, b1, x, i] = ['s0', 's1', 'a0', 'a1', 'b0', 'b1', 'x', 'i'].map(wild) as [
  Term,
  Term,
  Term,
  Term,
  Term,
  Term,
  Term,
  Term,
];

const computeOf = (dtype: DType): DType => dtypeInfo[dtype].compute;
/** Sums and products of integers and bool are i64. */
const widened = (dtype: DType): DType => (isFloat(dtype) ? dtype : 'i64');

interface Fold {
  readonly doc: string;
  readonly combine: (left: Term, right: Term) => Term;
  readonly init: (accumulate: DType) => Term;
  readonly result: (dtype: DType) => DType;
  readonly accumulate: (dtype: DType) => DType;
  readonly hasIdentity: boolean;
  /** What joins instead of the element. */
  readonly element?: Term;
  readonly finish?: (dtype: DType) => Term;
  readonly accepts?: readonly DType[];
  readonly scan?: string;
}

/** A reduction whose state is one value, and whose step and merge are one associative operation. */
const fold = (name: ReductionName, spec: Fold): ReductionOp => ({
  name,
  doc: spec.doc,
  ...(spec.accepts && { accepts: spec.accepts }),
  ...(spec.scan !== undefined && { scan: spec.scan }),
  hasIdentity: spec.hasIdentity,
  result: spec.result,
  accumulate: spec.accumulate,
  state: (dtype) => [spec.accumulate(dtype)],
  init: (dtype) => [spec.init(spec.accumulate(dtype))],
  step: () => [spec.combine(s0, spec.element ?? x)],
  alone: () => [spec.element ?? x],
  merge: () => [spec.combine(a0, b0)],
  finish: spec.finish ?? (() => s0),
  cost: 1,
});

const wide = (dtype: DType): DType => computeOf(widened(dtype));

/**
 * A fold after each element, whose state is f64 where elements are f32, as in PyTorch: it is one chain of roundings, which cannot
 * be cut into shorter ones as that of a sum can.
 */
const running = (name: ReductionName, spec: Fold): ReductionOp =>
  fold(name, {
    ...spec,
    accumulate: (dtype) => (dtype === 'f32' ? 'f64' : spec.accumulate(dtype)),
    finish: (dtype) => (dtype === 'f32' ? cast('f32', s0) : s0),
  });

/** A fold whose running form has a state of greater precision. */
const foldWithRunning = (name: ReductionName, spec: Fold): ReductionOp => ({
  ...fold(name, spec),
  running: running(name, spec),
});

export const sum: ReductionOp = foldWithRunning('sum', {
  doc: 'Sum; of integers and bool as i64.',
  scan: 'cumsum',
  combine: add,
  init: () => literal(0),
  result: widened,
  accumulate: wide,
  hasIdentity: true,
});

export const nansum: ReductionOp = fold('nansum', {
  doc: 'Sum of what is not NaN.',
  combine: add,
  element: where(isnan(x), 0, x),
  init: () => literal(0),
  result: widened,
  accumulate: wide,
  hasIdentity: true,
});

export const prod: ReductionOp = foldWithRunning('prod', {
  doc: 'Product; of integers and bool as i64.',
  scan: 'cumprod',
  combine: mul,
  init: () => literal(1),
  result: widened,
  accumulate: wide,
  hasIdentity: true,
});

export const amax: ReductionOp = fold('amax', {
  doc: 'Largest element; NaN if there is one.',
  scan: 'cumamax',
  combine: maximum,
  init: lowest,
  result: (dtype) => dtype,
  accumulate: computeOf,
  hasIdentity: false,
});

export const amin: ReductionOp = fold('amin', {
  doc: 'Smallest element; NaN if there is one.',
  scan: 'cumamin',
  combine: minimum,
  init: highest,
  result: (dtype) => dtype,
  accumulate: computeOf,
  hasIdentity: false,
});

/** PyTorch 1.13: of u8 the result stays u8. */
const truth = (dtype: DType): DType => (dtype === 'u8' ? 'u8' : 'bool');
const finishTruth = (dtype: DType): Term => cast(truth(dtype), s0);

export const any: ReductionOp = fold('any', {
  doc: 'Whether some element is not zero.',
  combine: bitwiseOr,
  init: () => literal(0),
  result: truth,
  accumulate: () => 'bool',
  finish: finishTruth,
  hasIdentity: true,
});

export const all: ReductionOp = fold('all', {
  doc: 'Whether no element is zero.',
  combine: bitwiseAnd,
  init: () => literal(1),
  result: truth,
  accumulate: () => 'bool',
  finish: finishTruth,
  hasIdentity: true,
});

export const countNonzero: ReductionOp = {
  name: 'countNonzero',
  doc: 'Number of elements that are not zero.',
  hasIdentity: true,
  result: () => 'i64',
  accumulate: () => 'bool',
  state: () => ['i64'],
  init: () => [literal(0)],
  step: () => [add(s0, cast('i64', x))],
  merge: () => [add(a0, b0)],
  finish: () => s0,
  cost: 2,
};

interface Candidate {
  readonly value: Term;
  readonly at: Term;
}
type Better = (a: Candidate, b: Candidate, dtype: DType) => Term;

/** Whether a is better than b: NaN first, then the greater (less). */
const beating =
  (exceeds: (a: Term, b: Term) => Term, reaches: (a: Term, b: Term) => Term): Better =>
  (a, b, dtype) =>
    isFloat(dtype)
      ? logicalAnd(logicalNot(reaches(b.value, a.value)), eq(b.value, b.value))
      : exceeds(a.value, b.value);

const greater = beating(gt, ge);
const less = beating(lt, le);

/** Whether a is to be taken before b: the better one, and the earlier (later) of two that are as good. */
const ranked =
  (better: Better, precedes: (a: Term, b: Term) => Term): Better =>
  (a, b, dtype) => {
    const bothNaN = logicalAnd(isnan(a.value), isnan(b.value));
    const tie = isFloat(dtype) ? logicalOr(eq(a.value, b.value), bothNaN) : eq(a.value, b.value);
    return logicalOr(better(a, b, dtype), logicalAnd(tie, precedes(a.at, b.at)));
  };

/** The first of equals; in the order of positions an element that is as good comes too late. */
const firstOf =
  (better: Better): Better =>
  (a, b, dtype) =>
    ofTwoOrders(better(a, b, dtype), ranked(better, lt)(a, b, dtype));

interface Search {
  readonly doc: string;
  readonly better: Better;
  /** Which of two states is kept. */
  readonly joined?: Better;
  /** No element is worse: the state before any has this value, */
  readonly start: (dtype: DType) => Term;
  /** and this position, which is that of the result if no element is better. */
  readonly nowhere: Term;
  readonly scan?: string;
}

/** The position of the best element: the state is its value and position. */
const search = (name: ReductionName, { doc, better, joined = better, start, nowhere, scan }: Search): ReductionOp => ({
  name,
  doc,
  ...(scan !== undefined && { scan }),
  accepts: numbers,
  hasIdentity: false,
  result: () => 'i64',
  accumulate: computeOf,
  state: (dtype, position = 'i64') => [computeOf(dtype), position],
  init: (dtype) => [start(computeOf(dtype)), nowhere],
  step: (dtype) => choose(better({ value: x, at: i }, { value: s0, at: s1 }, dtype), [x, i], [s0, s1]),
  merge: (dtype) => choose(joined({ value: b0, at: b1 }, { value: a0, at: a1 }, dtype), [b0, b1], [a0, a1]),
  finish: () => cast('i64', s1),
  cost: 6,
});

const choose = (test: Term, yes: readonly [Term, Term], no: readonly [Term, Term]): readonly Term[] => [
  where(test, yes[0], no[0]),
  where(test, yes[1], no[1]),
];

export const argmax: ReductionOp = search('argmax', {
  doc: 'Position of the largest element, the first of equals; of the first NaN if there is one.',
  better: firstOf(greater),
  joined: ranked(greater, lt),
  start: lowest,
  nowhere: literal(0),
});

export const argmin: ReductionOp = search('argmin', {
  doc: 'Position of the smallest element, the first of equals; of the first NaN if there is one.',
  better: firstOf(less),
  joined: ranked(less, lt),
  start: highest,
  nowhere: literal(0),
});

export const argmaxLast: ReductionOp = search('argmaxLast', {
  doc: 'Position of the largest element, the last of equals: what cummax keeps.',
  scan: 'cumargmax',
  better: ranked(greater, gt),
  start: lowest,
  nowhere: literal(-1),
});

export const argminLast: ReductionOp = search('argminLast', {
  doc: 'Position of the smallest element, the last of equals: what cummin keeps.',
  scan: 'cumargmin',
  better: ranked(less, gt),
  start: highest,
  nowhere: literal(-1),
});

/** A finite stand-in for an infinite maximum, so that differences are not NaN. */
const pivot = (m: Term): Term => where(eq(m, -Infinity), 0, where(eq(m, Infinity), 0, m));
const joined = (m: Term, parts: readonly (readonly [maximum: Term, total: Term])[]): Term =>
  parts.map(([own, total]) => mul(total, exp(sub(own, pivot(m))))).reduce((left, right) => add(left, right));

export const logsumexp: ReductionOp = {
  name: 'logsumexp',
  doc: 'Logarithm of the sum of exponentials, in one pass: the state is the maximum and the sum relative to it.',
  scan: 'cumlogsumexp',
  accepts: floats,
  hasIdentity: true,
  result: (dtype) => dtype,
  accumulate: computeOf,
  state: (dtype) => [computeOf(dtype), computeOf(dtype)],
  init: () => [literal(-Infinity), literal(0)],
  step: () => [
    maximum(s0, x),
    joined(maximum(s0, x), [
      [s0, s1],
      [x, literal(1)],
    ]),
  ],
  merge: () => [
    maximum(a0, b0),
    joined(maximum(a0, b0), [
      [a0, a1],
      [b0, b1],
    ]),
  ],
  finish: () => add(pivot(s0), log(s1)),
  cost: 40,
};

/** Two sums, each relative to the maximum of its own elements, as one relative to the greater of both. */
function rescaled(m: Term, total: Term, { value, count }: { readonly value: Term; readonly count: Term }): Term {
  // Equal infinities are no distance apart; the lesser side is scaled by at most 1, so one exponential serves both cases.
  const distance = where(eq(m, value), 0, abs(sub(value, m)));
  const scale = exp(neg(distance));
  return where(gt(value, m), add(mul(total, scale), count), add(total, mul(count, scale)));
}

export const sumExp: ReductionOp = {
  name: 'sumExp',
  doc: 'Sum of the exponentials of the distances to the maximum, in one pass; NaN where the maximum is not finite.',
  accepts: floats,
  hasIdentity: false,
  result: (dtype) => dtype,
  accumulate: computeOf,
  state: (dtype) => [computeOf(dtype), computeOf(dtype)],
  init: () => [literal(-Infinity), literal(0)],
  step: () => [maximum(s0, x), rescaled(s0, s1, { value: x, count: literal(1) })],
  merge: () => [maximum(a0, b0), rescaled(a0, a1, { value: b0, count: b1 })],
  finish: () => add(s1, sub(s0, s0)),
  cost: 30,
};
