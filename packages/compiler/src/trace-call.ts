// One traced call: a function, what it was called with, and what came of it: the graph, the guards of everything that it
// read, and how inputs and results are wired to the graph.
import { at, isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';
import { resolveSizes, SizeEnvironment } from '@tsinductor/graph';
import type { Graph, SizeGuard as TracedSizeGuard, ValueRef } from '@tsinductor/graph';
import { evaluateIndex, printIndex, sizeSymbol } from '@tsinductor/ir';
import { dynamicAxesOf, placedTensor, placeOf, TraceSession } from '@tsinductor/tensor/internal';
import type { Device, Tensor } from '@tsinductor/tensor';
import type { Placement } from '@tsinductor/tensor/internal';
import type { OutputAlias, SizeRange, TraceResult } from '@tsinductor/tensor/internal';
import { markedSizeFixed, observedWrite } from './errors.ts';
import { resolveProgram, tracedProgram } from './hosted-graph.ts';
import type { TracedProgram } from './hosted-graph.ts';
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

/** Where a tensor of the result comes from: an output, or the memory of an input or of an output, itself or a view of it. */
export type ResultSource =
  | { readonly kind: 'computed'; readonly output: number }
  | { readonly kind: 'input'; readonly placeholder: number; readonly alias: OutputAlias }
  | { readonly kind: 'view'; readonly output: number; readonly alias: OutputAlias };

export interface TracedCall {
  /** As the user wrote it: composites among its calls. */
  readonly graph: Graph;
  /** What is compiled of it. */
  readonly program: TracedProgram;
  /** Every symbolic size of the inputs, those among them that guards made equal to others, and are no longer in the graph. */
  readonly sizes: Graph['sizes'];
  readonly nodes: readonly GuardNode[];
  readonly leaves: readonly Tensor[];
  readonly captured: readonly { readonly tensor: Tensor; readonly guard: TensorGuard }[];
  /** The graph's input at which each leaf stands, then each capture. */
  readonly positions: readonly number[];
  readonly placement: Placement;
  /** Tensors in the order of the graph's inputs, as they were when traced. */
  readonly inputs: readonly Tensor[];
  readonly template: ResultTemplate;
  readonly results: readonly ResultSource[];
  readonly sizeGuards: readonly SizeGuard[];
  readonly sizeHolds: ((leaves: readonly Tensor[]) => boolean) | undefined;
}

/** Whether an axis of the argument at a path is symbolic, without a mark. */
type IsDynamic = (path: string, axis: number) => boolean;

/** The sizes that an axis may have if it is to be symbolic. */
type RangeOf = (axis: number) => SizeRange | undefined;

/** A call that writes to memory which several of its tensors share: no graph stands for it, as it is. */
export interface AliasedCall {
  readonly error: TsInductorError;
  /** What was read until then, and the tensors that were met. */
  readonly nodes: readonly GuardNode[];
  readonly leaves: readonly Tensor[];
  readonly captured: readonly Tensor[];
}

/** What is symbolic, and what is a constant. */
export interface Tracing {
  /** Which axes of the tensors at a path get symbolic sizes. */
  readonly isDynamic: IsDynamic;
  /** Whether tensors of one element that the function makes are constants, and not numbers in the graph. */
  readonly keepScalars: boolean;
}

/** Traces `call`. Runs the function once, on stand-ins. */
export function traceCall(call: Call, tracing: Tracing): TracedCall | AliasedCall {
  try {
    return traceIn('proxy', call, tracing);
  } catch (error) {
    if (!readsPrivateMembers(error)) throw error;
    return traceIn('scan', call, tracing);
  }
}

/** What V8 says when a #private member is read through a proxy. */
const readsPrivateMembers = (error: unknown): boolean =>
  Object.prototype.toString.call(error) === '[object Error]' &&
  /private (member|method|accessor)|whose class did not declare it|Receiver must be/i.test(String(error));

function traceIn(mode: ObserveMode, call: Call, { isDynamic, keepScalars }: Tracing): TracedCall | AliasedCall {
  const session = new TraceSession({ keepScalars });
  const announced: Tensor[] = [];
  const observation = observe(call.thisArg, call.scope, {
    mode,
    isTrusted: () => session.isTrusted,
    guardOf: (tensor, path) =>
      guardTensor(
        tensor,
        rangesOf(tensor, (axis) => isDynamic(path, axis)),
      ),
    standIn: (tensor, path) => {
      // Announced under another identity, so that the same tensor met through a closure is an input of its own: the
      // next call may pass another one.
      const { storage, layout } = placeOf(tensor, 'a compiled call');
      const twin = placedTensor(tensor.dtype, storage, layout);
      announced.push(twin);
      return session.input(
        twin,
        symbolicAxes(
          tensor,
          rangesOf(tensor, (axis) => isDynamic(path, axis)),
        ),
      );
    },
  });
  try {
    const result = runOnce(observation, () =>
      session.run(() => call.fn.apply(observation.thisArg, observation.args.slice(0, call.args.length))),
    );
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

/** Runs a trace; throws UserError TRACE_WRITE where it wrote to an object, with everything as it was. */
function runOnce<T>(observation: Observation, run: () => T): T {
  let result: T;
  try {
    result = run();
  } catch (error) {
    observation.takeBack();
    throw error;
  }
  const written = observation.takeBack();
  if (written !== undefined) throw observedWrite(written);
  return result;
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
      captured.push({ tensor, guard: guardTensor(tensor, () => undefined) });
      positions.push(placeholder);
      return tensor;
    }
    positions[leaf] = placeholder;
    return at(observation.leaves, leaf);
  });
  const { graph, results, placement } = withoutAliases(traced, outcome.results);
  // Decomposing asks further questions about symbolic sizes, so guards are complete only afterwards.
  const program = tracedProgram(graph, traced.hosts, outcome.sizes);
  const { sizes } = graph;
  checkMarks(observation, { sizes, positions, environment: outcome.sizes });
  const guards = outcome.sizes.guards();
  const sizeGuards = guards.map((guard) => ({ guard, text: printSizeGuard(guard) }));
  return {
    graph: resolveSizes(graph, outcome.sizes),
    program: resolveProgram(program, outcome.sizes),
    sizes,
    nodes: observation.nodes,
    leaves: observation.leaves,
    captured,
    positions,
    placement,
    inputs,
    template,
    results,
    sizeGuards,
    sizeHolds: sizeGuards.length === 0 ? undefined : sizeCheck(sizes, guards, positions),
  };
}

interface SizesOfTrace {
  readonly sizes: Graph['sizes'];
  readonly positions: readonly number[];
  readonly environment: SizeEnvironment;
}

/** Throws UserError MARKED_SIZE_FIXED where the function needs a marked size to be one number. */
function checkMarks({ leaves, nodes }: Observation, { sizes, positions, environment }: SizesOfTrace): void {
  for (const { name, placeholder, axis } of sizes) {
    const leaf = positions.indexOf(placeholder);
    const tensor = leaves[leaf];
    if (tensor === undefined || !dynamicAxesOf(tensor).has(axis)) continue;
    const fixed = environment.resolve(sizeSymbol(name));
    if (fixed.kind !== 'int') continue;
    const node = nodes.find(({ expect }) => expect.kind === 'tensor' && expect.leaf === leaf);
    throw markedSizeFixed(node?.path ?? 'an argument', axis, fixed.value);
  }
}

type Unaliased = Pick<TracedCall, 'graph' | 'results' | 'placement'>;

/**
 * The graph without those outputs that are memory of another tensor: an input's need not be computed, and what several
 * results are views of is computed once, as a whole.
 */
function withoutAliases({ graph, aliases, placement }: TraceResult, count: number): Unaliased {
  const outputs: ValueRef[] = [];
  const devices: Device[] = [];
  const made = new Map<string, number>();
  const given = new Set<number>();
  const keep = (value: ValueRef, output: number): number => {
    devices.push(at(placement.outputs, output));
    return outputs.push(value) - 1;
  };
  const sourceOf = (value: ValueRef, output: number): ResultSource => {
    const alias = aliases[output];
    if (alias === undefined) return { kind: 'computed', output: keep(value, output) };
    if (alias.kind === 'input') return { kind: 'input', placeholder: alias.placeholder, alias };
    const key = `${String(alias.value.node)}.${String(alias.value.result)}`;
    const whole = made.get(key) ?? keep(alias.value, output);
    made.set(key, whole);
    // Each is a tensor of its own: one of them the output.
    if (!alias.isWhole || given.has(whole)) return { kind: 'view', output: whole, alias };
    given.add(whole);
    return { kind: 'computed', output: whole };
  };
  const results = graph.outputs.slice(0, count).map(sourceOf);
  const mutations = graph.mutations.map(({ placeholder, output }) => ({
    placeholder,
    output: keep(at(graph.outputs, output), output),
  }));
  return { results, placement: { ...placement, outputs: devices }, graph: { ...graph, outputs, mutations } };
}

/** 0 and 1 mean something else than other sizes do. */
const anySize: SizeRange = { min: 2, max: null };

/** What was marked, and what is dynamic besides. */
const rangesOf = (tensor: Tensor, isDynamic: (axis: number) => boolean): RangeOf => {
  const marked = dynamicAxesOf(tensor);
  return (axis) => marked.get(axis) ?? (isDynamic(axis) ? anySize : undefined);
};

/** Axes that become symbolic: of a contiguous tensor, and of sizes that a symbol may have. */
function symbolicAxes(
  { shape, strides }: Tensor,
  rangeOf: RangeOf,
): readonly (SizeRange & { readonly axis: number })[] {
  if (!isContiguous(shape, strides)) return [];
  return shape.flatMap((size, axis) => {
    const range = rangeOf(axis);
    return range === undefined || size < range.min ? [] : [{ axis, ...range }];
  });
}

function guardTensor(tensor: Tensor, rangeOf: RangeOf): TensorGuard {
  const symbolic = symbolicAxes(tensor, rangeOf);
  const rangeAt = (axis: number): SizeRange | undefined => {
    const found = symbolic.find((candidate) => candidate.axis === axis);
    return found === undefined ? undefined : { min: found.min, max: found.max };
  };
  return {
    dtype: tensor.dtype,
    device: tensor.device,
    shape: tensor.shape.map((size, axis) => rangeAt(axis) ?? size),
    strides: symbolic.length > 0 ? 'contiguous' : [...tensor.strides],
  };
}

function sizeCheck(
  sizes: Graph['sizes'],
  guards: readonly TracedSizeGuard[],
  positions: readonly number[],
): (leaves: readonly Tensor[]) => boolean {
  const bound = sizes.map(({ name, placeholder, axis }) => ({
    name,
    axis,
    leaf: positions.indexOf(placeholder),
  }));
  return (leaves) => {
    const found = new Map(bound.map(({ name, axis, leaf }) => [name, leaves[leaf]?.shape[axis] ?? 0]));
    return guards.every((guard) => SizeEnvironment.holds(guard, found));
  };
}

const printSizeGuard = ({ left, relation, right }: TracedSizeGuard): string =>
  `${printIndex(left)} ${relation} ${printIndex(right)}`;

/** The tensor that a result aliases: the memory's own, or a view over it. */
export function aliasedResult(whole: Tensor, alias: OutputAlias, sizes: ReadonlyMap<string, number>): Tensor {
  if (alias.kind === 'input' && alias.isItself) return whole;
  const { storage, layout } = placeOf(whole, 'a view');
  const evaluate = (index: OutputAlias['layout']['offset']): number => evaluateIndex(index, { sizes });
  return placedTensor(whole.dtype, storage, {
    shape: alias.layout.shape.map(evaluate),
    strides: alias.layout.strides.map(evaluate),
    offset: layout.offset + evaluate(alias.layout.offset),
  });
}
