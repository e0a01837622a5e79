// The CUDA driver: libcuda.so.1, opened when asked for, with neither the CUDA runtime nor any linking. In: numbers and
// addresses. Out: values, or coded errors: no driver, one that is too old, out of memory, an illegal address.
//
// Addresses of a device are numbers here: all that a driver gives out are below 2^53.
import type { Bridge } from './bridge.ts';
import {
  cudaDriverFailed,
  cudaDriverMissing,
  cudaDriverTooOld,
  cudaIllegalAddress,
  cudaNoDevice,
  cudaOutOfMemory,
  cudaVersion,
} from './errors.ts';
import { addressIn, openForeignLibrary, textBlock, textOf } from './foreign-library.ts';
import type { ForeignLibrary, Word } from './foreign-library.ts';

interface CudaDriverOptions {
  readonly bridge: Bridge;
  /** The path of the bridge's addon: see `buildBridge`. */
  readonly addon: string;
  /** `libcuda.so.1` by default. */
  readonly library?: string;
}

/** The oldest driver that runs what CUDA 12 made. */
const oldestDriver = 12000;

const codes = {
  ok: 0,
  outOfMemory: 2,
  noDevice: 100,
  illegalAddress: 700,
  launchTimeout: 702,
  misaligned: 716,
} as const;

/** A driver that was opened; one per process is enough. */
export class CudaDriver {
  readonly #bridge: Bridge;
  readonly #library: ForeignLibrary;
  #current = 0;
  #devices: number | undefined;

  private constructor(bridge: Bridge, library: ForeignLibrary) {
    this.#bridge = bridge;
    this.#library = library;
  }

  /**
   * Opens and initialises the driver. Throws ToolchainError CUDA_DRIVER_NOT_FOUND, CUDA_DRIVER_TOO_OLD, CUDA_NO_DEVICE.
   */
  static open(options: CudaDriverOptions): CudaDriver {
    const name = options.library ?? 'libcuda.so.1';
    const library = openForeignLibrary(options, name);
    if ('reason' in library) throw cudaDriverMissing(name, library.reason);
    const driver = new CudaDriver(options.bridge, library);
    driver.check('cuInit', [0]);
    const version = driver.#version();
    if (version < oldestDriver) throw cudaDriverTooOld(version, oldestDriver);
    return driver;
  }

  get bridge(): Bridge {
    return this.#bridge;
  }

  /** The newest CUDA that it runs: `13.0`. */
  get version(): string {
    return cudaVersion(this.#version());
  }

  /** How many devices it shows this process, as CUDA_VISIBLE_DEVICES has it. */
  get deviceCount(): number {
    return (this.#devices ??= this.result('cuDeviceGetCount', (out) => [out]));
  }

  /** From now on calls are for that context; 0 for none. */
  makeCurrent(context: number): void {
    if (context === this.#current) return;
    this.check('cuCtxSetCurrent', [context]);
    this.#current = context;
  }

  /** Calls a function of the driver; throws the coded error of what it returns. */
  check(symbol: string, words: readonly Word[]): void {
    const status = this.#library.call(symbol, words);
    if (status === undefined) throw cudaDriverFailed(symbol, 'the driver has no such function', -1);
    if (status !== codes.ok) throw this.#error(symbol, status);
  }

  /** The integer or address that a function writes to the place it is told. */
  result(symbol: string, words: (out: Word) => readonly Word[]): number {
    const out = this.#bridge.allocate(8);
    try {
      new BigUint64Array(out.buffer)[0] = 0n;
      this.check(symbol, words(out.address));
      return addressIn(out);
    } finally {
      this.#bridge.free(out);
    }
  }

  /** The address that a function gives for a name. */
  named(symbol: string, name: string, words: (out: Word, name: Word) => readonly Word[]): number {
    const text = textBlock(this.#bridge, name);
    try {
      return this.result(symbol, (out) => words(out, text.address));
    } finally {
      this.#bridge.free(text);
    }
  }

  /** The text that a function writes. */
  text(symbol: string, words: (out: Word, bytes: number) => readonly Word[]): string {
    const bytes = 256;
    const out = this.#bridge.allocate(bytes);
    try {
      this.check(symbol, words(out.address, bytes));
      return textOf(out);
    } finally {
      this.#bridge.free(out);
    }
  }

  #error(symbol: string, status: number): Error {
    switch (status) {
      case codes.outOfMemory:
        return cudaOutOfMemory(symbol);
      case codes.noDevice:
        return cudaNoDevice();
      case codes.illegalAddress:
      case codes.misaligned:
        return cudaIllegalAddress(symbol);
      default:
        return cudaDriverFailed(symbol, this.#describe(status), status);
    }
  }

  #version(): number {
    return this.result('cuDriverGetVersion', (out) => [out]);
  }

  /** What the driver itself calls an error. */
  #describe(status: number): string {
    const out = this.#bridge.allocate(8);
    try {
      const found = this.#library.call('cuGetErrorName', [status, out.address]);
      if (found !== codes.ok) return 'an error that it does not name';
      return this.#library.textAt(addressIn(out));
    } finally {
      this.#bridge.free(out);
    }
  }
}
