// Connectionist temporal classification: how unlikely it is that a sequence of class probabilities spells a target, summed
// over all alignments. The forward variables of a step are computed from those of the step before, for all samples and
// all places of the target with blanks between; what lies beyond a sample's own lengths is carried along and not used.
// Graves, Fernandez, Gomez, Schmidhuber: Connectionist Temporal Classification, ICML 2006, section 4.
import { isFloat } from '@tsinductor/base';
import { int, multiply, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dataDependent, dtypeMismatch, dtypeUnsupported, shapeMismatch } from '../errors.ts';
import type { Attr, ValueRef } from '../graph.ts';
import type { Performance } from '../performer.ts';
import { one } from '../shape.ts';
import { REDUCE } from './loss-parts.ts';

/** Batched: log probabilities [steps, samples, classes], wide; targets [samples, length]; lengths [samples]. */
interface Alignment {
  readonly logs: ValueRef;
  readonly targets: ValueRef;
  readonly steps: ValueRef;
  readonly lengths: ValueRef;
}

const impossible = float(-Infinity);

function alignmentOf(c: Composer, a: ArgumentReader): Alignment {
  const [logs, targets] = [a.tensor('logProbs'), a.tensor('targets')];
  if (!isFloat(c.dtype(logs))) throw dtypeUnsupported('ctcLoss', c.dtype(logs), floats);
  const lengths = (name: string): ValueRef => {
    const given = a.tensor(name);
    if (isFloat(c.dtype(given))) throw dtypeMismatch('ctcLoss', `${name} is ${c.dtype(given)}, it must be i64`);
    return c.flatten(c.cast(given, 'i64'));
  };
  const isBatched = c.rank(logs) === 3;
  if (!isBatched && c.rank(logs) !== 2)
    throw shapeMismatch('ctcLoss: logProbs has neither two nor three dims', 'give [steps, samples, classes]');
  if (c.rank(targets) !== (isBatched ? 2 : 1))
    throw shapeMismatch('ctcLoss: the targets are not padded', 'give a row of classes for each sample');
  const batch = (v: ValueRef, axis: number): ValueRef => (isBatched ? v : c.unsqueeze(v, axis));
  const alignment = {
    logs: c.call('logProbabilities', [c.widen(batch(logs, 1))]),
    targets: c.cast(batch(targets, 0), 'i64'),
    steps: lengths('inputLengths'),
    lengths: lengths('targetLengths'),
  };
  const samples = c.size(alignment.logs, 1);
  for (const each of [alignment.targets, alignment.steps, alignment.lengths])
    if (!c.sizes.same(c.size(each, 0), samples))
      throw shapeMismatch('ctcLoss: targets and lengths are not one for each sample', 'give as many as samples');
  return withinBounds(c, alignment, a.int('blank'));
}

/** Lengths are within what there is; classes behind a target's own length are blank, whatever stands there. */
function withinBounds(c: Composer, alignment: Alignment, blank: number): Alignment {
  const { logs, targets, steps } = alignment;
  const isWithin = (lengths: ValueRef, most: Index): ValueRef =>
    c.op('logicalAnd', c.op('ge', lengths, 0), c.op('le', lengths, c.sizeOperand(most)));
  const ofSteps = c.require(alignment.lengths, isWithin(steps, c.size(logs, 0)), {
    what: 'an input length is negative, or greater than the number of steps',
    remedy: 'give lengths up to the first size of the log probabilities',
  });
  const lengths = c.require(ofSteps, isWithin(ofSteps, c.size(targets, 1)), {
    what: 'a target length is negative, or greater than the row of its target',
    remedy: 'give lengths up to the last size of the targets',
  });
  const isOwn = c.op('lt', c.iota(c.size(targets, 1)), c.unsqueeze(lengths, 1));
  return { ...alignment, lengths, targets: c.where(isOwn, targets, blank) };
}

/** Classes with a blank before, between and after: [samples, 2 length + 1]. */
function withBlanks(c: Composer, targets: ValueRef, blank: number): ValueRef {
  const [samples, length] = [c.size(targets, 0), c.size(targets, 1)];
  const blanks = c.full(blank, [samples, length, one], 'i64');
  const pairs = c.reshape(c.cat([blanks, c.unsqueeze(targets, 2)], 2), [samples, multiply(length, int(2))]);
  return c.cat([pairs, c.full(blank, [samples, one], 'i64')], 1);
}

/** Values `count` places to the right along the last axis; what comes in is impossible. */
function shifted(c: Composer, values: ValueRef, count: number): ValueRef {
  const kept = c.slice(values, 1, { end: subtract(c.size(values, 1), int(count)) });
  return c.pad(
    kept,
    [
      [int(0), int(0)],
      [int(count), int(0)],
    ],
    impossible,
  );
}

/** The logarithm of a sum of exponentials. Where none of the terms is possible, it is not, and no gradient flows there. */
function logSum(c: Composer, terms: readonly ValueRef[]): ValueRef {
  const largest = c.detach(c.fold('maximum', terms));
  const isNone = c.op('eq', largest, impossible);
  const pivot = c.where(isNone, c.full(float(0), [], c.dtype(largest)), largest);
  const total = c.fold(
    'add',
    terms.map((term) => c.op('exp', c.op('sub', term, pivot))),
  );
  const some = c.where(isNone, c.full(float(1), [], c.dtype(total)), total);
  return c.where(isNone, largest, c.op('add', c.op('log', some), pivot));
}

/** The forward variables after each sample's last step: [samples, 2 length + 1]. */
function forward(c: Composer, { logs, targets, steps }: Alignment, blank: number): ValueRef {
  const classes = withBlanks(c, targets, blank);
  const places = c.size(classes, 1);
  const likelihood = (step: number): ValueRef => c.gather(c.select(logs, 0, step), 1, classes);
  const place = c.iota(places);
  // Between equal classes there must be a blank.
  const before = c.pad(
    c.slice(classes, 1, { end: subtract(places, int(2)) }),
    [
      [int(0), int(0)],
      [int(2), int(0)],
    ],
    blank,
  );
  const mayskip = c.op('logicalAnd', c.op('ne', classes, blank), c.op('ne', classes, before));
  const none = c.full(impossible, [], c.dtype(logs));
  let alpha = c.where(c.op('lt', place, 2), likelihood(0), none);
  const count = c.sizes.toNumber(c.size(logs, 0));
  for (let step = 1; step < count; step += 1) {
    const reached = logSum(c, [alpha, shifted(c, alpha, 1), c.where(mayskip, shifted(c, alpha, 2), none)]);
    const isWithin = c.unsqueeze(c.op('gt', steps, step), 1);
    alpha = c.where(isWithin, c.op('add', reached, likelihood(step)), alpha);
  }
  return alpha;
}

/** A loss for each sample: the last place is the last class, or the blank behind it. */
function losses(c: Composer, alignment: Alignment, blank: number): ValueRef {
  const { targets, lengths, logs } = alignment;
  if (c.sizes.isZero(c.size(logs, 0)))
    throw argumentValue('ctcLoss', 'there are no steps', 'give log probabilities of at least one');
  const padded: Index = c.sizes.isZero(c.size(targets, 1)) ? one : c.size(targets, 1);
  const filled = c.sizes.isZero(c.size(targets, 1)) ? c.full(blank, [c.size(targets, 0), padded], 'i64') : targets;
  const alpha = forward(c, { ...alignment, targets: filled }, blank);
  const last = c.unsqueeze(c.op('mul', lengths, 2), 1);
  const behind = c.gather(alpha, 1, last);
  const ending = c.where(
    c.op('gt', last, 0),
    c.gather(alpha, 1, c.op('maximum', c.op('sub', last, 1), 0)),
    c.full(impossible, [], c.dtype(alpha)),
  );
  return c.op('neg', c.squeeze(logSum(c, [behind, ending]), 1));
}

function ctcLoss(c: Composer, a: ArgumentReader): ValueRef {
  const alignment = alignmentOf(c, a);
  const dtype = c.dtype(a.tensor('logProbs'));
  const given = losses(c, alignment, a.int('blank'));
  const zero = c.full(float(0), [], c.dtype(given));
  const each = a.bool('zeroInfinity') ? c.where(c.op('eq', given, float(Infinity)), zero, given) : given;
  const reduction = a.string('reduction');
  const cast = (v: ValueRef): ValueRef => c.cast(v, dtype);
  switch (reduction) {
    case 'none':
      return cast(c.rank(a.tensor('logProbs')) === 3 ? each : c.reshape(each, []));
    case 'sum':
      return cast(c.reduce('sum', each));
    case 'mean': {
      const lengths = c.cast(c.op('maximum', alignment.lengths, 1), c.dtype(each));
      return cast(
        c.op('div', c.reduce('sum', c.op('div', each, lengths)), c.sizeOperand(c.size(each, 0), c.dtype(each))),
      );
    }
    default:
      throw argumentValue('ctcLoss', `reduction ${reduction}`, 'use none, mean or sum');
  }
}

const REST = `blank: int = 0, ${REDUCE}, zeroInfinity: bool = false`;

const restOf = (a: ArgumentReader): Readonly<Record<string, Attr>> => ({
  blank: a.int('blank'),
  reduction: a.string('reduction'),
  zeroInfinity: a.bool('zeroInfinity'),
});

/** Targets one behind the other become rows, as long as the longest of them. */
const padTargets: Performance<ValueRef | undefined> = (c, a, performer) => {
  const [logs, targets] = [a.tensor('logProbs'), a.tensor('targets')];
  const [steps, lengths] = [a.tensor('inputLengths'), a.tensor('targetLengths')];
  if (c.rank(logs) !== 3 || c.rank(targets) !== 1 || c.sizes.isZero(c.count(lengths))) return undefined;
  const wide = c.flatten(c.cast(lengths, 'i64'));
  const [largest = 0, whole = 0] = performer.numbers(
    [c.reduce('amax', wide), c.reduce('sum', wide)],
    'ctcLoss with targets one behind the other',
  );
  if (whole !== c.sizes.toNumber(c.count(targets)))
    throw argumentValue('ctcLoss', 'target lengths do not add up to the targets', 'give the length of each target');
  const samples = c.count(lengths);
  const rows = (): ValueRef => {
    if (largest < 1 || c.sizes.isZero(c.count(targets))) return c.full(0, [samples, int(0)], 'i64');
    const starts = c.unsqueeze(c.op('sub', c.call('cumsum', [wide], { dim: 0 }), wide), 1);
    const last = c.op('sub', c.sizeOperand(c.count(targets)), 1);
    const places = c.op('minimum', c.op('add', starts, performer.range(largest)), last);
    return c.rows(targets, places);
  };
  return c.call('ctcLoss', [logs, rows(), steps, lengths], restOf(a));
};

/** Lengths given as numbers become tensors. */
const withLengths: Performance<ValueRef> = (c, a, performer) => {
  const [logs, targets] = [a.tensor('logProbs'), a.tensor('targets')];
  const [steps, lengths] = (['inputLengths', 'targetLengths'] as const).map((name) => performer.vector(a.ints(name)));
  return c.call('ctcLoss', [logs, targets, steps ?? null, lengths ?? null], restOf(a));
};

export const ctcLossEntries: readonly Entry[] = [
  composite(
    'ctcLoss',
    {
      signature: `logProbs: tensor, targets: tensor, inputLengths: tensor, targetLengths: tensor, ${REST}`,
      doc: 'Connectionist temporal classification: the loss of a sequence over all alignments with a target.',
      torch: ['nn.functional.ctc_loss', 'ctc_loss'],
      forms: ['function'],
      overloads: ['ctcLossOfLists'],
      reads: padTargets,
    },
    ctcLoss,
  ),
  composite(
    'ctcLossOfLists',
    {
      signature: `logProbs: tensor, targets: tensor, inputLengths: ints, targetLengths: ints, ${REST}`,
      doc: 'ctcLoss with lengths given as numbers.',
      torch: [],
      forms: [],
      reads: withLengths,
    },
    () => {
      throw dataDependent('ctcLoss', 'the losses of lengths in a list', 'give the lengths as tensors');
    },
  ),
];
