// A module as a function of its parameters, as `torch.func.functional_call`: so that transforms take gradients by them.
import type { Tensor } from '@tsinductor/tensor';
import { noSuchMember } from './errors.ts';
import { placesOf } from './module.ts';
import type { Module } from './module.ts';
import type { StateDict } from './state-dict.ts';

/** A module that is called with such arguments. */
type Callable<Given extends readonly unknown[], Result> = Module & { forward(...given: Given): Result };

/**
 * Runs `module.forward(...given)` with other tensors in the place of its parameters and buffers. Those that `state` does not name stay.
 *
 * ```ts
 * const parameters = Object.fromEntries(model.namedParameters());
 * const lossOf = (weights: StateDict, x: Tensor, y: Tensor) =>
 *   functionalCall(model, weights, x.unsqueeze(0)).sub(y).square().mean();
 * const perSample = vmap(grad(lossOf), { inAxes: [null, 0, 0] })(parameters, xs, ys);
 * ```
 *
 * @throws UserError NN_MEMBER for a name that the module does not have
 */
export function functionalCall<Given extends readonly unknown[], Result>(
  module: Callable<Given, Result>,
  state: StateDict,
  ...given: Given
): Result {
  const places = placesOf(module);
  const known = new Set(places.map(({ name }) => name));
  for (const name of Object.keys(state)) if (!known.has(name)) throw noSuchMember(name, [...known]);
  // A tensor that stands in several places stands in all of them for what is given at one.
  const others = new Map<Tensor, Tensor>();
  for (const { name, value } of places) {
    const tensor = state[name];
    if (tensor !== undefined) others.set(value, tensor);
  }
  const replaced = places.filter(({ value }) => others.has(value));
  try {
    for (const { value, replace } of replaced) replace(others.get(value) ?? value);
    return module.forward(...given);
  } finally {
    for (const { value, replace } of replaced) replace(value);
  }
}
