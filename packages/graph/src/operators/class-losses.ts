// Losses of classes: cross entropy, negative log likelihood, margins. Half types are computed in f32 and rounded once.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer, OperandLike } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, dtypeUnsupported, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { product, sameShape } from '../shape.ts';
import { REDUCE, WEIGHTED, reduceLoss, requireSameShape, square, weighted } from './loss-parts.ts';
import { wideLogSoftmax } from './normalisation.ts';
import { wideMean } from './reductions.ts';

interface ClassLoss {
  /** Wide log probabilities, classes along axis 1 (axis 0 of a vector). */
  readonly logs: ValueRef;
  readonly target: ValueRef;
  readonly dtype: DType;
}

const classAxis = (c: Composer, x: ValueRef): number => (c.rank(x) === 1 ? 0 : 1);

/** The caller's weight of each class along `axis` of `x`, at the dtype of `x`. */
function classWeights(
  c: Composer,
  a: ArgumentReader,
  { x, axis }: { x: ValueRef; axis: number },
): ValueRef | undefined {
  const weight = a.optionalTensor('weight');
  if (weight === undefined) return undefined;
  const classes = [c.size(x, axis)];
  if (!sameShape(c.sizes, c.shape(weight), classes))
    throw shapeMismatch(
      `${a.operator.name}: the weight is ${printShape(c.shape(weight))}, not ${printShape(classes)}`,
      'give a weight for each class',
    );
  return c.cast(weight, c.dtype(x));
}

/** Weights of the targets, 0 where they are ignored; and which class to read there. */
function targetWeights(
  c: Composer,
  a: ArgumentReader,
  { logs, target }: ClassLoss,
): { weights: ValueRef; index: ValueRef } {
  const counted = c.op('ne', target, a.int('ignoreIndex'));
  const index = c.where(counted, target, c.full(0, [], 'i64'));
  const weight = classWeights(c, a, { x: logs, axis: classAxis(c, logs) });
  const each = weight === undefined ? c.full(float(1), [], c.dtype(logs)) : c.rows(weight, index);
  return { weights: c.where(counted, each, c.full(float(0), [], c.dtype(logs))), index };
}

/** Negative log likelihood of classes, with label smoothing by `smoothing`. */
function classLoss(
  c: Composer,
  a: ArgumentReader,
  { loss, smoothing }: { loss: ClassLoss; smoothing: number },
): ValueRef {
  const { logs, target, dtype } = loss;
  const axis = classAxis(c, logs);
  const expected = c.shape(logs).filter((_, dim) => dim !== axis);
  if (!sameShape(c.sizes, c.shape(target), expected))
    throw shapeMismatch(
      `${a.operator.name}: the target is ${printShape(c.shape(target))}, not ${printShape(expected)}`,
      'give a class for each sample',
    );
  if (c.dtype(target) !== 'i64')
    throw dtypeMismatch(a.operator.name, `the target is ${c.dtype(target)}, it must be i64`);
  const { weights, index } = targetWeights(c, a, loss);
  const picked = c.squeeze(c.gather(logs, axis, c.unsqueeze(index, axis)), axis);
  const likelihood = c.op('mul', c.op('neg', picked), weights);
  const mean = (value: ValueRef): ValueRef =>
    c.op('div', c.reduce('sum', value), c.reduce('sum', c.expand(weights, c.shape(value))));
  const finish = (value: ValueRef): ValueRef =>
    a.string('reduction') === 'mean' ? mean(value) : reduceLoss(c, a, { value, dtype: c.dtype(logs) });
  if (smoothing === 0) return c.cast(finish(likelihood), dtype);
  const spread = smoothed(c, a, loss);
  const share = c.op('div', float(smoothing), c.sizeOperand(c.size(logs, axis), c.dtype(logs)));
  const total = c.op('add', c.op('mul', finish(likelihood), float(1 - smoothing)), c.op('mul', finish(spread), share));
  return c.cast(total, dtype);
}

/** What label smoothing adds: minus the weighted sum over classes, where the target counts. */
function smoothed(c: Composer, a: ArgumentReader, { logs, target }: ClassLoss): ValueRef {
  const axis = classAxis(c, logs);
  const weight = classWeights(c, a, { x: logs, axis });
  const scaled = weight === undefined ? logs : c.op('mul', logs, c.along(weight, axis, c.rank(logs)));
  const sums = c.op('neg', c.reduce('sum', scaled, [axis]));
  return c.where(c.op('ne', target, a.int('ignoreIndex')), sums, c.full(float(0), [], c.dtype(logs)));
}

/** Cross entropy with a distribution as target. */
function distributionLoss(
  c: Composer,
  a: ArgumentReader,
  { loss, smoothing }: { loss: ClassLoss; smoothing: number },
): ValueRef {
  const { logs, target, dtype } = loss;
  const axis = classAxis(c, logs);
  requireSameShape(c, a.operator.name, [logs, target]);
  const wide = c.cast(target, c.dtype(logs));
  const classes = c.sizeOperand(c.size(logs, axis), c.dtype(logs));
  const share = c.op('div', float(smoothing), classes);
  const probabilities = smoothing === 0 ? wide : c.op('add', c.op('mul', wide, float(1 - smoothing)), share);
  const terms = c.op('mul', logs, probabilities);
  const weight = classWeights(c, a, { x: logs, axis });
  const scaled = weight === undefined ? terms : c.op('mul', terms, c.along(weight, axis, c.rank(logs)));
  const each = c.op('neg', c.reduce('sum', scaled, [axis]));
  if (a.string('reduction') !== 'mean') return reduceLoss(c, a, { value: each, dtype });
  const samples = c.sizeOperand(product(c.shape(each)), c.dtype(logs));
  return c.cast(c.op('div', c.reduce('sum', each), samples), dtype);
}

function crossEntropy(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, smoothing] = [a.tensor('input'), a.tensor('target'), a.float('labelSmoothing')];
  if (!(smoothing >= 0 && smoothing <= 1))
    throw argumentValue('crossEntropy', `labelSmoothing is ${String(smoothing)}`, 'it lies in [0, 1]');
  if (!isFloat(c.dtype(input))) throw dtypeUnsupported('crossEntropy', c.dtype(input), floats);
  const loss = { logs: wideLogSoftmax(c, c.widen(input), classAxis(c, input)), target, dtype: c.dtype(input) };
  return isFloat(c.dtype(target)) ? distributionLoss(c, a, { loss, smoothing }) : classLoss(c, a, { loss, smoothing });
}

function multilabelSoftMargin(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, weight] = [a.tensor('input'), a.tensor('target'), a.optionalTensor('weight')];
  const [x, y] = [c.widen(input), c.widen(target)];
  const logSigmoid = (v: ValueRef): ValueRef =>
    c.op('sub', c.op('minimum', v, float(0)), c.op('log1p', c.op('exp', c.op('neg', c.op('abs', v)))));
  const each = c.op(
    'neg',
    c.op('add', c.op('mul', y, logSigmoid(x)), c.op('mul', c.op('sub', float(1), y), logSigmoid(c.op('neg', x)))),
  );
  const classes = c.rank(each) - 1;
  return reduceLoss(c, a, {
    value: wideMean(c, weighted(c, each, weight), { dims: [classes], keepdim: false }),
    dtype: c.dtype(input),
  });
}

/** x where it is positive, else 0: NaN gives 0, as PyTorch has it in these losses. */
const positivePart = (c: Composer, x: ValueRef): ValueRef => c.where(c.op('gt', x, 0), x, float(0));

/** Mean over classes of max(0, margin - x[target] + x[class])^p, but for the target's own. */
function multiMargin(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, p] = [a.tensor('input'), a.tensor('target'), a.int('p')];
  if (p !== 1 && p !== 2) throw argumentValue('multiMarginLoss', `p is ${String(p)}`, 'use 1 or 2');
  const rows = c.rank(input) < 2 ? c.reshape(c.widen(input), [int(1), c.count(input)]) : c.widen(input);
  const classes = c.flatten(target);
  if (c.rank(target) > 1 || !c.sizes.same(c.count(classes), c.size(rows, 0)))
    throw shapeMismatch(
      `multiMarginLoss: the target is ${printShape(c.shape(target))} for ${printShape(c.shape(input))}`,
      'give a class for each sample',
    );
  const weight = classWeights(c, a, { x: rows, axis: 1 });
  const own = c.gather(rows, 1, c.unsqueeze(classes, 1));
  const hinge = positivePart(c, c.op('add', c.op('sub', rows, own), float(a.float('margin'))));
  const powered = p === 2 ? square(c, hinge) : hinge;
  const scaled = weight === undefined ? powered : c.op('mul', powered, c.unsqueeze(c.rows(weight, classes), 1));
  const others = c.where(c.op('ne', c.iota(c.size(rows, 1)), c.unsqueeze(classes, 1)), scaled, float(0));
  const each = wideMean(c, others, { dims: [1], keepdim: false });
  return reduceLoss(c, a, { value: c.rank(target) === 0 ? c.reshape(each, []) : each, dtype: c.dtype(input) });
}

/** Classes, and -1 where there are no more. */
const requireClasses = (c: Composer, target: ValueRef, count: OperandLike): ValueRef =>
  c.require(target, c.op('logicalAnd', c.op('ge', target, -1), c.op('lt', target, count)), {
    what: 'a class is out of range',
    remedy: 'give classes of the input, and -1 behind the last one',
  });

/** Sums over pairs of a target and another class of max(0, 1 - (x[target] - x[class])), per class. */
function multilabelMargin(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target] = [a.tensor('input'), a.tensor('target')];
  requireSameShape(c, 'multilabelMarginLoss', [input, target]);
  const matrix = (v: ValueRef): ValueRef => c.reshape(v, c.rank(v) === 2 ? c.shape(v) : [int(1), c.count(v)]);
  if (c.dtype(target) !== 'i64')
    throw dtypeMismatch('multilabelMarginLoss', `the target is ${c.dtype(target)}, it must be i64`);
  const x = matrix(c.widen(input));
  const classes = matrix(requireClasses(c, target, c.sizeOperand(c.size(x, 1))));
  // Targets end at the first negative one.
  const present = c.op('eq', c.call('cumamin', [c.cast(c.op('ge', classes, 0), 'u8')], { dim: 1 }), 1);
  const index = c.where(present, classes, c.full(0, [], 'i64'));
  const isTarget = c.reduce(
    'any',
    c.op(
      'logicalAnd',
      c.unsqueeze(present, 1),
      c.op('eq', c.unsqueeze(index, 1), c.unsqueeze(c.iota(c.size(x, 1)), 1)),
    ),
    [2],
  );
  const gap = c.op('sub', c.unsqueeze(c.gather(x, 1, index), 2), c.unsqueeze(x, 1));
  const counted = c.op('logicalAnd', c.unsqueeze(present, 2), c.op('logicalNot', c.unsqueeze(isTarget, 1)));
  const hinge = c.where(counted, positivePart(c, c.op('sub', float(1), gap)), c.full(float(0), [], c.dtype(x)));
  const each = c.op('div', c.reduce('sum', hinge, [1, 2]), c.sizeOperand(c.size(x, 1), c.dtype(x)));
  return reduceLoss(c, a, { value: c.rank(input) < 2 ? c.reshape(each, []) : each, dtype: c.dtype(input) });
}

export const classLossEntries: readonly Entry[] = [
  composite(
    'crossEntropy',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, ignoreIndex: int = -100, reduce: bool? = null, ${REDUCE}, labelSmoothing: float = 0.0`,
      doc: 'Log softmax and negative log likelihood; the target has classes or probabilities.',
      torch: 'nn.functional.cross_entropy',
    },
    crossEntropy,
  ),
  composite(
    'nllLoss',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, ignoreIndex: int = -100, reduce: bool? = null, ${REDUCE}`,
      doc: 'Negative log likelihood.',
      torch: 'nn.functional.nll_loss',
    },
    (c, a) =>
      classLoss(c, a, {
        loss: { logs: c.widen(a.tensor('input')), target: a.tensor('target'), dtype: c.dtype(a.tensor('input')) },
        smoothing: 0,
      }),
  ),
  composite(
    'multilabelSoftMarginLoss',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, reduce: bool? = null, ${REDUCE}`,
      doc: 'Mean over classes of logistic losses.',
      torch: 'nn.functional.multilabel_soft_margin_loss',
    },
    multilabelSoftMargin,
  ),
  composite(
    'multiMarginLoss',
    {
      signature: `input: tensor, target: tensor, p: int = 1, margin: float = 1.0, ${WEIGHTED}, reduce: bool? = null, ${REDUCE}`,
      doc: 'Hinge loss of classes.',
      torch: 'nn.functional.multi_margin_loss',
    },
    multiMargin,
  ),
  composite(
    'multilabelMarginLoss',
    {
      signature: `input: tensor, target: tensor, sizeAverage: bool? = null, reduce: bool? = null, ${REDUCE}`,
      doc: 'Hinge loss of several classes.',
      torch: 'nn.functional.multilabel_margin_loss',
    },
    multilabelMargin,
  ),
];
