// A trace: a function runs once on stand-ins for its inputs, and every operator is written into a graph. Tensors that
// exist already and are met on the way become further inputs, held by reference. Writes become values (traced-memory.ts);
// what inputs hold in the end is an output that the graph's `mutations` name. Reading elements is refused: a function
// that does so is recorded in segments, each in a session of its own (lazy-recorder.ts).
//
// Placeholders stand in the order in which inputs were announced and captures were met: `placeholders` says which is
// which. Every node carries the user's line.
import { at } from '@tsinductor/base';
import type { DType, SourceLocation } from '@tsinductor/base';
import { GraphBuilder } from '@tsinductor/graph';
import type { Graph, Meta, OriginMarks, SizeEnvironment, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { Alias } from '../alias.ts';
import type { BoundCall } from '../bound-call.ts';
import type { HostCall } from '../custom-op/custom-op.ts';
import { ambientDevice } from '../device.ts';
import type { Device } from '../device.ts';
import { metaOf } from '../eager/executor.ts';
import {
  aliasedMutation,
  dataDependent,
  escapedTensor,
  leavesGraph,
  nestedTrace,
  repeatedMutation,
  writeOverlap,
} from '../errors.ts';
import { knownLocation } from '../known-locations.ts';
import { userLocation } from '../location.ts';
import { processState, recordedBy, unrecorded } from '../process-state.ts';
import type {
  BodyRun,
  FlowCall,
  Formal,
  KernelLaunch,
  OpenBody,
  Placed,
  Recorded,
  Recorder,
  Writing,
} from '../recorder.ts';
import { placeOf, Tensor, withoutPlace } from '../tensor.ts';
import { GraphLeaving } from './graph-leaving.ts';
import { inputMeta } from './input-meta.ts';
import type { DynamicAxis } from './input-meta.ts';
import { TraceInputs } from './trace-inputs.ts';
import type { TracedInput, TraceResult } from './trace-result.ts';
import { aliasesOf } from './output-aliases.ts';
import { inputsOver, othersOver, writesTo } from './memory-roots.ts';
import { newMemory, recordedTensor } from './recorded-tensor.ts';
import { recordFlow } from './record-flow.ts';
import { TracedBody } from './traced-body.ts';
import { recordCall } from './record-call.ts';
import { recordHost } from './record-host.ts';
import { recordLaunch } from './record-launch.ts';
import { literalTensor, recordLiteral } from './record-literal.ts';
import { placementOf } from './placement.ts';
import { optionsWithin, sizesOf } from './trace-options.ts';
import type { AdaptedCall, TraceOptions } from './trace-options.ts';
import { aliasesOfCall, argumentMeta, valueOf, viewThrough, writeThrough } from './traced-memory.ts';
import type { Memory, TracedView } from './traced-memory.ts';
import { isUndone, repeatsElements } from './undo-view.ts';

export class TraceSession implements Recorder {
  readonly isLazy = false;
  readonly sizes: SizeEnvironment;
  readonly builder: GraphBuilder;
  readonly #options: TraceOptions;
  readonly #recorder: Recorder;
  readonly #locate: () => SourceLocation | undefined;
  readonly #given: TraceInputs;
  readonly #captured = new Map<Tensor, TracedView>();
  readonly #inputs: Memory[] = [];
  readonly #fresh: Memory[] = [];
  readonly #hosts: TraceResult['hosts'][number][] = [];
  readonly #offsets = new Set<number>();
  readonly #snapshots = new Map<object, ValueRef>();
  #symbols = 0;
  #calls = 0;
  #isOpen = true;
  readonly #leaving: GraphLeaving;
  isTrusted = false; // what runs now may do more than a graph repeats

  constructor(options: TraceOptions = {}) {
    const { owner, outer } = options;
    if ((owner ?? outer) === undefined && processState.recorder !== undefined) throw nestedTrace();
    [this.#options, this.#leaving] =
      outer === undefined ? [options, new GraphLeaving()] : [optionsWithin(outer, outer.#options), outer.#leaving];
    this.#recorder = owner?.recorder ?? this;
    this.sizes = sizesOf(options);
    this.#locate = owner === undefined ? knownLocation : () => owner.locate();
    const marks = (): OriginMarks => processState.gradients.marks;
    this.builder = new GraphBuilder({ sizes: this.sizes, locate: this.#locate, marks });
    this.#given = new TraceInputs(this.builder, owner !== undefined);
  }

  /** Announces an input; the result stands for it in the traced function. `dynamic` axes get symbolic sizes. */
  input(tensor: Tensor, dynamic: readonly DynamicAxis[] = []): Tensor {
    const view = this.#placeholder(tensor, 'input', this.#inputMeta(tensor, dynamic));
    return (view.memory.itself = this.#tensor(tensor.dtype, this.builder.meta(view.ref), view));
  }

  /** Runs `work` with this session recording. */
  run<T>(work: () => T): T {
    if (processState.recorder !== undefined) throw nestedTrace();
    return this.#leaving.around(() => this.within(work));
  }

  /** Runs `work` with this session recording, in place of the one that it is a part of. */
  within<T>(work: () => T): T {
    return recordedBy(this, work);
  }

  /** What stands for a formal parameter of a body, which begins as `tensor` of the session around it. */
  formal(tensor: Tensor, meta: Meta): Tensor {
    const view = this.#placeholder(tensor, 'input', meta);
    this.#captured.delete(tensor); // what the body closes over is the tensor itself
    return (view.memory.itself = this.#tensor(tensor.dtype, meta, view));
  }

  /** The value of a tensor of this session, or of one that it is a part of; undefined for what others recorded. */
  argument(tensor: Tensor): { readonly ref: ValueRef; readonly meta: Meta } | undefined {
    const { backing } = tensor;
    const isOwn = backing.kind !== 'recorded' || backing.recorder === this.#recorder;
    if (!isOwn && this.#options.outer?.argument(tensor) === undefined) return undefined;
    const ref = valueOf(this.builder, this.#viewOf(tensor));
    return { ref, meta: argumentMeta(this.builder, ref) };
  }

  openBody(name: string, formals: readonly Formal[], run: BodyRun): OpenBody {
    return new TracedBody(name, { outer: this, formals, run, session: new TraceSession({ outer: this }) });
  }

  flow(call: FlowCall): readonly Tensor[] {
    return recordFlow(this, call, { hosts: this.#hosts, made: (ref, device) => this.#made(ref, device) });
  }

  adapt(call: BoundCall, metas: () => readonly Meta[]): AdaptedCall {
    return this.#options.adapt?.(call, this.#calls++, metas) ?? call;
  }

  /** Ends the trace. `outputs` may be traced, captured or any other tensors. */
  finish(outputs: readonly Tensor[]): TraceResult {
    const views = outputs.map((tensor) => this.#viewOf(tensor));
    this.builder.output(...views.map((view) => valueOf(this.builder, view)));
    const written = this.#inputs.filter(({ version, placeholder }) => version > 0 && placeholder !== undefined);
    for (const { placeholder = 0, current } of written) this.builder.mutate(placeholder, this.builder.output(current));
    this.#isOpen = false;
    return {
      placement: placementOf([...this.#inputs, ...this.#fresh], [...views.map(({ memory }) => memory), ...written]),
      graph: this.builder.finish(),
      placeholders: this.placeholders,
      aliases: aliasesOf(outputs, views),
      guards: this.sizes.guards(),
      offsets: [...this.#offsets],
      hosts: this.#hosts,
    };
  }

  /** The graph so far, without outputs: of a segment. */
  graph(): Graph {
    return this.builder.finish();
  }

  get placeholders(): readonly TracedInput[] {
    return this.#given.list;
  }

  /** The value of a placeholder, by its position. */
  readonly placeholderRef = (position: number): ValueRef => this.#given.ref(position);

  /** The placeholder that stands for a tensor that exists, or for what an ended segment kept. */
  placeholderOf(met: Tensor | { readonly tensor: Tensor }): number | undefined {
    if (met instanceof Tensor) return this.#captured.get(met)?.memory.placeholder;
    const ref = this.#snapshots.get(met);
    return ref === undefined ? undefined : this.#given.positionOf(ref);
  }

  /** Memory of inputs, and of what the function made, in the order in which they were met. */
  get memories(): { readonly inputs: readonly Memory[]; readonly fresh: readonly Memory[] } {
    return { inputs: this.#inputs, fresh: this.#fresh };
  }

  /** A memory of an earlier segment, whose value is `ref` here. */
  adopt(memory: Memory, ref: ValueRef): void {
    memory.home = this;
    memory.current = ref;
    memory.version += 1;
    this.#fresh.push(memory);
  }

  /** The value of what an ended segment kept, as it was when this one began: later writes are not seen. */
  snapshotOf(source: { readonly tensor: Tensor }): ValueRef {
    const known = this.#snapshots.get(source);
    if (known !== undefined) return known;
    const { tensor } = source;
    const meta = this.#inputMeta(tensor, this.#options.owner?.axesOf(tensor) ?? []);
    const made = this.#given.announce(tensor, 'capture', meta);
    this.#snapshots.set(source, made);
    tensor.dispose();
    return made;
  }

  /** Whether a graph cannot say what follows from a use of `tensor`, or a write of `value` to it, as memory is seen in other places. */
  conflicts(tensor: Tensor, write?: Writing & { readonly value: Tensor }): boolean {
    if (write !== undefined) this.#viewOf(write.value); // from now on an input, if it is memory
    const { backing } = tensor;
    if (backing.kind === 'disposed' || backing.kind === 'mapped') return false;
    const view = backing.kind === 'placed' ? this.#captured.get(tensor) : (backing.handle as TracedView);
    if (view !== undefined)
      return write !== undefined && (this.#sharing(view.memory).length > 0 || !isUndone(this.builder, view, write));
    const others = this.#inputs.filter((other) => write !== undefined || other.version > 0);
    return inputsOver(tensor, others, this.placeholders).length > 0;
  }

  /** Whether a waiting write changes what `tensor`, or the memory that it is a view of, holds: that has one name then. */
  isWritten = (tensor: Tensor): boolean => this.writesTo(tensor) > 0;

  writesTo(tensor: Tensor): number {
    return writesTo(tensor, this.#recorder, this) + (this.#options.outer?.writesTo(tensor) ?? 0);
  }

  call(made: BoundCall): readonly Tensor[] {
    const call = this.#adapted(made);
    const views = call.tensors.map((tensor) => this.#viewOf(tensor));
    const refs = views.map((view) => valueOf(this.builder, view));
    const refOf = (tensor: Tensor): ValueRef => this.#viewOf(tensor).ref;
    const results = recordCall(this.builder, call, { refs, refOf, locate: this.#locate });
    const aliases = aliasesOfCall(call, views, this.builder);
    return results.map((ref, position) => this.#result({ ref, device: call.device }, aliases[position], views));
  }

  #adapted(call: BoundCall): AdaptedCall {
    const ownMeta = (tensor: Tensor): Meta => this.builder.meta(valueOf(this.builder, this.#viewOf(tensor)));
    return this.adapt(call, () => call.tensors.map(ownMeta));
  }

  host(call: HostCall): readonly Tensor[] {
    const views = call.call.tensors.map((tensor) => this.#viewOf(tensor));
    this.#hosts.push(call);
    return recordHost(this, call, { views, made: (ref) => this.#made(ref, call.call.device) });
  }

  launch(launch: KernelLaunch): void {
    this.#hosts.push(launch);
    recordLaunch(
      this,
      launch,
      launch.operands.map(({ tensor }) => this.#viewOf(tensor)),
    );
  }

  literal(bytes: Uint8Array, meta: { readonly dtype: DType; readonly shape: readonly number[] }): Tensor {
    this.#options.sawLiteral?.(bytes, meta);
    const ref = recordLiteral(this.builder, { ...meta, bytes }, this.#options);
    return ref === undefined ? literalTensor(bytes, meta) : this.#made(ref, ambientDevice());
  }

  /** Throws UserError WRITE_OVERLAP, as eager execution does. */
  checkWrite(target: Tensor, { operation, isUniform }: Writing): void {
    const layout = target.backing.kind === 'placed' ? metaOf(target) : this.#viewOf(target).layout;
    if (isUniform !== true && repeatsElements(layout, this.sizes)) throw writeOverlap(operation);
  }

  /** The memory that has other elements then; undefined where there are none to write to. */
  write(target: Tensor, value: Tensor, writing: Writing): Memory | undefined {
    const { operation } = writing;
    this.checkWrite(target, writing);
    const view = this.#viewOf(target);
    const written = valueOf(this.builder, this.#viewOf(value));
    // Nothing is written to no elements, whatever memory they would be in. The layout says how many there are: the view's
    // value may be one of an earlier segment, of which the memory alone has been taken over.
    if (view.layout.shape.some((size) => this.sizes.isZero(size))) return undefined;
    this.requireOwn(view.memory, operation);
    if (!isUndone(this.builder, view, writing)) this.#leaving.raise(repeatedMutation(operation));
    const location = this.#locate();
    this.builder.withOrigin({ from: [operation], ...(location === undefined ? {} : { location }) }, () => {
      writeThrough(this.builder, view, written);
    });
    return view.memory;
  }

  /** Throws UserError ALIASED_MUTATION where a write to the memory would be seen in another input. */
  requireOwn(memory: Memory, operation: string): void {
    if (this.#sharing(memory).length > 0) this.#leaving.raise(aliasedMutation(operation));
  }

  offsetOf(tensor: Tensor): number {
    const { memory, layout } = this.#viewOf(tensor);
    const own = this.sizes.toNumber(layout.offset);
    if (memory.placeholder === undefined) return own;
    this.#offsets.add(memory.placeholder);
    return own + at(this.placeholders, memory.placeholder).tensor.storageOffset;
  }

  read(_: Tensor, operation: string): Placed {
    if (!this.#isOpen || processState.recorder !== this) throw escapedTensor();
    return this.#leaving.raise(dataDependent(operation, userLocation()));
  }

  suspend<T>(work: () => T, reason: string): T {
    if (this.isTrusted) return work();
    return this.#leaving.raise(leavesGraph(reason, userLocation()));
  }

  trust<T>(work: () => T): T {
    const outer = this.isTrusted;
    this.isTrusted = true;
    try {
      return work();
    } finally {
      this.isTrusted = outer;
    }
  }

  /** The traced view that a tensor stands for; one that exists already is captured. */
  #viewOf(tensor: Tensor): TracedView {
    const value = tensor.backing;
    switch (value.kind) {
      case 'recorded':
        return this.#recordedView(tensor, value);
      case 'placed':
        return (
          this.#captured.get(tensor) ??
          this.#placeholder(tensor, 'capture', this.#inputMeta(tensor, this.#options.owner?.axesOf(tensor) ?? []))
        );
      case 'mapped':
      case 'disposed':
        throw withoutPlace(tensor, 'a traced call');
    }
  }

  #recordedView(tensor: Tensor, { recorder, handle }: Recorded): TracedView {
    const view = handle as TracedView;
    if (recorder === this.#recorder) {
      if (view.memory.home !== this) this.#options.owner?.carry(view.memory);
      return view;
    }
    const given = this.#options.outer?.argument(tensor);
    if (given !== undefined) return this.#captured.get(tensor) ?? this.#placeholder(tensor, 'capture', given.meta);
    // Another function left it to be computed when somebody asks.
    if (!recorder.isLazy) throw escapedTensor();
    unrecorded(() => placeOf(tensor, 'a traced call'));
    return this.#viewOf(tensor);
  }

  #placeholder(tensor: Tensor, kind: TracedInput['kind'], meta: Meta): TracedView {
    const placeholder = this.placeholders.length;
    const ref = this.#given.announce(tensor, kind, meta);
    const memory = this.#memory(ref, tensor.device, placeholder);
    this.#inputs.push(memory);
    if (this.#sharing(memory).some(({ version }) => version > 0)) throw aliasedMutation('an earlier operation');
    const view: TracedView = {
      memory,
      steps: [],
      layout: { shape: meta.shape, strides: meta.strides, offset: int(0) },
      ref,
      version: 0,
    };
    this.#captured.set(tensor, view);
    return view;
  }

  #sharing(memory: Memory): readonly Memory[] {
    return othersOver(memory, this.#inputs, this.placeholders);
  }

  #inputMeta(tensor: Tensor, dynamic: readonly DynamicAxis[]): Meta {
    return inputMeta(tensor, dynamic, (axis) =>
      this.sizes.declare(`s${this.#symbols++}`, axis.hint ?? at(tensor.shape, axis.axis), axis),
    );
  }

  #result(
    { ref, device }: Pick<Memory, 'device'> & Pick<TracedView, 'ref'>,
    alias: Alias | undefined,
    views: readonly TracedView[],
  ): Tensor {
    if (alias === undefined) return this.#made(ref, device);
    const view = viewThrough(at(views, alias.input), alias, ref);
    return this.#tensor(this.builder.meta(ref).dtype, alias.layout, view);
  }

  #made(ref: ValueRef, device: Device): Tensor {
    const { shape, dtype } = this.builder.meta(ref);
    const memory = this.#memory(ref, device);
    this.#fresh.push(memory);
    const { strides } = memory.meta;
    const layout = { shape, strides, offset: int(0) };
    return this.#tensor(dtype, layout, { memory, steps: [], layout, ref, version: 0 });
  }

  #memory(ref: ValueRef, device: Device, placeholder?: number): Memory {
    return newMemory(ref, this.builder.meta(ref), { home: this, device, placeholder });
  }

  #tensor(dtype: DType, layout: Pick<Meta, 'shape' | 'strides'>, handle: TracedView): Tensor {
    return recordedTensor(dtype, layout, { ...this.#options, handle, recorder: this.#recorder, sizes: this.sizes });
  }
}
