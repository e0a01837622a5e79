// vmap: a function of one sample as a function of many. The function runs once, on tensors that stand for all samples.
import { at } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { notAFunction } from '../autograd/errors.ts';
import { derivedFrom } from '../derived-function.ts';
import { badArgument, describe } from '../errors.ts';
import { checkOptions } from '../given-options.ts';
import { located } from '../location.ts';
import { processState } from '../process-state.ts';
import { indexesOf } from '../symbolic-shape.ts';
import type { Tensor } from '../tensor.ts';
import { axisIn, mapAxes } from './axes.ts';
import type { AxesOf } from './axes.ts';
import { mappedPromise, mappedResult, mappedSizes, nothingMapped } from './errors.ts';
import { mappedTensor, outside } from './level.ts';
import type { MapLevel, Randomness } from './level.ts';
import { movedAxis, repeated } from './whole.ts';

/** Options of `vmap`. */
export interface VmapOptions<Args extends readonly unknown[] = readonly unknown[], Result = unknown> {
  /**
   * The axes that are mapped: one for all tensors of the arguments, or a list with an entry for each argument. An entry is an axis
   * (negative ones count from the end), null for what is the same for every sample, or a nesting of them that follows the argument's.
   * Default: 0.
   */
  readonly inAxes?: number | null | { readonly [Position in keyof Args]: AxesOf<Args[Position]> };
  /** Where the samples are in the results: an axis for all tensors, or a nesting that follows the result's. Default: 0. */
  readonly outAxes?: AxesOf<Result>;
  /**
   * What random operators do: `error`, they are refused; `different`, each sample has numbers of its own; `same`, all samples have
   * the same numbers. Default: `error`.
   */
  readonly randomness?: Randomness;
}

const kindsOfRandomness: readonly unknown[] = ['error', 'different', 'same'];

/**
 * A function of one sample as one of many: it runs once, and each operator in it does the work of all samples. Its arguments have one
 * axis more than those of `fn`, its results as well. As `jax.vmap` and `torch.func.vmap`; composes with itself, with
 * `grad`, `vjp`, `jvp` and with `compile` in any order.
 *
 * ```ts
 * const loss = (w: Tensor, x: Tensor, y: Tensor) => x.dot(w).sub(y).square();
 * const perSample = vmap(grad(loss), { inAxes: [null, 0, 0] });
 * perSample(w, xs, ys); // w [d], xs [n, d], ys [n]: the gradients [n, d]
 * ```
 *
 * Raises VMAP_SIZES where mapped axes differ in size, VMAP_AXIS for an axis that a tensor does not have, VMAP_AXES for inAxes or
 * outAxes of another nesting, VMAP_NOTHING where no argument is mapped, VMAP_VALUE where `fn` reads elements, VMAP_IN_PLACE where it
 * writes what differs into what does not, VMAP_RANDOM for random numbers without `randomness`.
 */
export function vmap<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  options: VmapOptions<Args, Result> = {},
): (...args: Args) => Result {
  try {
    if (typeof fn !== 'function') throw notAFunction('vmap', fn);
    checkOptions('vmap', options, ['inAxes', 'outAxes', 'randomness']);
    const { randomness = 'error' } = options;
    if (!kindsOfRandomness.includes(randomness))
      throw badArgument('vmap', `randomness ${describe(randomness)}`, "it is 'error', 'different' or 'same'");
  } catch (error) {
    throw located(error);
  }
  const ofMany = (...args: Args): Result => {
    try {
      return mapped(fn, args, options);
    } catch (error) {
      throw located(error);
    }
  };
  return derivedFrom(ofMany, [fn]);
}

function mapped<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  given: Args,
  { inAxes = 0, outAxes = 0, randomness = 'error' }: VmapOptions<Args, Result>,
): Result {
  const level = newLevel(given, inAxes, randomness);
  const args = mapAxes(given, inAxes, {
    path: 'argument',
    change: (tensor, axis, path) =>
      axis === null ? tensor : mappedTensor(level, movedAxis(tensor, axisIn(tensor.shape, axis, path), 0), true),
  });
  processState.mapping.push(level);
  try {
    const result: unknown = fn(...(args as Args));
    if (isPromise(result)) throw mappedPromise();
    processState.mapping.pop();
    return mapAxes(result, outAxes, {
      path: 'result',
      change: (tensor, axis, path) => leave(tensor, { level, axis, path }),
    }) as Result;
  } finally {
    const place = processState.mapping.indexOf(level);
    if (place !== -1) processState.mapping.splice(place);
    level.isOpen = false;
  }
}

function newLevel(given: readonly unknown[], inAxes: unknown, randomness: Randomness): MapLevel {
  const sizes = processState.recorder?.sizes ?? new SizeEnvironment();
  let first: { readonly count: Index; readonly what: string } | undefined;
  mapAxes(given, inAxes, {
    path: 'argument',
    change: (tensor, axis, path) => {
      if (axis === null) return tensor;
      const place = axisIn(tensor.shape, axis, path);
      const count = at(indexesOf(tensor.shape), place);
      const what = `axis ${String(place)} of ${path} has ${String(sizes.hint(count))}`;
      first ??= { count, what };
      if (!sizes.same(first.count, count)) throw mappedSizes(first.what, what);
      return tensor;
    },
  });
  if (first === undefined) throw nothingMapped();
  return { depth: processState.mapping.length, count: first.count, randomness, isOpen: true };
}

/** A result outside of the level, with the samples along `axis`. */
function leave(
  tensor: Tensor,
  { level, axis, path }: { readonly level: MapLevel; readonly axis: number | null; readonly path: string },
): Tensor {
  const { whole, differs } = outside(tensor, level);
  if (axis === null && differs) throw mappedResult(path);
  if (axis === null) return whole;
  const all = differs ? whole : repeated(whole, level);
  return movedAxis(all, 0, axisIn(all.shape, axis, path));
}

const isPromise = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { readonly then?: unknown }).then === 'function';
