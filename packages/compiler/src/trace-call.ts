// One traced call: a function, what it was called with, and what came of it: the graph, the guards of everything that it
// read, and how inputs and results are wired to the graph.
import { at, get, isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';
import { decompose, SizeEnvironment } from '@tsinductor/graph';
import type { Graph, SizeGuard as TracedSizeGuard } from '@tsinductor/graph';
import { evaluateIndex, printIndex } from '@tsinductor/ir';
import { placedTensor, placeOf, TraceSession } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { OutputAlias, TraceResult } from '@tsinductor/tensor/internal';
import { isContiguous } from './guard.ts';
import type { GuardNode, TensorGuard } from './guard.ts';
import { observe } from './observe.ts';
import type { Observation, ObserveMode } from './observe.ts';
import { takeApart } from './result.ts';
import type { ResultTemplate } from './result.ts';

export interface Call {
  readonly fn: (this: unknown, ...args: unknown[]) => unknown;
  readonly thisArg: unknown;
  readonly args: readonly unknown[];
  /** The arguments, followed by what `captures` gave. */
  readonly scope: readonly unknown[];
}

export interface SizeGuard {
  readonly text: string;
  readonly guard: TracedSizeGuard;
}

/** Where a tensor of the result comes from. */
export type ResultSource =
  | { readonly kind: 'computed'; readonly output: number }
  /** It is the input's own memory: the input itself, or a view of it. */
  | { readonly kind: 'alias'; readonly placeholder: number; readonly alias: OutputAlias };

export interface TracedCall {
  /** As the user wrote it: composites among its calls. */
  readonly graph: Graph;
  /** The same in primitives. */
  readonly primitives: Graph;
  readonly nodes: readonly GuardNode[];
  readonly leaves: readonly Tensor[];
  readonly captured: readonly { readonly tensor: Tensor; readonly guard: TensorGuard }[];
  /** The graph's input at which each leaf stands, then each capture. */
  readonly positions: readonly number[];
  /** Tensors in the order of the graph's inputs, as they were when traced. */
  readonly inputs: readonly Tensor[];
  readonly template: ResultTemplate;
  readonly results: readonly ResultSource[];
  readonly sizeGuards: readonly SizeGuard[];
  readonly sizeHolds: ((leaves: readonly Tensor[]) => boolean) | undefined;
}

type IsDynamic = (path: string, axis: number) => boolean;

/** A call that writes to memory which several of its tensors share: no graph stands for it, as it is. */
export interface AliasedCall {
  readonly error: TsInductorError;
  /** What was read until then, and the tensors that were met. */
  readonly nodes: readonly GuardNode[];
  readonly leaves: readonly Tensor[];
  readonly captured: readonly Tensor[];
}

/** Traces `call`; `isDynamic` says which axes get symbolic sizes. Runs the function once, on stand-ins. */
export function traceCall(call: Call, isDynamic: IsDynamic): TracedCall | AliasedCall {
  try {
    return traceIn('proxy', call, isDynamic);
  } catch (error) {
    if (!readsPrivateMembers(error)) throw error;
    return traceIn('scan', call, isDynamic);
  }
}

/** What V8 says when a #private member is read through a proxy. */
const readsPrivateMembers = (error: unknown): boolean =>
  Object.prototype.toString.call(error) === '[object Error]' &&
  /private (member|method|accessor)|whose class did not declare it|Receiver must be/i.test(String(error));

function traceIn(mode: ObserveMode, call: Call, isDynamic: IsDynamic): TracedCall | AliasedCall {
  const session = new TraceSession();
  const announced: Tensor[] = [];
  const observation = observe(call.thisArg, call.scope, {
    mode,
    guardOf: (tensor, path) => guardTensor(tensor, (axis) => isDynamic(path, axis)),
    standIn: (tensor, path) => {
      // Announced under another identity, so that the same tensor met through a closure is an input of its own: the
      // next call may pass another one.
      const { storage, layout } = placeOf(tensor, 'a compiled call');
      const twin = placedTensor(tensor.dtype, storage, layout);
      announced.push(twin);
      const axes = symbolicAxes(tensor, (axis) => isDynamic(path, axis));
      return session.input(
        twin,
        axes.map((axis) => ({ axis })),
      );
    },
  });
  try {
    const result = session.run(() => call.fn.apply(observation.thisArg, observation.args.slice(0, call.args.length)));
    const outputs: Tensor[] = [];
    const template = takeApart(result, outputs);
    const traced = session.finish(outputs);
    return describe(observation, template, { announced, traced, sizes: session.sizes, results: outputs.length });
  } catch (error) {
    if (!isTsInductorError(error) || error.code !== 'ALIASED_MUTATION') throw error;
    const { nodes, leaves } = observation;
    const captured = session.placeholders.filter(({ kind }) => kind === 'capture').map(({ tensor }) => tensor);
    return { error, nodes, leaves, captured };
  } finally {
    for (const twin of announced) twin.dispose();
  }
}

interface Outcome {
  readonly announced: readonly Tensor[];
  readonly traced: TraceResult;
  readonly sizes: SizeEnvironment;
  /** How many of the graph's outputs are results; the rest are new values of mutated inputs. */
  readonly results: number;
}

function describe(observation: Observation, template: ResultTemplate, outcome: Outcome): TracedCall {
  const { traced, announced } = outcome;
  const leafOf = new Map(announced.map((twin, leaf) => [twin, leaf]));
  const captured: { tensor: Tensor; guard: TensorGuard }[] = [];
  const positions = new Array<number>(announced.length).fill(-1);
  const inputs = traced.placeholders.map(({ tensor }, placeholder) => {
    const leaf = leafOf.get(tensor);
    if (leaf === undefined) {
      captured.push({ tensor, guard: guardTensor(tensor, () => false) });
      positions.push(placeholder);
      return tensor;
    }
    positions[leaf] = placeholder;
    return at(observation.leaves, leaf);
  });
  const { graph, results } = withoutAliases(traced, outcome.results);
  // Decomposing asks further questions about symbolic sizes, so guards are complete only afterwards.
  const primitives = decompose(graph, outcome.sizes);
  const guards = outcome.sizes.guards();
  const sizeGuards = guards.map((guard) => ({ guard, text: printSizeGuard(guard) }));
  return {
    graph,
    primitives,
    nodes: observation.nodes,
    leaves: observation.leaves,
    captured,
    positions,
    inputs,
    template,
    results,
    sizeGuards,
    sizeHolds: sizeGuards.length === 0 ? undefined : sizeCheck(graph, guards, positions),
  };
}

/** The graph without those outputs that are an input's own memory: they need not be computed. */
function withoutAliases({ graph, aliases }: TraceResult, count: number): { graph: Graph; results: ResultSource[] } {
  const kept: number[] = [];
  const results: ResultSource[] = [];
  graph.outputs.forEach((_, output) => {
    const alias = output < count ? aliases[output] : undefined;
    if (alias === undefined) kept.push(output);
    if (output >= count) return;
    results.push(
      alias === undefined
        ? { kind: 'computed', output: kept.length - 1 }
        : { kind: 'alias', placeholder: alias.placeholder, alias },
    );
  });
  const place = new Map(kept.map((output, position) => [output, position]));
  return {
    results,
    graph: {
      ...graph,
      outputs: kept.map((output) => at(graph.outputs, output)),
      mutations: graph.mutations.map(({ placeholder, output }) => ({ placeholder, output: get(place, output) })),
    },
  };
}

/** Axes that become symbolic: of a contiguous tensor, and of sizes that are not 0 or 1, which mean something else. */
function symbolicAxes(tensor: Tensor, isDynamic: (axis: number) => boolean): number[] {
  const { shape, strides } = tensor;
  if (!isContiguous(shape, strides)) return [];
  return shape.flatMap((size, axis) => (size >= 2 && isDynamic(axis) ? [axis] : []));
}

function guardTensor(tensor: Tensor, isDynamic: (axis: number) => boolean): TensorGuard {
  const symbolic = symbolicAxes(tensor, isDynamic);
  return {
    dtype: tensor.dtype,
    shape: tensor.shape.map((size, axis) => (symbolic.includes(axis) ? null : size)),
    strides: symbolic.length > 0 ? 'contiguous' : [...tensor.strides],
  };
}

function sizeCheck(
  graph: Graph,
  guards: readonly TracedSizeGuard[],
  positions: readonly number[],
): (leaves: readonly Tensor[]) => boolean {
  const bound = graph.sizes.map(({ name, placeholder, axis }) => ({
    name,
    axis,
    leaf: positions.indexOf(placeholder),
  }));
  return (leaves) => {
    const sizes = new Map(bound.map(({ name, axis, leaf }) => [name, leaves[leaf]?.shape[axis] ?? 0]));
    return guards.every((guard) => SizeEnvironment.holds(guard, sizes));
  };
}

const printSizeGuard = ({ left, relation, right }: TracedSizeGuard): string =>
  `${printIndex(left)} ${relation} ${printIndex(right)}`;

/** The tensor that a result aliases: the input itself, or a view over its memory. */
export function aliasedResult(input: Tensor, alias: OutputAlias, sizes: ReadonlyMap<string, number>): Tensor {
  if (alias.isWhole) return input;
  const { storage, layout } = placeOf(input, 'a view');
  const evaluate = (index: OutputAlias['layout']['offset']): number => evaluateIndex(index, { sizes });
  return placedTensor(input.dtype, storage, {
    shape: alias.layout.shape.map(evaluate),
    strides: alias.layout.strides.map(evaluate),
    offset: layout.offset + evaluate(alias.layout.offset),
  });
}
