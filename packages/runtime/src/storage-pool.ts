// Memory for tensors, reused. In: a bridge for native memory, or none (then plain ArrayBuffers, for a machine without a
// compiler). Out: blocks of at least the size asked for, of any content.
//
// Fresh pages cost more than most kernels do, so a released block keeps its memory and waits, in a free list per size
// class, for the next one who asks. Classes are eight per power of two: at most an eighth is wasted. What waits is
// bounded; beyond that the classes that were used longest ago are given back to the system.
//
// Whoever drops a block without releasing it is found by the collector, which a watcher asks to come in time. Only `acquire`
// asks, and hears what was found: at no other time does memory that was in use change hands.
import { isTsInductorError } from '@tsinductor/base';
import type { Bridge } from './bridge.ts';
import { allocationTooLarge, badAllocation, notInUse, outOfMemory } from './errors.ts';
import { leastWeight } from './garbage-budget.ts';
import { hostResources } from './host.ts';
import { Reclaimer } from './reclaimer.ts';
import type { Watcher } from './watcher.ts';

/** A piece of memory. It is in use until it is released to its pool, after which nobody may touch it. */
export interface Block {
  /** Where it lies; 0 for memory of the JavaScript heap, which has no address of its own. */
  readonly address: number;
  readonly buffer: ArrayBuffer;
  readonly bytes: number;
}

interface MemoryStats {
  /** Bytes the pool holds: in use and waiting. */
  readonly allocated: number;
  readonly inUse: number;
  readonly pooled: number;
  /** The most bytes that were ever in use at once. */
  readonly peak: number;
  /** Blocks in use. */
  readonly blocks: number;
}

export interface StoragePool {
  acquire(bytes: number): Block;
  release(block: Block): void;
  memoryStats(): MemoryStats;
  /** Gives everything that waits back to the system; returns how many bytes. */
  trim(): number;
}

interface StoragePoolOptions {
  /** The most bytes that may wait for reuse; a quarter of the memory by default. */
  readonly maxPooled?: number;
  /** Who hears from the collector of blocks that nobody released; who listens to it releases them. */
  readonly watcher?: Watcher;
}

interface PoolBlock extends Block {
  inUse: boolean;
  /** Where it waits when it is not in use. */
  readonly home: SizeClass;
}

interface SizeClass {
  /** What a block of it holds, in bytes. */
  readonly capacity: number;
  /** What a block of it counts for where garbage is measured. */
  readonly weight: number;
  readonly waiting: PoolBlock[];
  lastUse: number;
}

/** What may wait, where fresh memory is taken, beside as much as is in use: sizes that no longer come are no reason to keep memory. */
const keptBesideFresh = 2 ** 27;

type Allocator = Pick<Bridge, 'allocate' | 'free'>;

/** The capacity that serves a request: the next of eight steps per power of two, at least 64. */
export function sizeClassOf(bytes: number): number {
  if (bytes <= 512) return Math.max(64, Math.ceil(bytes / 64) * 64);
  const step = stepOf(bytes);
  return Math.ceil(bytes / step) * step;
}

/** An eighth of the power of two that `bytes` lie above: by bits, where 32 of them are enough, for this is asked at every call. */
function stepOf(bytes: number): number {
  if (bytes <= 2 ** 31) return 1 << (28 - Math.clz32(bytes - 1));
  return 2 ** (Math.floor(Math.log2(bytes - 1)) - 3);
}

export function createStoragePool(bridge: Allocator | undefined, options: StoragePoolOptions = {}): StoragePool {
  return new FreeListPool(bridge ?? heapAllocator(), options);
}

/** Plain ArrayBuffers; the collector frees them. */
function heapAllocator(): Allocator {
  const limit = hostResources().totalMemory;
  return {
    allocate: (bytes) => {
      if (bytes > limit) throw allocationTooLarge(bytes, limit, 'the memory this process may use');
      try {
        return { address: 0, buffer: new ArrayBuffer(bytes), bytes };
      } catch (cause) {
        throw outOfMemory(bytes, cause);
      }
    },
    free: () => undefined,
  };
}

class FreeListPool implements StoragePool {
  readonly #allocator: Allocator;
  readonly #maxPooled: number;
  readonly #classes = new Map<number, SizeClass>();
  /** The class that was asked for last: a function's results are of one size from call to call. */
  #last: SizeClass | undefined;
  #tick = 0;
  #inUse = 0;
  #pooled = 0;
  #peak = 0;
  #blocks = 0;
  /** Of all blocks in use. */
  #weight = 0;
  readonly #weightNow = (): number => this.#weight;
  readonly #reclaimer: Reclaimer | undefined;

  constructor(allocator: Allocator, options: StoragePoolOptions) {
    this.#allocator = allocator;
    this.#maxPooled = options.maxPooled ?? hostResources().totalMemory / 4;
    this.#reclaimer = options.watcher === undefined ? undefined : new Reclaimer(options.watcher);
  }

  acquire(bytes: number): Block {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw badAllocation(bytes);
    const capacity = sizeClassOf(bytes);
    const sizeClass = this.#classOf(capacity);
    this.#reclaimer?.makeRoom(sizeClass.weight, this.#weightNow);
    const waiting = sizeClass.waiting.pop() ?? this.#settled(sizeClass);
    sizeClass.lastUse = this.#tick += 1;
    if (waiting !== undefined) this.#pooled -= capacity;
    const block = waiting ?? this.#allocate(sizeClass);
    block.inUse = true;
    this.#weight += sizeClass.weight;
    this.#inUse += capacity;
    this.#blocks += 1;
    if (this.#inUse > this.#peak) this.#peak = this.#inUse;
    return block;
  }

  release(block: Block): void {
    const own = block as PoolBlock;
    if (!own.inUse) throw notInUse();
    own.inUse = false;
    this.#inUse -= own.bytes;
    this.#blocks -= 1;
    this.#weight -= own.home.weight;
    this.#reclaimer?.released(this.#weight);
    if (own.bytes > this.#maxPooled) {
      this.#allocator.free(own);
      return;
    }
    if (this.#pooled + own.bytes > this.#maxPooled) this.#evict(this.#maxPooled - own.bytes);
    own.home.waiting.push(own);
    own.home.lastUse = this.#tick += 1;
    this.#pooled += own.bytes;
  }

  memoryStats(): MemoryStats {
    return {
      allocated: this.#inUse + this.#pooled,
      inUse: this.#inUse,
      pooled: this.#pooled,
      peak: this.#peak,
      blocks: this.#blocks,
    };
  }

  trim(): number {
    const before = this.#pooled;
    this.#evict(0);
    return before;
  }

  #classOf(capacity: number): SizeClass {
    if (this.#last?.capacity === capacity) return this.#last;
    const known = this.#classes.get(capacity);
    const found = known ?? { capacity, weight: Math.max(capacity, leastWeight), waiting: [], lastUse: 0 };
    if (known === undefined) this.#classes.set(capacity, found);
    this.#last = found;
    return found;
  }

  /** A block that an earlier collection found. */
  #settled({ waiting }: SizeClass): PoolBlock | undefined {
    this.#reclaimer?.settle();
    return waiting.pop();
  }

  /** A fresh block; where memory is short, once more after giving back what waits. */
  #allocate(home: SizeClass): PoolBlock {
    const kept = Math.max(keptBesideFresh, this.#inUse);
    if (this.#pooled > kept) this.#evict(kept);
    try {
      return { ...this.#allocator.allocate(home.capacity), inUse: false, home };
    } catch (error) {
      if (!isTsInductorError(error) || error.code !== 'OUT_OF_MEMORY' || this.#pooled === 0) throw error;
    }
    this.trim();
    return { ...this.#allocator.allocate(home.capacity), inUse: false, home };
  }

  /** Gives waiting blocks back until at most `target` bytes wait, the longest unused classes first. */
  #evict(target: number): void {
    const oldest = [...this.#classes.values()].sort((a, b) => a.lastUse - b.lastUse);
    for (const { waiting } of oldest) {
      while (this.#pooled > target) {
        const block = waiting.pop();
        if (block === undefined) break;
        this.#pooled -= block.bytes;
        this.#allocator.free(block);
      }
    }
  }
}
