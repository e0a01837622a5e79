// Activations with parameters. Half types are computed in f32 and rounded once, as PyTorch's kernels do.
import { isFloat } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats, numbers } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, shapeMismatch, unsupported } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';

interface Activation {
  readonly doc: string;
  /** Parameters after the input. */
  readonly more?: string;
  readonly torch?: string | readonly string[];
  readonly anyDType?: boolean;
}

/** A function of a wide tensor, cast back to the input's dtype. */
function activation(
  name: string,
  { doc, more, torch, anyDType = false }: Activation,
  body: (c: Composer, x: ValueRef, a: ArgumentReader) => ValueRef,
): Entry {
  const description = {
    signature: `input: tensor${more === undefined ? '' : `, ${more}`}, inplace: bool = false`,
    doc,
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
const bound = (c: Composer, x: ValueRef, value: ScalarRef): ValueRef => c.full(value, [], c.dtype(x));

/** alpha (exp(rate x) - 1) below zero: elu and celu. */
function exponential(c: Composer, x: ValueRef, by: { alpha: number; rate: number }): ValueRef {
  return c.where(c.op('gt', x, 0), x, c.op('mul', c.op('expm1', c.op('mul', x, float(by.rate))), float(by.alpha)));
}

function softplus(c: Composer, x: ValueRef, a: ArgumentReader): ValueRef {
  const [beta, threshold] = [a.float('beta'), a.float('threshold')];
  const scaled = c.op('mul', x, float(beta));
  return c.where(c.op('gt', scaled, float(threshold)), x, c.op('div', c.op('log1p', c.op('exp', scaled)), float(beta)));
}

/** Those without parameters: entries of the pointwise table, to which PyTorch gives `inplace`. */
const PLAIN = (['relu', 'relu6', 'selu', 'hardswish', 'hardsigmoid', 'silu', 'mish'] as const).map(
  (name) => [name, pointwise[name].doc] as const,
);

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

/** Dropout where nothing is random: not training, or with probability 0 or 1. */
const dropout = (name: string, torch: string, zeroed: number): Entry =>
  composite(
    name,
    {
      signature: 'input: tensor, p: float = 0.5, training: bool = true, inplace: bool = false',
      doc: 'Zeroes elements at random, in training.',
      torch: `nn.functional.${torch}`,
    },
    (c, a) => {
      const [x, p] = [a.tensor('input'), a.float('p')];
      if (p < 0 || p > 1) throw argumentValue(name, `p is ${String(p)}`, 'it is a probability');
      if (!a.bool('training') || p === 0) return x;
      if (p === 1) return c.op('mul', x, c.full(zeroed, [], c.dtype(x)));
      throw unsupported(`${name} with a random mask`, 'draw one and multiply, or use training: false');
    },
  );

export const activationEntries: readonly Entry[] = [
  ...PLAIN.map(([name, doc]) =>
    composite(
      name,
      {
        signature: 'input: tensor, inplace: bool = false',
        doc,
        torch: name === 'relu' || name === 'selu' ? [`nn.functional.${name}`, name] : `nn.functional.${name}`,
        kind: 'pointwise',
        inPlace: true,
      },
      (c, a) => c.op(name, a.tensor('input')),
    ),
  ),
  composite(
    'softsign',
    {
      signature: 'input: tensor',
      doc: pointwise.softsign.doc,
      torch: 'nn.functional.softsign',
      kind: 'pointwise',
      accepts: numbers,
    },
    // Of integers, PyTorch takes 1 + |x| in their own dtype, where it may wrap.
    (c, a) => {
      const x = a.tensor('input');
      return isFloat(c.dtype(x)) ? c.op('softsign', x) : c.op('div', x, c.op('add', c.op('abs', x), 1));
    },
  ),
  composite(
    'gelu',
    {
      signature: "input: tensor, *, approximate: string = 'none'",
      doc: 'x times the normal distribution function.',
      torch: 'nn.functional.gelu',
      kind: 'pointwise',
      inPlace: true,
    },
    (c, a) => {
      const target = GELU[a.string('approximate')];
      if (target === undefined)
        throw argumentValue('gelu', `approximate ${a.string('approximate')}`, "use 'none' or 'tanh'");
      return c.op(target, a.tensor('input'));
    },
  ),
  activation('leakyRelu', { doc: 'x, with a slope below 0.', more: 'negativeSlope: float = 0.01' }, (c, x, a) =>
    c.where(c.op('gt', x, 0), x, c.op('mul', x, float(a.float('negativeSlope')))),
  ),
  activation('elu', { doc: 'x, exponential below 0.', more: 'alpha: float = 1.0' }, (c, x, a) =>
    exponential(c, x, { alpha: a.float('alpha'), rate: 1 }),
  ),
  activation('celu', { doc: 'elu, continuously differentiable.', more: 'alpha: float = 1.0' }, (c, x, a) => {
    if (a.float('alpha') === 0) throw argumentValue('celu', 'alpha is 0', 'use another alpha');
    return exponential(c, x, { alpha: a.float('alpha'), rate: 1 / a.float('alpha') });
  }),
  activation(
    'softplus',
    { doc: 'log(1 + exp(beta x)) / beta, x above the threshold.', more: 'beta: float = 1, threshold: float = 20' },
    softplus,
  ),
  activation(
    'hardtanh',
    { doc: 'x held between minVal and maxVal.', more: 'minVal: scalar = -1.0, maxVal: scalar = 1.0', anyDType: true },
    (c, x, a) => c.op('minimum', c.op('maximum', x, bound(c, x, a.scalar('minVal'))), bound(c, x, a.scalar('maxVal'))),
  ),
  activation(
    'threshold',
    {
      doc: 'x where it is above the threshold, else the value.',
      more: 'threshold: scalar, value: scalar',
      anyDType: true,
    },
    (c, x, a) => c.where(c.op('le', x, bound(c, x, a.scalar('threshold'))), bound(c, x, a.scalar('value')), x),
  ),
  activation('softshrink', { doc: 'x moved towards 0 by lambd.', more: 'lambd: float = 0.5' }, (c, x, a) => {
    const lambd = a.float('lambd');
    if (lambd < 0) throw argumentValue('softshrink', `lambd is ${String(lambd)}`, 'it is not negative');
    const inner = c.where(c.op('lt', x, float(-lambd)), c.op('add', x, float(lambd)), float(0));
    // NaN gives 0, as PyTorch has it.
    return c.where(c.op('gt', x, float(lambd)), c.op('sub', x, float(lambd)), inner);
  }),
  activation(
    'hardshrink',
    { doc: 'x, 0 near 0.', more: 'lambd: float = 0.5', torch: ['nn.functional.hardshrink', 'hardshrink'] },
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
    },
    glu,
  ),
  composite(
    'rrelu',
    {
      signature:
        'input: tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = false, inplace: bool = false',
      doc: 'leakyRelu with the mean of two slopes.',
      torch: ['nn.functional.rrelu', 'rrelu'],
      accepts: floats,
    },
    (c, a) => {
      const [lower, upper] = [a.float('lower'), a.float('upper')];
      if (lower > upper) throw argumentValue('rrelu', 'lower is above upper', 'swap them');
      const isEmpty = c.shape(a.tensor('input')).some((extent) => c.sizes.isZero(extent));
      if (a.bool('training') && lower !== upper && !isEmpty)
        throw unsupported('rrelu with random slopes', 'use training: false, or equal bounds');
      const x = c.widen(a.tensor('input'));
      return c.cast(
        c.where(c.op('ge', x, 0), x, c.op('mul', x, float((lower + upper) / 2))),
        c.dtype(a.tensor('input')),
      );
    },
  ),
  dropout('dropout', 'dropout', 0),
  dropout('dropout1d', 'dropout1d', 0),
  dropout('dropout2d', 'dropout2d', 0),
  dropout('dropout3d', 'dropout3d', 0),
  dropout('alphaDropout', 'alpha_dropout', 0),
  dropout('featureAlphaDropout', 'feature_alpha_dropout', 0),
];
