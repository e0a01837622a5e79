// A tensor as it was when a segment ended, for values that may be made of it later. While the function runs it holds the
// memory; afterwards it only looks at memory that others hold, and refuses if that was written to or given back.
import { openDevice } from '../device.ts';
import type { TensorDevice } from '../device.ts';
import { leftBehind } from '../errors.ts';
import { byteSize, makeElements } from '../element-array.ts';
import { copyElements, elementsOf, reach, rowMajorLayout } from '../layout.ts';
import type { Placed } from '../recorder.ts';
import { outsideScopes } from '../scope.ts';
import { allocate } from '../storage.ts';
import type { Storage } from '../storage.ts';
import { placedTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { storageOn } from '../transfer.ts';

/** What values are made of, as long as somebody may ask for them. */
interface Keeper {
  readonly isNeeded: boolean;
}

export class Source {
  /** Whose values are made of it. */
  keeper: Keeper | undefined;
  readonly dtype: Tensor['dtype'];
  #place: Placed;
  #isHolding = true;
  /** Writes to the storage so far; undefined for a copy of its own. */
  #writes: number | undefined;

  constructor(dtype: Tensor['dtype'], place: Placed) {
    this.dtype = dtype;
    this.#place = place;
    this.#writes = place.storage.writes;
    place.storage.retain();
  }

  get storage(): Storage {
    return this.#place.storage;
  }

  /** The elements are about to change: keeps them as they are. */
  detach(): void {
    if (this.#writes === undefined) return;
    const copy = this.#copy();
    this.#letGo();
    this.#place = copy;
    this.#writes = undefined;
  }

  #letGo(): void {
    if (this.#isHolding) this.#place.storage.release();
    this.#isHolding = false;
  }

  #copy(): Placed {
    const { storage, layout } = this.#place;
    if (storage.device !== 'cpu')
      return copyOnDevice(openDevice(storage.device), { dtype: this.dtype, storage, layout });
    const elements = makeElements(this.dtype, elementsOf(layout.shape));
    const own = rowMajorLayout(layout.shape);
    copyElements(storage.elements(this.dtype), layout, { elements, layout: own });
    const copy = allocate(byteSize(this.dtype, elements.length), 'intermediate');
    copy.elements(this.dtype).set(elements as never);
    return { kind: 'placed', storage: copy, layout: own };
  }

  get device(): Tensor['device'] {
    return this.#place.storage.device;
  }

  get shape(): readonly number[] {
    return this.#place.layout.shape;
  }

  get strides(): readonly number[] {
    return this.#place.layout.strides;
  }

  /** Where it lies, while it is intact. */
  get place(): Placed {
    return this.#place;
  }

  /** Whether it holds what it held. */
  get isIntact(): boolean {
    if (this.#isHolding || this.#writes === undefined) return true;
    const { storage } = this.#place;
    return !storage.isReturned && !storage.isShared && storage.writes === this.#writes;
  }

  /** The tensor. Throws UserError TRACED_ESCAPED if it no longer holds what it held. */
  get tensor(): Tensor {
    if (!this.isIntact) throw leftBehind();
    const { storage, layout } = this.#place;
    return outsideScopes(() => placedTensor(this.dtype, storage, layout));
  }

  /** Gives up the memory where somebody else has it too, or nobody needs it: from now on it only looks. */
  release(): void {
    if (!this.#place.storage.hasOneOwner || !this.isNeeded) this.#letGo();
  }

  /** Whether a value that is made of it may still be asked for. */
  get isNeeded(): boolean {
    return this.keeper?.isNeeded !== false;
  }
}

/** The span of memory that a layout reaches, once more. */
function copyOnDevice(
  device: TensorDevice,
  { dtype, storage, layout }: Omit<Placed, 'kind'> & Pick<Tensor, 'dtype'>,
): Placed {
  const bytes = byteSize(dtype, reach(layout) - layout.offset);
  const copy = storageOn(storage.device, bytes);
  device.copy(storage.address + byteSize(dtype, layout.offset), copy.address, bytes);
  return { kind: 'placed', storage: copy, layout: { ...layout, offset: 0 } };
}

/** The sources that segments of a running function keep, by their storage. */
export class SourceIndex {
  readonly #sources = new Map<Storage, Source[]>();

  add(source: Source): void {
    const known = this.#sources.get(source.storage);
    if (known === undefined) this.#sources.set(source.storage, [source]);
    else known.push(source);
  }

  /** The storage is about to be written to. */
  protect(storage: Storage): void {
    for (const source of this.#sources.get(storage) ?? []) source.detach();
    this.#sources.delete(storage);
  }

  /** A segment is about to write to the storage: what it has taken over of earlier ones is needed again only if it fails. */
  protectNeeded(storage: Storage): void {
    for (const source of this.#sources.get(storage) ?? []) if (source.isNeeded) source.detach();
  }

  /** The segment has written to it. */
  written(storage: Storage): void {
    for (const source of this.#sources.get(storage) ?? []) source.release();
    this.#sources.delete(storage);
  }

  /** Any storage may be written to. */
  protectAll(): void {
    for (const storage of [...this.#sources.keys()]) this.protect(storage);
  }

  /** The function has returned. */
  release(): void {
    for (const sources of this.#sources.values()) for (const source of sources) source.release();
    this.#sources.clear();
  }
}
