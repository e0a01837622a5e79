// For tests: runs the kernels of a schedule in the Kernel IR's interpreter, in place of compiled code.
import { at } from '@tsinductor/base';
import { evaluateIndex, interpretKernel } from '@tsinductor/ir';
import type { BufferId, Kernel, KernelMemory, Schedule } from '@tsinductor/ir';
import { castValue, f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';
import { makeElements } from '@tsinductor/testing/loops';
import type { ElementArray } from '@tsinductor/testing/loops';

type Scalar = number | bigint;

const fromMemory = (dtype: KernelMemory['dtype'], value: Scalar): Scalar =>
  dtype === 'f16' ? f16FromBits(Number(value)) : dtype === 'bf16' ? fromBfloat16Bits(Number(value)) : value;

const toMemory = (dtype: KernelMemory['dtype'], value: Scalar): Scalar =>
  dtype === 'f16' ? f16ToBits(Number(value)) : dtype === 'bf16' ? toBfloat16Bits(Number(value)) : value;

export interface KernelInputs {
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
  readonly sizes: ReadonlyMap<string, number>;
  /** Units per chunk of parallel loops. */
  readonly chunk: number;
}

/** The outputs after running `kernels` (one per group) in order. */
export function runKernels(schedule: Schedule, kernels: readonly Kernel[], run: KernelInputs): readonly ElementArray[] {
  const { program } = schedule;
  const memory = new Map<BufferId, KernelMemory>();
  for (const { id, dtype, size } of program.buffers) {
    const given = run.inputs.get(id);
    const count = evaluateIndex(size, { sizes: run.sizes });
    const elements = Array.from({ length: count }, (_, index) =>
      given === undefined ? undefined : fromMemory(dtype, at<Scalar>(given, index)),
    );
    memory.set(id, { dtype, elements });
  }
  for (const kernel of kernels) {
    const named = new Map<string, KernelMemory>();
    for (const { name, dtype, storage } of kernel.buffers) {
      const own = storage.kind === 'workspace' ? undefined : memory.get(storage.buffer);
      const count = storage.kind === 'workspace' ? evaluateIndex(storage.elements, { sizes: run.sizes }) : 0;
      named.set(name, own ?? { dtype, elements: new Array<Scalar | undefined>(count).fill(undefined) });
    }
    interpretKernel(kernel, { memory: named, sizes: run.sizes, chunk: run.chunk });
  }
  return program.outputs.map((id) => {
    const { dtype, elements } = memory.get(id) ?? { dtype: 'f32', elements: [] };
    const array = makeElements(dtype, elements.length);
    elements.forEach((value, index) => {
      const stored = toMemory(dtype, castValue(value ?? NaN, dtype, dtype));
      if (array instanceof BigInt64Array) array[index] = BigInt(stored);
      else array[index] = Number(stored);
    });
    return array;
  });
}
