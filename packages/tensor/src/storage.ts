// The memory of tensors. In: a number of bytes, or memory that the user shares. Out: a Storage that several tensors
// (views) hold together. It is given back when the last of them is disposed, or when the collector finds the Storage
// unreachable, and with it every array that shows its elements.
//
// Memory comes from the pool of the storage provider, which the compiler sets when it has native memory. Small results of
// eager operators, all of them before the pool is open, and everything beyond half the memory the pool should hold, are plain
// ArrayBuffers, which V8 frees by itself. Compiled functions read those too, so they begin at a line of the cache, and large ones
// are on huge pages. Memory of a device has an address and no buffer here: it is copied, and written to by programs of its device.
import { invariant, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { createWatcher } from '@tsinductor/runtime';
import type { Block, StoragePool, Watcher } from '@tsinductor/runtime';
import { openDevice } from './device.ts';
import type { Device, OtherDevice, TensorDevice } from './device.ts';
import { byteSize, makeElements, viewElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { badArgument, detachedBuffer, deviceMemory, outOfMemory } from './errors.ts';
import { processState } from './process-state.ts';
import { StorageRegistry } from './storage-registry.ts';
import type { Lease, StorageKind } from './storage-registry.ts';

export interface StorageProvider {
  /** May be opened by the first who asks. */
  readonly pool: StoragePool;
  /** Who tells of storages that nobody disposed; between tasks, if it is not given. Opened with the pool. */
  readonly watcher?: Watcher;
  /** Whether the pool is there without being opened; it is unless this says no. */
  isOpen?(): boolean;
  /** Whether the pool may yet give way to another one: then it is asked for anew each time. */
  isProvisional?(): boolean;
  /** Storage below this many bytes is left to the collector; none is by default. */
  readonly least?: number;
  /** Where an array of the JavaScript heap lies, for native code. */
  addressOf?(array: ArrayBufferView): number;
  /** Asks for huge pages under an array of the JavaScript heap that nobody has touched, if it is large enough for them. */
  preferHugePages?(bytes: Uint8Array): void;
  /** Bytes in use beyond which new storage is left to the collector; half the memory by default. */
  readonly softLimit?: number;
  /** Bytes of the temporaries of compiled graphs: all, and the most at a time before and after planning. */
  temporaries?(): TemporaryStats | undefined;
}

/** Bytes that the compiled graphs of this process take for temporaries while they run, added up. */
export interface TemporaryStats {
  /** Each at a place of its own. */
  readonly total: number;
  /** The most that live at a time: in the order of the program, and as kernels and places were chosen. */
  readonly peakBefore: number;
  readonly peakAfter: number;
}

/** What this process's tensors hold. */
export const registryOf = (): StorageRegistry =>
  (processState.storageRegistry ??= new StorageRegistry(createWatcher(undefined)));

const noBlock = { block: undefined, pool: undefined };

interface StorageMemory {
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly device?: Device;
}

/** What the collector watches for a storage, which gives it back. */
interface Tenure {
  readonly kind: StorageKind;
  readonly lease: Lease;
  /** Which part of a shared block it has. */
  readonly position?: number;
  /** Where it lies, if that is known; memory that has an address is used by others after it. */
  readonly address?: number;
}

export class Storage {
  /**
   * Where its bytes are; on a device, an empty buffer that no other storage has. To tell one memory from another: what shows
   * elements is made by `read`, `elements` and `bytes`, which keep the memory from others for as long.
   */
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly device: Device;
  /** Whether a program can change the elements without anyone here knowing. */
  readonly isShared: boolean;
  /** How many storages were made before it. */
  readonly order: number;
  readonly #registry: StorageRegistry;
  /** Undefined once the memory was given back. */
  #lease: Lease | undefined;
  readonly #position: number;
  /** Whether the memory goes to others when this storage is found. */
  readonly #isReused: boolean;
  /** Where it lies, once that is known; 0 before. */
  #address: number;
  /** Length of the buffer when the address was asked for: another one tells that its memory was transferred away. */
  #bufferLength = 0;
  #owners = 0;
  #writes = 0;

  constructor(memory: StorageMemory, { kind, lease, position = 0, address = 0 }: Tenure) {
    this.device = memory.device ?? 'cpu';
    this.buffer = memory.buffer;
    this.byteOffset = memory.byteOffset;
    this.byteLength = memory.byteLength;
    this.isShared = kind === 'shared';
    this.#registry = registryOf();
    this.order = this.#registry.made++;
    this.#lease = lease;
    this.#position = position;
    this.#isReused = kind === 'pooled';
    this.#address = address;
  }

  /** How often tensors over it were written to: whoever remembers a value of it can tell whether it still holds. */
  get writes(): number {
    return this.#writes;
  }

  /** Elements are about to change. */
  noteWrite(): void {
    this.#writes += 1;
  }

  /** Whether one tensor alone holds it. */
  get hasOneOwner(): boolean {
    return this.#owners === 1;
  }

  /** Whether the memory was given back, so that others may be using it. */
  get isReturned(): boolean {
    return this.#lease === undefined;
  }

  /** Another tensor holds it. */
  retain(): void {
    this.#owners += 1;
  }

  /** A tensor that held it was disposed. */
  release(): void {
    this.#owners -= 1;
    invariant(this.#owners >= 0, 'a storage was released more often than retained');
    if (this.#owners > 0 || this.#lease === undefined) return;
    this.#registry.giveBack(this.#lease, this.byteLength, this.#position);
    this.#lease = undefined;
  }

  /** Elements from `offset` to before `end`, for reading: where they lie, or a copy of what a device holds now. */
  read(dtype: DType, offset: number, end: number): ElementArray {
    if (this.device === 'cpu') return this.elements(dtype, offset);
    const elements = makeElements(dtype, Math.max(0, end - offset));
    const bytes = new Uint8Array(elements.buffer);
    if (bytes.length > 0) openDevice(this.device).download(this.address + byteSize(dtype, offset), bytes);
    return elements;
  }

  /** `read`, for who holds the storage for as long as the array. */
  readHeld(dtype: DType, offset: number, end: number): ElementArray {
    if (this.device !== 'cpu') return this.read(dtype, offset, end);
    const start = Math.min(byteSize(dtype, offset), this.byteLength);
    return this.#shown(dtype, start, Math.floor((this.byteLength - start) / byteSize(dtype, 1)));
  }

  /** One element as it lies, alone, as a list; no program holds what shows it. */
  element(dtype: DType, offset: number): ElementArray {
    if (this.device !== 'cpu') return this.read(dtype, offset, offset + 1);
    return this.#shown(dtype, byteSize(dtype, offset), 1);
  }

  /** Elements from the start of the storage, or from `offset` on. */
  elements(dtype: DType, offset = 0): ElementArray {
    if (this.device !== 'cpu') throw deviceMemory(this.device);
    return this.#view(dtype, Math.min(byteSize(dtype, offset), this.byteLength), this.count(dtype, offset));
  }

  /** How many elements there are from `offset` on: none, where an empty view begins behind the last element. */
  count(dtype: DType, offset = 0): number {
    return Math.max(0, Math.floor((this.byteLength - byteSize(dtype, offset)) / byteSize(dtype, 1)));
  }

  /** Bytes as they lie, from `start` on. */
  bytes(start: number, length: number): Uint8Array<ArrayBuffer> {
    if (this.device !== 'cpu') throw deviceMemory(this.device);
    return this.#kept(new Uint8Array(this.buffer, this.byteOffset + start, length));
  }

  #view(dtype: DType, start: number, length: number): ElementArray {
    return this.#kept(this.#shown(dtype, start, length));
  }

  #shown(dtype: DType, start: number, length: number): ElementArray {
    try {
      return viewElements(dtype, this.buffer, { byteOffset: this.byteOffset + start, length });
    } catch {
      // Only transferring a shared buffer away can break a view that fitted when the storage was made.
      throw detachedBuffer();
    }
  }

  /** A program may hold what shows memory longer than the storage: the memory is not given to others before. */
  #kept<View extends ArrayBufferView>(view: View): View {
    if (this.#isReused && this.#lease !== undefined) this.#registry.keepFor(view, this.#lease);
    return view;
  }

  /** Whether its bytes overlap those of another storage over the same buffer. */
  overlaps({ byteOffset, byteLength }: Storage): boolean {
    return this.byteOffset < byteOffset + byteLength && byteOffset < this.byteOffset + this.byteLength;
  }

  /** Where it lies for native code. */
  get address(): number {
    if (this.#address !== 0 && this.#isInPlace()) return this.#address;
    const provider = processState.storageProvider;
    if (provider?.addressOf === undefined) {
      throw badArgument('address', 'there is no native memory here', 'set a storage provider with addressOf first');
    }
    this.#address = provider.addressOf(this.#view('u8', 0, Math.min(this.byteLength, mostViewed)));
    this.#bufferLength = this.buffer.byteLength;
    return this.#address;
  }

  /** Memory of a block stays where it is; that of a buffer does until somebody transfers it, which leaves the buffer empty. */
  #isInPlace(): boolean {
    return this.#bufferLength === 0 || this.buffer.byteLength === this.#bufferLength;
  }
}

/** From now on memory comes from `provider`; what exists stays where it is. */
export function setStorageProvider(provider: StorageProvider | undefined): void {
  processState.storageProvider = provider;
  processState.pool = undefined;
  processState.provisionalPool = undefined;
  if (provider === undefined) registryOf().watchBy(createWatcher(undefined));
}

/**
 * Memory of any content. `durable` results go to the pool; of the others those that are large do where it is open, and the rest is
 * left to the collector.
 */
export function allocate(bytes: number, use: 'durable' | 'intermediate'): Storage {
  const provider = processState.storageProvider;
  if (provider === undefined) return heapStorage(bytes, provider);
  if (use === 'durable') return durableStorage(bytes, provider) ?? heapStorage(bytes, provider);
  const isPooled = bytes >= leastPooled && provider.isOpen?.() !== false;
  return isPooled ? allocateResult(bytes) : heapStorage(bytes, provider);
}

function durableStorage(bytes: number, { least = 0, softLimit }: StorageProvider): Storage | undefined {
  if (bytes === 0 || bytes < least) return undefined;
  const pool = poolInUse();
  return pool.memoryStats().inUse + bytes <= (softLimit ?? registryOf().halfOfMemory)
    ? blockStorage(pool, bytes)
    : undefined;
}

/** What a vector reads lies in one line of the cache where its array begins at one. */
const cacheLine = 64;

/** From here on an intermediate result costs less in the pool than fresh memory does, and what collecting it takes. */
const leastPooled = 1 << 13;

/** Views of more bytes are refused by some versions of V8. */
const mostViewed = 2 ** 31;

/** Below this many bytes asking where an array lies costs more than it gains. */
const leastAligned = 4096;

/** A plain ArrayBuffer, for compiled functions to read as they read the pool's memory. */
function heapStorage(bytes: number, provider: StorageProvider | undefined): Storage {
  const least = provider?.isOpen?.() === false ? Math.max(leastAligned, provider.least ?? 0) : leastAligned;
  const isAligned = provider !== undefined && bytes >= least;
  const buffer = newBuffer(bytes, isAligned ? cacheLine : 0);
  const byteOffset = isAligned ? lineIn(buffer, provider) : 0;
  return unpooledStorage({ buffer, byteOffset, byteLength: bytes }, 'heap');
}

const unpooledStorage = (memory: StorageMemory, kind: 'heap' | 'shared'): Storage =>
  new Storage(memory, { kind, lease: registryOf().take(kind, memory.byteLength, noBlock) });

/** Where a line of the cache begins in a buffer that nobody has touched yet. A large one begins 16 bytes into a page. */
function lineIn(buffer: ArrayBuffer, provider: StorageProvider): number {
  for (let from = 0; from < buffer.byteLength; from += mostViewed)
    provider.preferHugePages?.(new Uint8Array(buffer, from, Math.min(mostViewed, buffer.byteLength - from)));
  // Without native memory nobody can tell, and there is no native code yet.
  if (provider.isProvisional?.() === true) return 0;
  const address = provider.addressOf?.(new Uint8Array(buffer, 0, cacheLine)) ?? 0;
  return (cacheLine - (address % cacheLine)) % cacheLine;
}

function newBuffer(bytes: number, spare: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes + spare);
  } catch (cause) {
    throw outOfMemory(bytes, cause);
  }
}

/** A block of its own. */
function blockStorage(pool: StoragePool, bytes: number): Storage {
  const block = pool.acquire(bytes);
  const lease = registryOf().take('pooled', bytes, { block, pool });
  const { address, buffer } = block;
  return new Storage({ buffer, byteOffset: 0, byteLength: bytes }, { kind: 'pooled', lease, address });
}

/** Memory of the provider's pool, of any content, for what lives long. */
export const allocateBlock = (bytes: number): Storage => blockStorage(poolInUse(), bytes);

/**
 * The same for what is made at every call and mostly dropped soon. Where what is dropped is not found before the event loop turns,
 * a loop would outgrow memory: beyond the limit it is left to V8.
 */
export function allocateResult(bytes: number): Storage {
  const pool = poolInUse();
  const registry = registryOf();
  const part = registry.takePart(bytes, pool);
  if (part === undefined) {
    const provider = processState.storageProvider;
    const limit = provider?.softLimit ?? registry.halfOfMemory;
    return registry.bytesInUse + bytes > limit ? heapStorage(bytes, provider) : blockStorage(pool, bytes);
  }
  const { lease, block, position, byteOffset } = part;
  const address = block.address === 0 ? 0 : block.address + byteOffset;
  return new Storage(
    { buffer: block.buffer, byteOffset, byteLength: bytes },
    { kind: 'pooled', lease, position, address },
  );
}

/** Memory of a device, of any content. */
export function allocateOn(device: OtherDevice, bytes: number): Storage {
  const pool = openDevice(device);
  registryOf().makeRoomOnDevice(bytes, pool.memoryBytes);
  const block = acquireOn(pool, bytes);
  const memory = { buffer: block.buffer, byteOffset: 0, byteLength: bytes, device };
  const lease = registryOf().take('device', bytes, { block, pool });
  return new Storage(memory, { kind: 'device', lease, address: block.address });
}

function acquireOn(pool: TensorDevice, bytes: number): Block {
  try {
    return pool.acquire(bytes);
  } catch (error) {
    // What was dropped may still be counted as in use.
    if (!isTsInductorError(error) || error.code !== 'CUDA_OUT_OF_MEMORY' || !registryOf().makeAllRoomOnDevice())
      throw error;
    return pool.acquire(bytes);
  }
}

/** The user's own memory. */
export const shareMemory = (memory: { buffer: ArrayBuffer; byteOffset: number; byteLength: number }): Storage =>
  unpooledStorage(memory, 'shared');

/** A block of the provider's pool, for the compiler, which releases it. */
export const acquireBlock = (bytes: number): Block => poolInUse().acquire(bytes);

export const releaseBlock = (block: Block): void => {
  poolInUse().release(block);
};

const poolInUse = (): StoragePool => processState.pool ?? openPool();

function openPool(): StoragePool {
  const provider = processState.storageProvider;
  invariant(provider !== undefined, 'memory of a pool was asked for without a storage provider');
  const { pool, watcher } = provider;
  if (watcher !== undefined && pool !== processState.provisionalPool) registryOf().watchBy(watcher);
  if (provider.isProvisional?.() === true) return (processState.provisionalPool = pool);
  return (processState.pool = pool);
}
