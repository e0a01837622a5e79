// Memory of a CUDA device, kept for reuse: allocating through the driver waits for all that the device does. In: sizes.
// Out: blocks, 512-byte aligned. A block that is given back serves the next request of its size class on the same stream,
// in whose order its earlier use ends first.
import { isTsInductorError } from '@tsinductor/base';
import type { UserError } from '@tsinductor/base';
import type { CudaContext } from './cuda-context.ts';
import { cudaOutOfMemoryFor } from './errors.ts';

interface DeviceBlock {
  readonly address: number;
  /** What was asked for, rounded up to the size class. */
  readonly bytes: number;
}

/** How much of a device this process may take, and whether it takes that at once. */
interface DeviceMemoryLimits {
  readonly mostBytes: number;
  readonly preallocate: boolean;
}

/** What is handed out of one allocation, piece after piece; given back, a piece serves what fits into it. */
interface Reserve {
  next: number;
  readonly end: number;
}

interface DeviceMemoryStats {
  readonly inUse: number;
  readonly cached: number;
  readonly peak: number;
  readonly driverAllocations: number;
}

/** Requests are rounded up to multiples of this, and from `largeFrom` on to an eighth of their power of two. */
const grain = 512;
const largeFrom = 1024 * 1024;

export function deviceSizeClass(bytes: number): number {
  const small = Math.max(grain, Math.ceil(bytes / grain) * grain);
  if (small < largeFrom) return small;
  const step = 2 ** Math.floor(Math.log2(small)) / 8;
  return Math.ceil(small / step) * step;
}

export class DeviceMemory {
  readonly #context: CudaContext;
  readonly #free = new Map<number, number[]>();
  #inUse = 0;
  #cached = 0;
  #peak = 0;
  #driverAllocations = 0;
  /** How much this process may take. */
  readonly mostBytes: number;
  readonly #reserve: Reserve | undefined;

  /** Throws UserError CUDA_OUT_OF_MEMORY where what is to be taken at once is not there. */
  constructor(context: CudaContext, { mostBytes, preallocate }: DeviceMemoryLimits) {
    this.#context = context;
    this.mostBytes = mostBytes;
    if (!preallocate) return;
    const bytes = Math.floor(mostBytes / grain) * grain;
    const start = this.#ask(bytes);
    if (start === undefined) throw this.#outOfMemory(bytes);
    this.#reserve = { next: start, end: start + bytes };
  }

  /** Throws UserError CUDA_OUT_OF_MEMORY where even an empty cache leaves too little. */
  acquire(bytes: number): DeviceBlock {
    const size = this.#fitting(deviceSizeClass(bytes));
    const kept = this.#free.get(size)?.pop();
    if (kept !== undefined) this.#cached -= size;
    const address = kept ?? this.#allocate(size);
    this.#inUse += size;
    this.#peak = Math.max(this.#peak, this.#inUse);
    return { address, bytes: size };
  }

  release({ address, bytes }: DeviceBlock): void {
    this.#inUse -= bytes;
    this.#cached += bytes;
    const list = this.#free.get(bytes) ?? [];
    this.#free.set(bytes, list);
    list.push(address);
  }

  /** Gives what is cached back to the driver, but for what it was asked for at once. */
  trim(): void {
    if (this.#reserve !== undefined) return;
    for (const addresses of this.#free.values())
      for (const address of addresses) this.#context.check('cuMemFree_v2', [address]);
    this.#free.clear();
    this.#cached = 0;
  }

  stats(): DeviceMemoryStats {
    return {
      inUse: this.#inUse,
      cached: this.#cached,
      peak: this.#peak,
      driverAllocations: this.#driverAllocations,
    };
  }

  /** The size class of a piece of the reserve that is free and large enough, where none is left that fits exactly. */
  #fitting(size: number): number {
    const { next, end } = this.#reserve ?? { next: 0, end: Infinity };
    if (next + size <= end || (this.#free.get(size)?.length ?? 0) > 0) return size;
    const larger = [...this.#free].flatMap(([bytes, addresses]) =>
      bytes > size && addresses.length > 0 ? [bytes] : [],
    );
    return larger.length === 0 ? size : Math.min(...larger);
  }

  #outOfMemory(size: number): UserError {
    return cudaOutOfMemoryFor(size, { inUse: this.#inUse, mostBytes: this.mostBytes });
  }

  #allocate(size: number): number {
    if (this.#reserve !== undefined) return this.#carve(this.#reserve, size);
    if (this.#inUse + this.#cached + size > this.mostBytes) this.trim();
    if (this.#inUse + size > this.mostBytes) throw this.#outOfMemory(size);
    const first = this.#ask(size);
    if (first !== undefined) return first;
    const isCached = this.#cached > 0;
    if (isCached) this.trim();
    const second = isCached ? this.#ask(size) : undefined;
    if (second === undefined) throw this.#outOfMemory(size);
    return second;
  }

  #carve(reserve: Reserve, size: number): number {
    const address = reserve.next;
    if (address + size > reserve.end) throw this.#outOfMemory(size);
    reserve.next += size;
    return address;
  }

  /** The address; undefined where there is not enough memory. */
  #ask(size: number): number | undefined {
    try {
      const address = this.#context.result('cuMemAlloc_v2', (out) => [out, size]);
      this.#driverAllocations += 1;
      return address;
    } catch (error) {
      if (isTsInductorError(error) && error.code === 'CUDA_OUT_OF_MEMORY') return undefined;
      throw error;
    }
  }
}
