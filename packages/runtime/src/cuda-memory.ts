// Memory of a CUDA device, kept for reuse: allocating through the driver waits for all that the device does. In: sizes.
// Out: blocks, 512-byte aligned. A block that is given back serves the next request of its size class on the same stream,
// in whose order its earlier use ends first.
import { isTsInductorError } from '@tsinductor/base';
import type { CudaContext } from './cuda-context.ts';
import { cudaOutOfMemoryFor } from './errors.ts';

export interface DeviceBlock {
  readonly address: number;
  /** What was asked for, rounded up to the size class. */
  readonly bytes: number;
}

export interface DeviceMemoryStats {
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

  constructor(context: CudaContext) {
    this.#context = context;
  }

  /** Throws UserError CUDA_OUT_OF_MEMORY where even an empty cache leaves too little. */
  acquire(bytes: number): DeviceBlock {
    const size = deviceSizeClass(bytes);
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

  /** Gives what is cached back to the driver. */
  trim(): void {
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

  #allocate(size: number): number {
    const first = this.#ask(size);
    if (first !== undefined) return first;
    const isCached = this.#cached > 0;
    if (isCached) this.trim();
    const second = isCached ? this.#ask(size) : undefined;
    if (second === undefined) throw cudaOutOfMemoryFor(size, this.#inUse);
    return second;
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
