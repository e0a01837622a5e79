// What a session makes for the program: memory of the trace, and tensors over it, whose sizes are symbolic where the trace's are.
import type { DType } from '@tsinductor/base';
import { contiguousStrides } from '@tsinductor/graph';
import type { Meta, SizeEnvironment, ValueRef } from '@tsinductor/graph';
import type { Device } from '../device.ts';
import type { Recorder } from '../recorder.ts';
import { guardedShape } from '../symbolic-shape.ts';
import { Tensor } from '../tensor.ts';
import type { TraceOptions } from './trace-options.ts';
import type { Memory, TracedView } from './traced-memory.ts';

/** What an input has (`placeholder` says which), or what an operator gave: contiguous. */
export function newMemory(
  ref: ValueRef,
  given: Meta,
  { home, device, placeholder }: Pick<Memory, 'home' | 'device' | 'placeholder'>,
): Memory {
  const meta = placeholder === undefined ? { ...given, strides: contiguousStrides(given.shape) } : given;
  return { current: ref, version: 0, meta, placeholder, home, device, tensors: [] };
}

/** Whose a tensor is, and what its sizes are asked of. */
interface Belonging extends Pick<TraceOptions, 'readsFreely'> {
  readonly handle: TracedView;
  readonly recorder: Recorder;
  readonly sizes: SizeEnvironment;
}

export function recordedTensor(
  dtype: DType,
  { shape, strides }: Pick<Meta, 'shape' | 'strides'>,
  { handle, recorder, sizes, readsFreely }: Belonging,
): Tensor {
  const layout = { shape: guardedShape(shape, sizes, readsFreely), strides: guardedShape(strides, sizes) };
  const device: Device = handle.memory.device;
  const tensor = new Tensor(dtype, layout, { kind: 'recorded', recorder, handle, device });
  handle.memory.tensors.push(tensor);
  return tensor;
}
