// Functions whose gradients a program decides: stopped, given by the program itself, or computed from a forward pass that is run
// again.
import { at, isFloat } from '@tsinductor/base';
import { derivedFrom } from '../derived-function.ts';
import { dispatchOne } from '../dispatch.ts';
import { located } from '../location.ts';
import { levelAmong } from '../mapping/level.ts';
import { differing } from '../mapping/whole.ts';
import { processState } from '../process-state.ts';
import { savedRandomState, withRandomState } from '../random.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { notAFunction } from './errors.ts';
import { recordEdges, recordFunction } from './function-node.ts';
import { withGradients, withoutGradients } from './grad-mode.ts';
import { crossingEdges, partialPass } from './backward.ts';
import { markedRegion } from './origin-marks.ts';
import { isTracked, isTracking, recordingGradients, requiresGrad } from './record.ts';
import { floatsIn, mapTensors, partsOf } from './trees.ts';
import type { GradientOf } from './trees.ts';

/** How many steps with a gradient of their own have been recorded in graphs. */
export const ownSteps = (): number => processState.gradients.ownSteps;

/**
 * The same nesting, as constants: no gradient flows to it. As `jax.lax.stop_gradient`; `x.detach()` for one tensor.
 *
 * ```ts
 * const target = stopGradient(model(next)).mul(discount).add(reward);
 * ```
 */
export const stopGradient = <T>(value: T): T => mapTensors(value, (tensor) => dispatchOne('detach', [tensor])) as T;

/** The two halves of a function with a gradient of its own. */
export interface CustomVjp<Args extends readonly unknown[], Result, Saved> {
  /** The result, and what `backward` needs besides. */
  readonly forward: (...args: Args) => readonly [Result, Saved];
  /** The gradients of the arguments, null where there is none, for what was saved and the cotangent of the result. */
  readonly backward: (saved: Saved, cotangent: GradientOf<Result>) => { readonly [Position in keyof Args]?: unknown };
}

/**
 * A function whose gradient is the program's own. Where no gradient is asked for, `fn` itself runs. As `jax.custom_vjp`, and
 * `torch.autograd.Function`.
 *
 * ```ts
 * const clipGradient = customVjp((x: Tensor) => x, {
 *   forward: (x) => [x.clone(), null],
 *   backward: (_, g) => [g.clamp(-1, 1)],
 * });
 * ```
 */
export function customVjp<Args extends readonly unknown[], Result, Saved>(
  fn: (...args: Args) => Result,
  { forward, backward }: CustomVjp<Args, Result, Saved>,
): (...args: Args) => Result {
  for (const each of [fn, forward, backward] as readonly unknown[])
    if (typeof each !== 'function') throw located(notAFunction('customVjp', each));
  const step = (...args: Args): Result => {
    const inputs = floatsIn(args);
    if (processState.recorder !== undefined) processState.gradients.ownSteps += 1;
    return isTracked(inputs) ? recordingGradients(() => recorded(inputs, args)) : fn(...args);
  };
  const recorded = (inputs: readonly Tensor[], args: Args): Result => {
    const level = levelAmong(inputs);
    const [given, saved] = withoutGradients(() => forward(...args));
    const own = (tensor: Tensor): Tensor => (inputs.includes(tensor) ? dispatchOne('detach', [tensor]) : tensor);
    const result = withoutGradients(() =>
      mapTensors(given, (tensor) => (level === undefined ? own(tensor) : differing(own(tensor), level))),
    );
    const results = floatsIn(result);
    recordFunction(fn.name === '' ? 'customVjp' : fn.name, { inputs, results }, (cotangents) => {
      const cotangent = mapTensors(
        result,
        (tensor) => {
          const place = results.indexOf(tensor);
          return place === -1 ? null : (cotangents[place] ?? dispatchOne('zerosLike', [tensor]));
        },
        () => null,
      );
      const gradients: unknown = backward(saved, cotangent as GradientOf<Result>);
      return partsOf(args, gradients).flatMap(({ tensor, part }) =>
        isFloat(tensor.dtype) ? [isTensor(part) ? part : undefined] : [],
      );
    });
    return result as Result;
  };
  return derivedFrom(step, [fn, forward, backward]);
}

/**
 * Calls `fn` and keeps nothing of what it computes on the way: that is computed again when the gradient needs it. So memory is
 * traded for time. Random numbers are the same both times. As `torch.utils.checkpoint.checkpoint`.
 *
 * ```ts
 * const y = checkpoint((x: Tensor) => block(x), x);
 * ```
 *
 * In a compiled function it is the call itself, of which the code for the backward pass keeps nothing but what it was given: what
 * lies within is computed again there, random numbers and products among it.
 */
export function checkpoint<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  ...args: Args
): Result {
  if (typeof fn !== 'function') throw located(notAFunction('checkpoint', fn));
  if (processState.recorder !== undefined) return markedRegion(() => fn(...args));
  if (!isTracking()) return fn(...args);
  const state = savedRandomState();
  const first = processState.gradients.nodes;
  const result = fn(...args);
  const outputs = floatsIn(result).filter((tensor) => requiresGrad(tensor));
  const edges = crossingEdges(outputs, first);
  if (edges.length === 0) return result;
  const kept = mapTensors(result, (tensor) => (outputs.includes(tensor) ? dispatchOne('detach', [tensor]) : tensor));
  const again = floatsIn(kept).filter((_, place) => outputs.includes(at(floatsIn(result), place)));
  recordEdges('checkpoint', { edges, results: again }, (cotangents, createGraph) => {
    const start = processState.gradients.nodes;
    const made = withRandomState(state, () => withGradients(() => fn(...args)));
    const seeds = floatsIn(made)
      .filter((tensor) => requiresGrad(tensor))
      .flatMap((tensor, place) => {
        const cotangent = cotangents[place];
        return cotangent === undefined ? [] : [{ tensor, cotangent }];
      });
    return partialPass(seeds, edges, { start, createGraph });
  });
  return kept as Result;
}
