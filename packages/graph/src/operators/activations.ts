// Activations with parameters. Half types are computed in f32 and rounded once, as PyTorch's kernels do.
import { isFloat } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats, numbers, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, shapeMismatch } from '../errors.ts';
import { boundOf } from '../forward-bound.ts';
import type { ForwardBound } from '../forward-bound.ts';
import type { ValueRef } from '../graph.ts';
import { requireFits } from '../scalar-range.ts';
import * as bounds from './pointwise-bounds.ts';

interface Activation {
  readonly accuracy: readonly ForwardBound[];
  readonly doc: string;
  /** Parameters after the input. */
  readonly more?: string;
  readonly torch?: string | readonly string[];
  readonly anyDType?: boolean;
}

/** A function of a wide tensor, cast back to the input's dtype. */
function activation(
  name: string,
  { doc, accuracy, more, torch, anyDType = false }: Activation,
  body: (c: Composer, x: ValueRef, a: ArgumentReader) => ValueRef,
): Entry {
  const description = {
    signature: `input: tensor${more === undefined ? '' : `, ${more}`}, inplace: bool = false`,
    doc,
    accuracy,
    kind: 'pointwise' as const,
    inPlace: true,
  };
  const named = {
    ...description,
    torch: torch ?? `nn.functional.${name.replace(/([A-Z])/g, (letter) => `_${letter.toLowerCase()}`)}`,
  };
  return composite(name, { ...named, ...(anyDType ? {} : { accepts: floats }) }, (c, a) => {
    const input = a.tensor('input');
    return c.cast(body(c, c.widen(input), a), c.dtype(input));
  });
}

/** A bound in x's dtype: integers stay integers. */
/** A number of the call as an element of the tensor's dtype, which must hold it. */
function bound(c: Composer, { x, a }: { x: ValueRef; a: ArgumentReader }, name: string): ValueRef {
  const value = a.scalar(name);
  requireFits(a.operator.name, value, c.dtype(x));
  return c.full(value, [], c.dtype(x));
}

/** alpha (exp(rate x) - 1) below zero: elu and celu. */
function exponential(c: Composer, x: ValueRef, by: { alpha: number; rate: number }): ValueRef {
  return c.where(c.op('gt', x, 0), x, c.op('mul', c.op('expm1', c.op('mul', x, float(by.rate))), float(by.alpha)));
}

function softplus(c: Composer, x: ValueRef, a: ArgumentReader): ValueRef {
  const [beta, threshold] = [a.float('beta'), a.float('threshold')];
  const scaled = c.op('mul', x, float(beta));
  return c.where(c.op('gt', scaled, float(threshold)), x, c.op('div', c.op('log1p', c.op('exp', scaled)), float(beta)));
}

const GELU: Readonly<Record<string, string>> = { none: 'gelu', tanh: 'geluTanh' };

function prelu(c: Composer, a: ArgumentReader): ValueRef {
  const [input, weight] = [a.tensor('input'), a.tensor('weight')];
  if (c.dtype(input) !== c.dtype(weight))
    throw dtypeMismatch('prelu', `the tensor is ${c.dtype(input)}, the weight ${c.dtype(weight)}`);
  if (c.rank(weight) > 1) throw shapeMismatch('prelu: the weight has more than one dim', 'give a vector or a number');
  const isSingle = c.sizes.isOne(c.count(weight));
  if (!isSingle && c.rank(input) === 0)
    throw shapeMismatch('prelu of a 0-d tensor with several weights', 'give one weight');
  const channels = c.rank(input) > 1 ? 1 : 0;
  if (!isSingle && !c.sizes.same(c.count(weight), c.size(input, channels)))
    throw shapeMismatch('prelu: as many weights as channels are needed', 'give one weight for each channel');
  const x = c.widen(input);
  const slope = c.widen(isSingle ? c.reshape(weight, []) : c.along(weight, channels, c.rank(input)));
  return c.cast(c.where(c.op('gt', x, 0), x, c.op('mul', x, slope)), c.dtype(input));
}

function glu(c: Composer, a: ArgumentReader): ValueRef {
  const input = a.tensor('input');
  if (c.rank(input) === 0) throw shapeMismatch('glu of a 0-d tensor', 'it has no dim to halve');
  const dim = c.dim(input, a.int('dim'));
  const extent = c.sizes.toNumber(c.size(input, dim));
  if (extent % 2 !== 0) throw shapeMismatch(`glu of an axis of size ${String(extent)}`, 'its size must be even');
  const x = c.widen(input);
  const [value, gate] = [c.slice(x, dim, { end: extent / 2 }), c.slice(x, dim, { start: extent / 2 })];
  return c.cast(c.op('mul', value, c.op('sigmoid', gate)), c.dtype(input));
}

export const activationEntries: readonly Entry[] = [
  composite(
    'softsign',
    {
      signature: 'input: tensor',
      doc: pointwise.softsignOfFloats.doc,
      torch: 'nn.functional.softsign',
      kind: 'pointwise',
      accuracy: [boundOf('softsignOfFloats')],
      accepts: numbers,
    },
    // Of integers, PyTorch takes 1 + |x| in their own dtype, where it may wrap.
    (c, a) => {
      const x = a.tensor('input');
      return isFloat(c.dtype(x)) ? c.op('softsignOfFloats', x) : c.op('div', x, c.op('add', c.op('abs', x), 1));
    },
  ),
  composite(
    'gelu',
    {
      signature: `input: tensor, *, approximate: ${oneOf(Object.keys(GELU))} = 'none'`,
      doc: 'x times the normal distribution function.',
      torch: 'nn.functional.gelu',
      kind: 'pointwise',
      accuracy: [boundOf('gelu', { approximate: 'none' }), boundOf('geluTanh', { approximate: 'tanh' })],
      inPlace: true,
    },
    (c, a) => {
      const target = GELU[a.string('approximate')];
      if (target === undefined)
        throw argumentValue('gelu', `approximate ${a.string('approximate')}`, "use 'none' or 'tanh'");
      return c.op(target, a.tensor('input'));
    },
  ),
  activation(
    'leakyRelu',
    { accuracy: bounds.leakyReluBounds, doc: 'x, with a slope below 0.', more: 'negativeSlope: float = 0.01' },
    (c, x, a) => c.where(c.op('gt', x, 0), x, c.op('mul', x, float(a.float('negativeSlope')))),
  ),
  activation(
    'elu',
    { accuracy: bounds.eluBounds, doc: 'x, exponential below 0.', more: 'alpha: float = 1.0' },
    (c, x, a) => exponential(c, x, { alpha: a.float('alpha'), rate: 1 }),
  ),
  activation(
    'celu',
    { accuracy: bounds.celuBounds, doc: 'elu, continuously differentiable.', more: 'alpha: float = 1.0' },
    (c, x, a) => {
      if (a.float('alpha') === 0) throw argumentValue('celu', 'alpha is 0', 'use another alpha');
      return exponential(c, x, { alpha: a.float('alpha'), rate: 1 / a.float('alpha') });
    },
  ),
  activation(
    'softplus',
    {
      accuracy: bounds.softplusBounds,
      doc: 'log(1 + exp(beta x)) / beta, x above the threshold.',
      more: 'beta: float = 1, threshold: float = 20',
    },
    softplus,
  ),
  activation(
    'hardtanh',
    {
      accuracy: bounds.hardtanhBounds,
      doc: 'x held between minVal and maxVal.',
      more: 'minVal: scalar = -1.0, maxVal: scalar = 1.0',
      anyDType: true,
    },
    (c, x, a) => c.op('minimum', c.op('maximum', x, bound(c, { x, a }, 'minVal')), bound(c, { x, a }, 'maxVal')),
  ),
  activation(
    'threshold',
    {
      accuracy: bounds.thresholdBounds,
      doc: 'x where it is above the threshold, else the value.',
      more: 'threshold: scalar, value: scalar',
      anyDType: true,
    },
    (c, x, a) => c.where(c.op('le', x, bound(c, { x, a }, 'threshold')), bound(c, { x, a }, 'value'), x),
  ),
  activation(
    'softshrink',
    { accuracy: bounds.softshrinkBounds, doc: 'x moved towards 0 by lambd.', more: 'lambd: float = 0.5' },
    (c, x, a) => {
      const lambd = a.float('lambd');
      if (lambd < 0) throw argumentValue('softshrink', `lambd is ${String(lambd)}`, 'it is not negative');
      const inner = c.where(c.op('lt', x, float(-lambd)), c.op('add', x, float(lambd)), float(0));
      // NaN gives 0, as PyTorch has it.
      return c.where(c.op('gt', x, float(lambd)), c.op('sub', x, float(lambd)), inner);
    },
  ),
  activation(
    'hardshrink',
    {
      accuracy: bounds.hardshrinkBounds,
      doc: 'x, 0 near 0.',
      more: 'lambd: float = 0.5',
      torch: ['nn.functional.hardshrink', 'hardshrink'],
    },
    (c, x, a) => {
      const lambd = a.float('lambd');
      return c.where(
        c.op('logicalAnd', c.op('ge', x, float(-lambd)), c.op('le', x, float(lambd))),
        c.full(0, [], c.dtype(x)),
        x,
      );
    },
  ),
  composite(
    'prelu',
    {
      signature: 'input: tensor, weight: tensor',
      doc: 'x, with a learned slope below 0.',
      torch: ['nn.functional.prelu', 'prelu'],
      accepts: floats,
      accuracy: bounds.preluBounds,
    },
    prelu,
  ),
  composite(
    'glu',
    {
      signature: 'input: tensor, dim: int = -1',
      doc: 'One half gated by the other.',
      torch: 'nn.functional.glu',
      accepts: floats,
      accuracy: bounds.gluBounds,
    },
    glu,
  ),
];
