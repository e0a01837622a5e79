// The tensors of a call, as a trace has them: which of their sizes are symbolic, what stands for them, what a guard requires.
// In: tensors with the paths at which they were found. Out: stand-ins in a session, and guards.
import { at } from '@tsinductor/base';
import { largestIndex } from '@tsinductor/ir';
import { dynamicAxesOf, placedTensor, placeOf } from '@tsinductor/tensor/internal';
import type { SizeRange, TraceSession } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { isContiguous } from './guard.ts';
import type { TensorGuard } from './guard.ts';
import { membersOf } from './tensor-members.ts';
import type { TracePlan, Tracing } from './trace-call.ts';

/** The sizes that an axis may have if it is to be symbolic. */
type RangeOf = (axis: number) => SizeRange | undefined;

export class TracedInputs {
  /** What was announced to the session, or is known to it as a captured tensor, by leaf. */
  readonly announced: Tensor[] = [];
  /** Names of symbolic sizes by path and axis. */
  readonly sizeNames: Map<string, string> = new Map<string, string>();
  readonly #session: TraceSession;
  readonly #isDynamic: Tracing['isDynamic'];
  readonly #plan: TracePlan;
  readonly #twins: Tensor[] = [];

  constructor(session: TraceSession, { isDynamic }: Tracing, plan: TracePlan) {
    this.#session = session;
    this.#isDynamic = isDynamic;
    this.#plan = plan;
  }

  guardOf(tensor: Tensor, path: string): TensorGuard {
    return { ...guardTensor(tensor, this.#rangesOf(tensor, path)), members: membersOf(tensor) };
  }

  standIn(tensor: Tensor, path: string): Tensor {
    // Announced under another identity, so that the same tensor met through a closure is an input of its own: the
    // next call may pass another one.
    const { storage, layout } = placeOf(tensor, 'a compiled call');
    const twin = placedTensor(tensor.dtype, storage, layout);
    this.#twins.push(twin);
    this.announced.push(twin);
    const axes = symbolicAxes(tensor, this.#rangesOf(tensor, path)).map((axis) => {
      const order = this.sizeNames.size;
      this.sizeNames.set(`${path} ${String(axis.axis)}`, `s${String(order)}`);
      return { ...axis, hint: this.#plan.hint(at(tensor.shape, axis.axis), order) };
    });
    return this.#session.input(twin, axes);
  }

  /** For a tensor that the function sees itself. */
  asItIs(tensor: Tensor): TensorGuard {
    this.announced.push(tensor);
    return { ...guardTensor(tensor, () => undefined), members: membersOf(tensor) };
  }

  dispose(): void {
    for (const twin of this.#twins) twin.dispose();
  }

  #rangesOf(tensor: Tensor, path: string): RangeOf {
    return rangesOf(tensor, (axis) => this.#isDynamic(path, axis));
  }
}

/** 0 and 1 mean something else than other sizes do. */
const anySize: SizeRange = { min: 2, max: null };

/** What was marked, and what is dynamic besides. Where no limit is given, and the size is not above it, 32 bits hold a position. */
const rangesOf = (tensor: Tensor, isDynamic: (axis: number) => boolean): RangeOf => {
  const marked = dynamicAxesOf(tensor);
  return (axis) => {
    const range = marked.get(axis) ?? (isDynamic(axis) ? anySize : undefined);
    const most = at(tensor.shape, axis) > largestIndex ? null : largestIndex;
    return range && { min: range.min, max: range.max ?? most };
  };
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

export function guardTensor(tensor: Tensor, rangeOf: RangeOf): TensorGuard {
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
