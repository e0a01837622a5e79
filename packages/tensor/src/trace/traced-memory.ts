// Memory while a function is traced. A graph has values, not memory, so writes are turned into new values: a Memory is
// what a storage stands for, and holds the value that its elements have now; a traced tensor is a memory seen through a
// chain of primitive views. Reading replays the chain if the memory was written since; writing runs it backwards.
//
// Invariant: `ref` of a traced tensor is its value at `version`; it is stale exactly when the memory's version is newer.
import { at } from '@tsinductor/base';
import { contiguousStrides } from '@tsinductor/graph';
import type { Builder, GraphBuilder, Meta, ValueRef, ViewLayout } from '@tsinductor/graph';
import { add, equal, int } from '@tsinductor/ir';
import { expandCall, findAliases, mayAlias } from '../alias.ts';
import type { Alias, ViewStep } from '../alias.ts';
import type { BoundCall } from '../bound-call.ts';
import type { Device } from '../device.ts';
import type { Layout } from '../layout.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { undoView } from './undo-view.ts';

export interface Memory {
  /** The value of all elements, in the shape of the tensor that the memory began as. */
  current: ValueRef;
  version: number;
  /** Whether the program wrote to it outside of noGrad. */
  isWrittenWithGradients?: boolean;
  /** How its elements lie in the storage that eager execution would have. */
  readonly meta: Meta;
  /** Where it is an input of the graph: position of the placeholder. */
  readonly placeholder: number | undefined;
  /** What `current` is a value of: a session, or a segment that has ended. */
  home: object;
  readonly device: Device;
  /** Every tensor over it that was recorded. */
  readonly tensors: Tensor[];
  /** What stands for the input whose memory it is. */
  itself?: Tensor;
}

export interface TracedView {
  readonly memory: Memory;
  /** From the memory's value to this one's. */
  steps: readonly ViewStep[];
  /** Over the storage that eager execution would have: decides which further views share it. */
  layout: ViewLayout;
  /** The same in numbers, where that is known: of a tensor whose form was met before. */
  readonly fixed?: Layout | undefined;
  ref: ValueRef;
  version: number;
}

/** The value of a view now. */
export function valueOf(builder: Builder, view: TracedView): ValueRef {
  if (view.version !== view.memory.version) {
    view.ref = view.steps.reduce(
      (value, { target, attrs }) => builder.call(target, [value], attrs),
      view.memory.current,
    );
    view.version = view.memory.version;
  }
  return view.ref;
}

/** What a value is handed to a part as: as it lies where it is an input, else contiguous. */
export function argumentMeta(builder: GraphBuilder, ref: ValueRef): Meta {
  const meta = builder.meta(ref);
  return builder.isPlaceholder(ref) ? meta : { ...meta, strides: contiguousStrides(meta.shape) };
}

/** For each result of a call what it is a view of, if it is one. */
export function aliasesOfCall(
  call: BoundCall,
  views: readonly TracedView[],
  builder: GraphBuilder,
): readonly (Alias | undefined)[] {
  if (!mayAlias(call.operator)) return [];
  const metas = views.map(({ layout: { shape, strides }, ref }) => ({
    shape,
    strides,
    dtype: builder.meta(ref).dtype,
  }));
  return findAliases(expandCall(call, metas, builder.sizes), builder.sizes);
}

/** A view through `alias` of what another view shows, whose value is `ref`. */
export function viewThrough({ memory, steps, layout }: TracedView, alias: Alias, ref: ValueRef): TracedView {
  return {
    memory,
    steps: [...steps, ...alias.steps],
    layout: { ...alias.layout, offset: add(layout.offset, alias.layout.offset) },
    ref,
    version: memory.version,
  };
}

/** The memory's value becomes the one in which `view` has the value `given`. */
export function writeThrough(builder: Builder, view: TracedView, given: ValueRef): void {
  const { memory, steps } = view;
  const written = asItLies(builder, given, view.layout.strides);
  const before = [memory.current];
  for (const { target, attrs } of steps.slice(0, -1))
    before.push(builder.call(target, [before.at(-1) ?? memory.current], attrs));
  const undone = steps.reduceRight(
    (value, step, position) => undoView(builder, step, { base: before[position] ?? memory.current, written: value }),
    written,
  );
  const whole = asItLies(builder, undone, memory.meta.strides);
  const { isSuspended } = processState.gradients;
  const seen = isSuspended ? withHistory(builder, written, valueOf(builder, view)) : written;
  memory.current = steps.length === 0 ? seen : isSuspended ? withHistory(builder, whole, memory.current) : whole;
  memory.version += 1;
  memory.isWrittenWithGradients ||= !isSuspended;
  view.ref = seen;
  view.version = memory.version;
}

/**
 * The value with its elements in the order of the memory's, without gaps. A view that the memory's strides allow is then
 * one of the value as well, which is not so of what a write through a transposed view makes: a transposed value.
 */
function asItLies(builder: Builder, value: ValueRef, strides: Meta['strides']): ValueRef {
  const { sizes } = builder;
  const { shape, strides: own } = builder.meta(value);
  const order = axesByStride(strides.map((stride) => sizes.hint(stride)));
  const dense = contiguousStrides(order.map((axis) => at(shape, axis)));
  // Nothing is asked of symbolic sizes: what is not known to lie so is put in order.
  const isSo = order.every((axis, place) => equal(at(shape, axis), int(1)) || equal(at(own, axis), at(dense, place)));
  if (isSo) return value;
  const ordered = builder.call('contiguous', [builder.call('permute', [value], { dims: order })], {});
  return builder.call('permute', [ordered], { dims: order.map((_, axis) => order.indexOf(axis)) });
}

/** Axes from the largest stride to the smallest; of equal ones the outer comes first. */
const axesByStride = (strides: readonly number[]): readonly number[] =>
  strides.map((_, axis) => axis).sort((a, b) => at(strides, b) - at(strides, a));

/** What is written within noGrad is a constant: where the graph is differentiated as a whole, gradients go where they went before. */
const withHistory = (builder: Builder, written: ValueRef, before: ValueRef): ValueRef =>
  processState.recorder?.isLazy === true
    ? written
    : builder.call('overwritten', [builder.call('detach', [written]), before]);
