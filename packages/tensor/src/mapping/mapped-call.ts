// Calls on tensors at a level of vmap. In: a call, or a graph, as it is for one sample. Out: results at the level, from one graph that
// makes it for all samples. The graph is made of the expansion into primitives by the batching rules, and runs as any graph; where
// results may be views, or something is recorded outside of the level, its nodes are calls of their own.
import { at } from '@tsinductor/base';
import { batchGraph, decompose, GraphBuilder } from '@tsinductor/graph';
import type { BatchedGraph, Graph } from '@tsinductor/graph';
import { mayAlias } from '../alias.ts';
import { isTracking, requiresGrad } from '../autograd/record.ts';
import { replayGraph } from '../autograd/call-gradient.ts';
import type { BoundCall } from '../bound-call.ts';
import { defaultExecutor, symbolicMeta, TensorPerformer } from '../perform.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { levelAmong, mappedTensor, outside } from './level.ts';
import type { MapLevel } from './level.ts';

/** The results of a call of which a tensor is at `level`, and none further in. */
export function callMapped(call: BoundCall, level: MapLevel): readonly Tensor[] {
  const { operator, args, attrs, tensors } = call;
  const sources = tensors.map((tensor) => outside(tensor, level));
  if (sources.every(({ differs }) => !differs)) {
    const performer = new TensorPerformer({ name: operator.name, tensors: sources.map(({ whole }) => whole) });
    const results = performer.callAll(operator.name, args, attrs);
    return results.map((result) => mappedTensor(level, performer.tensorOf(result), false));
  }
  const outputs = mayAlias(operator) ? 'shared' : operator.kind === 'creation' ? 'each' : 'apart';
  const key = `${operator.name} ${JSON.stringify(args)} ${JSON.stringify(attrs)}`;
  const make = (): Graph => graphOf(call);
  return runAtLevel({ key, name: operator.name, make, outputs, tensors }, level);
}

/** Runs a graph of one sample on tensors of which some are at a level of vmap. */
export function runMapped(
  graph: Graph,
  named: { readonly key: string; readonly name: string },
  tensors: readonly Tensor[],
): readonly Tensor[] {
  const level = levelAmong(tensors);
  if (level !== undefined) return runAtLevel({ ...named, make: () => graph, outputs: 'apart', tensors }, level);
  const results = defaultExecutor().runKept(named.key, () => decompose(graph), tensors);
  const { length } = graph.outputs;
  // Behind the outputs stand those that were computed for their checks alone.
  for (const result of results.slice(length)) result.dispose();
  return results.slice(0, length);
}

interface Program {
  /** What tells it from others, the tensors apart. */
  readonly key: string;
  readonly name: string;
  /** The graph for one sample. */
  readonly make: () => Graph;
  readonly outputs: 'shared' | 'apart' | 'each';
  readonly tensors: readonly Tensor[];
}

function runAtLevel(program: Program, level: MapLevel): readonly Tensor[] {
  const sources = program.tensors.map((tensor) => outside(tensor, level));
  const wholes = sources.map(({ whole }) => whole);
  // Who writes down the sizes of a traced tensor fixes them.
  const key = processState.recorder === undefined ? keyOf(program, sources) : program.name;
  const { graph, differs } = batched(program, { key, sources });
  const made =
    program.outputs === 'shared' || isObserved(wholes)
      ? replayGraph(graph, wholes, { name: program.name })
      : runMapped(graph, { key, name: program.name }, wholes);
  return made.map((whole, position) => mappedTensor(level, whole, at(differs, position)));
}

/** Whether someone outside of the level has to see the calls that a graph is made of. */
const isObserved = (wholes: readonly Tensor[]): boolean =>
  processState.recorder !== undefined ||
  (isTracking() && wholes.some(requiresGrad)) ||
  wholes.some(({ device }) => device !== 'cpu');

type Source = ReturnType<typeof outside>;

function keyOf({ key, outputs }: Program, sources: readonly Source[]): string {
  const described = sources.map(
    ({ whole: { dtype, shape, strides }, differs }) =>
      `${dtype}[${shape.join()}][${strides.join()}]${differs ? '*' : ''}`,
  );
  return `vmap ${outputs} ${described.join(' ')} of ${key}`;
}

function batched(
  program: Program,
  { key, sources }: { readonly key: string; readonly sources: readonly Source[] },
): BatchedGraph {
  const make = (): BatchedGraph =>
    batchGraph(
      program.make(),
      sources.map(({ whole, differs }) => (differs ? symbolicMeta(whole) : undefined)),
      { outputs: program.outputs, sizes: processState.recorder?.sizes },
    );
  // Sizes may be symbolic while a function is traced: what is true of them is for this trace alone.
  return processState.recorder === undefined ? defaultExecutor().batchedOf(key, make) : make();
}

function graphOf(call: BoundCall): Graph {
  const sizes = processState.recorder?.sizes;
  const builder = new GraphBuilder(sizes === undefined ? {} : { sizes });
  call.tensors.forEach((tensor, position) => builder.placeholder(`input${String(position)}`, symbolicMeta(tensor)));
  builder.output(...builder.callAll(call.operator.name, call.args, call.attrs));
  return builder.finish();
}
