// The memory of tensors. In: a number of bytes, or memory that the user shares. Out: a Storage that several tensors
// (views) hold together. It is given back when the last of them is disposed, or when the collector finds the Storage
// unreachable.
//
// Memory comes from the pool of the storage provider, which the compiler sets when it has native memory. The results of
// eager operators, and everything beyond half the memory the pool should hold, are plain ArrayBuffers, which V8 frees by
// itself: a long synchronous loop must not outgrow memory because finalizers only run between tasks. Compiled functions
// read those too, so they begin at a line of the cache, and large ones are on huge pages. Memory of a device has an address
// and no buffer here: it is read by copying, and written to by programs of its device.
import { invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { hostResources } from '@tsinductor/runtime';
import type { Block, StoragePool } from '@tsinductor/runtime';
import { openDevice } from './device.ts';
import type { Device, OtherDevice } from './device.ts';
import { byteSize, makeElements, viewElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { badArgument, detachedBuffer, deviceMemory, outOfMemory } from './errors.ts';
import { processState } from './process-state.ts';

export interface StorageProvider {
  /** May be opened by the first who asks. */
  readonly pool: StoragePool;
  /** Whether the pool is there without being opened; it is unless this says no. */
  isOpen?(): boolean;
  /** Storage below this many bytes is left to the collector; none is by default. */
  readonly least?: number;
  /** Where an array of the JavaScript heap lies, for native code. */
  addressOf?(array: NodeJS.TypedArray): number;
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

export interface TensorMemoryStats {
  /** Bytes in use by tensors: in the pool's blocks, in plain ArrayBuffers, in memory shared by users. */
  readonly pooled: number;
  readonly heap: number;
  readonly shared: number;
  /** On devices, all together. */
  readonly device: number;
  /** Storages in use. */
  readonly storages: number;
  /** What the pool itself holds, in use and waiting for reuse. */
  readonly pool: ReturnType<StoragePool['memoryStats']> | undefined;
  /** Of compiled graphs; undefined before the first one. */
  readonly temporaries: TemporaryStats | undefined;
}

type Kind = 'pooled' | 'heap' | 'shared' | 'device';

/** What all storages of a kind have in use. */
interface Tally {
  bytes: number;
}

/** What a storage holds, for whoever gives it back. Must not reach the Storage, nor its Lease. */
interface Holding {
  /** Where its bytes are counted; undefined while it holds nothing. */
  tally: Tally | undefined;
  bytes: number;
  block: Block | undefined;
  pool: Pick<StoragePool, 'release'> | undefined;
}

/** What the collector watches in a storage's place: one storage at a time holds it, and hands it on when it is done. */
interface Lease {
  readonly holding: Holding;
}

/** Leases beyond these are left to the collector. */
const spareLeases = 4096;

/**
 * Counts what is in use, and gives back what the collector found.
 *
 * Being watched and no longer being watched by the collector costs more than the rest of a small compiled call. So it is not
 * storages that are watched but leases, which go from a storage that was given back to the next one that is made.
 */
export class StorageRegistry {
  // By name, not by a key that is computed: every call makes and frees results.
  readonly #tallies: Readonly<Record<Kind, Tally>> = {
    pooled: { bytes: 0 },
    heap: { bytes: 0 },
    shared: { bytes: 0 },
    device: { bytes: 0 },
  };
  readonly halfOfMemory: number = hostResources().totalMemory / 2;
  count = 0;
  readonly #spare: Lease[] = [];
  readonly #collected = new FinalizationRegistry<Holding>((holding) => {
    this.#settle(holding);
  });

  /** From now on `bytes` are in use, of `block` where they are a pool's. */
  take(kind: Kind, bytes: number, { block, pool }: Pick<Holding, 'block' | 'pool'> = nothingHeld): Lease {
    const tally = this.#tallyOf(kind);
    tally.bytes += bytes;
    this.count += 1;
    const spare = this.#spare.pop();
    if (spare === undefined) {
      const holding: Holding = { tally, bytes, block, pool };
      const lease = { holding };
      this.#collected.register(lease, holding);
      return lease;
    }
    const { holding } = spare;
    holding.tally = tally;
    holding.bytes = bytes;
    holding.block = block;
    holding.pool = pool;
    return spare;
  }

  /** What `lease` stands for is free; whoever held it must forget it. */
  giveBack(lease: Lease): void {
    this.#settle(lease.holding);
    if (this.#spare.length < spareLeases) this.#spare.push(lease);
  }

  /** Bytes in use by kind. */
  bytes(): Readonly<Record<Kind, number>> {
    const { pooled, heap, shared, device } = this.#tallies;
    return { pooled: pooled.bytes, heap: heap.bytes, shared: shared.bytes, device: device.bytes };
  }

  #tallyOf(kind: Kind): Tally {
    switch (kind) {
      case 'pooled':
        return this.#tallies.pooled;
      case 'heap':
        return this.#tallies.heap;
      case 'shared':
        return this.#tallies.shared;
      case 'device':
        return this.#tallies.device;
    }
  }

  /** Nothing is held any more: the collector may come a second time, for a lease that was not kept. */
  #settle(holding: Holding): void {
    const { tally, bytes, block, pool } = holding;
    if (tally === undefined) return;
    holding.tally = undefined;
    holding.block = undefined;
    holding.pool = undefined;
    tally.bytes -= bytes;
    this.count -= 1;
    if (block !== undefined) pool?.release(block);
  }
}

const nothingHeld: Pick<Holding, 'block' | 'pool'> = { block: undefined, pool: undefined };

const registryOf = (): StorageRegistry => (processState.storageRegistry ??= new StorageRegistry());

interface StorageMemory {
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly device?: Device;
}

export class Storage {
  /** Where its bytes are; on a device, an empty buffer that no other storage has. */
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly device: Device;
  /** Whether a program can change the elements without anyone here knowing. */
  readonly isShared: boolean;
  readonly #registry: StorageRegistry;
  /** Undefined once the memory was given back. */
  #lease: Lease | undefined;
  /** Where it lies, once that is known; 0 before. */
  #address: number;
  /** Length of the buffer when the address was asked for: another one tells that its memory was transferred away. */
  #bufferLength = 0;
  #owners = 0;
  #writes = 0;

  constructor(memory: StorageMemory, kind: Kind, from: Pick<Holding, 'block' | 'pool'> = nothingHeld) {
    this.device = memory.device ?? 'cpu';
    this.buffer = memory.buffer;
    this.byteOffset = memory.byteOffset;
    this.byteLength = memory.byteLength;
    this.isShared = kind === 'shared';
    this.#registry = registryOf();
    this.#lease = this.#registry.take(kind, memory.byteLength, from);
    this.#address = from.block?.address ?? 0;
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
    this.#registry.giveBack(this.#lease);
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

  /** Elements from the start of the storage, or from `offset` on. */
  elements(dtype: DType, offset = 0): ElementArray {
    if (this.device !== 'cpu') throw deviceMemory(this.device);
    // An empty view may begin behind the last element.
    const start = Math.min(byteSize(dtype, offset), this.byteLength);
    return this.#view(dtype, start, Math.floor((this.byteLength - start) / byteSize(dtype, 1)));
  }

  #view(dtype: DType, start: number, length: number): ElementArray {
    try {
      return viewElements(dtype, this.buffer, { byteOffset: this.byteOffset + start, length });
    } catch {
      // Only transferring a shared buffer away can break a view that fitted when the storage was made.
      throw detachedBuffer();
    }
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
}

/** Memory of any content. `durable` results go to the pool, the others are left to the collector. */
export function allocate(bytes: number, use: 'durable' | 'intermediate'): Storage {
  const provider = processState.storageProvider;
  if (use === 'durable' && provider !== undefined && bytes > 0 && bytes >= (provider.least ?? 0)) {
    const limit = provider.softLimit ?? registryOf().halfOfMemory;
    if (provider.pool.memoryStats().inUse + bytes <= limit)
      return storageOf(provider.pool.acquire(bytes), bytes, provider.pool);
  }
  return heapStorage(bytes, provider);
}

/** What a vector reads lies in one line of the cache where its array begins at one. */
const cacheLine = 64;

/** Views of more bytes are refused by some versions of V8. */
const mostViewed = 2 ** 31;

/** Below this many bytes asking where an array lies costs more than it gains. */
const leastAligned = 4096;

/** A plain ArrayBuffer, for compiled functions to read as they read the pool's memory. */
function heapStorage(bytes: number, provider: StorageProvider | undefined): Storage {
  const least = provider?.isOpen?.() === false ? Math.max(leastAligned, provider.least ?? 0) : leastAligned;
  if (provider === undefined || bytes < least) {
    return new Storage({ buffer: newBuffer(bytes, 0), byteOffset: 0, byteLength: bytes }, 'heap');
  }
  const buffer = newBuffer(bytes, cacheLine);
  return new Storage({ buffer, byteOffset: lineIn(buffer, provider), byteLength: bytes }, 'heap');
}

/** Where a line of the cache begins in a buffer that nobody has touched yet. A large one begins 16 bytes into a page. */
function lineIn(buffer: ArrayBuffer, provider: StorageProvider): number {
  for (let from = 0; from < buffer.byteLength; from += mostViewed)
    provider.preferHugePages?.(new Uint8Array(buffer, from, Math.min(mostViewed, buffer.byteLength - from)));
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

const storageOf = (block: Block, bytes: number, pool: StoragePool): Storage =>
  new Storage({ buffer: block.buffer, byteOffset: 0, byteLength: bytes }, 'pooled', { block, pool });

/** A block that native code filled becomes a tensor's storage. */
export const adoptBlock = (block: Block, bytes: number): Storage => storageOf(block, bytes, poolInUse());

/** Memory of a device, of any content. */
export function allocateOn(device: OtherDevice, bytes: number): Storage {
  const pool = openDevice(device);
  const block = pool.acquire(bytes);
  const memory = { buffer: block.buffer, byteOffset: 0, byteLength: bytes, device };
  return new Storage(memory, 'device', { block, pool });
}

/** The user's own memory. */
export const shareMemory = (memory: { buffer: ArrayBuffer; byteOffset: number; byteLength: number }): Storage =>
  new Storage(memory, 'shared');

/** A block of the provider's pool, for the compiler: outputs and workspaces. */
export const acquireBlock = (bytes: number): Block => poolInUse().acquire(bytes);

export const releaseBlock = (block: Block): void => {
  poolInUse().release(block);
};

const poolInUse = (): StoragePool => processState.pool ?? openPool();

function openPool(): StoragePool {
  const provider = processState.storageProvider;
  invariant(provider !== undefined, 'memory of a pool was asked for without a storage provider');
  return (processState.pool = provider.pool);
}

/** What tensors hold now. */
export function memoryStats(): TensorMemoryStats {
  const registry = processState.storageRegistry;
  const bytes = registry?.bytes() ?? { pooled: 0, heap: 0, shared: 0, device: 0 };
  return {
    ...bytes,
    storages: registry?.count ?? 0,
    pool:
      processState.storageProvider?.isOpen?.() === false ? undefined : processState.storageProvider?.pool.memoryStats(),
    temporaries: processState.storageProvider?.temporaries?.(),
  };
}
