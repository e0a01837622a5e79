// Where tensors live: 'cpu', or a device with a memory of its own, as 'cuda:0'. In: names as users write them. Out: names
// in one form, the device behind a name, and on which device a call's operands are.
//
// This package moves bytes and asks for programs; what a device is made of is known to whoever provides it. Nothing is
// looked for before a tensor is first sent somewhere.
import type { Graph } from '@tsinductor/graph';
import type { Block } from '@tsinductor/runtime';
import { deviceMismatch, invalidDevice, noDevices } from './errors.ts';
import { processState } from './process-state.ts';
import { symbolicSizes } from './symbolic-shape.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

/** A device as a tensor names it. */
export type Device = 'cpu' | `cuda:${number}`;
/** A device that is not the CPU. */
export type OtherDevice = Exclude<Device, 'cpu'>;
/** A device as users may write it: `cuda` is `cuda:0`. */
export type DeviceName = Device | 'cuda';

/** A device with a memory of its own. Its work happens in the order in which it was asked for. */
export interface TensorDevice {
  /** How much memory this process may take there. */
  readonly memoryBytes: number;
  /** Memory of any content, at least `bytes` of it, at an address of the device. */
  acquire(bytes: number): Block;
  release(block: Block): void;
  /** Both have happened when they return. */
  upload(bytes: Uint8Array, address: number): void;
  download(address: number, bytes: Uint8Array): void;
  /** Between places of the device. */
  copy(from: number, to: number, bytes: number): void;
  /** Makes a graph of primitives ready to run here; its outputs lie here. */
  compile(graph: Graph, name: string): (inputs: readonly Tensor[]) => readonly Tensor[];
}

export interface DeviceProvider {
  /** Throws ToolchainError where there is no such device. */
  open(device: OtherDevice): TensorDevice;
}

/** From now on devices are opened by `provider`; those that tensors are on stay as they are. */
export function setDeviceProvider(provider: DeviceProvider | undefined): void {
  processState.deviceProvider = provider;
}

/** The device of that name, opened if it is not. */
export function openDevice(device: OtherDevice): TensorDevice {
  const provider = processState.deviceProvider;
  if (provider === undefined) throw noDevices(device);
  return provider.open(device);
}

const pattern = /^cuda(?::(0|[1-9]\d{0,3}))?$/;

/** A name in its one form. Throws UserError DEVICE_NAME. */
export function parseDevice(name: unknown): Device {
  if (name === 'cpu') return name;
  const match = typeof name === 'string' ? pattern.exec(name) : null;
  if (match === null) throw invalidDevice(name);
  return `cuda:${Number(match[1] ?? 0)}`;
}

/** Whether a value can only be meant as a device: no dtype reads like one. */
export const isDeviceName = (value: unknown): value is string =>
  typeof value === 'string' && /^(cpu|cuda)(:|$)/.test(value);

/** Where tensors are made that no operand and no option places. */
export const ambientDevice = (): Device => processState.device;

/** Runs `work`, in whose extent what is made without operands is on `device`: for operators made of others. */
export function onDevice<T>(device: Device, work: () => T): T {
  const outer = processState.device;
  processState.device = device;
  try {
    return work();
  } finally {
    processState.device = outer;
  }
}

/**
 * The device that operands share. A 0-d tensor of the CPU goes along with any, as a number does.
 *
 * Throws UserError DEVICE_MISMATCH, naming both.
 */
export function deviceOf(operation: string, tensors: readonly Tensor[]): Device {
  const binding = tensors.filter((tensor) => !followsOthers(tensor));
  const [first = tensors[0]] = binding;
  if (first === undefined) return ambientDevice();
  const other = binding.find(({ device }) => device !== first.device);
  if (other !== undefined)
    throw deviceMismatch(operation, describeArgument(tensors, first), describeArgument(tensors, other));
  return first.device;
}

const followsOthers = ({ device, ndim }: Tensor): boolean => device === 'cpu' && ndim === 0;

const describeArgument = (tensors: readonly Tensor[], tensor: Tensor): string =>
  `argument ${String(tensors.indexOf(tensor))} (${tensor.dtype}[${tensor.shape.join(', ')}]) is on ${tensor.device}`;

/** Runs `work`, which makes an operator's result of others: what it makes on the way is on its operands' device. */
export function besideOperands<T>(operands: readonly unknown[], work: () => T): T {
  const device = deviceAmong(operands);
  return device === undefined || device === ambientDevice() ? work() : onDevice(device, work);
}

/** The device of the first tensor that is not on the CPU. */
function deviceAmong(values: readonly unknown[]): Device | undefined {
  for (const value of values) {
    // What looks at a symbolic shape fixes its sizes.
    const isList = Array.isArray(value) && symbolicSizes(value) === undefined;
    const device = isList ? deviceAmong(value) : deviceIn(value);
    if (device !== undefined) return device;
  }
  return undefined;
}

const deviceIn = (value: unknown): Device | undefined =>
  isTensor(value) && value.device !== 'cpu' ? value.device : undefined;
