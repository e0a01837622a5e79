// A compiled call of which gradients are wanted: one step of what is recorded for them. In: the traced call, and who compiles.
// Out: the step's results, and gradients by a graph of their own, which is compiled when it is first needed. That graph computes
// again what it needs of the forward pass, whose inputs alone are kept.
import { at, isFloat } from '@tsinductor/base';
import { decompose, differentiableOutputs, removeDead, vjpGraph } from '@tsinductor/graph';
import type { Graph, VjpGraph } from '@tsinductor/graph';
import { zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import {
  changedInPlace,
  recordFunction,
  replayGraph,
  requiresGrad,
  withoutGradients,
} from '@tsinductor/tensor/internal';
import type { PrepareRequest, TracedGraph } from '../request.ts';
import type { Executable } from '../run/executable.ts';
import type { TracedCall } from './trace-call.ts';

/** Compiles a graph, for examples of its inputs. */
export type Compile = (traced: TracedGraph, examples: readonly Tensor[]) => Executable;

interface Backward {
  readonly vjp: VjpGraph;
  /** Gradients alone are its outputs. */
  readonly graph: Graph;
  readonly executable: Executable;
}

/** What compiles graphs of gradients: the session of the function, asked as it asks for its own graphs. */
export const gradientCompiler =
  (
    session: { prepare(traced: TracedGraph, request: PrepareRequest): Executable },
    requestFor: (call: Pick<TracedCall, 'inputs' | 'placement'>) => PrepareRequest,
  ): Compile =>
  (traced, examples) => {
    const device = examples.find((tensor) => tensor.device !== 'cpu')?.device ?? 'cpu';
    const placement = { device, outputs: traced.graph.outputs.map(() => device) };
    const request = requestFor({ inputs: examples, placement });
    return session.prepare(traced, { ...request, name: `${request.name} backward` });
  };

/** What is said of calls that no compiled step stands for. */
export const notGraphed = (reason: string): string =>
  `calls of which gradients are wanted run operator by operator: ${reason}`;

/** Why a traced call is no such step, and has to run as it is; undefined if it is one. */
export function whyNotDifferentiable(traced: TracedCall): string | undefined {
  const { graph, program, results, writesWithinNoGrad, notDifferentiable } = traced;
  if ('parts' in program) return 'it calls what is not compiled';
  if (graph.mutations.length > 0 && !writesWithinNoGrad)
    return 'it writes to its arguments, or to tensors that it closes over, outside of noGrad';
  if (graph.sizes.length > 0) return 'its sizes are symbolic';
  return results.some(({ kind }) => kind === 'input') ? 'it gives memory of its arguments' : notDifferentiable;
}

/**
 * Whether gradients may be had of what a call gives: not where all that depends on tensors that require them is computed within noGrad, as
 * a model in use is. Of what the host calls, of views of arguments that require gradients and of gradients that a function brings along
 * nothing is known here; and what writes to a tensor that requires gradients, outside of noGrad, is for eager mode to refuse or to record.
 */
export function mayHaveGradients(traced: TracedCall, inputs: readonly Tensor[]): boolean {
  const { graph, program, results, notDifferentiable, writesWithinNoGrad } = traced;
  if ('parts' in program || notDifferentiable !== undefined) return true;
  const requires = (placeholder: number): boolean => requiresGrad(at(inputs, placeholder));
  if (!writesWithinNoGrad && graph.mutations.some(({ placeholder }) => requires(placeholder))) return true;
  if (results.some((source) => source.kind === 'input' && requires(source.placeholder))) return true;
  return differentiableOutputs(graph, wantedOf(inputs)).length > 0;
}

/**
 * Whether a traced call is a step of training: it updates tensors that require gradients itself, within noGrad. Running statistics and
 * the state of random numbers are none.
 */
export const isUpdate = ({ graph, writesWithinNoGrad }: TracedCall, inputs: readonly Tensor[]): boolean =>
  writesWithinNoGrad && graph.mutations.some(({ placeholder }) => requiresGrad(at(inputs, placeholder)));

/**
 * Results of a call that has updated what they were computed from: no gradient can be had of them any more. Pulling one raises
 * UserError GRADIENT_STALE, as it does in eager mode where an operator's tensor was written to.
 */
export function recordUpdate(name: string, { graph }: TracedCall, given: CallOfUpdate): void {
  const { inputs, outputs } = given;
  const wanted = wantedOf(inputs);
  const results = differentiableOutputs(graph, wanted).map((output) => at(outputs, output));
  recordFunction(name, { inputs: wanted.map((position) => at(inputs, position)), results }, () => {
    throw changedInPlace(name);
  });
}

/** The positions of the inputs that gradients are wanted of. */
const wantedOf = (inputs: readonly Tensor[]): readonly number[] =>
  inputs.flatMap((tensor, position) => (requiresGrad(tensor) && isFloat(tensor.dtype) ? [position] : []));

interface CallOfUpdate {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

const copyOf = (tensor: Tensor): Tensor => withoutGradients(() => tensor.clone());

export class DifferentiableCall {
  readonly #name: string;
  /** Without what it writes. */
  readonly #graph: Graph;
  /** Positions of the inputs that it writes to. */
  readonly #written: ReadonlySet<number>;
  readonly #executable: Executable;
  readonly #compile: Compile;
  /** By the inputs that gradients are wanted of. */
  readonly #backward = new Map<string, Backward>();
  readonly #differentiable = new Map<string, readonly number[]>();

  constructor(
    name: string,
    { graph }: TracedCall,
    how: { readonly executable: Executable; readonly compile: Compile },
  ) {
    this.#name = name;
    const { mutations } = graph;
    this.#graph = { ...graph, outputs: graph.outputs.slice(0, graph.outputs.length - mutations.length), mutations: [] };
    this.#written = new Set(mutations.map(({ placeholder }) => placeholder));
    this.#executable = how.executable;
    this.#compile = how.compile;
  }

  /** The graph's outputs, as results of a recorded step. What it writes to is kept as it was. */
  outputs(inputs: readonly Tensor[]): readonly Tensor[] {
    const given = inputs.map((tensor, position) => (this.#written.has(position) ? copyOf(tensor) : tensor));
    const outputs = withoutGradients(() => this.#executable.run([...inputs]));
    const wanted = wantedOf(given);
    const metas = outputs.map(({ dtype, shape }) => ({ dtype, shape }));
    const differentiable = this.#differentiableOutputs(wanted);
    const results = differentiable.map((output) => at(outputs, output));
    recordFunction(this.#name, { inputs: given, results }, (cotangents, createGraph) => {
      const { vjp, graph, executable } = this.#backwardOf(wanted, given, metas);
      const seeds = vjp.seeds.map((position) => {
        const { dtype, shape } = at(metas, position);
        return cotangents[differentiable.indexOf(position)] ?? zeros([...shape], { dtype });
      });
      const made = createGraph
        ? replayGraph(graph, [...given, ...seeds], { name: 'gradient', primals: given.length })
        : executable.run([...given, ...seeds]);
      const forward = this.#graph.outputs.length;
      return given.map((_, position) => {
        const place = vjp.gradients[wanted.indexOf(position)];
        return place === undefined ? undefined : made[place - forward];
      });
    });
    // What it writes to holds its new values.
    for (const updated of outputs.slice(this.#graph.outputs.length)) updated.dispose();
    return outputs;
  }

  #differentiableOutputs(wanted: readonly number[]): readonly number[] {
    const key = wanted.join();
    const known = this.#differentiable.get(key);
    if (known !== undefined) return known;
    const found = differentiableOutputs(this.#graph, wanted);
    this.#differentiable.set(key, found);
    return found;
  }

  #backwardOf(
    wanted: readonly number[],
    inputs: readonly Tensor[],
    metas: readonly Pick<Tensor, 'dtype' | 'shape'>[],
  ): Backward {
    const key = wanted.join();
    const known = this.#backward.get(key);
    if (known !== undefined) return known;
    const vjp = vjpGraph(this.#graph, wanted, { keepsMarks: true });
    const graph = removeDead({ ...vjp.graph, outputs: vjp.graph.outputs.slice(this.#graph.outputs.length) });
    const seeds = vjp.seeds.map((position) => {
      const { dtype, shape } = at(metas, position);
      return zeros([...shape], { dtype });
    });
    const executable = this.#compile({ graph, primitives: decompose(graph) }, [...inputs, ...seeds]);
    const made = { vjp, graph, executable };
    this.#backward.set(key, made);
    return made;
  }
}
