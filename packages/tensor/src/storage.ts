// The memory of tensors. In: a number of bytes, or memory that the user shares. Out: a Storage that several tensors
// (views) hold together. It is given back when the last of them is disposed, or when the collector finds the Storage
// unreachable.
//
// Memory comes from the pool of the storage provider, which the compiler sets when it has native memory. The results of
// eager operators, and everything beyond half the memory the pool should hold, are plain ArrayBuffers, which V8 frees by
// itself: a long synchronous loop must not outgrow memory because finalizers only run between tasks. Memory of a device
// has an address and no buffer here: it is read by copying, and written to by programs of its device.
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

/** What is given back once, by whoever comes first: dispose or the collector. Must not reach the Storage. */
interface Holding {
  readonly kind: Kind;
  readonly bytes: number;
  readonly block: Block | undefined;
  readonly pool: Pick<StoragePool, 'release'> | undefined;
  returned: boolean;
}

/** Counts what is in use, and gives back what the collector found. */
export class StorageRegistry {
  readonly bytes: Record<Kind, number> = { pooled: 0, heap: 0, shared: 0, device: 0 };
  readonly halfOfMemory: number = hostResources().totalMemory / 2;
  count = 0;
  readonly #collected = new FinalizationRegistry<Holding>((holding) => {
    this.giveBack(holding);
  });

  add(storage: Storage, holding: Holding): void {
    this.bytes[holding.kind] += holding.bytes;
    this.count += 1;
    this.#collected.register(storage, holding, holding);
  }

  giveBack(holding: Holding): void {
    if (holding.returned) return;
    holding.returned = true;
    this.bytes[holding.kind] -= holding.bytes;
    this.count -= 1;
    this.#collected.unregister(holding);
    if (holding.block !== undefined) holding.pool?.release(holding.block);
  }
}

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
  readonly #holding: Holding;
  readonly #registry: StorageRegistry;
  #owners = 0;
  #writes = 0;

  constructor(memory: StorageMemory, holding: Holding) {
    this.device = memory.device ?? 'cpu';
    this.buffer = memory.buffer;
    this.byteOffset = memory.byteOffset;
    this.byteLength = memory.byteLength;
    this.#holding = holding;
    this.#registry = registryOf();
    this.#registry.add(this, holding);
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
    return this.#holding.returned;
  }

  /** Whether a program can change the elements without anyone here knowing. */
  get isShared(): boolean {
    return this.#holding.kind === 'shared';
  }

  /** Another tensor holds it. */
  retain(): void {
    this.#owners += 1;
  }

  /** A tensor that held it was disposed. */
  release(): void {
    this.#owners -= 1;
    invariant(this.#owners >= 0, 'a storage was released more often than retained');
    if (this.#owners === 0) this.#registry.giveBack(this.#holding);
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
    const length = Math.floor((this.byteLength - start) / byteSize(dtype, 1));
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
    const { block } = this.#holding;
    if (block !== undefined && block.address !== 0) return block.address;
    const provider = processState.storageProvider;
    if (provider?.addressOf === undefined) {
      throw badArgument('address', 'there is no native memory here', 'set a storage provider with addressOf first');
    }
    return provider.addressOf(this.elements('u8'));
  }
}

/** From now on memory comes from `provider`; what exists stays where it is. */
export function setStorageProvider(provider: StorageProvider | undefined): void {
  processState.storageProvider = provider;
}

/** Memory of any content. `durable` results go to the pool, the others are left to the collector. */
export function allocate(bytes: number, use: 'durable' | 'intermediate'): Storage {
  const provider = processState.storageProvider;
  if (use === 'durable' && provider !== undefined && bytes > 0 && bytes >= (provider.least ?? 0)) {
    const limit = provider.softLimit ?? registryOf().halfOfMemory;
    if (provider.pool.memoryStats().inUse + bytes <= limit)
      return storageOf(provider.pool.acquire(bytes), bytes, provider.pool);
  }
  try {
    const buffer = new ArrayBuffer(bytes);
    return new Storage({ buffer, byteOffset: 0, byteLength: bytes }, hold('heap', bytes));
  } catch (cause) {
    throw outOfMemory(bytes, cause);
  }
}

const hold = (kind: Kind, bytes: number): Holding => ({
  kind,
  bytes,
  block: undefined,
  pool: undefined,
  returned: false,
});

const storageOf = (block: Block, bytes: number, pool: StoragePool): Storage =>
  new Storage({ buffer: block.buffer, byteOffset: 0, byteLength: bytes }, { ...hold('pooled', bytes), block, pool });

/** A block that native code filled becomes a tensor's storage. */
export function adoptBlock(block: Block, bytes: number): Storage {
  const provider = processState.storageProvider;
  invariant(provider !== undefined, 'a block without a storage provider');
  return storageOf(block, bytes, provider.pool);
}

/** Memory of a device, of any content. */
export function allocateOn(device: OtherDevice, bytes: number): Storage {
  const pool = openDevice(device);
  const block = pool.acquire(bytes);
  const memory = { buffer: block.buffer, byteOffset: 0, byteLength: bytes, device };
  return new Storage(memory, { ...hold('device', bytes), block, pool });
}

/** The user's own memory. */
export const shareMemory = (memory: { buffer: ArrayBuffer; byteOffset: number; byteLength: number }): Storage =>
  new Storage(memory, hold('shared', memory.byteLength));

/** A block of the provider's pool, for the compiler: outputs and workspaces. */
export function acquireBlock(bytes: number): Block {
  const provider = processState.storageProvider;
  invariant(provider !== undefined, 'a block was asked for without a storage provider');
  return provider.pool.acquire(bytes);
}

export function releaseBlock(block: Block): void {
  processState.storageProvider?.pool.release(block);
}

/** What tensors hold now. */
export function memoryStats(): TensorMemoryStats {
  const registry = processState.storageRegistry;
  const bytes = registry?.bytes ?? { pooled: 0, heap: 0, shared: 0, device: 0 };
  return {
    ...bytes,
    storages: registry?.count ?? 0,
    pool:
      processState.storageProvider?.isOpen?.() === false ? undefined : processState.storageProvider?.pool.memoryStats(),
    temporaries: processState.storageProvider?.temporaries?.(),
  };
}
