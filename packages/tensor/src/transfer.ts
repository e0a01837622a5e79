// Tensors from one device to another. In: a tensor and where it is to be. Out: the tensor itself where it is there already,
// else a contiguous copy. While a function is recorded, the copy is a value of its graph.
import { isDType } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bindCall, operatorNamed, splitOptions } from './bound-call.ts';
import { isDeviceName, openDevice, parseDevice } from './device.ts';
import type { Device, DeviceName } from './device.ts';
import { dispatchOne } from './dispatch.ts';
import { run } from './perform.ts';
import { byteSize } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { invalidDType } from './errors.ts';
import { elementsOf, rowMajorLayout } from './layout.ts';
import { located } from './location.ts';
import { mappedOf, mappedTensor } from './mapping/level.ts';
import { processState } from './process-state.ts';
import { allocate, allocateOn } from './storage.ts';
import type { Storage } from './storage.ts';
import type { Known, Open, Shape } from './element-types.ts';
import { isTensor, placedTensor, rawElements } from './tensor.ts';
import type { Tensor } from './tensor.ts';

/** The tensor on `device`. */
export function sendTo(tensor: Tensor, device: Device): Tensor {
  if (tensor.device === device) return tensor;
  const mapped = mappedOf(tensor);
  if (mapped !== undefined) return mappedTensor(mapped.level, sendTo(mapped.whole, device), mapped.differs);
  if (processState.recorder === undefined) return transferred(tensor, device);
  const [copy = tensor] = run({ ...bindCall(operatorNamed('clone'), [tensor], {}), device });
  return copy;
}

/** A copy on another device, made now. */
export const transferred = (tensor: Tensor, device: Device): Tensor =>
  placedElements(rawElements(tensor, 'to'), tensor, device);

/** A new tensor of contiguous elements. */
export function placedElements(
  elements: ElementArray,
  { dtype, shape }: Pick<Tensor, 'dtype' | 'shape'>,
  device: Device,
): Tensor {
  const storage = storageOn(device, byteSize(dtype, elementsOf(shape)));
  if (device === 'cpu') storage.elements(dtype).set(elements as never);
  else if (elements.length > 0) openDevice(device).upload(bytesOf(elements), storage.address);
  return placedTensor(dtype, storage, rowMajorLayout(shape));
}

/** Memory of any content. */
export const storageOn = (device: Device, bytes: number): Storage =>
  device === 'cpu' ? allocate(bytes, 'durable') : allocateOn(device, bytes);

const bytesOf = ({ buffer, byteOffset, byteLength }: ElementArray): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Methods of Tensor that say where it is to be. */
export interface DeviceMethods<D extends DType = Open, S extends Shape = Open> {
  /**
   * The tensor on a device, and of a dtype where one is given: itself where it is both already.
   *
   * @example x.to('cuda'), x.to('cuda:1', 'f16'), x.to({ device: y.device })
   * @throws UserError DEVICE_NAME; ToolchainError CUDA_DRIVER_NOT_FOUND, CUDA_NO_DEVICE and their kin
   */
  to<E extends DType = D>(device: DeviceName, dtype?: E): Tensor<NoInfer<Known<E>>, S>;
  to<E extends DType = D>(options: { readonly device?: DeviceName; readonly dtype?: E }): Tensor<NoInfer<Known<E>>, S>;
  /** The tensor on the CPU. */
  cpu(): Tensor<D, S>;
  /** The tensor on a CUDA device, the first by default. */
  cuda(ordinal?: number): Tensor<D, S>;
}

function movedTo(tensor: Tensor, device: unknown, dtype: unknown): Tensor {
  const moved = device === undefined ? tensor : sendTo(tensor, parseDevice(device));
  if (dtype === undefined) return moved;
  if (!isDType(dtype)) throw invalidDType(dtype);
  return dtype === moved.dtype ? moved : dispatchOne('to', [moved, dtype]);
}

/** What `x.to(...)` was called with, where it names a device. */
function destinationOf(given: readonly unknown[]): { readonly device?: unknown; readonly dtype?: unknown } | undefined {
  const { positional, named } = splitOptions(given);
  const [first, second] = positional;
  if (isDeviceName(first)) return { device: first, dtype: second ?? named['dtype'] };
  if (isTensor(first)) return { device: first.device, dtype: first.dtype };
  return positional.length === 0 && 'device' in named ? named : undefined;
}

export const deviceMethods = {
  to(this: Tensor, ...given: readonly unknown[]): Tensor {
    try {
      const destination = destinationOf(given);
      if (destination !== undefined) return movedTo(this, destination.device, destination.dtype);
    } catch (error) {
      throw located(error);
    }
    const { positional, named } = splitOptions(given);
    return dispatchOne('to', [this, ...positional], named);
  },
  cpu(this: Tensor): Tensor {
    return sendTo(this, 'cpu');
  },
  cuda(this: Tensor, ordinal: number = 0): Tensor {
    try {
      return sendTo(this, parseDevice(`cuda:${String(ordinal)}`));
    } catch (error) {
      throw located(error);
    }
  },
} as const;
