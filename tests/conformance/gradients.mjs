// Golden gradients: the graph of a case becomes the graph of its gradients, which any backend runs as it runs others.
import { vjpGraph } from '@tsinductor/graph';
import { zeros } from '@tsinductor/tensor';
import { difference } from './compare.mjs';
import { valueAt } from './golden.mjs';

/** The job that computes what the entry lists, for the job that computes the outputs. */
export function gradientJob({ entry, args, kwargs }, { traced, sizes, inputs, count }, golden) {
  const sources = entry.grads.map(({ arg }) => valueAt({ args, kwargs }, arg));
  const places = sources.map((tensor) => inputs.indexOf(tensor));
  const wanted = [...new Set(places.filter((place) => place !== -1))];
  const vjp = vjpGraph(traced, wanted, { sizes });
  const cotangents = golden.decode(entry.cotangents);
  const given = vjp.seeds.map((position) => {
    const { dtype, shape } = outputOf(traced, position);
    return cotangents[position] ?? zeros(shape, { dtype });
  });
  const gradients = places.map((place) => (place === -1 ? undefined : vjp.gradients[wanted.indexOf(place)]));
  return { graph: vjp.graph, inputs: [...inputs, ...given], count, gradients, sources };
}

function outputOf({ outputs, nodes }, position) {
  const { node, result } = outputs[position];
  const { dtype, shape } = nodes[node].results[result];
  return { dtype, shape: shape.map((size) => size.value) };
}

/**
 * Cases whose expected gradient is none of the function: PyTorch gives the input of as_strided_scatter the gradient where src was
 * written, which is where the result does not depend on it. Ours must be that of the function.
 */
export const isDisputed = ({ op, kind }) => kind === 'grad' && op === 'as_strided_scatter';

/** Why eager calls, recorded operator by operator, give other gradients; undefined if they do not. */
export function recordedDifference({ entry, how, args, kwargs }, golden, camelKeys) {
  const sources = entry.grads.map(({ arg }) => valueAt({ args, kwargs }, arg));
  for (const tensor of sources) tensor.requiresGrad_();
  const outputs = [how.call(args, camelKeys(kwargs))].flat(Infinity);
  const cotangents = golden.decode(entry.cotangents);
  const flowing = outputs.flatMap((output, position) =>
    output?.requiresGrad === true && cotangents[position] ? [{ output, cotangent: cotangents[position] }] : [],
  );
  for (const { output, cotangent } of flowing) output.backward(cotangent, { retainGraph: true });
  const found = sources.map((tensor) => tensor.grad);
  const job = { sources, gradients: sources.map((_, index) => (found[index] === null ? undefined : index)) };
  return gradientDifference(entry, job, found, golden);
}

/** Why the gradients are not those of the entry; undefined if they are. An input that nothing depends on has zeros. */
export function gradientDifference(entry, { gradients, sources }, outputs, golden) {
  const { rtol = 0, atol = 0 } = entry;
  for (const [index, { arg, value }] of entry.grads.entries()) {
    const { shape, dtype } = sources[index];
    const position = gradients[index];
    const gradient = position === undefined ? zeros([...shape], { dtype }) : outputs[position];
    const why = difference(gradient, golden.decode(value), { rtol, atol });
    if (why !== undefined) return `gradient of ${arg.join('.')}: ${why}`;
  }
  return undefined;
}
