// Programs compiled and compared with the interpreter. In: a batch of programs, built into a few units. Out: a verdict for
// each. Three legs, so that a verdict says which stage went wrong:
//
//   eager       the program, call by call, as a user runs it
//   nodes       its graph of primitives, one node at a time: differs from eager if tracing or decomposing is wrong
//   compiled    the same graph through passes, lowering, scheduling and C++: must be the same bits
//
// Reductions and contractions may differ by n·ε·Σ|x|. In the variant `forward` their results are made outputs, compared each
// with its own bound, and fed forward, so that everything after them is again compared bit for bit. In the variant `whole`
// nothing is exported, so fusion is not disturbed, and outputs are compared within what such errors may become on their way.
import { at, isTsInductorError } from '@tsinductor/base';
import { compileCandidates, compileGraphs, Session } from '@tsinductor/compiler';
import type { CompiledGraph, Executable } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { isValue, SizeEnvironment } from '@tsinductor/graph';
import type { Graph, Meta, ValueRef } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { boundedDifference, difference, isHalf } from './compare.ts';
import { drawInput } from './draw-input.ts';
import { GraphEvaluator } from './evaluate-graph.ts';
import type { CallNode, Hook } from './evaluate-graph.ts';
import { blame } from './blame.ts';
import type { Stage } from './blame.ts';
import { otherNanSigns, whereTheyDiffer } from './nan-signs.ts';
import type { FuzzProgram, InputSpec, Variant } from './program.ts';
import { outputBounds } from './propagate-bounds.ts';
import { Random } from './random.ts';
import { boundsOf, isInexact, operandsOf } from './rounding.ts';
import { placeholderTensors, runEagerly, traceProgram } from './run-program.ts';
import type { TracedProgram } from './run-program.ts';
import { staticGraph } from './static-graph.ts';

export type Verdict =
  | ({
      readonly status: 'passed';
      readonly sizes: number;
      readonly exact: boolean;
      readonly kernels: number;
      /** How many candidates of matrix products were run: none, where the settings ask for no clock. */
      readonly candidates?: number;
    } & Compared)
  /** Eager mode accepts it, tracing says why it does not. */
  | { readonly status: 'refused'; readonly code: string }
  | { readonly status: 'failed'; readonly stage: Stage; readonly detail: string };

/** Elements of results that were compared, and those among them that may be anything, as rounding decides what they are. */
interface Compared {
  readonly elements: number;
  readonly free: number;
}

/** Why a program is passed by where every candidate of its matrix products is to be run: it has none of known sizes. */
export const noProducts = 'NO_PRODUCTS';

/** What tracing may refuse though eager mode accepts it: it depends on values, or on memory that is shared. */
const refusals = ['WRITE_OVERLAP', 'DATA_DEPENDENT', 'ALIASED_MUTATION', 'REPEATED_MUTATION', 'LAYOUT_UNKNOWN'];

/** Settings of the compiler for a batch. */
export type Settings = ConfigPatch;

interface Prepared {
  readonly program: FuzzProgram;
  readonly traced: TracedProgram;
  /** What is compiled: the traced graph, in the variant `forward` with every inexact value as a further output. */
  readonly graph: Graph;
  readonly inexact: readonly CallNode[];
  readonly variant: Variant | 'exact';
}

/** Told when the compiled code of a program is about to run, and what came of it. */
export interface Observer {
  starting?(position: number): void;
  finished?(position: number, verdict: Verdict): void;
}

interface CompiledRun {
  /** The traced graph for the sizes of this run. */
  readonly fixed: Graph;
  readonly compiled: readonly Tensor[];
  readonly inputs: readonly Tensor[];
}

interface Failure {
  readonly failed: Verdict;
}

export class ProgramChecker implements Disposable {
  readonly #evaluator = new GraphEvaluator();
  readonly #session: Session;
  readonly #halvesAreWide: boolean;
  /** Of the program that runs. */
  #compared: Compared = { elements: 0, free: 0 };

  constructor(settings: Settings = {}) {
    const config = resolveConfig({ program: { verify: true, ...settings }, report: () => undefined });
    this.#halvesAreWide = !config.emulatePrecisionCasts;
    this.#session = new Session(config, { warn: () => undefined, log: () => undefined });
  }

  /** Verdicts in the order of the programs. */
  async check(programs: readonly FuzzProgram[], observer: Observer = {}): Promise<readonly Verdict[]> {
    const prepared = programs.map((program) => this.#attempt(() => this.#prepare(program), 'trace'));
    const jobs = prepared.filter((item): item is Prepared => 'graph' in item);
    const compiled = await this.#compile(jobs.map(({ graph }) => graph));
    let next = 0;
    return prepared.map((item, position): Verdict => {
      const outcomes = 'graph' in item ? at(compiled, next++) : [];
      observer.starting?.(position);
      const verdict = this.#verdictOfAll(item, outcomes);
      observer.finished?.(position, verdict);
      return verdict;
    });
  }

  /** Each graph once, or under max-autotune once for every candidate of its kernels. */
  async #compile(graphs: readonly Graph[]): Promise<readonly (readonly CompiledGraph[])[]> {
    if (this.#session.config.maxAutotuneGemm) return compileCandidates(graphs, this.#session);
    return (await compileGraphs(graphs, this.#session)).map((compiled) => [compiled]);
  }

  /** That of the first that fails, or of the last one. */
  #verdictOfAll(item: Prepared | Failure, outcomes: readonly CompiledGraph[]): Verdict {
    if (!('graph' in item)) return item.failed;
    const { maxAutotuneGemm } = this.#session.config;
    let verdict: Verdict = { status: 'refused', code: noProducts };
    for (const outcome of outcomes) {
      verdict = this.#verdict(item, outcome);
      if (verdict.status === 'failed') return verdict;
    }
    return maxAutotuneGemm && verdict.status === 'passed' ? { ...verdict, candidates: outcomes.length } : verdict;
  }

  #verdict(item: Prepared | Failure, outcome: CompiledGraph | undefined): Verdict {
    if (!('graph' in item)) return item.failed;
    if (outcome?.kind !== 'compiled') return failed(stageOfError(outcome?.error), outcome?.error);
    const verdict = this.#attempt(() => this.#run(item, outcome), 'run');
    return 'failed' in verdict ? verdict.failed : verdict;
  }

  [Symbol.dispose](): void {
    this.#session[Symbol.dispose]();
  }

  #attempt<T>(work: () => T, stage: Stage): T | Failure {
    try {
      return work();
    } catch (error) {
      const refused = stage === 'trace' && isTsInductorError(error) && refusals.includes(error.code);
      return { failed: refused ? { status: 'refused', code: error.code } : failed(stage, error) };
    }
  }

  #prepare(program: FuzzProgram): Prepared {
    const traced = traceProgram(program);
    const { graph } = traced;
    const metaOf = ({ node, result }: ValueRef): Meta => at(at(graph.nodes, node).results, result);
    const inexact = graph.nodes.filter((node): node is CallNode => {
      if (node.kind !== 'call') return false;
      const [argument] = node.args;
      return isInexact(node, isValue(argument) ? metaOf(argument).dtype : undefined);
    });
    const wide = this.#halvesAreWide && graph.nodes.some(({ results }) => results.some(({ dtype }) => isHalf(dtype)));
    const variant = wide ? 'whole' : inexact.length === 0 ? 'exact' : program.variant;
    if (variant !== 'forward') return { program, traced, graph, inexact, variant };
    const values = inexact.map(({ id }): ValueRef => ({ kind: 'value', node: id, result: 0 }));
    return { program, traced, graph: { ...graph, outputs: [...graph.outputs, ...values] }, inexact, variant };
  }

  #run(prepared: Prepared, { executable, kernels }: Extract<CompiledGraph, { kind: 'compiled' }>): Verdict {
    const { program } = prepared;
    this.#compared = { elements: 0, free: 0 };
    const first = this.#compare(prepared, executable, program.inputs);
    if (first !== undefined) return first;
    const specs = program.dynamic ? this.#otherSizes(prepared) : undefined;
    const second = specs === undefined ? undefined : this.#compare(prepared, executable, specs);
    if (second !== undefined) return second;
    const exact = prepared.variant !== 'whole';
    return { status: 'passed', sizes: specs === undefined ? 1 : 2, exact, kernels, ...this.#compared };
  }

  /** Inputs of other sizes for which the graph was compiled too; undefined where there are none. */
  #otherSizes({ program, traced }: Prepared): readonly InputSpec[] | undefined {
    const random = new Random(program.seed, 2);
    const grown = random.chance(0.5) ? (size: number) => size + 1 : (size: number) => 2 * size + 1;
    const specs = program.inputs.map((input, position) => {
      const placeholder = traced.placeholders.indexOf(position);
      const symbolic = new Set(
        traced.graph.sizes.filter((size) => size.placeholder === placeholder).map(({ axis }) => axis),
      );
      if (symbolic.size === 0) return input;
      const shape = input.shape.map((size, axis) => (symbolic.has(axis) ? grown(size) : size));
      return drawInput(random, { dtype: input.dtype, contents: input.contents, shape, contiguous: true });
    });
    if (specs.every((spec, position) => spec === program.inputs[position])) return undefined;
    const sizes = sizesOf(traced, placeholderTensors(traced, specs));
    if (!traced.guards.every((guard) => SizeEnvironment.holds(guard, sizes))) return undefined;
    try {
      runEagerly(program, specs);
      return specs;
    } catch (error) {
      // A size that a call was given as a number fits the first sizes only.
      if (isTsInductorError(error) && error.name === 'UserError') return undefined;
      throw error;
    }
  }

  #compare(prepared: Prepared, executable: Executable, specs: readonly InputSpec[]): Verdict | undefined {
    const { program, traced, graph } = prepared;
    const inputs = (): Tensor[] => placeholderTensors(traced, specs);
    const sizes = sizesOf(traced, inputs());
    const fixed = staticGraph(traced.graph, sizes);
    const nodes = this.#evaluator.run(fixed, inputs());
    const eager = runEagerly(program, specs);
    const why = compareAll(nodes, eagerResults(traced, eager), difference);
    if (why !== undefined) return failed('trace', why);
    const compiled = executable.run(inputs());
    const run = { fixed, compiled, inputs: inputs() };
    this.#count({ elements: compiled.reduce((count, { numel }) => count + numel, 0), free: 0 });
    const wrong =
      prepared.variant === 'forward'
        ? this.#forward(prepared, run)
        : this.#whole(prepared, { ...run, expected: nodes });
    if (wrong === undefined) return undefined;
    return failed(blame({ graph, nodes, inputs, session: this.#session.config }), wrong);
  }

  /** Every inexact value within its own bound of what it should be of the compiled values before it; the rest bit for bit. */
  #forward({ inexact, graph }: Prepared, { fixed, compiled, inputs }: CompiledRun): string | undefined {
    const first = graph.outputs.length - inexact.length;
    const places = new Map(inexact.map(({ id }, position) => [id, first + position]));
    let wrong: string | undefined;
    const fed: Hook = (node, results, args) => {
      const place = places.get(node.id);
      if (place === undefined) return results;
      const [result, actual] = [at(results, 0), at(compiled, place)];
      const why = boundedDifference(actual, result, boundsOf(node, result, operandsOf(args)));
      if (why !== undefined) wrong ??= `%${String(node.id)} = ${node.target}: ${why}`;
      return [actual.contiguous()];
    };
    const expected = this.#evaluator.run(fixed, inputs, fed);
    return wrong ?? this.#exactly(compiled.slice(0, first), expected, { fixed, inputs, hook: fed });
  }

  /** The same bits, but for elements that depend on the sign of a NaN. */
  #exactly(
    actual: readonly Tensor[],
    expected: readonly Tensor[],
    { fixed, inputs, hook }: { fixed: Graph; inputs: readonly Tensor[]; hook?: Hook },
  ): string | undefined {
    const why = compareAll(actual, expected, difference);
    if (why === undefined) return undefined;
    const other = this.#evaluator.run(fixed, inputs, (node, results, args) =>
      otherNanSigns(node, hook?.(node, results, args) ?? results, args),
    );
    const free = whereTheyDiffer(expected, other);
    if (free.every((bounds) => !bounds.includes(Infinity))) return why;
    return compareAll(actual, expected, (found, wanted) =>
      boundedDifference(found, wanted, at(free, expected.indexOf(wanted))),
    );
  }

  #count({ elements, free }: Compared): void {
    this.#compared = { elements: this.#compared.elements + elements, free: this.#compared.free + free };
  }

  /** Within the bounds that errors have when they arrive at the outputs: the same bits where none do. */
  #whole(
    { inexact, variant }: Prepared,
    run: CompiledRun & { readonly expected: readonly Tensor[] },
  ): string | undefined {
    const why = this.#exactly(run.compiled, run.expected, run);
    if (why === undefined || variant === 'exact') return why;
    const bounds = outputBounds(run.fixed, run.inputs, {
      evaluator: this.#evaluator,
      halvesAreWide: this.#halvesAreWide,
    });
    this.#count({
      elements: 0,
      free: bounds.reduce((count, each) => count + each.filter((bound) => bound === Infinity).length, 0),
    });
    const wrong = run.compiled.map((actual, k) => boundedDifference(actual, at(run.expected, k), at(bounds, k)));
    const found = wrong.findIndex((each) => each !== undefined);
    return found === -1
      ? undefined
      : `output ${String(found)} (${String(inexact.length)} inexact values): ${wrong[found] ?? ''}`;
  }
}

function compareAll(
  actual: readonly Tensor[],
  expected: readonly Tensor[],
  compare: (actual: Tensor, expected: Tensor) => string | undefined,
): string | undefined {
  for (const [position, wanted] of expected.entries()) {
    const found = actual[position];
    if (found === undefined) return `output ${String(position)} is missing`;
    const why = compare(found, wanted);
    if (why !== undefined) return `output ${String(position)}: ${why}`;
  }
  return undefined;
}

/** What eager mode has for each output of the traced graph: the program's, then inputs that were written to. */
function eagerResults(
  traced: TracedProgram,
  eager: { outputs: readonly Tensor[]; inputs: readonly Tensor[] },
): readonly Tensor[] {
  const written = traced.graph.mutations.flatMap(({ placeholder }) => {
    const position = traced.placeholders[placeholder];
    return typeof position === 'number' ? [at(eager.inputs, position)] : [];
  });
  return [...eager.outputs, ...written];
}

export const sizesOf = (traced: TracedProgram, inputs: readonly Tensor[]): ReadonlyMap<string, number> =>
  new Map(traced.graph.sizes.map(({ name, placeholder, axis }) => [name, at(at(inputs, placeholder).shape, axis)]));

const stageOfError = (error: unknown): Stage =>
  isTsInductorError(error) && error.name === 'ToolchainError' ? 'build' : 'compile';

function failed(stage: Stage, why: unknown): Verdict {
  const text = typeof why === 'string' ? why : ((why as { stack?: string } | null)?.stack ?? String(why));
  return { status: 'failed', stage, detail: text.split('\n').slice(0, 12).join('\n') };
}
