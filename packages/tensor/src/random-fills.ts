// Tensors filled with random numbers in place, and draws of 0 and 1.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isScalar, scalarNumber } from '@tsinductor/graph';
import type { ScalarRef } from '@tsinductor/graph';
import { dispatchOne } from './dispatch.ts';
import { badArgument, describe } from './errors.ts';
import { checkOptions } from './given-options.ts';
import { rand, randn } from './random.ts';
import type { DrawOptions } from './random.ts';
import { float } from './scalars.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { copyInto, write } from './write.ts';

/** A number of a distribution; `float(2)` is one too. */
type Parameter = number | ScalarRef;

/** The parameter as a number: whatever else it is would make NaN of what is drawn. */
function numberOf(name: string, value: Parameter): number {
  if (typeof value === 'number') return value;
  const isNumber = typeof value === 'object' && (value as unknown) !== null && isScalar(value);
  if (isNumber) return scalarNumber(value);
  throw badArgument(name, `${describe(value)} is not a number`, 'give numbers');
}

/** Elements are 1 with the probabilities that a tensor holds, and 0 elsewhere. */
function drawnOnes(name: string, probabilities: Tensor, like: Tensor): Tensor {
  const isProbability = dispatchOne('logicalAnd', [
    dispatchOne('ge', [probabilities, 0]),
    dispatchOne('le', [probabilities, 1]),
  ]);
  const checked = dispatchOne('require', [probabilities, isProbability], {
    what: 'an element is not between 0 and 1',
    remedy: 'give probabilities',
    by: name,
  });
  return dispatchOne('lt', [rand(like.shape, { device: like.device }), checked]);
}

/** A probability as a tensor, so that it is looked at where its value is known. */
const evenly = (input: Tensor, p: number): Tensor => dispatchOne('fullLike', [input, float(p)], { dtype: 'f32' });

/**
 * 1 with the probability that the tensor says, element by element, and 0 elsewhere; in the tensor's dtype, or that of `out`.
 * With a probability for all elements, the tensor only says how many there are.
 */
export function bernoulli(
  input: Tensor,
  p?: Parameter | Pick<DrawOptions, 'out'>,
  options: Pick<DrawOptions, 'out'> = {},
): Tensor {
  const isProbability = typeof p === 'number' || (typeof p === 'object' && isScalar(p as ScalarRef));
  const given = isProbability || p === undefined ? options : (p as Pick<DrawOptions, 'out'>);
  checkOptions('bernoulli', given, ['out']);
  const probabilities = isProbability ? evenly(input, numberOf('bernoulli', p as Parameter)) : input;
  if (!isFloat(probabilities.dtype))
    throw badArgument('bernoulli', `the probabilities are ${input.dtype}`, 'give floats from 0 to 1');
  const { out } = given;
  const ones = drawnOnes('bernoulli', probabilities, input);
  const numbers = dispatchOne('to', [ones, out?.dtype ?? input.dtype]);
  if (out === undefined) return numbers;
  write(out, numbers, { operation: 'bernoulli with out' });
  return out;
}

/** Methods of Tensor that fill it with random numbers. */
export interface RandomMethods {
  /** Fills with uniform numbers from `from` to before `to`. */
  uniform_(from?: Parameter, to?: Parameter): this;
  /** Fills with normal numbers. */
  normal_(mean?: Parameter, std?: Parameter): this;
  /** Fills with 1 with probability `p`, which a tensor may say for each element, and 0 elsewhere. */
  bernoulli_(p?: Parameter | Tensor): this;
}

type Methods = { [Name in keyof RandomMethods]: (this: Tensor, ...given: Parameters<RandomMethods[Name]>) => Tensor };

/** Draws are made in a float dtype, so that integer tensors can be filled as well. */
const drawDType = ({ dtype }: Tensor): DType => (isFloat(dtype) ? dtype : 'f32');
const scaled = (x: Tensor, factor: number, shift: number): Tensor =>
  dispatchOne('add', [dispatchOne('mul', [x, float(factor)]), float(shift)]);

export const randomMethods: Methods = {
  uniform_(from = 0, to = 1) {
    const [low, high] = [numberOf('uniform_', from), numberOf('uniform_', to)];
    if (!(low <= high)) throw badArgument('uniform_', `from ${low} to ${high}`, 'give from <= to');
    const drawn = scaled(rand(this.shape, { dtype: drawDType(this) }), high - low, low);
    return copyInto(this, drawn, { operation: 'uniform_' });
  },
  normal_(mean = 0, std = 1) {
    const [centre, width] = [numberOf('normal_', mean), numberOf('normal_', std)];
    if (!(width >= 0)) throw badArgument('normal_', `std ${width}`, 'it is 0 or more');
    const drawn = scaled(randn(this.shape, { dtype: drawDType(this) }), width, centre);
    return copyInto(this, drawn, { operation: 'normal_' });
  },
  bernoulli_(p = 0.5) {
    if (isTensor(p)) {
      if (!isFloat(p.dtype))
        throw badArgument('bernoulli_', `the probabilities are ${p.dtype}`, 'give floats from 0 to 1');
      return copyInto(this, drawnOnes('bernoulli_', p, this), { operation: 'bernoulli_' });
    }
    const probability = numberOf('bernoulli_', p);
    if (!(probability >= 0 && probability <= 1))
      throw badArgument('bernoulli_', `p ${probability}`, 'it is a probability');
    return copyInto(this, dispatchOne('lt', [rand(this.shape), float(probability)]), { operation: 'bernoulli_' });
  },
};
