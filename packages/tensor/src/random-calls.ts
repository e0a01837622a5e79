// Operators that draw random numbers for some arguments: dropout in training and its relatives. The operator table holds
// what is certain about them; here, one row per operator, is the rest, made of random tensors and other operators, so that
// it works eagerly and in traces alike.
import { isFloat } from '@tsinductor/base';
import type { Attrs } from '@tsinductor/graph';
import type { BoundCall } from './bound-call.ts';
import { dispatchOne } from './dispatch.ts';
import { rand } from './random.ts';
import { float } from './scalars.ts';
import type { Tensor } from './tensor.ts';

type Row = (x: Tensor, attrs: Attrs) => Tensor | undefined;

const rows: Readonly<Record<string, Row>> = {
  dropout: dropoutOver((shape) => shape),
  dropout1d: dropoutOver((shape) => features(shape, 1)),
  dropout2d: dropoutOver((shape) => features(shape, 2)),
  dropout3d: dropoutOver((shape) => features(shape, 3)),
  alphaDropout: alphaDropoutOver((shape) => shape),
  featureAlphaDropout: alphaDropoutOver((shape) => features(shape, 3)),
  rrelu: randomSlopes,
};

/** The result of a call that is random; undefined where the operator table has it. */
export function randomResult({ operator, tensors, attrs }: BoundCall): Tensor | undefined {
  const row = Object.hasOwn(rows, operator.name) ? rows[operator.name] : undefined;
  const [x] = tensors;
  return x === undefined || !isFloat(x.dtype) ? undefined : row?.(x, attrs);
}

const op = (name: string, ...given: readonly unknown[]): Tensor => dispatchOne(name, given);

/** One draw for each channel of each sample; the sample dim may be missing where the rank says so. */
function features(shape: readonly number[], spatial: 1 | 2 | 3): readonly number[] {
  const kept = shape.length === spatial + 1 && spatial !== 2 ? 1 : 2;
  return shape.map((size, axis) => (axis < kept ? size : 1));
}

type MaskShape = (shape: readonly number[]) => readonly number[];

/** 1 where elements are kept, 0 elsewhere; undefined where nothing is random. */
function drawMask(x: Tensor, attrs: Attrs, shapeOf: MaskShape): Tensor | undefined {
  const p = Number(attrs['p']);
  if (attrs['training'] !== true || !(p > 0 && p < 1)) return undefined;
  return op('to', op('ge', rand(shapeOf(x.shape)), float(p)), x.dtype);
}

/** Zeroes elements with probability p, and scales the others up, so that sums stay the same on average. */
function dropoutOver(shapeOf: MaskShape): Row {
  return (x, attrs) => {
    const mask = drawMask(x, attrs, shapeOf);
    return mask && op('mul', x, op('mul', mask, float(1 / (1 - Number(attrs['p'])))));
  };
}

/** The value towards which selu saturates: what dropped elements become. */
const saturation = 1.7580993408473766;

/** Dropout that keeps mean and variance of self-normalised inputs. */
function alphaDropoutOver(shapeOf: MaskShape): Row {
  return (x, attrs) => {
    const mask = drawMask(x, attrs, shapeOf);
    if (mask === undefined) return undefined;
    const p = Number(attrs['p']);
    const scale = 1 / Math.sqrt((saturation ** 2 * p + 1) * (1 - p));
    const shift = op('add', op('mul', op('sub', mask, 1), float(saturation * scale)), float(saturation * scale * p));
    return op('add', op('mul', x, op('mul', mask, float(scale))), shift);
  };
}

/** In training, a slope between lower and upper for each element that is not positive. */
function randomSlopes(x: Tensor, attrs: Attrs): Tensor | undefined {
  const [lower, upper] = [Number(attrs['lower']), Number(attrs['upper'])];
  if (attrs['training'] !== true || !(lower < upper)) return undefined;
  const slopes = op('to', op('add', op('mul', rand(x.shape), float(upper - lower)), float(lower)), x.dtype);
  return op('where', op('le', x, 0), op('mul', x, slopes), x);
}
