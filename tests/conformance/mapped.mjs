// A golden case under vmap, against a loop: the case's tensors and the same with their elements in another order are two samples of
// every tensor that is mapped, or of every second one.
import { isFloat } from '@tsinductor/base';
import { onesLike, stack, vjp, vmap } from '@tsinductor/tensor';
import { camelKeys, replaceTensors, tensorsOf } from './cases.mjs';
import { difference } from './compare.mjs';

const refusals = ['VMAP_VALUE', 'VMAP_RANDOM', 'VMAP_IN_PLACE'];

/** What vmap refuses on purpose: values that decide, random numbers, writes to what all samples share. */
export const isRefusal = (error) => refusals.includes(error?.code);

const flatten = (result) => (Array.isArray(result) ? result.flatMap(flatten) : [result]);

/** The tensors of a case, each once. */
const operands = (test) => [
  ...new Set(tensorsOf({ args: test.args, kwargs: test.kwargs }).map(({ tensor }) => tensor)),
];

const samplesOf = (tensor) => [tensor.clone(), tensor.flip(tensor.shape.map((_, axis) => axis)).clone()];

/** The case as a function of its tensors. */
const functionOf =
  ({ how, args, kwargs }, tensors) =>
  (...given) => {
    const stands = (tensor) => given[tensors.indexOf(tensor)];
    const named = Object.fromEntries(
      Object.entries(kwargs).map(([key, value]) => [key, replaceTensors(value, stands)]),
    );
    return flatten(how.call(replaceTensors(args, stands), camelKeys(named)));
  };

/** The gradients of a case's results, with cotangents of ones, by its floats. */
const gradientsOf =
  (fn, tensors) =>
  (...given) => {
    const places = tensors.flatMap(({ dtype }, place) => (isFloat(dtype) ? [place] : []));
    const [results, pull] = vjp(
      (...floats) =>
        fn(...given.map((tensor, place) => (places.includes(place) ? floats[places.indexOf(place)] : tensor))).filter(
          ({ dtype }) => isFloat(dtype),
        ),
      ...places.map((place) => given[place]),
    );
    return pull(results.map((result) => onesLike(result)));
  };

/** Which tensors are mapped, and along which axis. */
const mappings = [
  { name: 'all', axisOf: () => 0 },
  { name: 'even', axisOf: (place) => (place % 2 === 0 ? -1 : null) },
  { name: 'odd', axisOf: (place) => (place % 2 === 1 ? 0 : null) },
];

/**
 * Why the case is another one under vmap; undefined if it is not, and `skipped` where the loop itself refuses a sample. `isGradient` is
 * about its gradients.
 */
export function mappedDifference(test, { isGradient = false } = {}) {
  const tensors = operands(test);
  const fn = functionOf(test, tensors);
  const wanted = isGradient ? gradientsOf(fn, tensors) : fn;
  let found = 'skipped';
  for (const { name, axisOf } of mappings) {
    const axes = tensors.map((_, place) => axisOf(place));
    if (axes.every((axis) => axis === null)) continue;
    const samples = tensors.map(samplesOf);
    const loop = looped(wanted, samples, axes);
    if (loop === undefined) continue;
    const given = samples.map(([first, second], place) =>
      axes[place] === null ? first.clone() : stack([first, second], axes[place]),
    );
    const why = compared(vmap(wanted, { inAxes: axes })(...given), loop, test.entry);
    if (why !== undefined) return `${name} mapped: ${why}`;
    found = undefined;
  }
  return found;
}

/** What each sample gives by itself; undefined where one is refused. */
function looped(fn, samples, axes) {
  try {
    return [0, 1].map((number) => fn(...samples.map((each, place) => each[axes[place] === null ? 0 : number].clone())));
  } catch (error) {
    if (error?.name === 'UserError') return undefined;
    throw error;
  }
}

function compared(found, loop, { rtol = 0, atol = 0, unspecified = [] }) {
  const [first] = loop;
  if (found.length !== first.length) return `${found.length} results, not ${first.length}`;
  for (const position of first.keys()) {
    const expected = stack(
      loop.map((results) => results[position]),
      0,
    );
    const tolerance = { rtol: Math.max(rtol, 1e-6), atol: Math.max(atol, 1e-6) };
    const why = difference(found[position], expected, { ...tolerance, skipValues: unspecified.includes(position) });
    if (why !== undefined) return `output ${position}: ${why}`;
  }
  return undefined;
}
