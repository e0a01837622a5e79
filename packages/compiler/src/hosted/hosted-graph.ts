// A traced graph as what is compiled of it: itself, or, where custom ops without a lowering or launches of kernels are among
// its nodes, parts that are compiled one by one with these between them. In: the graph, and what its host nodes call. Out:
// parts in primitives, and a request for each.
import { at, invariant } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { decompose, resolveSizes, splitAtHosts, valuesOf } from '@tsinductor/graph';
import type { Flow, Graph, GraphPart, HostNode, LaunchMemory, SizeEnvironment, ValueRef } from '@tsinductor/graph';
import { evaluateIndex } from '@tsinductor/ir';
import { zeros } from '@tsinductor/tensor';
import type { Device, Tensor } from '@tsinductor/tensor';
import type { HostCall, KernelLaunch, TraceResult } from '@tsinductor/tensor/internal';
import { noLowering } from '../errors.ts';
import { configUnder } from '../mode.ts';
import type { PrepareRequest, TracedGraph } from '../request.ts';

export type TracedPart =
  | {
      readonly kind: 'graph';
      readonly traced: TracedGraph;
      readonly inputs: GraphPart['inputs'];
      readonly outputs: GraphPart['outputs'];
    }
  | HostPart
  | LaunchPart
  | FlowPart;

export interface HostPart {
  readonly kind: 'host';
  readonly node: HostNode;
  readonly call: HostCall;
}

export interface LaunchPart {
  readonly kind: 'launch';
  readonly node: LaunchNode;
  readonly call: KernelLaunch;
}

type LaunchNode = HostNode & { readonly launch: LaunchMemory };

/** A loop or a branch, with each of its bodies as what is compiled of it. */
export interface FlowPart {
  readonly kind: 'flow';
  readonly node: FlowNode;
  readonly bodies: readonly TracedProgram[];
}

type FlowNode = HostNode & { readonly flow: Flow };

export interface HostedGraph {
  /** The whole, host nodes among its calls. */
  readonly graph: Graph;
  readonly parts: readonly TracedPart[];
}

export type TracedProgram = TracedGraph | HostedGraph;

/** Whether functions of the program run in it, which may do more than give results: custom ops without a lowering, and launches. */
export const callsHost = (program: TracedProgram): boolean =>
  'parts' in program &&
  program.parts.some((part) => (part.kind === 'flow' ? part.bodies.some(callsHost) : part.kind !== 'graph'));

/** `hosts` are what the graph's host nodes call, in their order. Asks further questions about symbolic sizes. */
export function tracedProgram(graph: Graph, hosts: TraceResult['hosts'], sizes: SizeEnvironment): TracedProgram {
  if (hosts.length === 0) return { graph, primitives: decompose(graph, sizes) };
  let next = 0;
  const parts = splitAtHosts(graph).map((part): TracedPart => {
    if (part.kind === 'host') return partOf(part.node, at(hosts, next++), sizes);
    const traced = { graph: part.graph, primitives: decompose(part.graph, sizes) };
    return { kind: 'graph', traced, inputs: part.inputs, outputs: part.outputs };
  });
  return { graph, parts };
}

function partOf(node: HostNode, call: TraceResult['hosts'][number], sizes: SizeEnvironment): TracedPart {
  if (call.kind !== 'flow') return hostPart(node, call);
  const found = flowNode(node);
  const bodies = found.flow.bodies.map(({ graph }, body) => tracedProgram(graph, at(call.hosts, body), sizes));
  return { kind: 'flow', node: found, bodies };
}

function hostPart(node: HostNode, call: HostCall | KernelLaunch): HostPart | LaunchPart {
  if (call.kind === 'op') return { kind: 'host', node, call };
  return { kind: 'launch', node: launchNode(node), call };
}

function flowNode(node: HostNode): FlowNode {
  const { flow } = node;
  invariant(flow !== undefined, `${node.target} is a loop or a branch, and its node has no bodies`);
  return { ...node, flow };
}

function launchNode(node: HostNode): LaunchNode {
  const { launch } = node;
  invariant(launch !== undefined, `${node.target} is a launch, and its node says nothing of memory`);
  return { ...node, launch };
}

/** The same when no more is asked of `sizes`: those that were found equal are one. */
export function resolveProgram(program: TracedProgram, sizes: SizeEnvironment): TracedProgram {
  const graph = resolveSizes(program.graph, sizes);
  if (!('parts' in program)) return { graph, primitives: resolveSizes(program.primitives, sizes) };
  const parts = program.parts.map((part): TracedPart => {
    if (part.kind === 'graph') {
      const traced = {
        graph: resolveSizes(part.traced.graph, sizes),
        primitives: resolveSizes(part.traced.primitives, sizes),
      };
      return { ...part, traced };
    }
    const node = at(graph.nodes, part.node.id);
    if (node.kind !== 'host') return part;
    if (part.kind !== 'flow') return hostPart(node, part.call);
    return { ...part, node: flowNode(node), bodies: part.bodies.map((body) => resolveProgram(body, sizes)) };
  });
  return { graph, parts };
}

/**
 * The parts that are compiled, each with a request of its own.
 *
 * @throws UserError NO_LOWERING where the settings forbid to run ops by their own functions.
 */
export function graphParts(
  { graph, parts }: HostedGraph,
  request: PrepareRequest,
  config: Config,
): readonly { readonly traced: TracedProgram; readonly request: PrepareRequest }[] {
  const { examples, placement, frozen } = request;
  const [host] = parts.flatMap((part) => (part.kind === 'host' ? [part.node] : []));
  if (host !== undefined && !configUnder(config, request).implicitFallbacks)
    throw noLowering(host.target, host.origin.location);
  const outputOf = ({ node, result }: ValueRef): number =>
    graph.outputs.findIndex((output) => output.node === node && output.result === result);
  const placeholders = graph.nodes.filter(({ kind }) => kind === 'placeholder').map(({ id }) => id);
  const sizes = new Map(
    graph.sizes.map(({ name, placeholder, axis }) => [name, at(at(examples, placeholder).shape, axis)]),
  );
  const exampleOf = ({ node, result }: ValueRef): Tensor => {
    const known = examples[placeholders.indexOf(node)];
    if (known !== undefined) return known;
    // What the host will give is not known yet: only its shape and dtype are.
    const { shape, dtype } = at(at(graph.nodes, node).results, result);
    return zeros(
      shape.map((size) => evaluateIndex(size, { sizes })),
      { dtype },
    );
  };
  const isNeeded = typeof request.backend === 'function' || graph.sizes.length > 0;
  /** Of what one part takes: its own inputs, and which of them are frozen. */
  const within = (inputs: readonly ValueRef[], outputs: readonly Device[]): PrepareRequest => {
    const places = inputs.flatMap(({ node }, place) =>
      frozen?.has(placeholders.indexOf(node)) === true ? [place] : [],
    );
    const own = { ...request, examples: isNeeded ? inputs.map(exampleOf) : [], placement: { ...placement, outputs } };
    return frozen === undefined ? own : { ...own, frozen: new Set(places) };
  };
  return parts.flatMap((part) => {
    if (part.kind === 'flow')
      return part.bodies.map((traced, body) => ({ traced, request: bodyRequest(part, { body, within, sizes }) }));
    if (part.kind !== 'graph') return [];
    const outputs = part.outputs.map((value) => placement.outputs[outputOf(value)] ?? placement.device);
    return [{ traced: part.traced, request: within(part.inputs, outputs) }];
  });
}

interface WithinGraph {
  readonly body: number;
  readonly within: (inputs: readonly ValueRef[], outputs: readonly Device[]) => PrepareRequest;
  readonly sizes: ReadonlyMap<string, number>;
}

/** What a body is passed changes from step to step, so nothing of it is frozen; the rows of an argument are examples of rows. */
function bodyRequest({ node, bodies }: FlowPart, { body, within, sizes }: WithinGraph): PrepareRequest {
  const { inputs } = at(node.flow.bodies, body);
  const values = valuesOf(node.args);
  const { graph } = at(bodies, body);
  const { frozen: _, ...request } = within(
    inputs.map((input) => at(values, input)),
    [],
  );
  const placeholders = graph.nodes.filter(({ kind }) => kind === 'placeholder');
  const examples = request.examples.map((example, position) => {
    const { shape, dtype } = at(at(placeholders, position).results, 0);
    const isRow = node.flow.rows.includes(at(inputs, position));
    const own = shape.map((size) => evaluateIndex(size, { sizes }));
    return isRow ? zeros(own, { dtype }) : example;
  });
  const outputs = graph.outputs.map(() => request.placement.device);
  return { ...request, examples, placement: { ...request.placement, outputs } };
}
