// A CUDA device as the rest of the system sees it: its context, one stream in whose order everything happens, events,
// memory, copies, modules and launches. In: a driver. Out: a device that owns what it made until it is disposed.
//
// Calls return before the device is done; `synchronize` and copies to the host wait. A fault of a kernel shows at a later
// call, as CUDA_ILLEGAL_ADDRESS, after which the context is lost.
import type { NativeBlock } from './bridge.ts';
import type { CudaDriver } from './cuda-driver.ts';
import { DeviceMemory } from './cuda-memory.ts';
import type { DeviceBlock } from './cuda-memory.ts';

/** Attributes as the driver numbers them. */
const attributes = { multiprocessors: 16, major: 75, minor: 76, sharedBytesOptIn: 97 } as const;
const maxDynamicSharedBytes = 8;
/** What a launch may have without asking. */
const plainSharedBytes = 48 * 1024;

export interface DeviceFacts {
  readonly name: string;
  /** `sm_90`. */
  readonly architecture: string;
  readonly multiprocessors: number;
  readonly memoryBytes: number;
  /** The most shared memory that a block may ask for. */
  readonly sharedBytes: number;
}

export interface LaunchGeometry {
  readonly blocks: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

/** An argument of a kernel: an address, or a 64-bit integer. */
export type KernelArgument = number;

export class CudaDevice implements Disposable {
  readonly facts: DeviceFacts;
  readonly memory: DeviceMemory;
  readonly ordinal: number;
  readonly #driver: CudaDriver;
  readonly #handle: number;
  readonly #context: number;
  readonly #stream: number;
  readonly #modules = new Set<CudaModule>();

  private constructor(driver: CudaDriver, ordinal: number) {
    this.#driver = driver;
    this.ordinal = ordinal;
    this.#handle = driver.result('cuDeviceGet', (out) => [out, ordinal]);
    this.facts = readFacts(driver, this.#handle);
    this.#context = driver.result('cuDevicePrimaryCtxRetain', (out) => [out, this.#handle]);
    driver.check('cuCtxSetCurrent', [this.#context]);
    this.#stream = driver.result('cuStreamCreate', (out) => [out, 1]);
    this.memory = new DeviceMemory(driver);
  }

  /** The device with that number, 0 by default. */
  static open(driver: CudaDriver, ordinal: number = 0): CudaDevice {
    return new CudaDevice(driver, ordinal);
  }

  /** Waits until the device has done all that was asked. */
  synchronize(): void {
    this.#driver.check('cuStreamSynchronize', [this.#stream]);
  }

  copyToDevice(host: NativeBlock, device: DeviceBlock, bytes: number): void {
    this.#driver.check('cuMemcpyHtoDAsync_v2', [device.address, host.address, bytes, this.#stream]);
  }

  /** The bytes are there when it returns. */
  copyToHost(device: DeviceBlock, host: NativeBlock, bytes: number): void {
    this.#driver.check('cuMemcpyDtoHAsync_v2', [host.address, device.address, bytes, this.#stream]);
    this.synchronize();
  }

  copyWithin(from: DeviceBlock, to: DeviceBlock, bytes: number): void {
    this.#driver.check('cuMemcpyDtoDAsync_v2', [to.address, from.address, bytes, this.#stream]);
  }

  /** Zeros, or another byte, everywhere. */
  fill({ address }: DeviceBlock, byte: number, bytes: number): void {
    this.#driver.check('cuMemsetD8Async', [address, byte, bytes, this.#stream]);
  }

  /** Loads machine code (a cubin) or PTX. */
  loadModule(image: Uint8Array): CudaModule {
    const module = new CudaModule(this.#driver, this.#stream, image);
    this.#modules.add(module);
    return module;
  }

  /** A point in the stream, for timing. */
  recordEvent(): CudaEvent {
    return new CudaEvent(this.#driver, this.#stream);
  }

  [Symbol.dispose](): void {
    this.memory.trim();
    for (const module of this.#modules) module[Symbol.dispose]();
    this.#driver.check('cuStreamDestroy_v2', [this.#stream]);
    this.#driver.check('cuDevicePrimaryCtxRelease_v2', [this.#handle]);
  }
}

function readFacts(driver: CudaDriver, device: number): DeviceFacts {
  const attribute = (number: number): number => driver.result('cuDeviceGetAttribute', (out) => [out, number, device]);
  return {
    name: driver.text('cuDeviceGetName', (out, bytes) => [out, bytes, device]),
    architecture: `sm_${String(attribute(attributes.major))}${String(attribute(attributes.minor))}`,
    multiprocessors: attribute(attributes.multiprocessors),
    memoryBytes: driver.result('cuDeviceTotalMem_v2', (out) => [out, device]),
    sharedBytes: attribute(attributes.sharedBytesOptIn),
  };
}

/** Loaded code. */
export class CudaModule implements Disposable {
  readonly #driver: CudaDriver;
  readonly #stream: number;
  readonly #handle: number;
  readonly #functions = new Map<string, { readonly handle: number; sharedBytes: number }>();

  constructor(driver: CudaDriver, stream: number, image: Uint8Array) {
    this.#driver = driver;
    this.#stream = stream;
    const { bridge } = driver;
    // PTX is text that must end in a zero.
    const block = bridge.allocate(image.length + 1);
    try {
      new Uint8Array(block.buffer).fill(0).set(image);
      this.#handle = driver.result('cuModuleLoadData', (out) => [out, block.address]);
    } finally {
      bridge.free(block);
    }
  }

  /** Starts a kernel; arguments in the order of its parameters. */
  launch(kernel: string, { blocks, threads, sharedBytes }: LaunchGeometry, args: readonly KernelArgument[]): void {
    if (blocks === 0) return;
    const handle = this.#function(kernel, sharedBytes);
    const { bridge } = this.#driver;
    const words = Math.max(1, args.length);
    const block = bridge.allocate(16 * words);
    try {
      // The values, then the addresses of the values: the driver reads as many as the kernel has parameters.
      const values = new BigInt64Array(block.buffer, 0, words);
      const places = new BigUint64Array(block.buffer, 8 * words, words);
      args.forEach((value, slot) => {
        values[slot] = BigInt(value);
        places[slot] = BigInt(block.address + 8 * slot);
      });
      const parameters = block.address + 8 * words;
      this.#driver.check('cuLaunchKernel', [
        handle,
        blocks,
        1,
        1,
        threads,
        1,
        1,
        sharedBytes,
        this.#stream,
        parameters,
        0,
      ]);
    } finally {
      bridge.free(block);
    }
  }

  #function(kernel: string, sharedBytes: number): number {
    const known = this.#functions.get(kernel);
    const found = known ?? {
      handle: this.#driver.named('cuModuleGetFunction', kernel, (out, name) => [out, this.#handle, name]),
      sharedBytes: plainSharedBytes,
    };
    this.#functions.set(kernel, found);
    if (sharedBytes > found.sharedBytes) {
      this.#driver.check('cuFuncSetAttribute', [found.handle, maxDynamicSharedBytes, sharedBytes]);
      found.sharedBytes = sharedBytes;
    }
    return found.handle;
  }

  [Symbol.dispose](): void {
    this.#driver.check('cuModuleUnload', [this.#handle]);
  }
}

/** A point in a stream. */
export class CudaEvent implements Disposable {
  readonly #driver: CudaDriver;
  readonly #handle: number;

  constructor(driver: CudaDriver, stream: number) {
    this.#driver = driver;
    this.#handle = driver.result('cuEventCreate', (out) => [out, 0]);
    driver.check('cuEventRecord', [this.#handle, stream]);
  }

  /** Milliseconds from this event to a later one, which is waited for. */
  millisecondsUntil(later: CudaEvent): number {
    this.#driver.check('cuEventSynchronize', [later.#handle]);
    const { bridge } = this.#driver;
    const out = bridge.allocate(8);
    try {
      this.#driver.check('cuEventElapsedTime', [out.address, this.#handle, later.#handle]);
      return new Float32Array(out.buffer, 0, 1)[0] ?? 0;
    } finally {
      bridge.free(out);
    }
  }

  [Symbol.dispose](): void {
    this.#driver.check('cuEventDestroy_v2', [this.#handle]);
  }
}
