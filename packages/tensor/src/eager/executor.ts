// Eager execution: an operator on tensors that exist. The call becomes a graph of one operator, which is expanded,
// optimised and lowered; its loops run as generated JavaScript, small ones by the interpreter, whose bits both have. Views only
// make a new layout. So eager results are what the loop interpreter says, and need no compiler. On another device than the CPU,
// the graph is compiled for it.
//
// Plans are memoised by operator, attributes and metas of the arguments: a repeated call only runs.
import { at } from '@tsinductor/base';
import { decompose, SizeEnvironment } from '@tsinductor/graph';
import type { BatchedGraph, Graph, Meta, ViewLayout } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { LRUCache } from 'lru-cache';
import type { CallGradient } from '../autograd/call-gradient.ts';
import { expandCall, findAliases, mayAlias } from '../alias.ts';
import type { BoundCall } from '../bound-call.ts';
import { deviceOf, openDevice } from '../device.ts';
import type { Device } from '../device.ts';
import type { Layout } from '../layout.ts';
import { placedTensor, placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { transferred } from '../transfer.ts';
import { GraphProgram } from './graph-program.ts';
import { LoopTier } from './loop-tier.ts';

/** How one result comes about. */
type PlannedResult =
  | { readonly kind: 'view'; readonly input: number; readonly layout: Layout }
  | { readonly kind: 'computed'; readonly output: number };

interface Plan {
  readonly results: readonly PlannedResult[];
  /** Makes the computed results; undefined where all are views. */
  readonly program: Program | undefined;
}

/** A graph made ready to run on a device. */
interface Program {
  /** How much memory it keeps between runs, about, in elements. */
  readonly weight: number;
  run(inputs: readonly Tensor[]): readonly Tensor[];
}

/** What plans may keep in memory, in elements: about a hundred megabytes at worst. */
const defaultWeight = 4_000_000;

interface EagerOptions {
  readonly maximumWeight?: number;
  /** Loops run as generated JavaScript, unless they are to be interpreted: the definition that tests compare with. */
  readonly loops?: 'generated' | 'interpreted';
}

export class EagerExecutor {
  readonly #plans: LRUCache<string, Plan>;
  /** How loops run; undefined where they are interpreted. */
  readonly loops: LoopTier | undefined;
  readonly #gradients = new LRUCache<string, CallGradient>({ max: 1000 });
  readonly #batched = new LRUCache<string, BatchedGraph>({ max: 1000 });

  constructor(options: EagerOptions = {}) {
    const maxSize = options.maximumWeight ?? defaultWeight;
    this.#plans = new LRUCache({ maxSize, sizeCalculation: ({ program }) => Math.min(program?.weight ?? 64, maxSize) });
    if (options.loops === 'interpreted') return;
    this.loops = new LoopTier();
  }

  run(call: BoundCall): readonly Tensor[] {
    const key = callKey(call);
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = makePlan(call, this.loops);
      this.#plans.set(key, plan);
    }
    const results = execute(plan, call.tensors);
    return results.map((result) => (result.device === call.device ? result : moved(result, call.device)));
  }

  /** The gradient of a call that was differentiated before, by a key of the call, or as it is made now. */
  gradientOf(key: string, make: () => CallGradient): CallGradient {
    const known = this.#gradients.get(key) ?? make();
    this.#gradients.set(key, known);
    return known;
  }

  /** The graph of all samples of a call under vmap, by a key of the call, or as it is made now. */
  batchedOf(key: string, make: () => BatchedGraph): BatchedGraph {
    const known = this.#batched.get(key) ?? make();
    this.#batched.set(key, known);
    return known;
  }

  /** Runs a graph of primitives that has a key: what it takes to run is kept. */
  runKept(key: string, make: () => Graph, inputs: readonly Tensor[]): readonly Tensor[] {
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      const graph = make();
      const results = graph.outputs.map((_, output): PlannedResult => ({ kind: 'computed', output }));
      plan = { results, program: new GraphProgram(graph, this.loops) };
      this.#plans.set(key, plan);
    }
    return execute(plan, inputs);
  }

  /**
   * Runs a graph of primitives and composites once; `sizes` are those that a graph with symbolic ones was traced under.
   * Writes to inputs are left to the caller, as its `mutations` say.
   */
  runGraph(graph: Graph, inputs: readonly Tensor[], sizes?: SizeEnvironment): readonly Tensor[] {
    const results = new GraphProgram(decompose(graph, sizes), this.loops).run(inputs);
    const { length } = graph.outputs;
    // Behind the outputs stand those that were computed for their checks alone.
    for (const result of results.slice(length)) result.dispose();
    return results.slice(0, length);
  }
}

/** What was made where its operands are, or on the host for want of any, goes where it belongs. */
function moved(result: Tensor, device: Device): Tensor {
  const there = transferred(result, device);
  result.dispose();
  return there;
}

export function callKey({ operator, args, attrs, tensors }: BoundCall): string {
  let key = `${operator.name} ${JSON.stringify(args)} ${JSON.stringify(attrs)}`;
  for (const { dtype, shape, strides, device } of tensors)
    key += ` ${dtype}[${shape.join()}][${strides.join()}]${device}`;
  return key;
}

export const metaOf = ({ dtype, shape, strides }: Tensor): Meta => ({
  dtype,
  shape: shape.map(int),
  strides: strides.map(int),
});

function makePlan(call: BoundCall, loops: LoopTier | undefined): Plan {
  const sizes = new SizeEnvironment();
  const graph = expandCall(call, call.tensors.map(metaOf), sizes);
  const aliases = mayAlias(call.operator) ? findAliases(graph, sizes) : [];
  const computed: number[] = [];
  const results = graph.outputs.map((_, position): PlannedResult => {
    const alias = aliases[position];
    if (alias !== undefined) return { kind: 'view', input: alias.input, layout: numericLayout(alias.layout) };
    return { kind: 'computed', output: computed.push(position) - 1 };
  });
  if (computed.length === 0) return { results, program: undefined };
  const wanted = { ...graph, outputs: computed.map((position) => at(graph.outputs, position)) };
  return { results, program: programFor(wanted, call, loops) };
}

/** On a device, an operator is a compiled graph of its own. */
function programFor(graph: Graph, { operator, tensors }: BoundCall, loops: LoopTier | undefined): Program {
  const device = tensors.length === 0 ? 'cpu' : deviceOf(operator.name, tensors);
  if (device === 'cpu') return new GraphProgram(graph, loops);
  return { weight: 64, run: openDevice(device).compile(graph, operator.name) };
}

const numbers = (sizes: Meta['shape']): readonly number[] => {
  const environment = new SizeEnvironment();
  return sizes.map((size) => environment.hint(size));
};

const numericLayout = ({ shape, strides, offset }: ViewLayout): Layout => ({
  shape: numbers(shape),
  strides: numbers(strides),
  offset: at(numbers([offset]), 0),
});

function execute({ results, program }: Plan, tensors: readonly Tensor[]): readonly Tensor[] {
  const made = program?.run(tensors) ?? [];
  return results.map((result) => {
    if (result.kind === 'computed') return at(made, result.output);
    const input = at(tensors, result.input);
    const { storage, layout } = placeOf(input, 'a view');
    const { shape, strides, offset } = result.layout;
    return placedTensor(input.dtype, storage, { shape, strides, offset: layout.offset + offset });
  });
}
