// What storages hold: counted, and given back when a storage is released, or when the collector found that nobody reaches it.
//
// Being watched by the collector costs more than the rest of a small compiled call. So it is not storages that are watched but
// leases. A lease goes from a storage that was released to the next one that is made; and small results that are made one
// after another lie side by side in one block, with one lease, which the collector finds when the last of them is unreachable.
// What shares a block is of one size, and little in sum, so that a result that is kept for long keeps little else.
import { deviceLimits, hostResources, Reclaimer, sizeClassOf } from '@tsinductor/runtime';
import type { Block, StoragePool, Watcher } from '@tsinductor/runtime';

export type StorageKind = 'pooled' | 'heap' | 'shared' | 'device';

/** A block, and the pool that takes it back. */
interface BlockOfPool {
  readonly block: Block | undefined;
  readonly pool: Pick<StoragePool, 'release'> | undefined;
}

/** What all storages of a kind have in use. */
interface Tally {
  bytes: number;
}

/**
 * What hangs on a lease, for whoever gives it back. Must not reach the lease. It goes from lease to lease: so a collection
 * finds it old, and has none to keep alive and move.
 */
class Holding {
  readonly id: number;
  block: BlockOfPool['block'] = undefined;
  pool: BlockOfPool['pool'] = undefined;
  /** Where bytes in use are counted; how many they are, of how many storages. */
  tally: Tally;
  bytes = 0;
  storages = 0;
  /** Of how many bytes each part of the block is, and which are free, one bit for each; 0 where one storage has all of it. */
  part = 0;
  free = 0;

  constructor(id: number, tally: Tally) {
    this.id = id;
    this.tally = tally;
  }
}

/** What the collector watches in place of storages, which hold it. */
export class Lease {
  readonly holding: Holding;
  readonly watcher: Watcher;

  constructor(holding: Holding, watcher: Watcher) {
    this.holding = holding;
    this.watcher = watcher;
  }
}

/** A part of a block, and what is watched for it. */
interface Part {
  readonly lease: Lease;
  readonly block: Block;
  /** Which part it is, and where it begins. */
  readonly position: number;
  readonly byteOffset: number;
}

/** Spare leases beyond these are left to the collector. */
const spareLeases = 4096;
/** How many storages share a block, of at most how many bytes each; of all such blocks, at most how many bytes. */
const parts = 32;
const largestPart = 16_384;
const mostShared = 2 ** 26;

/** A bit for each part. */
const allFree = -1;

/** Numbers the classes of `sizeClassOf`: multiples of 64 up to 512, then eight for each power of two. */
function classOf(bytes: number): number {
  if (bytes <= 512) return Math.max(1, (bytes + 63) >> 6);
  const power = 31 - Math.clz32(bytes - 1);
  return 8 * (power - 8) + ((bytes - 1) >> (power - 3)) - 7;
}

export class StorageRegistry {
  // By name, not by a key that is computed: every call makes and frees results.
  readonly #tallies: Readonly<Record<StorageKind, Tally>> = {
    pooled: { bytes: 0 },
    heap: { bytes: 0 },
    shared: { bytes: 0 },
    device: { bytes: 0 },
  };
  readonly halfOfMemory: number = hostResources().totalMemory / 2;
  /** Storages in use, their bytes, and the most of these so far; what is dead counts until it is found. */
  count = 0;
  /** How many storages were made so far. */
  made = 0;
  bytesInUse = 0;
  peak = 0;
  #watcher: Watcher;
  /** Of devices, whose memory is not the pool's, once there is one. */
  #reclaimer: Reclaimer | undefined;
  /** All by their ids, and those without a lease. */
  readonly #holdings: Holding[] = [];
  readonly #idle: Holding[] = [];
  #spare: Lease[] = [];
  /**
   * Where the next small results go, by the class of their size. In an array that is written in place: of a map that is cleared
   * the old table points to the new one, so that a dead one that has grown old keeps all that come after it from the collector.
   */
  readonly #shared = new Array<Lease | undefined>(classOf(largestPart) + 1).fill(undefined);
  #sharedBytes = 0;
  /** The leases of memory that arrays show, which a program may hold longer than the storage. */
  readonly #shown = new WeakMap<ArrayBufferView, Lease>();

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
    this.watchBy(watcher);
  }

  /** From now on leases are watched by `watcher`. */
  watchBy(watcher: Watcher): void {
    this.#watcher = watcher;
    this.#reclaimer = undefined;
    this.#spare = [];
    this.letGo();
    watcher.listen({
      found: (id) => {
        this.#found(id);
      },
      collecting: () => {
        this.letGo();
      },
    });
  }

  /** Storages that were made last are found as well, should they be unreachable. */
  letGo(): void {
    this.#shared.fill(undefined);
  }

  /** Counts what earlier collections found. */
  settle(): void {
    this.#watcher.settle();
  }

  /** Before `bytes` are taken on a device that has `memoryBytes`: what nobody holds there is given back, if that is worth it. */
  makeRoomOnDevice(bytes: number, memoryBytes: number): void {
    this.settle();
    const { device } = this.#tallies;
    this.#reclaimer ??= new Reclaimer(this.#watcher, deviceLimits(memoryBytes));
    this.#reclaimer.released(device.bytes);
    this.#reclaimer.makeRoom(bytes, () => device.bytes);
  }

  /** The same where the device has no more: all that nobody holds. Whether there is any use in asking it again. */
  makeAllRoomOnDevice(): boolean {
    return this.#reclaimer?.makeAllRoom(() => this.#tallies.device.bytes) === true;
  }

  /** From now on one storage has `bytes` of a kind, in a block if it is of a pool. */
  take(kind: StorageKind, bytes: number, { block, pool }: BlockOfPool): Lease {
    const lease = this.#spare.pop() ?? this.#newLease();
    const { holding } = lease;
    holding.tally = this.#tallyOf(kind);
    holding.block = block;
    holding.pool = pool;
    holding.part = 0;
    this.#count(holding, bytes);
    return lease;
  }

  /** Memory for a small result beside others; undefined for one that needs a block of its own. */
  takePart(bytes: number, pool: StoragePool): Part | undefined {
    if (bytes > largestPart || this.#sharedBytes > mostShared) return undefined;
    const known = this.#shared[classOf(bytes)];
    const lease = known !== undefined && known.holding.free !== 0 ? known : this.#newShare(bytes, pool);
    const { holding } = lease;
    const { block } = holding;
    if (block === undefined) return undefined;
    // In the order of addresses, as processors foresee it.
    const position = 31 - Math.clz32(holding.free & -holding.free);
    holding.free ^= 1 << position;
    this.#count(holding, bytes);
    return { lease, block, position, byteOffset: position * holding.part };
  }

  /** A storage gives back its `bytes`, which are the part at `position` if it has no block of its own. It must forget the lease. */
  giveBack(lease: Lease, bytes: number, position: number): void {
    const { holding, watcher } = lease;
    holding.tally.bytes -= bytes;
    holding.bytes -= bytes;
    holding.storages -= 1;
    this.count -= 1;
    this.bytesInUse -= bytes;
    if (holding.part > 0) {
      holding.free |= 1 << position;
      if (holding.free !== allFree || lease === this.#shared[classOf(holding.part)]) return;
    }
    this.#release(holding);
    if (watcher === this.#watcher && this.#spare.length < spareLeases) this.#spare.push(lease);
  }

  /** Memory is nobody else's for as long as `view`, which shows it, is reachable. */
  keepFor(view: ArrayBufferView, lease: Lease): void {
    this.#shown.set(view, lease);
  }

  /** Bytes in use by kind. */
  bytes(): Readonly<Record<StorageKind, number>> {
    const { pooled, heap, shared, device } = this.#tallies;
    return { pooled: pooled.bytes, heap: heap.bytes, shared: shared.bytes, device: device.bytes };
  }

  #count(holding: Holding, bytes: number): void {
    holding.tally.bytes += bytes;
    holding.bytes += bytes;
    holding.storages += 1;
    this.count += 1;
    this.bytesInUse += bytes;
    if (this.bytesInUse > this.peak) this.peak = this.bytesInUse;
  }

  /** A lease of a block for results of that size. */
  #newShare(bytes: number, pool: StoragePool): Lease {
    const part = sizeClassOf(bytes);
    // Taking a block may find others, and lets go of what is shared.
    const block = pool.acquire(part * parts);
    const lease = this.#spare.pop() ?? this.#newLease();
    const { holding } = lease;
    holding.tally = this.#tallies.pooled;
    holding.block = block;
    holding.pool = pool;
    holding.part = part;
    holding.free = allFree;
    this.#sharedBytes += block.bytes;
    this.#shared[classOf(bytes)] = lease;
    return lease;
  }

  #newLease(): Lease {
    const holding = this.#idle.pop() ?? this.#newHolding();
    const lease = new Lease(holding, this.#watcher);
    this.#watcher.watch(lease, holding.id);
    return lease;
  }

  #newHolding(): Holding {
    const holding = new Holding(this.#holdings.length, this.#tallies.pooled);
    this.#holdings.push(holding);
    return holding;
  }

  /** Nobody reaches that lease, nor a storage with it. */
  #found(id: number): void {
    const holding = this.#holdings[id];
    if (holding === undefined) return;
    const { tally, bytes, storages } = holding;
    tally.bytes -= bytes;
    this.bytesInUse -= bytes;
    this.count -= storages;
    holding.bytes = 0;
    holding.storages = 0;
    this.#release(holding);
    this.#idle.push(holding);
  }

  #release(holding: Holding): void {
    const { block, pool, part } = holding;
    holding.block = undefined;
    holding.pool = undefined;
    holding.part = 0;
    if (block === undefined) return;
    if (part > 0) this.#sharedBytes -= block.bytes;
    pool?.release(block);
  }

  #tallyOf(kind: StorageKind): Tally {
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
}
