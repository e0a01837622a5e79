// Tensor: an n-dimensional array. Its dtype, shape and strides never change; its elements lie in a Storage, which views
// share, or, while a function is traced, it stands for a value of the recorder. Operators are methods, installed from
// the operator table (`install-methods.ts`) and typed by `generated/methods.ts`.
import type { DType, UserError } from '@tsinductor/base';
import type { GradientMembers } from './autograd/tensor-methods.ts';
import type { GradientState } from './autograd/gradient-state.ts';
import type { ChoiceMethods } from './choice.ts';
import { copiedElements } from './compared.ts';
import type { DataDependentMethods } from './data-dependent.ts';
import type { Device } from './device.ts';
import { byteSize, elementReader, makeElements, widened } from './element-array.ts';
import type { ElementArray, ElementValue } from './element-array.ts';
import type { ArrayOf, DTypeOf, ElementOf, NestedArray, NestedOf, Open, Shape, SizesOf } from './element-types.ts';
import { ambiguousPrimitive, disposedTensor, notOneElement } from './errors.ts';
import type { TensorMethods } from './generated/methods.ts';
import { copyElements, elementsOf, isRowMajor, reach, rowMajorLayout, sharesElements } from './layout.ts';
import type { Layout } from './layout.ts';
import { located } from './location.ts';
import { formatTensor } from './print.ts';
import { processState } from './process-state.ts';
import { mappedValue } from './mapping/errors.ts';
import type { Mapped } from './mapping/level.ts';
import type { RandomMethods } from './random-fills.ts';
import type { Placed, Recorded } from './recorder.ts';
import type { Storage } from './storage.ts';
import { sizeFor } from './symbolic-shape.ts';
import type { DeviceMethods } from './transfer.ts';
import type { SubscriptMethods } from './subscript.ts';

interface Disposed {
  readonly kind: 'disposed';
}
type TensorValue = Placed | Recorded | Mapped | Disposed;

const disposed: Disposed = { kind: 'disposed' };
/** Its description is what the error of structuredClone says. */
const uncloneable = Symbol('a tensor, of which to send toTypedArray() with shape and dtype,');
/** On the prototype of every Tensor: the registered symbol is the same in every realm and copy of the package. */
const brand = Symbol.for('tsinductor.tensor');

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the operators' methods are installed on the prototype from the table that the interface is generated from
export class Tensor<out D extends DType = Open, out S extends Shape = Open> {
  readonly dtype: DTypeOf[D];
  /** Sizes, outermost first. */
  readonly shape: SizesOf<S>;
  /** Where elements live: `cpu`, `cuda:0`. */
  readonly device: Device;
  /** structuredClone and postMessage refuse it, as a copy would have no elements. */
  readonly uncloneable: symbol = uncloneable;
  // What a comparison of members, as of test runners, is not to look at: it sees the elements by iterating.
  readonly #strides: readonly number[];
  #backing: TensorValue;
  #gradient: GradientState | undefined;

  /** Tensors are made by tensor(), zeros() and their like, and by operators. */
  constructor(dtype: DType, layout: Pick<Layout, 'shape' | 'strides'>, value: Placed | Recorded | Mapped) {
    this.dtype = dtype as DTypeOf[D];
    this.shape = layout.shape as SizesOf<S>;
    this.#strides = layout.strides;
    this.#backing = value;
    this.device = value.kind === 'placed' ? value.storage.device : value.device;
    if (value.kind === 'placed') value.storage.retain();
    processState.scopes?.getStore()?.add(this);
  }

  /** Steps between neighbours along each dim, in elements. */
  get strides(): readonly number[] {
    return this.#strides;
  }

  /** What stands behind the tensor: memory, or a recorder's value. For this package and the compiler. */
  get backing(): TensorValue {
    return this.#backing;
  }

  set backing(value: TensorValue) {
    this.#backing = value;
  }

  /** What is known of its gradient; undefined where nobody asked. For this package and the compiler. */
  get gradient(): GradientState | undefined {
    return this.#gradient;
  }

  set gradient(state: GradientState | undefined) {
    this.#gradient = state;
  }

  /** Number of dims. */
  get ndim(): number {
    return this.shape.length;
  }

  /** Number of elements. */
  get numel(): number {
    if (this.backing.kind !== 'recorded') return elementsOf(this.shape);
    let count = 1;
    for (let axis = 0; axis < this.shape.length; axis += 1) count *= sizeFor(this.shape, axis, numelOf()) ?? 1;
    return count;
  }

  get isDisposed(): boolean {
    return this.backing.kind === 'disposed';
  }

  /** Position of the first element in the storage, in elements. */
  get storageOffset(): number {
    const value = this.backing;
    if (value.kind === 'recorded') return value.recorder.offsetOf(this);
    return value.kind === 'placed' ? value.layout.offset : 0;
  }

  /** Where the first element lies in native memory. */
  get address(): number {
    const { storage, layout } = readPlace(this, 'address');
    return layout.offset === 0 ? storage.address : storage.address + byteSize(this.dtype, layout.offset);
  }

  dim(): number {
    return this.shape.length;
  }

  /** All sizes, or the size of one dim (negative ones count from the end). */
  size(): readonly number[];
  size(dim: number): number;
  size(dim?: number): number | readonly number[] {
    if (dim === undefined) return this.shape;
    if (this.backing.kind !== 'recorded') return this.shape.at(dim) ?? 1;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is not called: whose caller asks is looked up by it
    return sizeFor(this.shape, dim < 0 ? dim + this.shape.length : dim, this.size) ?? 1;
  }

  stride(): readonly number[];
  stride(dim: number): number;
  stride(dim?: number): number | readonly number[] {
    if (dim === undefined) return this.strides;
    return this.strides.at(dim) ?? 1;
  }

  /** Whether the elements lie in row-major order without gaps. */
  isContiguous(): boolean {
    return isRowMajor(this);
  }

  /**
   * The elements in row-major order, as a copy: f16 and bf16 widened to a Float32Array, i64 as a BigInt64Array, bool as
   * bytes 0 and 1.
   */
  toTypedArray(): ArrayOf[D] {
    return widened(this.dtype, rawElements(this, 'toTypedArray()')) as ArrayOf[D];
  }

  /** As `toTypedArray`, once the elements are computed, on any device. */
  data(): Promise<ArrayOf[D]> {
    return Promise.resolve().then(() => widened(this.dtype, rawElements(this, 'data()')) as ArrayOf[D]);
  }

  /** Nested arrays. An i64 is a number where that is exact, else a bigint; a bool is a boolean. */
  toArray(): NestedOf<ElementOf[D]>[S['length']] {
    const read = elementReader(this.dtype, rawElements(this, 'toArray()'));
    let position = 0;
    const nest = (axis: number): NestedArray =>
      axis === this.shape.length
        ? read(position++)
        : Array.from({ length: this.shape[axis] ?? 0 }, () => nest(axis + 1));
    return nest(0) as NestedOf<ElementOf[D]>[S['length']];
  }

  /** The only element, as `toArray` gives it. */
  item(): ElementOf[D] {
    if (this.numel !== 1) throw notOneElement('item()', this.shape);
    const { storage, layout } = readPlace(this, 'item()');
    const value = elementReader(this.dtype, storage.element(this.dtype, layout.offset))(0);
    processState.recorder?.noteRead?.(value);
    return value as ElementOf[D];
  }

  /** Gives the memory back now, if no view shares it. Using the tensor afterwards is an error; disposing it again is not. */
  dispose(): void {
    const value = this.backing;
    this.backing = disposed;
    if (value.kind === 'placed') value.storage.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** What JSON.stringify writes: the elements as `toArray` gives them. */
  toJSON(): NestedArray {
    return copiedElements(this) ?? this.toArray();
  }

  toString(): string {
    const value = this.backing;
    const meta = `${this.dtype}[${this.shape.join(', ')}]`;
    if (value.kind === 'disposed') return `Tensor(${meta}, disposed)`;
    if (value.kind === 'mapped') return `Tensor(${meta}, under vmap)`;
    if (value.kind === 'recorded' && !value.recorder.isLazy) return `Tensor(${meta}, traced)`;
    const { recorder } = processState;
    // Printing is no reason to break a trace, which does it once with what is there.
    const elements = recorder?.isLazy === false ? elementsAt(this, placeOf(this, 'toString()')) : undefined;
    return formatTensor(this, elements ?? rawElements(this, 'toString()'));
  }

  /** Tensors do not turn into primitives silently: `x + 1` and `if (x < y)` are mistakes. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    throw ambiguousPrimitive();
  }
}

export interface Tensor<out D extends DType = Open, out S extends Shape = Open>
  extends
    GradientMembers<D, S>,
    TensorMethods<D, S>,
    SubscriptMethods<D>,
    DataDependentMethods<D>,
    RandomMethods,
    DeviceMethods<D, S>,
    ChoiceMethods {
  to: DeviceMethods<D, S>['to'] & TensorMethods<D, S>['to'];
  /** The parts along the first dim, as `unbind` gives them. (Of a 0-d tensor, which has none, the element.) */
  [Symbol.iterator](): Iterator<Tensor<D>>;
}

/** The function behind `numel`. */
const numelOf = (): (() => unknown) =>
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is not called either
  Object.getOwnPropertyDescriptor(Tensor.prototype, 'numel')?.get ?? (() => undefined);

Object.defineProperty(Tensor.prototype, brand, { value: true });
Object.defineProperty(Tensor.prototype, Symbol.iterator, {
  *value(this: Tensor): Generator<Tensor | ElementValue> {
    if (this.ndim === 0) yield this.item();
    else if (processState.recorder !== undefined || this.backing.kind === 'mapped') yield* this.unbind(0);
    else yield* partsOf(this);
  },
});
Object.defineProperty(Tensor.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  value(this: Tensor): string {
    return this.toString();
  },
});

/** The views along the first dim, one by one: a tensor may have millions. */
function* partsOf(tensor: Tensor): Generator<Tensor> {
  const { storage, layout } = placeOf(tensor, 'iteration');
  const [count = 0, ...shape] = layout.shape;
  const [step = 0, ...strides] = layout.strides;
  for (let i = 0; i < count; i += 1)
    yield placedTensor(tensor.dtype, storage, { shape, strides, offset: layout.offset + i * step });
}

/** Whether `value` is a tensor, also one of another realm. */
export const isTensor = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && (value instanceof Tensor || brand in value);

/** A tensor over a storage. */
export const placedTensor = (dtype: DType, storage: Storage, layout: Layout): Tensor =>
  new Tensor(dtype, layout, { kind: 'placed', storage, layout });

/** Where the elements lie; asks the recorder of a traced tensor, which may refuse. */
export function placeOf(tensor: Tensor, operation: string): Placed {
  const value = tensor.backing;
  switch (value.kind) {
    case 'placed':
      return value;
    case 'recorded':
      return value.recorder.read(tensor, operation);
    case 'mapped':
    case 'disposed':
      throw located(withoutPlace(tensor, operation));
  }
}

/** Why a tensor has no elements that could be read. */
export const withoutPlace = ({ backing, dtype, shape }: Tensor, operation: string): UserError =>
  backing.kind === 'mapped' ? mappedValue(operation, shape, backing.level.isOpen) : disposedTensor(shape, dtype);

/** The same for a program that reads the elements: while it is recorded, writes to what exists may be waiting. */
export const readPlace = (tensor: Tensor, operation: string): Placed =>
  processState.recorder === undefined || tensor.backing.kind === 'disposed' || tensor.backing.kind === 'mapped'
    ? placeOf(tensor, operation)
    : processState.recorder.read(tensor, operation);

/** Whether two tensors have elements in common: then a write to one may be seen in the other. */
export const sharesMemory = (a: Tensor, b: Tensor): boolean =>
  placesOverlap(placeOf(a, 'sharesMemory'), placeOf(b, 'sharesMemory'));

/** The same for where tensors lie. */
export function placesOverlap(first: Placed, second: Placed): boolean {
  if (first.storage === second.storage) return sharesElements(first.layout, second.layout);
  // Memory that users share can be under several storages.
  return first.storage.buffer === second.storage.buffer && first.storage.overlaps(second.storage);
}

/** The same for storages that may overlap. */
const memoryOf = (storage: Storage): object => (storage.isShared ? storage.buffer : storage);

/** Whether a write to one of `written`, which are among `all`, may be seen in another of them. */
export function writesAreShared(written: readonly Tensor[], all: readonly Tensor[]): boolean {
  const memories = new Set(all.map((tensor) => memoryOf(placeOf(tensor, 'writesAreShared').storage)));
  if (memories.size === all.length) return false;
  return (
    written.some((target) => all.some((other) => other !== target && sharesMemory(target, other))) ||
    written.some((target) => all.indexOf(target) !== all.lastIndexOf(target))
  );
}

/** A recorded tensor got its memory. */
export function fulfil(tensor: Tensor, place: Placed): void {
  place.storage.retain();
  tensor.backing = place;
}

/** The elements in row-major order as they lie in memory, as a copy. */
export function rawElements(tensor: Tensor, operation: string): ElementArray {
  const elements = elementsAt(tensor, readPlace(tensor, operation));
  if (elements.length === 1) processState.recorder?.noteRead?.(elementReader(tensor.dtype, elements)(0));
  return elements;
}

function elementsAt({ dtype }: Tensor, { storage, layout }: Placed): ElementArray {
  const elements = makeElements(dtype, elementsOf(layout.shape));
  const { offset } = layout;
  const source = storage.read(dtype, offset, reach(layout));
  copyElements(source, { ...layout, offset: 0 }, { elements, layout: rowMajorLayout(layout.shape) });
  return elements;
}
