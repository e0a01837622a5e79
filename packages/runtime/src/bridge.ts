// The native bridge as JavaScript sees it: memory, loading of compiled libraries, bound calls, threads. In: plain values,
// which are checked here, since the native side trusts them. Out: values, or coded errors.
//
// Why an addon of our own and not a general foreign-function library: see docs/notes/native-bridge.md. A bound function
// has no arguments; the caller writes addresses and sizes into its table beforehand, and keeps what the addresses point
// to alive and in place during the call.
import { constants as bufferConstants } from 'node:buffer';
import { isAbsolute } from 'node:path';
import {
  allocationTooLarge,
  badAllocation,
  badBinding,
  bridgeNotLoaded,
  externalBuffersRefused,
  floatEnvironmentChanged,
  libraryNotLoaded,
  outOfMemory,
  symbolNotFound,
} from './errors.ts';
import { buildBridge } from './build-bridge.ts';
import type { BridgeBuildOptions } from './build-bridge.ts';
import { hostResources } from './host.ts';

/** Identifies a loaded function; valid in every thread of the process. */
export type EntryId = number & { readonly __entry: never };

/** Memory outside the JavaScript heap. It lives as long as `buffer` does, or until `Bridge.free`. */
export interface NativeBlock {
  readonly address: number;
  readonly buffer: ArrayBuffer;
  /** The length of `buffer`: what was asked for, rounded up to 64. */
  readonly bytes: number;
}

export interface Bridge {
  /** 64-byte aligned memory of any content; from 4 MB up 2 MB aligned, on huge pages where the system has them. */
  allocate(bytes: number): NativeBlock;
  /** Gives the memory back now. The block's buffer is detached: views of it become empty. */
  free(block: NativeBlock): void;
  /** The address of the first element. It stays until the array's buffer is transferred, resized or collected. */
  addressOf(array: ArrayBufferView): number;
  /** Asks for huge pages under an array of the JavaScript heap that nobody has touched, if it has 4 MB. */
  preferHugePages(bytes: Uint8Array): void;
  /** Loads a library, whose bytes the caller has verified, and finds a function with the entry's C ABI in it. */
  load(path: string, symbol: string): EntryId;
  /**
   * A function without arguments that calls `entry` with the first `bufferCount` values of `table` as addresses and the
   * next `sizeCount` as sizes, and returns its status. It keeps the table alive; its buffer must not be transferred.
   */
  bind(entry: EntryId, table: Float64Array, counts: TableCounts): () => number;
  /** The same call on a thread of its own, with the values that the table has now. */
  callAsync(entry: EntryId, table: Float64Array, counts: TableCounts): Promise<number>;
  /**
   * Calls entries again and again by a program, whose layout `native/loop.h` gives; returns the status of the call that failed, or 0. What
   * its addresses point to stays alive and in place meanwhile.
   */
  loop(program: Float64Array): number;
  /**
   * Sets how many threads `parallel` may use, in the whole process; returns the number in force (1 to 256). To ask for
   * what was asked last costs nothing.
   */
  setThreads(threads: number): number;
  /** The control bits of the floating-point register (MXCSR, FPCR) of this thread. */
  readMxcsr(): number;
  /** Once `target` is unreachable, `id` (a whole number of at most 32 bits) is among those that are found. */
  watch(target: object, id: number): void;
  /** Tells of every id found since the last time. Who is told must not ask again. */
  forEachFound(tell: (id: number) => void): void;
}

interface TableCounts {
  readonly buffers: number;
  readonly sizes: number;
}

/** What the addon exports. */
interface NativeBridge {
  allocate(bytes: number, out: Float64Array): ArrayBuffer;
  release(buffer: ArrayBuffer, record: number): boolean;
  addressOf(array: ArrayBufferView): number;
  preferHugePages(bytes: Uint8Array): void;
  load(path: string, symbol: string): number;
  bind(entry: number, table: Float64Array, buffers: number, sizes: number): () => number;
  callAsync(entry: number, table: Float64Array, buffers: number, sizes: number): Promise<number>;
  loop(program: Float64Array): number;
  setThreads(threads: number): number;
  readMxcsr(): number;
  /** Sets the control bits to those of JavaScript; returns whether they were others. */
  resetMxcsr(): boolean;
  openWatches(count: Float64Array): void;
  watch(target: object, id: number): void;
  takeFound(out: Float64Array): number;
}

/** Builds the addon if need be, and loads it into this thread. */
export const openBridge = (options: BridgeBuildOptions): Bridge => loadBridge(buildBridge(options));

/** Loads a verified addon into this thread. Numbers are rounded afterwards as before. */
export function loadBridge(path: string): Bridge {
  const addon = { exports: {} };
  const wasFlushing = flushesToZero();
  try {
    process.dlopen(addon, path);
  } catch (cause) {
    throw bridgeNotLoaded(path, cause);
  }
  const native = addon.exports as NativeBridge;
  // Another addon may have changed it before; that is put right, and nobody's fault here.
  if (native.resetMxcsr() && !wasFlushing) throw floatEnvironmentChanged(path);
  return wrap(native);
}

/** Whether halves of subnormal numbers are zero in this thread, as after loading what was linked with fast-math. */
const flushesToZero = (): boolean => (Float64Array.of(1e-310)[0] ?? 0) * 0.5 === 0;

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code);
const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message);

function wrap(native: NativeBridge): Bridge {
  const last = { asked: 0, inForce: 0 };
  return {
    ...memoryOf(native),
    ...callsOf(native),
    ...watchesOf(native),
    setThreads: (threads) => {
      if (threads !== last.asked) {
        last.inForce = native.setThreads(threads >= 1 ? Math.min(256, Math.floor(threads)) : 1);
        last.asked = threads;
      }
      return last.inForce;
    },
    loop: (program) => native.loop(program),
    readMxcsr: () => native.readMxcsr(),
  };
}

function memoryOf(native: NativeBridge): Pick<Bridge, 'allocate' | 'free' | 'addressOf' | 'preferHugePages'> {
  const out = new Float64Array(2);
  const records = new WeakMap<ArrayBuffer, number>();
  const limit = hostResources().totalMemory;
  return {
    allocate: (bytes) => {
      checkAllocation(bytes, limit);
      const rounded = Math.max(64, Math.ceil(bytes / 64) * 64);
      try {
        const buffer = native.allocate(rounded, out);
        const [address = 0, record = 0] = out;
        records.set(buffer, record);
        return { address, buffer, bytes: rounded };
      } catch (cause) {
        throw codeOf(cause) === 'EXTERNAL_BUFFERS_REFUSED' ? externalBuffersRefused(cause) : outOfMemory(bytes, cause);
      }
    },
    free: ({ buffer }) => {
      const record = records.get(buffer);
      // A record is used once: a second call finds none, and does nothing.
      if (record !== undefined && records.delete(buffer)) native.release(buffer, record);
    },
    addressOf: (array) => native.addressOf(array),
    preferHugePages: (bytes) => {
      native.preferHugePages(bytes);
    },
  };
}

function watchesOf(native: NativeBridge): Pick<Bridge, 'watch' | 'forEachFound'> {
  const count = new Float64Array(1);
  const taken = new Float64Array(1024);
  native.openWatches(count);
  return {
    watch: (target, id) => {
      native.watch(target, id);
    },
    forEachFound: (tell) => {
      while (count[0] !== 0) {
        const length = native.takeFound(taken);
        for (let position = 0; position < length; position += 1) tell(taken[position] ?? 0);
      }
    },
  };
}

/** Refuses what cannot be: sizes that are no sizes, and more than the machine or the engine can hold. */
function checkAllocation(bytes: number, limit: number): void {
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw badAllocation(bytes);
  if (bytes > limit) throw allocationTooLarge(bytes, limit, 'the memory this process may use');
  if (bytes > bufferConstants.MAX_LENGTH - 64) {
    throw allocationTooLarge(bytes, bufferConstants.MAX_LENGTH, 'the longest buffer of this version of Node.js');
  }
}

function callsOf(native: NativeBridge): Pick<Bridge, 'load' | 'bind' | 'callAsync'> {
  return {
    load: (path, symbol) => {
      if (!isAbsolute(path) || path.includes('\0')) throw libraryNotLoaded(path, 'the path must be absolute');
      try {
        return native.load(path, symbol) as EntryId;
      } catch (error) {
        const code = codeOf(error);
        if (code === 'SYMBOL_NOT_FOUND') throw symbolNotFound(path, symbol);
        if (code === 'FLOAT_ENVIRONMENT_CHANGED') throw floatEnvironmentChanged(path);
        throw libraryNotLoaded(path, messageOf(error));
      }
    },
    bind: (entry, table, counts) => {
      checkTable(table, counts);
      return native.bind(entry, table, counts.buffers, counts.sizes);
    },
    callAsync: (entry, table, counts) => {
      checkTable(table, counts);
      return native.callAsync(entry, table, counts.buffers, counts.sizes);
    },
  };
}

function checkTable(table: Float64Array, { buffers, sizes }: TableCounts): void {
  const total = buffers + sizes;
  if (!Number.isSafeInteger(total) || buffers < 0 || sizes < 0 || total > table.length) {
    throw badBinding(`${String(buffers)} buffers and ${String(sizes)} sizes in a table of ${String(table.length)}`);
  }
}
