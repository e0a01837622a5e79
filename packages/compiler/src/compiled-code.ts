// One compiled function: its specialisations, and what happens when none of them fits.
//
// A call looks for an entry whose guards hold, newest first, and runs it. Otherwise the function is traced again for
// these arguments. What cannot be one graph (a value is read while tracing, an argument's property is written to) runs
// segment by segment from then on, with a report; a call that writes to memory which its arguments share does so alone.
// Under `fullgraph` both are errors at the user's line.
import { at, isTsInductorError } from '@tsinductor/base';
import type { SourceLocation, TsInductorError } from '@tsinductor/base';
import { withConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import { isRecording, writesAreShared } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { AliasedCalls } from './aliased-calls.ts';
import { findOuterWrites } from './closure.ts';
import { graphBreak, reasonOf, recompileLimit } from './errors.ts';
import { checkGuards, explainFailure, meetsTensor, printGuard, printTensorGuard } from './guard.ts';
import type { GuardFailure, GuardNode, TensorGuard } from './guard.ts';
import type { CompileOptions } from './options.ts';
import { makeExplanation } from './report.ts';
import type { Break, Explanation, GraphReport } from './report.ts';
import { putTogether } from './result.ts';
import type { ResultTemplate } from './result.ts';
import type { Executable } from './executable.ts';
import { SegmentedCode } from './segmented-code.ts';
import { aliasedResult, traceCall } from './trace-call.ts';
import type { ResultSource, SizeGuard, TracedCall } from './trace-call.ts';
import type { Session } from './session.ts';

export type AnyFunction = (this: never, ...args: never[]) => unknown;
type Callable = (this: unknown, ...args: unknown[]) => unknown;

/** A specialisation: what it requires, and what runs when that holds. */
interface Entry {
  /** Whose method was called; undefined for a plain function. */
  readonly owner: WeakRef<object> | undefined;
  readonly nodes: readonly GuardNode[];
  /** Tensors that the function closes over, by reference, and what is required of them. */
  readonly captured: readonly { readonly tensor: Tensor; readonly guard: TensorGuard }[];
  readonly sizeHolds: ((leaves: readonly Tensor[]) => boolean) | undefined;
  readonly sizeGuards: readonly SizeGuard[];
  /** Position in the graph's inputs of each leaf, or -1 where the graph does not use it; then of each capture. */
  readonly inputs: readonly number[];
  readonly template: ResultTemplate;
  readonly results: readonly ResultSource[];
  readonly graph: Graph;
  readonly executable: Executable;
  /** Slot 0: kept so that a call allocates nothing. */
  readonly self: { this: unknown };
  readonly slots: unknown[];
  readonly leaves: Tensor[];
}

export interface CacheInfo {
  readonly entries: number;
  readonly calls: number;
  readonly hits: number;
  readonly misses: number;
  readonly recompiles: number;
}

export class CompiledCode {
  readonly name: string;
  readonly #fn: Callable;
  readonly #options: CompileOptions;
  readonly #session: () => Session;
  #entries: Entry[] = [];
  #eager = false;
  /** It cannot be one graph. */
  #isBroken = false;
  #segments: SegmentedCode | undefined;
  #aliased = new AliasedCalls();
  /** Objects for whom the method ran into the limit. */
  #eagerOwners = new WeakSet();
  #calls = 0;
  #misses = 0;
  #lastMissed = -1;
  readonly #dynamicAxes = new Map<string, Set<number>>();
  readonly #recompiles: string[] = [];
  readonly #breaks: Break[] = [];
  readonly #notes: string[] = [];
  #inspected = false;

  constructor(fn: AnyFunction, options: CompileOptions, session: () => Session) {
    this.#fn = fn as unknown as Callable;
    this.#options = options;
    this.#session = session;
    this.name = options.name ?? (fn.name === '' ? 'anonymous function' : fn.name);
    this.#eager = options.disable === true || options.backend === 'eager';
  }

  call(thisArg: unknown, args: readonly unknown[]): unknown {
    this.#calls += 1;
    // Inside another function's trace, this one is part of that graph.
    if (this.#eager || isRecording()) return this.#fn.apply(thisArg, args as unknown[]);
    const scope = this.#scopeOf(args);
    for (const entry of this.#entries) {
      if (this.#fits(entry, thisArg, scope)) return this.#run(entry, thisArg, args);
    }
    if (this.#isBroken || this.#aliased.has(thisArg, scope)) {
      return this.#runSegments(thisArg, args);
    }
    const entry = this.#specialise(thisArg, args, scope);
    if (entry !== undefined) return this.#run(entry, thisArg, args);
    return this.#isEagerFor(thisArg) ? this.#fn.apply(thisArg, args as unknown[]) : this.#runSegments(thisArg, args);
  }

  /** Compiles for these arguments, without running. */
  prepare(thisArg: unknown, args: readonly unknown[]): void {
    if (!this.#isPrepared(thisArg, args)) this.#specialise(thisArg, args, this.#scopeOf(args));
  }

  /** Compiles for these arguments without blocking, and without running. */
  async warmup(thisArg: unknown, args: readonly unknown[]): Promise<void> {
    if (this.#isPrepared(thisArg, args)) return;
    const traced = this.#trace(thisArg, args);
    if (traced === undefined) return;
    const executable = await this.#session().prepareAsync(traced, this.#request(traced));
    this.#install(traced, executable, thisArg);
  }

  reset(): void {
    this.#entries = [];
    this.#isBroken = false;
    this.#segments = undefined;
    this.#aliased = new AliasedCalls();
    this.#eagerOwners = new WeakSet();
    this.#dynamicAxes.clear();
    this.#recompiles.length = 0;
    this.#breaks.length = 0;
    this.#eager = this.#options.disable === true || this.#options.backend === 'eager';
  }

  cacheInfo(): CacheInfo {
    return {
      entries: this.#entries.length,
      calls: this.#calls,
      hits: this.#calls - this.#misses,
      misses: this.#misses,
      recompiles: this.#recompiles.length,
    };
  }

  graphs(): readonly GraphReport[] {
    const whole = this.#entries.map((entry) => ({ ...entry.executable.report, guards: guardsOf(entry) }));
    return [...whole, ...(this.#segments?.reports() ?? [])];
  }

  explain(): Explanation {
    return makeExplanation({
      name: this.name,
      calls: this.#calls,
      graphs: this.graphs(),
      recompiles: [...this.#recompiles],
      breaks: [...this.#breaks],
      notes: [...this.#notes],
    });
  }

  /** What guards read: the arguments, and what `captures` gives now. */
  #scopeOf(args: readonly unknown[]): readonly unknown[] {
    const { captures } = this.#options;
    return captures === undefined ? args : [...args, captures()];
  }

  #fits(entry: Entry, thisArg: unknown, args: readonly unknown[]): boolean {
    entry.self.this = thisArg;
    entry.slots[1] = args;
    if (checkGuards(entry.nodes, entry.slots, entry.leaves) !== -1) return false;
    for (const { tensor, guard } of entry.captured) if (!meetsTensor(tensor, guard)) return false;
    return entry.sizeHolds === undefined || entry.sizeHolds(entry.leaves);
  }

  #run(entry: Entry, thisArg: unknown, args: readonly unknown[]): unknown {
    const inputs: Tensor[] = [];
    entry.inputs.forEach((position, index) => {
      if (position < 0) return;
      const tensor = entry.leaves[index] ?? entry.captured[index - entry.leaves.length]?.tensor;
      if (tensor !== undefined) inputs[position] = tensor;
    });
    // What the graph writes to must not be the memory of another input: it was traced as if each were its own.
    const written = entry.graph.mutations.map(({ placeholder }) => at(inputs, placeholder));
    if (written.length > 0 && writesAreShared(written, inputs)) {
      this.#noteBreak('it writes to memory that several of its tensors share in this call', undefined);
      return this.#runSegments(thisArg, args);
    }
    const outputs = entry.executable.run(inputs);
    const results = entry.results.map((source) =>
      source.kind === 'computed'
        ? at(outputs, source.output)
        : aliasedResult(at(inputs, source.placeholder), source.alias, sizesOf(entry.graph, inputs)),
    );
    // New values of mutated inputs were written back: their own memory is free again.
    for (const output of outputs) if (!results.includes(output)) output.dispose();
    return putTogether(entry.template, results);
  }

  #specialise(thisArg: unknown, args: readonly unknown[], scope: readonly unknown[]): Entry | undefined {
    this.#countMiss();
    if (this.#isEagerFor(thisArg)) return undefined;
    this.#explainMiss(thisArg, scope);
    if (this.#isEagerFor(thisArg)) return undefined;
    const traced = this.#trace(thisArg, args);
    if (traced === undefined) return undefined;
    const executable = this.#session().prepare(traced, this.#request(traced));
    return this.#install(traced, executable, thisArg);
  }

  /** This call found nothing that fits: counted once, however much is compiled in it. */
  #countMiss(): void {
    if (this.#lastMissed !== this.#calls) this.#misses += 1;
    this.#lastMissed = this.#calls;
  }

  /** Whether nothing would be compiled for these arguments before they are called with. */
  #isPrepared(thisArg: unknown, args: readonly unknown[]): boolean {
    const scope = this.#scopeOf(args);
    return this.#eager || this.#isBroken || this.#entries.some((entry) => this.#fits(entry, thisArg, scope));
  }

  #isEagerFor(thisArg: unknown): boolean {
    return this.#eager || (isObject(thisArg) && this.#eagerOwners.has(thisArg));
  }

  #runSegments(thisArg: unknown, args: readonly unknown[]): unknown {
    const segments = (this.#segments ??= new SegmentedCode({
      name: this.name,
      fn: this.#fn,
      config: () => this.#config(),
      dynamic: () => this.#dynamic(),
      prepare: (traced, inputs) => this.#session().prepare(traced, this.#request({ inputs })),
      noteBreak: ({ operation, location: { file, line } }) => {
        this.#noteBreak(`${operation} needs the values of a tensor`, { file, line });
      },
      warn: (topic, message) => {
        this.#session().warnOnce(topic, message);
      },
    }));
    const known = segments.size;
    try {
      return segments.call(thisArg, args);
    } finally {
      if (segments.size > known) this.#countMiss();
    }
  }

  #request(traced: Pick<TracedCall, 'inputs'>): Parameters<Session['prepare']>[1] {
    const { backend, mode, options } = this.#options;
    return {
      name: this.name,
      backend: backend ?? 'inductor',
      examples: traced.inputs,
      ...(options === undefined ? {} : { patch: options }),
      ...(mode === undefined ? {} : { mode }),
    };
  }

  #install(traced: TracedCall, executable: Executable, thisArg: unknown): Entry {
    const self = { this: undefined };
    const entry: Entry = {
      owner: isObject(thisArg) ? new WeakRef(thisArg) : undefined,
      ...traced,
      inputs: traced.positions,
      executable,
      self,
      slots: [self],
      leaves: [...traced.leaves],
    };
    this.#entries.unshift(entry);
    return entry;
  }

  /** Says which guard of the newest entry failed, makes changing sizes symbolic, and stops at the limit. */
  #explainMiss(thisArg: unknown, scope: readonly unknown[]): void {
    const [newest] = this.#entries;
    if (newest === undefined) return;
    const reason = this.#whyMissed(newest, thisArg, scope);
    this.#recompiles.push(reason);
    const config = this.#config();
    this.#session().log('recompiles', `${this.name}: ${reason}`, config);
    const owner = isObject(thisArg) ? thisArg : undefined;
    const ofOwner = this.#entries.filter((entry) => entry.owner?.deref() === owner).length;
    const allInAll = this.#entries.length >= config.accumulatedRecompileLimit;
    if (ofOwner < config.recompileLimit && !allInAll) return;
    const error = recompileLimit(
      this.name,
      allInAll ? config.accumulatedRecompileLimit : config.recompileLimit,
      reason,
    );
    if (this.#options.fullgraph === true) throw error;
    this.#session().warnOnce(error.code, error.message);
    if (allInAll || owner === undefined) this.#eager = true;
    else this.#eagerOwners.add(owner);
  }

  /** The session's settings, with those of this function's own options. */
  #config(): Config {
    const { config } = this.#session();
    const { options } = this.#options;
    return options === undefined ? config : withConfig(config, options, 'options');
  }

  #whyMissed(entry: Entry, thisArg: unknown, scope: readonly unknown[]): string {
    entry.self.this = thisArg;
    entry.slots[1] = scope;
    const failed = checkGuards(entry.nodes, entry.slots, entry.leaves);
    const node = entry.nodes[failed];
    if (node === undefined) {
      const captured = entry.captured.find(({ tensor, guard }) => !meetsTensor(tensor, guard));
      return captured === undefined
        ? `sizes: ${entry.sizeGuards.map((guard) => guard.text).join(', ')} no longer hold`
        : `a captured tensor is no longer ${printTensorGuard(captured.guard)}`;
    }
    const failure = explainFailure(node, entry.slots);
    if (failure.sizes !== undefined && this.#dynamic() === undefined) this.#makeDynamic(failure);
    return `${failure.path} was ${failure.found}, expected ${failure.expected}`;
  }

  #makeDynamic({ path, sizes }: GuardFailure): void {
    const axes = this.#dynamicAxes.get(path) ?? new Set<number>();
    for (const axis of sizes?.axes ?? []) axes.add(axis);
    this.#dynamicAxes.set(path, axes);
  }

  #dynamic(): boolean | undefined {
    return this.#options.dynamic ?? this.#config().dynamic ?? undefined;
  }

  #trace(thisArg: unknown, args: readonly unknown[]): TracedCall | undefined {
    const call = { fn: this.#fn, thisArg, args, scope: this.#scopeOf(args) };
    const dynamic = this.#dynamic();
    const isDynamic = (path: string, axis: number): boolean =>
      dynamic ?? this.#dynamicAxes.get(path)?.has(axis) ?? false;
    try {
      const traced = traceCall(call, isDynamic);
      if (!('error' in traced)) {
        this.#inspectSource();
        return traced;
      }
      this.#breakGraph(traced.error);
      this.#aliased.add(traced);
    } catch (error) {
      if (!breaksGraph(error)) throw error;
      this.#breakGraph(error);
      this.#isBroken = true;
    }
    return undefined;
  }

  /** Reports why this is not one graph. Throws UserError GRAPH_BREAK where one graph is required. */
  #breakGraph(error: TsInductorError): void {
    if (this.#options.fullgraph === true) throw graphBreak(error.message, error.location, error);
    this.#noteBreak(reasonOf(error), error.location);
  }

  #noteBreak(reason: string, location: SourceLocation | undefined): void {
    const place = location === undefined ? {} : { file: location.file, line: location.line };
    const isKnown = (known: Break): boolean =>
      known.file === place.file && known.line === place.line && (place.file !== undefined || known.reason === reason);
    if (this.#breaks.some(isKnown)) return;
    this.#breaks.push({ reason, ...place });
    const where = location === undefined ? '' : `, at ${location.file}:${String(location.line)}`;
    this.#session().log('graph_breaks', `${this.name}: ${reason}${where}`, this.#config());
  }

  /** Reports writes to closed-over variables, once: a trace would do them once only. */
  #inspectSource(): void {
    if (this.#inspected) return;
    this.#inspected = true;
    for (const { name, line } of findOuterWrites(this.#fn)) {
      const note = `line ${String(line)} of ${this.name} writes to ${name}, which is outside the function: this happens once, when it is traced; return the value instead`;
      this.#notes.push(note);
      this.#session().warnOnce(`CLOSURE_WRITE ${this.name} ${name}`, note);
    }
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The symbolic sizes of a call. */
const sizesOf = (graph: Graph, inputs: readonly Tensor[]): ReadonlyMap<string, number> =>
  new Map(graph.sizes.map(({ name, placeholder, axis }) => [name, inputs[placeholder]?.shape[axis] ?? 0]));

const guardsOf = (entry: Entry): string[] => [
  ...entry.nodes.map(printGuard),
  ...entry.captured.map(({ guard }) => `captured tensor: ${printTensorGuard(guard)}`),
  ...entry.sizeGuards.map(({ text }) => text),
];

const breaking = ['DATA_DEPENDENT', 'TRACE_WRITE', 'ARGUMENT_UNSUPPORTED', 'RESULT_UNSUPPORTED'];

/** Whether an error means that the function cannot be one graph, rather than that the user made one. */
const breaksGraph = (error: unknown): error is TsInductorError =>
  isTsInductorError(error) && breaking.includes(error.code);
