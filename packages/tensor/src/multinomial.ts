// Draws from categories with given weights. Written in operators on random tensors, so that eager and compiled programs draw
// the same numbers; in double precision, so that rounding favours nobody.
import { isFloat } from '@tsinductor/base';
import { dispatchOne } from './dispatch.ts';
import { badArgument } from './errors.ts';
import { rand } from './random.ts';
import { float } from './scalars.ts';
import type { Tensor } from './tensor.ts';

export interface MultinomialOptions {
  /** Whether a category may be drawn again; no, if absent. */
  readonly replacement?: boolean;
}

const op = (name: string, ...given: readonly unknown[]): Tensor => dispatchOne(name, given);

/**
 * Indices of categories, drawn with probabilities in proportion to the weights in each row of `input`.
 *
 * Without replacement, every category gets the arrival time of an exponential clock of its weight, and the first ones are
 * taken (Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006). With it, uniform numbers are looked up
 * among the running sums of the weights.
 *
 * @param input float weights: [categories], or [rows, categories]
 * @returns i64: [numSamples], or [rows, numSamples]
 * @throws UserError ARGUMENT_VALUE where a weight is negative or not finite, where a row has no weight, and where fewer
 * categories have weight than are drawn without replacement
 *
 * @example multinomial(tensor([1, 0, 3]), 1000, { replacement: true }) // three quarters are 2, none is 1
 */
export function multinomial(
  input: Tensor,
  numSamples: number,
  { replacement = false }: MultinomialOptions = {},
): Tensor {
  refuseArguments(input, numSamples, replacement ? Infinity : (input.shape.at(-1) ?? 0));
  const weights = checkedWeights(input, replacement ? 1 : numSamples);
  return replacement ? lookUp(weights, numSamples) : firstArrivals(weights, numSamples);
}

function refuseArguments(input: Tensor, count: number, most: number): void {
  if (!isFloat(input.dtype))
    throw badArgument('multinomial', `weights of ${input.dtype}`, 'give weights of a float dtype');
  if (input.ndim !== 1 && input.ndim !== 2)
    throw badArgument(
      'multinomial',
      `weights of ${String(input.ndim)} dims`,
      'give [categories] or [rows, categories]',
    );
  if (!Number.isSafeInteger(count) || count < 1)
    throw badArgument('multinomial', `${String(count)} samples`, 'draw at least 1');
  if (count > most)
    throw badArgument(
      'multinomial',
      `${String(count)} of ${String(most)} categories`,
      'draw fewer, or with replacement',
    );
}

function checkedWeights(input: Tensor, least: number): Tensor {
  const weights = op('to', input, 'f64');
  const holds = op('logicalAnd', op('ge', weights, 0), op('isfinite', weights));
  const proper = dispatchOne('require', [weights, holds], {
    by: 'multinomial',
    what: 'a weight is negative or not finite',
    remedy: 'weights are 0 or more',
  });
  const enough = op('ge', dispatchOne('sum', [op('gt', weights, 0), -1], { keepdim: true }), least);
  return dispatchOne('require', [proper, enough], {
    by: 'multinomial',
    what: `fewer than ${String(least)} categories of a row have a weight`,
    remedy: 'give more weights that are not 0, or draw fewer',
  });
}

/** Logarithms of 1 - u lie in (-Infinity, 0]; of clocks with equal times the first one counts. */
function firstArrivals(weights: Tensor, count: number): Tensor {
  const clock = op('log', op('sub', float(1), rand(weights.shape, { dtype: 'f64', device: weights.device })));
  const arrivals = op('where', op('gt', weights, 0), op('div', clock, weights), float(-Infinity));
  const order = dispatchOne('argsort', [arrivals], { dim: -1, descending: true, stable: true });
  return op('narrow', order, -1, 0, count);
}

/** The first category whose running sum is above the number: it has a weight, and there is one, as u < 1. */
function lookUp(weights: Tensor, count: number): Tensor {
  const sums = op('cumsum', weights, -1);
  const total = op('narrow', sums, -1, (weights.shape.at(-1) ?? 1) - 1, 1);
  const shape = [...weights.shape.slice(0, -1), count];
  const places = op('mul', rand(shape, { dtype: 'f64', device: weights.device }), total);
  return dispatchOne('searchsorted', [sums, places], { right: true });
}
