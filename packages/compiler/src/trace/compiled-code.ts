// One compiled function: its specialisations, and what happens when none of them fits.
//
// A call looks for a specialisation whose guards hold, newest first, and runs it. Otherwise the function is traced again
// for these arguments, unless the stance says otherwise. What cannot be one graph (a value is read while tracing, an
// argument's property is written to) runs segment by segment from then on, with a report; a call that writes to memory
// which its arguments share does so alone. Under `fullgraph` both are errors at the user's line.
import type { SourceLocation, TsInductorError } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { isTracking, requiresGrad, takerOfOperators, userScript, withoutGradients } from '@tsinductor/tensor/internal';
import { AliasedCalls } from './aliased-calls.ts';
import { BreakLog } from './break-log.ts';
import { breaksGraph } from './breaks.ts';
import type { CacheInfo } from './cache-info.ts';
import { ChangingInputs } from './changing-inputs.ts';
import { ClosureInspection } from './closure-inspection.ts';
import { graphBreak, reasonOf, recompileLimit, sharedWrite, stanceForbids } from '../errors.ts';
import { gradientCompiler, notGraphed } from './differentiable-call.ts';
import { FirstCall } from './first-call.ts';
import { whyNotFrozen } from '../freeze/fixed-inputs.ts';
import { FunctionSettings } from './function-settings.ts';
import { FormLimit, limitReached } from './form-limit.ts';
import type { CallScope } from './guard.ts';
import type { CompileOptions } from '../options.ts';
import { makeExplanation } from '../report.ts';
import type { Explanation, GraphReport } from '../report.ts';
import { objectsIn } from './outer-reads.ts';
import { orAgain, runAgain, withoutRunning } from './run-again.ts';
import { SegmentedCode } from './segmented-code.ts';
import { countTiers } from '../run/tiered-executable.ts';
import { Specialisation } from './specialisation.ts';
import type { Surroundings } from './surroundings.ts';
import type { Mismatch } from './specialisation.ts';
import type { Helper } from './called-helpers.ts';
import { traceWatching } from './trace-watching.ts';
import type { TracedCall } from './trace-call.ts';

export type AnyFunction = (this: never, ...args: never[]) => unknown;
type Callable = (this: unknown, ...args: unknown[]) => unknown;

export class CompiledCode {
  readonly name: string;
  readonly #fn: Callable;
  readonly #options: CompileOptions;
  readonly #settings: FunctionSettings;
  #entries: Specialisation[] = [];
  readonly #limit = new FormLimit();
  /** It cannot be one graph. */
  #isBroken = false;
  #segments: SegmentedCode | undefined;
  #aliased = new AliasedCalls();
  /** A call that was not compiled, so that the next one shows which sizes change. */
  #first: FirstCall | undefined;
  #calls = 0;
  #misses = 0;
  #lastMissed = -1;
  readonly #changing = new ChangingInputs();
  readonly #recompiles: string[] = [];
  readonly #breaks = new BreakLog();
  readonly #notes = new Set<string>();
  #inspection: ClosureInspection | undefined;
  readonly #file: string | undefined = userScript();

  constructor(fn: AnyFunction, options: CompileOptions, surroundings: Surroundings) {
    this.#fn = fn as unknown as Callable;
    this.#options = options;
    this.name = options.name ?? (fn.name === '' ? 'anonymous function' : fn.name);
    this.#settings = new FunctionSettings(this.name, options, surroundings);
  }

  call(thisArg: unknown, args: readonly unknown[]): unknown {
    this.#calls += 1;
    // Inside another function's trace, this one is part of that graph; under vmap its operators do the work of all samples.
    const taker = takerOfOperators();
    if (taker === 'vmap')
      this.#notes.add('calls under vmap run operator by operator; compile the function that vmap gives');
    if (taker !== undefined || this.#settings.isEager()) return this.#fn.apply(thisArg, args as unknown[]);
    const scope = this.#scopeOf(thisArg, args);
    const entry = this.#find(scope);
    if (entry !== undefined) {
      this.#inspection?.called(this.name);
      return this.#run(entry, thisArg, args);
    }
    if (this.#isBroken || this.#aliased.has(scope)) return this.#runSegments(thisArg, args);
    if (this.#limit.isReachedFor(ownerOf(thisArg)) || !this.#mayCompile(() => this.#missReason(scope)))
      return this.#fn.apply(thisArg, args as unknown[]);
    return orAgain(() => this.#callNew(scope), this.#fn, scope);
  }

  /** A call that may be compiled, and that nothing fits. */
  #callNew(scope: CallScope): unknown {
    const { this: thisArg, arguments: args } = scope;
    if (this.#isFirst(scope)) return this.#runFirst(thisArg, args);
    const made = this.#specialise(scope);
    if (made !== undefined) return this.#run(made, thisArg, args);
    const isRefused = this.#limit.isReachedFor(ownerOf(thisArg));
    return isRefused ? this.#fn.apply(thisArg, args as unknown[]) : this.#runSegments(thisArg, args);
  }

  /** Compiles for these arguments, without running, and waits for what is built in the background. */
  prepare(thisArg: unknown, args: readonly unknown[]): void {
    const scope = this.#scopeOf(thisArg, args);
    if (!this.#isPrepared(thisArg, args)) withoutRunning(() => this.#specialise(scope));
    this.#find(scope)?.executable.tiers?.wait();
  }

  /** Compiles for these arguments without blocking, and without running. */
  async warmup(thisArg: unknown, args: readonly unknown[]): Promise<void> {
    if (!this.#isPrepared(thisArg, args)) await this.#compileFor(thisArg, args);
    await this.#find(this.#scopeOf(thisArg, args))?.executable.tiers?.settled();
  }

  async #compileFor(thisArg: unknown, args: readonly unknown[]): Promise<void> {
    const traced = withoutRunning(() => this.#trace(this.#scopeOf(thisArg, args)));
    if (traced === undefined) return;
    const [backend, session] = [this.#settings.backend(), this.#settings.session()];
    const request = this.#settings.requestFor(traced, backend);
    const executable =
      request.isBackground === true
        ? session.prepare(traced.program, request)
        : await session.prepareAsync(traced.program, request);
    // Another warm-up may have come to the same meanwhile.
    if (this.#isPrepared(thisArg, args)) return;
    this.#keep(new Specialisation(traced, { executable, backend, owner: ownerOf(thisArg) }));
  }

  reset(): void {
    this.#entries = [];
    this.#limit.reset();
    this.#isBroken = false;
    this.#segments = undefined;
    this.#aliased = new AliasedCalls();
    this.#first = undefined;
    this.#changing.clear();
    this.#recompiles.length = 0;
    this.#breaks.clear();
    this.#notes.clear();
    this.#inspection?.cancel();
    this.#inspection = undefined;
  }

  cacheInfo(): CacheInfo {
    const executables = [...this.#entries, ...(this.#segments?.segments() ?? [])].map(({ executable }) => executable);
    return {
      ...countTiers(executables),
      ...this.#settings.tally.counts(),
      entries: this.#entries.length,
      calls: this.#calls,
      hits: this.#calls - this.#misses,
      misses: this.#misses,
      recompiles: this.#recompiles.length,
    };
  }

  graphs(): readonly GraphReport[] {
    const whole = this.#entries.map((entry) => ({ ...entry.executable.report, guards: entry.guards() }));
    return [...whole, ...(this.#segments?.reports() ?? [])];
  }

  explain(): Explanation {
    this.#inspection?.finish();
    return makeExplanation({
      name: this.name,
      calls: this.#calls,
      graphs: this.graphs(),
      recompiles: [...this.#recompiles],
      breaks: this.#breaks.list(),
      notes: [...this.#notes],
    });
  }

  /** What guards read: the arguments, and what `captures` gives now. */
  #scopeOf(thisArg: unknown, args: readonly unknown[]): CallScope {
    return { this: thisArg, arguments: args, captures: this.#options.captures?.() };
  }

  #find(scope: CallScope): Specialisation | undefined {
    const backend = this.#settings.backend();
    for (const entry of this.#entries) if (entry.backend === backend && entry.fits(scope)) return entry;
    return undefined;
  }

  /** Whether the stance lets a call that nothing fits be compiled. Throws UserError STANCE_RECOMPILE where it must not come. */
  #mayCompile(reason: () => string): boolean {
    const stance = this.#settings.stance();
    if (stance === 'fail_on_recompile') throw stanceForbids(this.name, reason());
    return stance !== 'eager_on_recompile';
  }

  #missReason(scope: CallScope): string {
    return this.#entries[0]?.mismatch(scope).reason ?? 'nothing was compiled before';
  }

  #run(entry: Specialisation, thisArg: unknown, args: readonly unknown[]): unknown {
    const inputs = entry.inputs();
    const isWatched = isTracking() && inputs.some(requiresGrad);
    const isTracked = isWatched && entry.mayHaveGradients(inputs);
    if (isTracked && !entry.isUpdate(inputs) && !entry.writesShared(inputs))
      return this.#runTracked(entry, inputs, () => this.#fn.apply(thisArg, args as unknown[]));
    if (!entry.writesShared(inputs)) {
      try {
        if (isTracked) return entry.runUpdate(inputs, this.name);
        return isWatched ? withoutGradients(() => entry.run(inputs)) : entry.run(inputs);
      } catch (error) {
        if (!entry.hasLeftUndone(error)) throw error;
        return runAgain(this.#fn, thisArg, args);
      }
    }
    this.#breakGraph(sharedWrite());
    return this.#runSegments(thisArg, args);
  }

  /** As a step that is recorded for gradients; what cannot be one step is recorded operator by operator. */
  #runTracked(entry: Specialisation, inputs: readonly Tensor[], asItIs: () => unknown): unknown {
    const compile = gradientCompiler(this.#settings.session(), (call) =>
      this.#settings.request(call, this.#settings.backend()),
    );
    const why = (reason: string): unknown => this.#notes.add(notGraphed(reason));
    const tracked = entry.runTracked(inputs, { name: this.name, compile, why });
    return tracked === undefined ? asItIs() : tracked.result;
  }

  /** Whether the stance leaves this call to be run as it is; notes which sizes changed since such a call. */
  #isFirst(scope: CallScope): boolean {
    const stance = this.#settings.stance();
    const leavesFirst = stance === 'eager_then_compile' || stance === 'aot_eager_then_compile';
    if (!leavesFirst || this.#entries.length > 0) return false;
    if (this.#first === undefined) {
      this.#first = new FirstCall(scope);
      return true;
    }
    if (this.#settings.dynamic() === undefined)
      for (const change of this.#first.changes(scope)) this.#changing.note(change);
    return false;
  }

  #runFirst(thisArg: unknown, args: readonly unknown[]): unknown {
    this.#countMiss();
    const scope = this.#scopeOf(thisArg, args);
    const traced = this.#settings.stance() === 'aot_eager_then_compile' ? this.#trace(scope) : undefined;
    if (traced === undefined) return this.#fn.apply(thisArg, args as unknown[]);
    const backend = 'aot_eager';
    const executable = this.#settings.session().prepare(traced.program, this.#settings.requestFor(traced, backend));
    const entry = new Specialisation(traced, { executable, backend, owner: undefined });
    entry.fits(scope);
    return this.#run(entry, thisArg, args);
  }

  #specialise(scope: CallScope): Specialisation | undefined {
    const { this: thisArg } = scope;
    this.#countMiss();
    if (this.#limit.isReachedFor(ownerOf(thisArg)) || !this.#mayRecompile(scope)) return undefined;
    const traced = this.#trace(scope);
    if (traced === undefined) return undefined;
    const backend = this.#settings.backend();
    const executable = this.#settings.session().prepare(traced.program, this.#settings.requestFor(traced, backend));
    const entry = this.#keep(new Specialisation(traced, { executable, backend, owner: ownerOf(thisArg) }));
    entry.fits(scope);
    return entry;
  }

  #keep(entry: Specialisation): Specialisation {
    this.#entries.unshift(entry);
    this.#settings.log('guards', () => [`${this.name}:`, ...entry.guards()].join('\n  '));
    return entry;
  }

  /** This call found nothing that fits: counted once, however much is compiled in it. */
  #countMiss(): void {
    if (this.#lastMissed !== this.#calls) this.#misses += 1;
    this.#lastMissed = this.#calls;
  }

  /** Whether nothing would be compiled for these arguments before they are called with. */
  #isPrepared(thisArg: unknown, args: readonly unknown[]): boolean {
    return this.#settings.isEager() || this.#isBroken || this.#find(this.#scopeOf(thisArg, args)) !== undefined;
  }

  #runSegments(thisArg: unknown, args: readonly unknown[]): unknown {
    if (isTracking() && this.#segments?.recordsGradients === true) return this.#fn.apply(thisArg, args as unknown[]);
    const segments = (this.#segments ??= new SegmentedCode({
      name: this.name,
      fn: this.#fn,
      config: () => this.#settings.config(),
      dynamic: () => this.#settings.dynamic(),
      prepare: (traced, { examples, placement }) =>
        this.#settings
          .session()
          .prepare(traced, this.#settings.request({ inputs: examples, placement }, this.#settings.backend())),
      mayCompile: () => this.#mayCompile(() => 'it is run in segments, and meets one that was not compiled before'),
      noteBreak: ({ reason, location: { file, line } }) => {
        this.#noteBreak(reason, { file, line });
      },
      warn: (topic, message) => {
        this.#settings.session().warnOnce(topic, message);
      },
    }));
    const known = segments.size;
    try {
      return segments.call(thisArg, args);
    } finally {
      if (segments.size > known) this.#countMiss();
      if (segments.recordsGradients) this.#notes.add(notGraphed('the function is no single graph'));
    }
  }

  /** Says which guard of the newest entry failed and makes changing sizes symbolic, unless there are forms enough. */
  #mayRecompile(scope: CallScope): boolean {
    const [newest] = this.#entries;
    if (newest === undefined) return true;
    const mismatch = newest.mismatch(scope);
    const owner = ownerOf(scope.this);
    const forms = { ofOwner: this.#entries.filter((entry) => entry.isOf(owner)).length, all: this.#entries.length };
    const config = this.#settings.config();
    const reached = limitReached(forms, config);
    if (reached !== undefined) {
      this.#refuse(reached.limit, mismatch);
      this.#limit.close(owner, reached);
      return false;
    }
    const { reason } = mismatch;
    if (this.#settings.dynamic() === undefined) this.#noteChanges(scope);
    this.#recompiles.push(reason);
    this.#settings.log('recompiles', () => `${this.name}: ${reason}`);
    return true;
  }

  /** Says once that there are no more forms. Throws UserError RECOMPILE_LIMIT where one graph is required. */
  #refuse(limit: number, mismatch: Mismatch): void {
    const error = recompileLimit(this.name, limit, mismatch);
    if (this.#options.fullgraph === true) throw error;
    if ([...this.#notes].some((note) => note.startsWith(error.code))) return;
    this.#settings.session().warnOnce(`${error.code} ${error.message}`, error.message);
    this.#notes.add(`${error.code}: ${error.message}`);
  }

  /** Sizes and numbers that keep the call from one of the forms, if nothing before them does. */
  #noteChanges(scope: CallScope): void {
    for (const entry of this.#entries) for (const change of entry.changes(scope)) this.#changing.note(change);
  }

  #trace(scope: CallScope): TracedCall | undefined {
    const call = { fn: this.#fn, scope };
    const dynamic = this.#settings.dynamic();
    const isDynamic = (path: string, axis: number): boolean => dynamic ?? this.#changing.hasAxis(path, axis);
    try {
      const config = this.#settings.config();
      const isVariable = (path: string): boolean =>
        (dynamic ?? this.#changing.hasNumber(path)) && !path.startsWith('captures');
      const tracing = { isDynamic, config, isVariable };
      const { traced, notes, functions } = withoutGradients(() => traceWatching(call, tracing));
      for (const note of [...notes, ...whyNotFrozen(traced, config)]) this.#notes.add(note);
      if (!('error' in traced)) {
        this.#inspectSource(scope, { traced, functions });
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
    if (this.#options.fullgraph === true) throw graphBreak(this.name, error);
    for (const note of whyNotFrozen({ error }, this.#settings.config())) this.#notes.add(note);
    this.#noteBreak(reasonOf(error), error.location);
  }

  #noteBreak(reason: string, location: SourceLocation | undefined): void {
    if (!this.#breaks.note(reason, location)) return;
    const where = location === undefined ? '' : `, at ${location.file}:${String(location.line)}`;
    this.#settings.log('graph_breaks', () => `${this.name}: ${reason}${where}`);
  }

  /** Reports what it and its helpers do with variables around them, once; looks at each further trace whether they are what they were. */
  #inspectSource(
    { captures, arguments: given }: CallScope,
    { traced: { outerReads = [] }, functions }: { traced: TracedCall; functions: readonly Helper[] },
  ): void {
    this.#inspection?.look(this.name);
    const captured = Object.keys(captures ?? {});
    this.#inspection ??= new ClosureInspection(
      { name: this.name, fn: this.#fn, file: this.#file, captured, guarded: objectsIn(outerReads), given, functions },
      {
        tell: (topic, text) => {
          this.#notes.add(text);
          this.#settings.session().warnOnce(topic, text);
        },
        isWatching: () => this.#settings.config().verifyCaptures,
      },
    );
  }
}

const ownerOf = (thisArg: unknown): object | undefined =>
  typeof thisArg === 'object' && thisArg !== null ? thisArg : undefined;
