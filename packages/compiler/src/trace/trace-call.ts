// One traced call: a function, what it was called with, and what came of it: the graph, the guards of everything that it
// read, and how inputs and results are wired to the graph.
import { at, isFloat, isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';
import { resolveSizes, SizeEnvironment } from '@tsinductor/graph';
import type { Graph, Meta, SizeGuard as TracedSizeGuard, ValueRef } from '@tsinductor/graph';
import { printIndex, sizeSymbol } from '@tsinductor/ir';
import { callerOf, dynamicAxesOf, ownSteps, TraceSession } from '@tsinductor/tensor/internal';
import type { Device, Tensor } from '@tsinductor/tensor';
import type { Placement } from '@tsinductor/tensor/internal';
import type { AdaptedCall, BoundCall, TraceOptions, TraceResult } from '@tsinductor/tensor/internal';
import type { Point } from './explain-number.ts';
import type { NumberInput } from './number-inputs.ts';
import { resolveProgram, tracedProgram } from '../hosted/hosted-graph.ts';
import type { TracedProgram } from '../hosted/hosted-graph.ts';
import { CallSizes, namesOfSizes } from '../run/call-sizes.ts';
import type { CallScope, GuardNode, GuardTree, TensorGuard } from './guard.ts';
import { observe } from './observe.ts';
import type { Observation } from './observe.ts';
import type { OuterRead } from './outer-reads.ts';
import { tracedRun } from './run-again.ts';
import { guardTensor, TracedInputs } from './traced-inputs.ts';
import type { ResultSource } from './result-source.ts';
import { takeApart } from './result.ts';
import type { ResultTemplate } from './result.ts';

export interface Call {
  readonly fn: (this: unknown, ...args: unknown[]) => unknown;
  readonly scope: CallScope;
}

interface SizeGuard {
  readonly text: string;
  readonly guard: TracedSizeGuard;
}

/** What of a call a trace leaves open, and how it sees it. */
export interface TracePlan {
  /** Whether the number at a path is not guarded by its value. */
  isVariable(path: string): boolean;
  /** What the function is shown of a number. */
  shown(path: string, value: number): number;
  /** The size to reckon with of the symbolic axis that is met as the `order`th. */
  hint(size: number, order: number): number;
  /** Whether the program may read sizes of an axis without fixing them. */
  readsFreely(axis: number): boolean;
  /** Whether what the function calls reads numbers and sizes as it does itself: all of it was followed. */
  readonly isFollowed: boolean;
  /** Numbers of the call that are inputs. */
  readonly numbers: readonly NumberInput[];
  readonly adapt?: (session: TraceSession, call: BoundCall, seen: SeenCall) => AdaptedCall;
  readonly sawLiteral?: TraceOptions['sawLiteral'];
}

/** How many calls came before one that is recorded, and what is known of its tensors. */
interface SeenCall {
  readonly position: number;
  readonly metas: () => readonly Meta[];
}

/** Everything is as it is in this call. */
export const exactly: TracePlan = {
  isVariable: () => false,
  shown: (_, value) => value,
  hint: (size) => size,
  readsFreely: () => false,
  isFollowed: false,
  numbers: [],
};

export interface TracedCall {
  /** As the user wrote it: composites among its calls. */
  readonly graph: Graph;
  /** What is compiled of it. */
  readonly program: TracedProgram;
  /** Every symbolic size of the inputs, those among them that guards made equal to others, and are no longer in the graph. */
  readonly sizes: Graph['sizes'];
  readonly guards: GuardTree;
  readonly leaves: readonly Tensor[];
  readonly captured: readonly { readonly tensor: Tensor; readonly guard: TensorGuard }[];
  /** The graph's input at which each leaf stands, then each capture. */
  readonly positions: readonly number[];
  readonly placement: Placement;
  /** Tensors in the order of the graph's inputs, as they were when traced. */
  readonly inputs: readonly Tensor[];
  readonly template: ResultTemplate;
  readonly numbers: readonly NumberInput[];
  /** Comparisons of numbers and sizes that came out as they did. */
  readonly conditions: readonly { readonly text: string; readonly isMet: (point: Point) => boolean }[];
  /** Numbers that need not be guarded by their value, as far as the caller knows; all others, by path. */
  readonly variable: ReadonlyMap<string, number>;
  readonly plainNumbers: ReadonlyMap<string, number>;
  /** Axes of which the function read a symbolic size, which fixed it. */
  readonly readSizes: readonly number[];
  /** Names of symbolic sizes by path and axis: `arguments[0] 1`. */
  readonly sizeNames: ReadonlyMap<string, string>;
  readonly point: Point;
  /** Marked sizes that are one number all the same. */
  readonly fixedMarks: readonly FixedMark[];
  readonly results: readonly ResultSource[];
  readonly sizeGuards: readonly SizeGuard[];
  readonly sizeHolds: ((leaves: readonly Tensor[]) => boolean) | undefined;
  /** Whether it writes to floats among its inputs within noGrad only. */
  readonly writesWithinNoGrad: boolean;
  /** Why gradients of the call are not those of its graph; undefined where they are. */
  readonly notDifferentiable: string | undefined;
  /** Fields of objects around the function that were read. */
  readonly outerReads?: readonly OuterRead[];
}

/** Whether an axis of the argument at a path is symbolic, without a mark. */
type IsDynamic = (path: string, axis: number) => boolean;

/** A call that writes to memory which several of its tensors share: no graph stands for it, as it is. */
export interface AliasedCall {
  readonly error: TsInductorError;
  /** What was read until then, and the tensors that were met. */
  readonly guards: GuardTree;
  readonly leaves: readonly Tensor[];
  readonly captured: readonly Tensor[];
}

interface FixedMark {
  readonly path: string;
  readonly axis: number;
  readonly value: number;
}

/** What is symbolic, and what is a constant. */
export interface Tracing {
  /** Whether the number at a path is known to change. */
  readonly isVariable: (path: string) => boolean;
  /** Which axes of the tensors at a path get symbolic sizes. */
  readonly isDynamic: IsDynamic;
  /** Whether tensors of one element that the function makes are constants, and not numbers in the graph. */
  readonly keepScalars: boolean;
  /** Runs the function within what is looked after meanwhile. */
  readonly around: <T>(run: () => T) => T;
}

/** Traces `call` by a plan. Runs the function once, on stand-ins. */
export function traceOnce(call: Call, tracing: Tracing, plan: TracePlan): TracedCall | AliasedCall {
  const readSizes = new Set<number>();
  const { adapt, sawLiteral } = plan;
  const isReadByFollowed = (reader: () => unknown): boolean => {
    const caller = callerOf(reader);
    return caller === 'traced function' || (plan.isFollowed && caller === 'its program');
  };
  const session: TraceSession = new TraceSession({
    keepScalars: tracing.keepScalars,
    ...(sawLiteral !== undefined && { sawLiteral }),
    readsFreely: (axis, reader) => {
      readSizes.add(axis);
      return plan.readsFreely(axis) && isReadByFollowed(reader);
    },
    ...(adapt !== undefined && {
      adapt: (made: BoundCall, position: number, metas: SeenCall['metas']) => adapt(session, made, { position, metas }),
    }),
  });
  const inputs = new TracedInputs(session, tracing, plan);
  const observation = observe(call.scope, {
    usesThis: usesThis(call.fn),
    method: call.fn,
    isTrusted: () => session.isTrusted,
    isVariable: (path) => plan.isVariable(path),
    isReadByFollowed,
    shown: (path, value) => plan.shown(path, value),
    guardOf: (tensor, path) => inputs.guardOf(tensor, path),
    standIn: (tensor, path) => inputs.standIn(tensor, path),
    asItIs: (tensor) => inputs.asItIs(tensor),
  });
  try {
    const { thisArg, args } = observation;
    const stepsBefore = ownSteps();
    const run = (): unknown => call.fn.apply(thisArg, [...args]);
    const result = tracedRun(() => observation.run(() => session.run(() => tracing.around(run))));
    const outputs: Tensor[] = [];
    const template = takeApart(result, outputs, (value) => observation.slotOf(value));
    const traced = session.finish(outputs);
    const { announced, sizeNames } = inputs;
    const outcome = { announced, traced, sizes: session.sizes, results: outputs.length };
    const described = describe(observation, template, outcome);
    const numbers = numbersOf(described.guards, { tracing, plan }, session.sizes.hints());
    const { numbers: given } = plan;
    const read = { sizeNames, readSizes: [...readSizes], ...forGradients(session, stepsBefore) };
    return { ...described, ...numbers, ...read, numbers: given, conditions: [] };
  } catch (error) {
    if (!isTsInductorError(error) || error.code !== 'ALIASED_MUTATION') throw error;
    const captured = session.placeholders.filter(({ kind }) => kind === 'capture').map(({ tensor }) => tensor);
    return { error, guards: observation.guards(), leaves: observation.leaves, captured };
  } finally {
    inputs.dispose();
  }
}

/** Whether the function can see what it is called as a method of, going by its text. */
const usesThis = (fn: Call['fn']): boolean =>
  /\b(?:this|super|eval)\b|\[native code\]/.test(Function.prototype.toString.call(fn));

type ForGradients = Pick<TracedCall, 'writesWithinNoGrad' | 'notDifferentiable'>;

/** What gradients have to know of a trace; `stepsBefore` is how many calls of `customVjp` there were before it. */
function forGradients({ memories }: TraceSession, stepsBefore: number): ForGradients {
  const isWritten = ({ isWrittenWithGradients = false, meta }: (typeof memories.inputs)[number]): boolean =>
    isWrittenWithGradients && isFloat(meta.dtype);
  return {
    writesWithinNoGrad: !memories.inputs.some(isWritten),
    notDifferentiable: ownSteps() === stepsBefore ? undefined : 'it calls what customVjp gave a gradient of its own',
  };
}

interface Outcome {
  readonly announced: readonly Tensor[];
  readonly traced: TraceResult;
  readonly sizes: SizeEnvironment;
  /** How many of the graph's outputs are results; the rest are new values of mutated inputs. */
  readonly results: number;
}

type Described = Omit<
  TracedCall,
  'numbers' | 'conditions' | 'variable' | 'plainNumbers' | 'readSizes' | 'sizeNames' | 'point' | keyof ForGradients
>;

/** The plain numbers of a call, by path. */
function numbersOf(
  { nodes }: GuardTree,
  { tracing, plan }: { readonly tracing: Tracing; readonly plan: TracePlan },
  sizes: ReadonlyMap<string, number>,
): Pick<TracedCall, 'variable' | 'plainNumbers' | 'point'> {
  const found = nodes.flatMap(({ path, expect }): [string, number][] => {
    if (expect.kind === 'number') return [[path, expect.traced]];
    return expect.kind === 'value' && typeof expect.value === 'number' ? [[path, expect.value]] : [];
  });
  const shown = found
    .filter(([path]) => plan.isVariable(path))
    .map(([path, value]) => [path, plan.shown(path, value)] as const);
  return {
    variable: new Map(found.filter(([path]) => tracing.isVariable(path))),
    plainNumbers: new Map(found),
    point: { numbers: new Map(shown), sizes },
  };
}

function describe(observation: Observation, template: ResultTemplate, outcome: Outcome): Described {
  const { traced, announced } = outcome;
  const leafOf = new Map(announced.map((twin, leaf) => [twin, leaf]));
  const captured: { tensor: Tensor; guard: TensorGuard }[] = [];
  const offsets = new Set(traced.offsets.map((placeholder) => leafOf.get(at(traced.placeholders, placeholder).tensor)));
  const positions = new Array<number>(announced.length).fill(-1);
  const inputs = traced.placeholders.map(({ tensor }, placeholder) => {
    const leaf = leafOf.get(tensor);
    if (leaf === undefined) {
      const guard = guardTensor(tensor, () => undefined);
      captured.push({ tensor, guard: traced.offsets.includes(placeholder) ? withOffset(guard, tensor) : guard });
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
  const fixedMarks = marksFixed(observation, { sizes, positions, environment: outcome.sizes });
  const guards = outcome.sizes.guards();
  const sizeGuards = guards.map((guard) => ({ guard, text: printSizeGuard(guard) }));
  return {
    graph: resolveSizes(graph, outcome.sizes),
    program: resolveProgram(program, outcome.sizes),
    sizes,
    guards: withOffsets(observation.guards(), observation.leaves, offsets),
    leaves: observation.leaves,
    captured,
    positions,
    placement,
    inputs,
    template,
    results,
    fixedMarks,
    sizeGuards,
    sizeHolds: sizeGuards.length === 0 ? undefined : sizeCheck(sizes, guards, positions),
  };
}

const withOffset = (guard: TensorGuard, { storageOffset }: Tensor): TensorGuard => ({
  ...guard,
  offset: storageOffset,
});

/** The guards, with the positions in their storage of those leaves that the function asked for. */
function withOffsets(tree: GuardTree, leaves: readonly Tensor[], asked: ReadonlySet<number | undefined>): GuardTree {
  if (asked.size === 0) return tree;
  const nodes = tree.nodes.map((node): GuardNode => {
    const { expect } = node;
    if (expect.kind !== 'tensor' || !asked.has(expect.leaf)) return node;
    return { ...node, expect: { ...expect, tensor: withOffset(expect.tensor, at(leaves, expect.leaf)) } };
  });
  return { ...tree, nodes };
}

interface SizesOfTrace {
  readonly sizes: Graph['sizes'];
  readonly positions: readonly number[];
  readonly environment: SizeEnvironment;
}

/** Marked sizes that the function needs to be one number. */
function marksFixed(observation: Observation, { sizes, positions, environment }: SizesOfTrace): readonly FixedMark[] {
  const { leaves } = observation;
  return sizes.flatMap(({ name, placeholder, axis }) => {
    const leaf = positions.indexOf(placeholder);
    const tensor = leaves[leaf];
    if (tensor === undefined || !dynamicAxesOf(tensor).has(axis)) return [];
    const fixed = environment.resolve(sizeSymbol(name));
    if (fixed.kind !== 'int') return [];
    const node = observation.guards().nodes.find(({ expect }) => expect.kind === 'tensor' && expect.leaf === leaf);
    return [{ path: node?.path ?? 'an argument', axis, value: fixed.value }];
  });
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

function sizeCheck(
  sizes: Graph['sizes'],
  guards: readonly TracedSizeGuard[],
  positions: readonly number[],
): (leaves: readonly Tensor[]) => boolean {
  const bound = sizes.map(({ placeholder, axis }) => ({ axis, position: positions.indexOf(placeholder) }));
  const shown = new CallSizes(bound);
  const names = namesOfSizes(sizes);
  const checks = guards.map((guard) => SizeEnvironment.check(guard, names));
  return (leaves) => {
    const found = shown.in(leaves);
    return checks.every((holds) => holds(found));
  };
}

const printSizeGuard = ({ left, relation, right }: TracedSizeGuard): string =>
  `${printIndex(left)} ${relation} ${printIndex(right)}`;
