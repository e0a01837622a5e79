// The one named exception to "no module state" in this package: what a process has one of. A user writes `x.add(y)` and
// `tensor(...)` without naming a pool, an executor or a generator, so these have to be found somewhere; it is here, in one
// object, and everything below takes it as an argument or is created from it on first use. Importing fills nothing in.
//
// Invariant: nothing that is computed depends on it but where memory comes from, who records, and the random state.
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { SourceLocation } from '@tsinductor/base';
import type { StoragePool } from '@tsinductor/runtime';
import type { LRUCache } from 'lru-cache';
import type { GradientMode } from './autograd/gradient-state.ts';
import type { Device, DeviceProvider } from './device.ts';
import type { EagerExecutor } from './eager/executor.ts';
import type { MapLevel } from './mapping/level.ts';
import type { Recorder } from './recorder.ts';
import type { Scope } from './scope.ts';
import type { FileMap } from './source-place.ts';
import type { StorageProvider } from './storage.ts';
import type { StorageRegistry } from './storage-registry.ts';
import type { Tensor } from './tensor.ts';

/** Marks this project's own state: nothing that a function of a program computes depends on what is in an object that has this property. */
export const ownState: unique symbol = Symbol.for('tsinductor.own-state') as never;

interface ProcessState {
  readonly [ownState]: true;
  /** Where memory comes from; plain ArrayBuffers while nobody set one. */
  storageProvider: StorageProvider | undefined;
  /** The provider's pool, once it was asked for: every call takes memory from it. */
  pool: StoragePool | undefined;
  /** A pool that may give way to another one. */
  provisionalPool: StoragePool | undefined;
  storageRegistry: StorageRegistry | undefined;
  /** Who opens devices that are not the CPU. */
  deviceProvider: DeviceProvider | undefined;
  /** Where operators without operands put their results; another than the CPU only while one on that device is made of them. */
  device: Device;
  /** Set for the synchronous extent of a trace. */
  recorder: Recorder | undefined;
  executor: EagerExecutor | undefined;
  scopes: AsyncLocalStorage<Scope> | undefined;
  /** Seed and number of calls so far of the default random generator. */
  randomState: Tensor | undefined;
  /** Source maps of the program's files; `none` for a file that names none. */
  sourceMaps: LRUCache<string, FileMap | 'none'> | undefined;
  /** Names of the custom ops that were defined: each is one op. */
  customOps: Set<string> | undefined;
  gradients: GradientMode;
  /** The calls of vmap that are under way, outermost first. */
  readonly mapping: MapLevel[];
  /** The user's lines of the places where operators were traced, and which files are this project's. */
  places: { readonly locations: Map<string, SourceLocation>; readonly ownFiles: Map<string, boolean> } | undefined;
}

export const processState: ProcessState = {
  [ownState]: true,
  storageProvider: undefined,
  pool: undefined,
  provisionalPool: undefined,
  storageRegistry: undefined,
  deviceProvider: undefined,
  device: 'cpu',
  recorder: undefined,
  executor: undefined,
  scopes: undefined,
  randomState: undefined,
  sourceMaps: undefined,
  customOps: undefined,
  gradients: { isUsed: false, isEnabled: true, isSuspended: false, nodes: 0, marks: {}, ownSteps: 0, regions: 0 },
  mapping: [],
  places: undefined,
};

/** Who records what is called now. */
export const recorderInUse = (): Recorder | undefined => processState.recorder;

/** Whether a trace is under way. */
export const isRecording = (): boolean => processState.recorder !== undefined;

/** Runs `work` as if nothing were traced. */
export const unrecorded = <T>(work: () => T): T => recordedBy(undefined, work);

/** Runs `work` with that recorder in the place of the one there is. */
export function recordedBy<T>(next: Recorder | undefined, work: () => T): T {
  const { recorder } = processState;
  processState.recorder = next;
  try {
    return work();
  } finally {
    processState.recorder = recorder;
  }
}
