// One segment of a function that is run lazily: the session that records it, the log of what was done, and its end. In:
// the memories that the program needs. Out: every tensor that was recorded over a computed memory, or over memory that
// exists, has its place; the others wait in an EndedSegment.
import { at } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { decompose } from '@tsinductor/graph';
import type { Graph, SizeEnvironment, SizeGuard } from '@tsinductor/graph';
import { isCheckFailure } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { defaultExecutor } from '../perform.ts';
import { leftBehind } from '../errors.ts';
import { unrecorded } from '../process-state.ts';
import { placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { EndedSegment } from './ended-segment.ts';
import type { InputMemory } from './segment-inputs.ts';
import { segmentKey } from './segment-key.ts';
import { placementOf } from './placement.ts';
import type { Placement } from './placement.ts';
import { SegmentLog, settle } from './segment-log.ts';
import { signatureOf, withoutOrigins } from './replay/end.ts';
import type { StepTrie } from './replay/step.ts';
import type { Trail } from './replay/trail.ts';
import { chooseOutputs } from './segment-plan.ts';
import type { SegmentChoice, SegmentParts } from './segment-plan.ts';
import type { TraceSession } from './session.ts';
import { handOut, keepInputs } from './segment-results.ts';
import type { SourceIndex } from './source.ts';
import type { Memory, TracedView } from './traced-memory.ts';

/** Why a segment ends, as a clause ("item() needs the values of a tensor"), and where. */
export interface SegmentCause {
  readonly reason: string;
  readonly location: SourceLocation;
}

/** A segment that was not met before. */
export interface NewSegment {
  readonly key: string;
  /** Its outputs are those of the choice, then the new values of inputs. */
  readonly graph: Graph;
  readonly sizes: SizeEnvironment;
  readonly inputs: readonly Tensor[];
  readonly choice: SegmentChoice;
  readonly placement: Placement;
  /** Undefined for the one that ends with the function. */
  readonly cause: SegmentCause | undefined;
}

/** How a known segment runs. */
export interface SegmentPlan {
  readonly choice: SegmentChoice;
  /** What it assumes of symbolic sizes. */
  readonly guards: readonly SizeGuard[];
  /** Gives the outputs, having written the new values of inputs; undefined: it runs operator by operator. */
  readonly run: ((inputs: readonly Tensor[]) => readonly Tensor[]) | undefined;
}

/** Who keeps the segments of a function, and runs them. */
export interface SegmentHost extends InputMemory {
  /** What was done before in these segments. */
  readonly steps: StepTrie;
  find(key: string, sizes: SizeEnvironment): SegmentPlan | undefined;
  add(segment: NewSegment): SegmentPlan;
  /** The program records gradients, which segments are no part of. */
  noteGradients(): void;
}

interface SegmentSurroundings {
  readonly sources: SourceIndex;
  /** With the sizes of what was followed so far, if there are any. */
  readonly newSession: (sizes?: SizeEnvironment) => TraceSession;
}

interface Ending {
  readonly wanted: readonly Memory[];
  /** Asked where the segment is new; undefined where the function has returned. */
  readonly cause: (() => SegmentCause) | undefined;
  readonly trail: Trail;
}

export class Segment {
  readonly session: TraceSession;
  readonly log: SegmentLog = new SegmentLog();
  readonly #surroundings: SegmentSurroundings;
  readonly #carried = new Set<Memory>();

  constructor(surroundings: SegmentSurroundings, sizes?: SizeEnvironment) {
    this.#surroundings = surroundings;
    this.session = surroundings.newSession(sizes);
  }

  /** A memory of an ended segment becomes part of this one. */
  carry(memory: Memory): void {
    const ended = memory.home;
    if (!(ended instanceof EndedSegment)) throw leftBehind();
    this.log.carry(memory, ended);
    ended.carry(memory, this.session);
    this.#carried.add(memory);
  }

  /** Ends it if nothing has to be computed or written: then there are views of memory that exists, at most. */
  leave(): boolean {
    const { inputs, fresh } = this.session.memories;
    if (fresh.length > 0 || inputs.some(({ version }) => version > 0)) return false;
    for (const memory of inputs) this.#settle(memory, inputOf(this.session, memory));
    for (const { tensor } of this.session.placeholders) tensor.dispose();
    return true;
  }

  /** Gives views of memory that exists, and that nothing has written to, their place. */
  settleViews(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) {
      const { backing } = tensor;
      if (backing.kind !== 'recorded') continue;
      const { memory } = backing.handle as TracedView;
      if (memory.home !== this.session) continue;
      this.#settle({ ...memory, tensors: [tensor] }, inputOf(this.session, memory));
    }
  }

  /** Runs what was recorded. Throws what an operator in it throws, having done all that came before. */
  end(host: SegmentHost, { wanted, cause, trail }: Ending): void {
    const { session } = this;
    const isLast = cause === undefined;
    trail.finish();
    const written = session.memories.inputs.filter(({ version }) => version > 0);
    const shared = session.placeholders.flatMap(({ tensor }, position) =>
      placeOf(tensor, 'a segment').storage.isShared ? [position] : [],
    );
    const parts = this.#parts(wanted, [...shared, ...written.map(({ placeholder = 0 }) => placeholder)], isLast);
    const isIdle = wanted.length === 0 && written.length === 0 && !this.#hasChecks(parts.graph);
    const plan = isIdle
      ? { choice: chooseOutputs(parts), guards: [], run: () => [] }
      : this.#plan(host, parts, { written, cause });
    const refs = parts.values.map(({ ref }) => ref);
    // How an idle one is run has no key, by which others would know what waits in it.
    if (plan.run !== undefined && (isLast || !isIdle))
      trail.store(host.steps, signatureOf(session.memories.fresh, { wanted, isLast, shared }), {
        plan,
        graph: withoutOrigins(parts.graph),
        refs,
        written: written.map(({ placeholder = 0 }) => placeholder),
      });
    const inputs = session.placeholders.map(({ tensor }) => tensor);
    const kept = keepInputs(plan, inputs);
    const { sources } = this.#surroundings;
    const storages = written.map((memory) => placeOf(inputOf(session, memory), 'a write').storage);
    for (const storage of storages) sources.protectNeeded(storage);
    const results = this.#run(plan);
    if (results === undefined) return;
    for (const storage of storages) sources.written(storage);
    const { inputs: existing, fresh } = session.memories;
    for (const memory of existing) this.#settle(memory, inputOf(session, memory));
    const sizeOf = (index: Index): number => session.sizes.hint(index);
    for (const input of inputs) input.dispose();
    handOut({ plan, graph: parts.graph, refs, results, fresh, kept, isLast, sizeOf }, sources);
  }

  /** A check failed in it: what came before the operator that failed still happens. */
  failed(error: Error): void {
    try {
      this.#replay();
    } catch {
      throw error;
    }
  }

  /** Whether something in it may be wrong that shows only when it runs. */
  #hasChecks(graph: Graph): boolean {
    return decompose(graph, this.session.sizes).outputs.length > 0;
  }

  #parts(wanted: readonly Memory[], unsteady: readonly number[], isLast: boolean): SegmentParts {
    const { session } = this;
    return {
      graph: session.graph(),
      sizes: session.sizes,
      values: session.memories.fresh.map((memory) => ({
        ref: memory.current,
        isAlive: memory.tensors.some(({ isDisposed }) => !isDisposed),
        isWanted: wanted.includes(memory),
        isCarried: this.#carried.has(memory),
      })),
      unsteady: new Set(unsteady),
      isLast,
    };
  }

  #plan(
    host: SegmentHost,
    parts: SegmentParts,
    { written, cause }: { written: readonly Memory[]; cause: Ending['cause'] },
  ): SegmentPlan {
    const { session } = this;
    const writes = written.map(({ placeholder, current: { node, result } }) => `${placeholder}=${node}.${result}`);
    const { inputs: existing, fresh } = session.memories;
    const memories = [...existing, ...fresh];
    const key = segmentKey(parts, `${writes.join()} ${memories.map(({ device }) => device).join()}`);
    const known = host.find(key, session.sizes);
    if (known !== undefined) return known;
    const choice = chooseOutputs(parts);
    for (const position of choice.outputs) session.builder.output(at(parts.values, position).ref);
    for (const { placeholder = 0, current } of written)
      session.builder.mutate(placeholder, session.builder.output(current));
    const inputs = session.placeholders.map(({ tensor }) => tensor);
    const placement = placementOf(memories, [...choice.outputs.map((position) => at(fresh, position)), ...written]);
    return host.add({ key, graph: session.graph(), sizes: session.sizes, inputs, choice, placement, cause: cause?.() });
  }

  /** The results; undefined where everything was done operator by operator. */
  #run({ run }: SegmentPlan): readonly Tensor[] | undefined {
    const inputs = this.session.placeholders.map(({ tensor }) => tensor);
    try {
      if (run !== undefined) return unrecorded(() => run(inputs));
      this.#replay();
    } catch (error) {
      if (run === undefined || !isCheckFailure(error)) throw error;
      this.failed(error);
    }
    for (const input of inputs) input.dispose();
    return undefined;
  }

  #replay(): void {
    const { session } = this;
    const { sources, newSession } = this.#surroundings;
    unrecorded(() => {
      this.log.replay({
        executor: defaultExecutor(),
        newSession,
        sizeOf: (index) => session.sizes.hint(index),
        protect: ({ storage }) => {
          sources.protect(storage);
        },
      });
    });
    for (const memory of session.memories.inputs) this.#settle(memory, inputOf(session, memory));
  }

  #settle(memory: Memory, root: Tensor): void {
    settle(memory, placeOf(root, 'a segment'), (index) => this.session.sizes.hint(index));
  }
}

const inputOf = (session: TraceSession, { placeholder = 0 }: Memory): Tensor =>
  at(session.placeholders, placeholder).tensor;
