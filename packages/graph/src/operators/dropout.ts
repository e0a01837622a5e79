// Dropout and its relatives. Where nothing is random (not in training, probability 0 or 1, equal slopes), a call is a node
// of a graph as any other; otherwise `draws` makes it of uniform numbers, by one comparison for each element or channel.
// Srivastava et al., Dropout (JMLR 2014); Klambauer et al., Self-Normalizing Neural Networks (NeurIPS 2017); Xu et al.,
// Empirical Evaluation of Rectified Activations (2015).
import { isFloat } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, unsupported } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import type { Performance, Performer } from '../performer.ts';
import { one } from '../shape.ts';
import type { Shape } from '../shape.ts';
import { rreluBounds } from './pointwise-bounds.ts';

type MaskShape = (shape: Shape) => Shape;

const everyElement: MaskShape = (shape) => shape;

/** One draw for each channel of each sample; the sample dim may be missing where the rank says so. */
const everyChannel =
  (spatial: 1 | 2 | 3): MaskShape =>
  (shape) => {
    const kept = shape.length === spatial + 1 && spatial !== 2 ? 1 : 2;
    return shape.map((size, axis) => (axis < kept ? size : one));
  };

/** A number where elements are kept, and another elsewhere, in the dtype of the elements. */
type Choice = (kept: number, dropped: number) => ValueRef;

/** Draws which elements are kept; undefined where nothing is random. */
function drawKept(
  c: Composer,
  a: ArgumentReader,
  { performer, shapeOf }: { readonly performer: Performer; readonly shapeOf: MaskShape },
): Choice | undefined {
  const [x, p] = [a.tensor('input'), a.float('p')];
  const dtype = c.dtype(x);
  if (!a.bool('training') || !(p > 0 && p < 1) || !isFloat(dtype)) return undefined;
  const isKept = c.op('ge', performer.uniform(shapeOf(c.shape(x))), float(p));
  const number = (value: number): ValueRef => c.full(float(value), [], dtype);
  return (kept, dropped) => c.where(isKept, number(kept), number(dropped));
}

/** Zeroes elements with probability p, and scales the others up, so that sums stay the same on average. */
const zeroing =
  (shapeOf: MaskShape): Performance<ValueRef | undefined> =>
  (c, a, performer) => {
    const choose = drawKept(c, a, { performer, shapeOf });
    return choose && c.op('mul', a.tensor('input'), choose(1 / (1 - a.float('p')), 0));
  };

/** The value towards which selu saturates: what dropped elements become. */
const saturation = 1.7580993408473766;

/** Dropout that keeps mean and variance of self-normalised inputs. */
const saturating =
  (shapeOf: MaskShape): Performance<ValueRef | undefined> =>
  (c, a, performer) => {
    const choose = drawKept(c, a, { performer, shapeOf });
    if (choose === undefined) return undefined;
    const p = a.float('p');
    const scale = 1 / Math.sqrt((saturation ** 2 * p + 1) * (1 - p));
    const shift = saturation * scale * p;
    return c.op('add', c.op('mul', a.tensor('input'), choose(scale, 0)), choose(shift, shift - saturation * scale));
  };

const dropout = (name: string, torch: string, draws: Performance<ValueRef | undefined>): Entry =>
  composite(
    name,
    {
      signature: 'input: tensor, p: float = 0.5, training: bool = true, inplace: bool = false',
      doc: 'Zeroes elements at random, in training.',
      torch: `nn.functional.${torch}`,
      mayAlias: true,
      draws,
    },
    (c, a) => {
      const [x, p] = [a.tensor('input'), a.float('p')];
      if (p < 0 || p > 1) throw argumentValue(name, `p is ${String(p)}`, 'it is a probability');
      if (!a.bool('training') || p === 0) return x;
      if (p === 1) return c.op('mul', x, c.full(0, [], c.dtype(x)));
      throw unsupported(`${name} with a random mask`, 'draw one and multiply, or use training: false');
    },
  );

/** In training, a slope between lower and upper for each element that is not positive. */
const randomSlopes: Performance<ValueRef | undefined> = (c, a, performer) => {
  const [x, lower, upper] = [a.tensor('input'), a.float('lower'), a.float('upper')];
  if (!a.bool('training') || !(lower < upper) || !isFloat(c.dtype(x))) return undefined;
  const uniform = performer.uniform(c.shape(x));
  const slopes = c.cast(c.op('add', c.op('mul', uniform, float(upper - lower)), float(lower)), c.dtype(x));
  return c.where(c.op('le', x, 0), c.op('mul', x, slopes), x);
};

function rrelu(c: Composer, a: ArgumentReader): ValueRef {
  const [input, lower, upper] = [a.tensor('input'), a.float('lower'), a.float('upper')];
  if (lower > upper) throw argumentValue('rrelu', 'lower is above upper', 'swap them');
  const isEmpty = c.shape(input).some((extent) => c.sizes.isZero(extent));
  if (a.bool('training') && lower !== upper && !isEmpty)
    throw unsupported('rrelu with random slopes', 'use training: false, or equal bounds');
  const x = c.widen(input);
  return c.cast(c.where(c.op('ge', x, 0), x, c.op('mul', x, float((lower + upper) / 2))), c.dtype(input));
}

export const dropoutEntries: readonly Entry[] = [
  dropout('dropout', 'dropout', zeroing(everyElement)),
  dropout('dropout1d', 'dropout1d', zeroing(everyChannel(1))),
  dropout('dropout2d', 'dropout2d', zeroing(everyChannel(2))),
  dropout('dropout3d', 'dropout3d', zeroing(everyChannel(3))),
  dropout('alphaDropout', 'alpha_dropout', saturating(everyElement)),
  dropout('featureAlphaDropout', 'feature_alpha_dropout', saturating(everyChannel(3))),
  composite(
    'rrelu',
    {
      signature:
        'input: tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = false, inplace: bool = false',
      doc: 'leakyRelu with a random slope for each element in training, else with the mean of both.',
      torch: ['nn.functional.rrelu', 'rrelu'],
      accepts: floats,
      accuracy: rreluBounds,
      draws: randomSlopes,
    },
    rrelu,
  ),
];
