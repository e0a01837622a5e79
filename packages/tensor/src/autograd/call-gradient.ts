// The gradient of one call as a graph. In: a bound call, and which of its tensors gradients are wanted of. Out: a graph over the
// call's tensors and the cotangents of its results, which is run at once, or whose nodes are made calls again.
import { at } from '@tsinductor/base';
import { GraphBuilder, isList, isValue, removeDead, valuesOf, vjpGraph } from '@tsinductor/graph';
import type { Arg, Graph, GraphNode, ValueRef } from '@tsinductor/graph';
import type { BoundCall } from '../bound-call.ts';
import { callKey, metaOf } from '../eager/executor.ts';
import { levelAmong } from '../mapping/level.ts';
import { runMapped } from '../mapping/mapped-call.ts';
import { defaultExecutor, symbolicMeta, TensorPerformer } from '../perform.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { internalCall } from './errors.ts';
import { markedResidual } from './origin-marks.ts';

export interface CallGradient {
  /** What tells it from others. */
  readonly key: string;
  /** Its outputs are gradients alone. */
  readonly graph: Graph;
  /** Results of the call whose cotangents follow its tensors among the inputs. */
  readonly seeds: readonly number[];
  /** For each tensor that was asked for, the output that is its gradient. */
  readonly gradients: readonly (number | undefined)[];
  /** Positions of the inputs whose values it needs. */
  readonly needed: readonly number[];
}

/** The gradient with respect to the tensors at the positions `wanted`. */
export function gradientOf(call: BoundCall, wanted: readonly number[]): CallGradient {
  const key = `${wanted.join()} ${callKey(call)}`;
  // Sizes may be symbolic while a function is traced: what is true of them is for this trace alone.
  if (processState.recorder !== undefined) return makeGradient(call, wanted, key);
  return defaultExecutor().gradientOf(key, () => makeGradient(call, wanted, key));
}

function makeGradient(call: BoundCall, wanted: readonly number[], key: string): CallGradient {
  const sizes = processState.recorder?.sizes;
  const builder = new GraphBuilder(sizes === undefined ? {} : { sizes });
  const meta = processState.recorder === undefined ? metaOf : symbolicMeta;
  call.tensors.forEach((tensor, position) => builder.placeholder(`input${String(position)}`, meta(tensor)));
  builder.output(...builder.callAll(call.operator.name, call.args, call.attrs));
  const { graph, seeds, gradients } = vjpGraph(builder.finish(), wanted, { sizes });
  const forward = graph.outputs.length - gradients.filter((position) => position !== undefined).length;
  const pruned = removeDead({ ...graph, outputs: graph.outputs.slice(forward) });
  return {
    key,
    graph: pruned,
    seeds,
    gradients: gradients.map((position) => (position === undefined ? undefined : position - forward)),
    needed: neededInputs(pruned),
  };
}

function neededInputs({ nodes, outputs }: Graph): readonly number[] {
  const used = new Set(outputs.map(({ node }) => node));
  for (const node of nodes) {
    if (node.kind !== 'call') continue;
    for (const arg of node.args)
      for (const value of isList(arg) ? arg : isValue(arg) ? [arg] : []) used.add(value.node);
  }
  return nodes
    .filter(({ kind }) => kind === 'placeholder')
    .flatMap(({ id }, position) => (used.has(id) ? [position] : []));
}

/** Runs it on memory that exists. */
export const runGradient = (gradient: CallGradient, inputs: readonly Tensor[]): readonly Tensor[] =>
  levelAmong(inputs) === undefined
    ? defaultExecutor().runKept(`gradient ${gradient.key}`, () => gradient.graph, inputs)
    : runMapped(gradient.graph, { key: `gradient ${gradient.key}`, name: 'gradient' }, inputs);

interface Replaying {
  /** In messages. */
  readonly name: string;
  /** Of a gradient's graph, how many of the inputs are values of the forward pass: the others are cotangents. */
  readonly primals?: number;
}

/** Makes its nodes calls, which are recorded as any that a program makes. */
export function replayGraph(graph: Graph, inputs: readonly Tensor[], { name, primals }: Replaying): readonly Tensor[] {
  const performer = new TensorPerformer({ name, tensors: inputs });
  const made: (readonly ValueRef[])[] = [];
  const residual = primals === undefined ? none : residualNodes(graph, primals);
  let placeholders = 0;
  const rename = ({ node, result }: ValueRef): ValueRef => at(at(made, node), result);
  const perform = (node: GraphNode & { readonly kind: 'call' }): readonly ValueRef[] =>
    performer.callAll(
      node.target,
      node.args.map((arg): Arg => (isList(arg) ? arg.map(rename) : isValue(arg) ? rename(arg) : arg)),
      node.attrs,
    );
  for (const node of graph.nodes) {
    switch (node.kind) {
      case 'placeholder':
        made.push([{ kind: 'value', node: placeholders++, result: 0 }]);
        break;
      case 'constant':
        made.push([performer.literal(node.data, at(node.results, 0))]);
        break;
      case 'call':
        made.push(residual.has(node.id) ? markedResidual(() => perform(node)) : perform(node));
        break;
      case 'host':
        throw internalCall(node.target);
    }
  }
  return graph.outputs.map((value) => performer.tensorOf(rename(value)));
}

const none: ReadonlySet<number> = new Set();

/** Calls that no cotangent flows into. */
function residualNodes({ nodes }: Graph, primals: number): ReadonlySet<number> {
  const residual = new Set<number>();
  let placeholders = 0;
  for (const node of nodes) {
    if (node.kind === 'placeholder' && placeholders++ >= primals) continue;
    const isFree = node.kind !== 'call' || valuesOf(node.args).every((value) => residual.has(value.node));
    if (isFree) residual.add(node.id);
  }
  return residual;
}
