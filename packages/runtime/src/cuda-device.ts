// A CUDA device as the rest of the system sees it: its context, one stream in whose order everything happens, events,
// memory, copies, modules and launches. In: a driver. Out: a device that owns what it made until it is disposed.
//
// Calls return before the device is done; `synchronize` and copies to the host wait. A fault of a kernel shows at a later
// call, as CUDA_ILLEGAL_ADDRESS, after which the context is lost.
import { CudaContext } from './cuda-context.ts';
import type { CudaDriver } from './cuda-driver.ts';
import { cudaDeviceMissing, cudaNoDevice } from './errors.ts';
import { DeviceMemory } from './cuda-memory.ts';

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

interface LaunchGeometry {
  readonly blocks: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

/** Where bytes lie, on the host or on the device. */
interface Place {
  readonly address: number;
}

/** An argument of a kernel: an address, or a 64-bit integer. */
export type KernelArgument = number | bigint;

/** How much of a device's memory this process may take, and whether it takes that when it opens the device. */
interface CudaDeviceOptions {
  readonly memoryFraction: number;
  readonly preallocate: boolean;
}

const wholeDevice: CudaDeviceOptions = { memoryFraction: 1, preallocate: false };

export class CudaDevice implements Disposable {
  readonly facts: DeviceFacts;
  readonly memory: DeviceMemory;
  readonly ordinal: number;
  readonly #context: CudaContext;
  readonly #handle: number;
  readonly #stream: number;
  readonly #modules = new Set<CudaModule>();

  private constructor(driver: CudaDriver, ordinal: number, { memoryFraction, preallocate }: CudaDeviceOptions) {
    this.ordinal = ordinal;
    this.#handle = driver.result('cuDeviceGet', (out) => [out, ordinal]);
    this.facts = readFacts(driver, this.#handle);
    this.#context = new CudaContext(driver, this.#handle);
    this.#stream = this.#context.result('cuStreamCreate', (out) => [out, 1]);
    const mostBytes = Math.floor(this.facts.memoryBytes * memoryFraction);
    try {
      this.memory = new DeviceMemory(this.#context, { mostBytes, preallocate });
    } catch (error) {
      this.#context[Symbol.dispose]();
      throw error;
    }
  }

  /** The device with that number, 0 by default. Throws CUDA_NO_DEVICE. */
  static open(driver: CudaDriver, ordinal: number = 0, options: CudaDeviceOptions = wholeDevice): CudaDevice {
    const { deviceCount } = driver;
    if (deviceCount === 0) throw cudaNoDevice();
    if (ordinal >= deviceCount) throw cudaDeviceMissing(ordinal, deviceCount);
    return new CudaDevice(driver, ordinal, options);
  }

  /** Waits until the device has done all that was asked. */
  synchronize(): void {
    this.#context.check('cuStreamSynchronize', [this.#stream]);
  }

  copyToDevice(host: Place, device: Place, bytes: number): void {
    this.#context.check('cuMemcpyHtoDAsync_v2', [device.address, host.address, bytes, this.#stream]);
  }

  /** The bytes are there when it returns. */
  copyToHost(device: Place, host: Place, bytes: number): void {
    this.#context.check('cuMemcpyDtoHAsync_v2', [host.address, device.address, bytes, this.#stream]);
    this.synchronize();
  }

  copyWithin(from: Place, to: Place, bytes: number): void {
    this.#context.check('cuMemcpyDtoDAsync_v2', [to.address, from.address, bytes, this.#stream]);
  }

  /** Zeros, or another byte, everywhere. */
  fill({ address }: Place, byte: number, bytes: number): void {
    this.#context.check('cuMemsetD8Async', [address, byte, bytes, this.#stream]);
  }

  /** Loads machine code (a cubin) or PTX. */
  loadModule(image: Uint8Array): CudaModule {
    const module = new CudaModule(this.#context, this.#stream, image);
    this.#modules.add(module);
    return module;
  }

  /** A point in the stream, for timing. */
  recordEvent(): CudaEvent {
    return new CudaEvent(this.#context, this.#stream);
  }

  [Symbol.dispose](): void {
    this.memory.trim();
    for (const module of this.#modules) module[Symbol.dispose]();
    this.#context.check('cuStreamDestroy_v2', [this.#stream]);
    this.#context[Symbol.dispose]();
  }
}

/** What a device is, without opening it. */
export const deviceFacts = (driver: CudaDriver, ordinal: number): DeviceFacts =>
  readFacts(
    driver,
    driver.result('cuDeviceGet', (out) => [out, ordinal]),
  );

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
  readonly #context: CudaContext;
  readonly #stream: number;
  readonly #handle: number;
  readonly #functions = new Map<string, { readonly handle: number; sharedBytes: number }>();

  constructor(context: CudaContext, stream: number, image: Uint8Array) {
    this.#context = context;
    this.#stream = stream;
    const { bridge } = context;
    // PTX is text that must end in a zero.
    const block = bridge.allocate(image.length + 1);
    try {
      new Uint8Array(block.buffer).fill(0).set(image);
      this.#handle = context.result('cuModuleLoadData', (out) => [out, block.address]);
    } finally {
      bridge.free(block);
    }
  }

  /** Starts a kernel; arguments in the order of its parameters. */
  launch(kernel: string, { blocks, threads, sharedBytes }: LaunchGeometry, args: readonly KernelArgument[]): void {
    if (blocks === 0) return;
    const handle = this.#function(kernel, sharedBytes);
    const { bridge } = this.#context;
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
      this.#context.check('cuLaunchKernel', [
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
      handle: this.#context.named('cuModuleGetFunction', kernel, (out, name) => [out, this.#handle, name]),
      sharedBytes: plainSharedBytes,
    };
    this.#functions.set(kernel, found);
    if (sharedBytes > found.sharedBytes) {
      this.#context.check('cuFuncSetAttribute', [found.handle, maxDynamicSharedBytes, sharedBytes]);
      found.sharedBytes = sharedBytes;
    }
    return found.handle;
  }

  [Symbol.dispose](): void {
    this.#context.check('cuModuleUnload', [this.#handle]);
  }
}

/** A point in a stream. */
class CudaEvent implements Disposable {
  readonly #context: CudaContext;
  readonly #handle: number;

  constructor(context: CudaContext, stream: number) {
    this.#context = context;
    this.#handle = context.result('cuEventCreate', (out) => [out, 0]);
    context.check('cuEventRecord', [this.#handle, stream]);
  }

  /** Milliseconds from this event to a later one, which is waited for. */
  millisecondsUntil(later: CudaEvent): number {
    this.#context.check('cuEventSynchronize', [later.#handle]);
    const { bridge } = this.#context;
    const out = bridge.allocate(8);
    try {
      this.#context.check('cuEventElapsedTime', [out.address, this.#handle, later.#handle]);
      return new Float32Array(out.buffer, 0, 1)[0] ?? 0;
    } finally {
      bridge.free(out);
    }
  }

  [Symbol.dispose](): void {
    this.#context.check('cuEventDestroy_v2', [this.#handle]);
  }
}
