// The CUDA devices of a process, opened when the first tensor goes there. In: a device's name, and a session whose
// settings name the driver. Out: the device as tensors see it: memory, copies, and operators as compiled graphs.
//
// Devices stay open for the life of the process: tensors lie on them. An attempt that fails leaves nothing behind.
import { exportVariable } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import { buildBridge, CudaDevice, CudaDriver } from '@tsinductor/runtime';
import type { Block, Bridge } from '@tsinductor/runtime';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { openDevice } from '@tsinductor/tensor/internal';
import type { Device, DeviceProvider, OtherDevice, TensorDevice } from '@tsinductor/tensor/internal';
import type { Builder } from '../build/builder.ts';
import { detectionOff, foreignDevice } from '../errors.ts';
import type { PrepareRequest, TracedGraph } from '../request.ts';
import type { Executable } from '../run/executable.ts';

/** What a device needs of a session: settings, what builds the bridge, and operators as compiled graphs. */
interface DeviceSession {
  readonly config: Config;
  readonly builder: Builder;
  prepare(traced: TracedGraph, request: PrepareRequest): Executable;
}

export class CudaDevices implements DeviceProvider {
  readonly #session: () => DeviceSession;
  readonly #drivers = new Map<string, CudaDriver>();
  readonly #devices = new Map<string, CudaTensorDevice>();

  constructor(session: () => DeviceSession) {
    this.#session = session;
  }

  /** Throws ToolchainError COMPILER_NOT_FOUND, CUDA_DRIVER_NOT_FOUND, CUDA_DRIVER_TOO_OLD, CUDA_NO_DEVICE. */
  open(name: OtherDevice): CudaTensorDevice {
    const { driver: library } = this.#session().config.cuda;
    const key = `${library} ${name}`;
    const known = this.#devices.get(key);
    if (known !== undefined) return known;
    const driver = this.driver();
    const { memoryFraction, preallocate } = this.#session().config.cuda;
    const cuda = CudaDevice.open(driver, Number(name.split(':')[1]), { memoryFraction, preallocate });
    const device = new CudaTensorDevice(name, { cuda, bridge: driver.bridge, session: this.#session });
    this.#devices.set(key, device);
    return device;
  }

  /** The driver that the settings name. */
  driver(): CudaDriver {
    const session = this.#session();
    const { tritonDisableDeviceDetection, cuda } = session.config;
    if (tritonDisableDeviceDetection) throw detectionOff('tritonDisableDeviceDetection');
    if (cuda.dryRun) throw detectionOff('cuda.dryRun');
    const { driver: library, visibleDevices } = cuda;
    const known = this.#drivers.get(library);
    if (known !== undefined) return known;
    if (visibleDevices !== null) exportVariable('CUDA_VISIBLE_DEVICES', visibleDevices);
    const { builder } = session;
    const { bridge, toolchain } = builder.requireNative();
    const addon = buildBridge({ toolchain, ...builder.artifacts().place });
    const driver = CudaDriver.open({ bridge, addon, library });
    this.#drivers.set(library, driver);
    return driver;
  }
}

interface Opened {
  readonly cuda: CudaDevice;
  readonly bridge: Bridge;
  readonly session: () => DeviceSession;
}

export class CudaTensorDevice implements TensorDevice {
  readonly name: OtherDevice;
  readonly cuda: CudaDevice;
  readonly #bridge: Bridge;
  readonly #session: () => DeviceSession;

  constructor(name: OtherDevice, { cuda, bridge, session }: Opened) {
    this.name = name;
    this.cuda = cuda;
    this.#bridge = bridge;
    this.#session = session;
  }

  get memoryBytes(): number {
    return this.cuda.memory.mostBytes;
  }

  acquire(bytes: number): Block {
    return { ...this.cuda.memory.acquire(bytes), buffer: new ArrayBuffer(0) };
  }

  release(block: Block): void {
    this.cuda.memory.release(block);
  }

  upload(bytes: Uint8Array, address: number): void {
    this.cuda.copyToDevice({ address: this.#bridge.addressOf(bytes) }, { address }, bytes.length);
  }

  download(address: number, bytes: Uint8Array): void {
    this.cuda.copyToHost({ address }, { address: this.#bridge.addressOf(bytes) }, bytes.length);
  }

  copy(from: number, to: number, bytes: number): void {
    this.cuda.copyWithin({ address: from }, { address: to }, bytes);
  }

  compile(graph: Graph, name: string): (inputs: readonly Tensor[]) => readonly Tensor[] {
    const placement = { device: this.name, outputs: graph.outputs.map(() => this.name) };
    const request = { name, backend: 'inductor', examples: [], placement } as const;
    const executable = this.#session().prepare({ graph, primitives: graph }, request);
    return (inputs) => executable.run(inputs);
  }
}

/** The device of that name, which must be one of ours. */
export function openCuda(name: Device): CudaTensorDevice {
  const device = name === 'cpu' ? undefined : openDevice(name);
  if (!(device instanceof CudaTensorDevice)) throw foreignDevice(name);
  return device;
}
