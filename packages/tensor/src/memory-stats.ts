// How much memory tensors hold. In: the registry of storages and the provider's pool. Out: bytes, by kind.
import type { StoragePool } from '@tsinductor/runtime';
import { processState } from './process-state.ts';
import { registryOf } from './storage.ts';
import type { TemporaryStats } from './storage.ts';

/** Bytes. What nobody holds any more counts as live until a collection has found it. */
export interface TensorMemoryStats {
  /** Held by tensors, wherever they are. */
  readonly live: number;
  /** The most that were live at a time. */
  readonly peak: number;
  /** Given back, and kept for the next results. */
  readonly pooled: number;
  /** Outside of the JavaScript heap: what V8 is told of. All blocks of the pool, live ones and others. */
  readonly external: number;
  /** Of what is live: in the pool's blocks, in plain ArrayBuffers, in memory shared by users. */
  readonly native: number;
  readonly heap: number;
  readonly shared: number;
  /** On devices, all together. */
  readonly device: number;
  /** Storages in use. */
  readonly storages: number;
  /** What the pool itself holds, in use and waiting for reuse; undefined before it is opened. */
  readonly pool: ReturnType<StoragePool['memoryStats']> | undefined;
  /** Of compiled graphs; undefined before the first one. */
  readonly temporaries: TemporaryStats | undefined;
}

/**
 * What tensors hold now, and what the process keeps for them.
 *
 * @example
 * const { live, pooled, external } = memoryStats();
 * console.log(`${live} bytes in tensors, ${pooled} waiting for the next, ${external} outside of the JavaScript heap`);
 */
export function memoryStats(): TensorMemoryStats {
  const registry = registryOf();
  registry.letGo();
  registry.settle();
  const { pooled: native, ...others } = registry.bytes();
  const provider = processState.storageProvider;
  const pool = provider?.isOpen?.() === false ? undefined : provider?.pool.memoryStats();
  return {
    live: registry.bytesInUse,
    peak: registry.peak,
    pooled: pool?.pooled ?? 0,
    external: pool?.allocated ?? 0,
    native,
    ...others,
    storages: registry.count,
    pool,
    temporaries: provider?.temporaries?.(),
  };
}
