// Running a graph with functions of the host in it: native parts and host functions in turn. In: the parts, and an executable
// for each that is compiled. Out: one Executable, which does what any other does.
//
// What native code is given is checked first: a host function whose result is not of the shape and dtype that its `meta`
// said would make it read memory that is not there.
import { at, get } from '@tsinductor/base';
import { printGraph, valuesOf } from '@tsinductor/graph';
import type { Graph, HostNode, Meta, ValueRef } from '@tsinductor/graph';
import { evaluateIndex } from '@tsinductor/ir';
import { badOpMeta } from '@tsinductor/tensor/internal';
import type { HostCall } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable } from './executable.ts';
import type { HostedGraph, TracedPart } from './hosted-graph.ts';

type Sizes = ReadonlyMap<string, number>;
type Step = { readonly part: TracedPart & { kind: 'graph' }; readonly executable: Executable } | { readonly part: TracedPart & { kind: 'host' } }; // prettier-ignore

/** `executables` are those of the graphs among the parts, in order. */
export function hostedExecutable({ graph, parts }: HostedGraph, executables: readonly Executable[]): Executable {
  let next = 0;
  const steps = parts.map((part): Step => (part.kind === 'graph' ? { part, executable: at(executables, next++) } : { part })); // prettier-ignore
  const placeholders = graph.nodes.filter(({ kind }) => kind === 'placeholder').map(({ id }) => keyOf({ node: id, result: 0 })); // prettier-ignore
  const seen = new Set(parts.flatMap((part) => (part.kind === 'host' ? valuesOf(part.node.args).map(keyOf) : [])));
  return {
    run: (inputs) => {
      const values = new Map(placeholders.map((key, position) => [key, at(inputs, position)]));
      const sizes: Sizes = new Map(graph.sizes.map(({ name, placeholder, axis }) => [name, at(at(inputs, placeholder).shape, axis)])); // prettier-ignore
      const made: (readonly [string, Tensor])[] = [];
      for (const step of steps) {
        const results = 'executable' in step ? runGraph(step, values) : runHost(step.part, values, sizes);
        if ('executable' in step) made.push(...results);
        for (const [key, tensor] of results) values.set(key, tensor);
      }
      // An output is nobody else's: what is an input is copied.
      const outputs = graph.outputs.map(keyOf).map((key) => (placeholders.includes(key) ? get(values, key).clone() : get(values, key))); // prettier-ignore
      for (const { placeholder, output } of graph.mutations) at(inputs, placeholder).writeBack(at(outputs, output));
      // What a host function has seen it may have kept.
      for (const [key, tensor] of made) if (!seen.has(key) && !outputs.includes(tensor)) tensor.dispose();
      return outputs;
    },
    report: reportOf(graph, steps),
  };
}

const keyOf = ({ node, result }: Pick<ValueRef, 'node' | 'result'>): string => `${String(node)}.${String(result)}`;

type Results = readonly (readonly [string, Tensor])[];

function runGraph(
  { part, executable }: Extract<Step, { executable: Executable }>,
  values: Map<string, Tensor>,
): Results {
  const results = executable.run(part.inputs.map((value) => get(values, keyOf(value))));
  return part.outputs.map((value, position) => [keyOf(value), at(results, position)]);
}

function runHost(
  { node, call }: { readonly node: HostNode; readonly call: HostCall },
  values: Map<string, Tensor>,
  sizes: Sizes,
): Results {
  const operands = new Map<number, Tensor>();
  const refs = valuesOf(node.args);
  valuesOf(call.call.args).forEach((position, index) => {
    operands.set(position.node, get(values, keyOf(at(refs, index))));
  });
  const results = call.run(call.call.tensors.map((_, position) => get(operands, position)));
  if (results.length !== node.results.length)
    throw badOpMeta(call.name, `meta said ${String(node.results.length)} results, and eager gave ${String(results.length)}`); // prettier-ignore
  return results.map((tensor, result) => {
    requireMeta(call.name, tensor, { meta: at(node.results, result), sizes });
    return [keyOf({ node: node.id, result }), tensor];
  });
}

function requireMeta(
  name: string,
  tensor: Tensor,
  { meta, sizes }: { readonly meta: Meta; readonly sizes: Sizes },
): void {
  const shape = meta.shape.map((size) => evaluateIndex(size, { sizes }));
  const isSame = tensor.dtype === meta.dtype && tensor.ndim === shape.length && shape.every((size, axis) => size === tensor.shape[axis]); // prettier-ignore
  const [said, gave] = [`${meta.dtype}[${shape.join(', ')}]`, `${tensor.dtype}[${tensor.shape.join(', ')}]`];
  if (!isSame) throw badOpMeta(name, `meta said ${said}, and eager gave ${gave}`);
}

function reportOf(graph: Graph, steps: readonly Step[]): Executable['report'] {
  const reports = steps.flatMap((step) => ('executable' in step ? [step.executable.report] : []));
  const places = [...new Set(reports.map(({ runsOn }) => runsOn)), 'the host'];
  const sources = reports.flatMap(({ source }) => (source === undefined ? [] : [source]));
  const milliseconds = reports.reduce((sum, report) => sum + (report.milliseconds ?? 0), 0);
  return {
    runsOn: places.join(', and '),
    graph: printGraph(graph),
    loopNodes: reports.reduce((sum, { loopNodes }) => sum + loopNodes, 0),
    kernels: reports.flatMap(({ kernels }) => kernels),
    decisions: reports.flatMap(({ decisions }) => decisions),
    hosts: steps.flatMap((step) => ('executable' in step ? [] : [describeHost(step.part.node)])),
    ...(sources.length === 0 ? {} : { source: () => sources.map((source) => source()).join('\n') }),
    ...(milliseconds === 0 ? {} : { milliseconds }),
  };
}

function describeHost({ target, origin: { location } }: HostNode): string {
  const where = location === undefined ? '' : `, at ${location.file}:${String(location.line)}`;
  return `${target}${where}: it has no lowering, so its eager function runs between the compiled parts`;
}
