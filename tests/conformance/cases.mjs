// A golden case becomes a graph: the call is found by the name that a PyTorch user writes, its arguments are bound by the
// operator table, and the result is traced. So a case tests what a user meets, and every executor runs the same graph.
import { decompose, operators } from '@tsinductor/graph';
import { isTensor } from '@tsinductor/tensor';
import { dispatch, dispatchInPlace, TraceSession } from '@tsinductor/tensor/internal';
import * as tensorPackage from '@tsinductor/tensor';

const byTorchName = new Map();
for (const operator of operators.values()) {
  for (const name of operator.torch)
    if (!byTorchName.has(name) || operator.torch[0] === name) byTorchName.set(name, operator);
}

const camelCase = (name) => name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** Functions that are no operators, because their results depend on values: they are no single graph. */
const functionOf = (aten) => {
  const path = aten
    .replace(/^Tensor\./, '')
    .split('.')
    .map(camelCase);
  const found = path.reduce((holder, part) => holder?.[part], tensorPackage);
  return typeof found === 'function' ? found : undefined;
};

/** How a case is called: undefined where we have nothing of that name. */
export function callOf(aten) {
  const operator = byTorchName.get(aten);
  const inPlace = /_$/.test(aten) && !aten.endsWith('__');
  if (operator !== undefined) {
    return {
      isEager: false,
      call: (args, kwargs) => (inPlace ? dispatchInPlace : dispatch)(operator.name, args, kwargs),
    };
  }
  const fn = functionOf(aten);
  return (
    fn && { isEager: true, call: (args, kwargs) => fn(...args, ...(Object.keys(kwargs).length > 0 ? [kwargs] : [])) }
  );
}

export const camelKeys = (kwargs) =>
  Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [camelCase(key), value]));

/** Every tensor of a call with the path at which it stands. */
export function tensorsOf(value, path = []) {
  if (isTensor(value)) return [{ tensor: value, path }];
  if (value === null || typeof value !== 'object' || 'kind' in value) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    tensorsOf(item, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

export const replaceTensors = (value, replace) => {
  if (isTensor(value)) return replace(value);
  if (Array.isArray(value)) return value.map((item) => replaceTensors(item, replace));
  return value;
};

const flatten = (result) => (Array.isArray(result) ? result.flatMap(flatten) : [result]);

/** Axes that may become symbolic: of contiguous tensors, sizes of at least 2. */
const dynamicAxes = (tensor) =>
  tensor.isContiguous() ? tensor.shape.flatMap((size, axis) => (size >= 2 ? [{ axis }] : [])) : [];

/** The graph of a call, its inputs, and which of them it writes to. */
export function traceCall({ call }, { args, kwargs }, { dynamic = false } = {}) {
  const session = new TraceSession();
  const standIns = new Map();
  const standIn = (tensor) => {
    if (!standIns.has(tensor)) standIns.set(tensor, session.input(tensor, dynamic ? dynamicAxes(tensor) : []));
    return standIns.get(tensor);
  };
  const inputs = tensorsOf({ args, kwargs });
  inputs.forEach(({ tensor }) => standIn(tensor));
  const named = Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, replaceTensors(value, standIn)]));
  const results = flatten(session.run(() => call(replaceTensors(args, standIn), camelKeys(named))));
  const { graph: traced, placeholders } = session.finish(results);
  const graph = decompose(traced, session.sizes);
  return {
    graph,
    traced,
    sizes: session.sizes,
    inputs: placeholders.map(({ tensor }) => tensor),
    count: results.length,
  };
}
