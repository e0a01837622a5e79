// For tests: runs CUDA programs in the emulation, in a process of their own, and bound kernels in the Kernel IR's
// interpreter.
import { at } from '@tsinductor/base';
import { evaluateIndex, interpretKernel } from '@tsinductor/ir';
import type { BufferId, KernelMemory, Schedule } from '@tsinductor/ir';
import { castValue, f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';
import { cudaEmulationHeader } from '@tsinductor/runtime';
import { compileNative, makeElements } from '@tsinductor/testing/loops';
import type { Compiled, ElementArray } from '@tsinductor/testing/loops';
import { emulatedUnit } from '../emulated-unit.ts';
import type { EmulatedUnit } from '../emulated-unit.ts';
import { generateCudaBatch } from '../generate.ts';
import type { BoundGroup } from '../strategy/bind-group.ts';
import type { CudaTarget } from '../target.ts';

export interface EmulatedBatch extends EmulatedUnit {
  readonly compiled: Compiled;
}

/** The programs of `schedules` in one library. */
export function emulate(schedules: readonly Schedule[], target: CudaTarget): EmulatedBatch {
  const unit = emulatedUnit(generateCudaBatch(schedules, target), { header: cudaEmulationHeader(), name: 'emulated' });
  return {
    ...unit,
    compiled: compileNative([{ name: unit.name, source: unit.source }], ['-O0', '-Wno-unknown-pragmas']),
  };
}

type Scalar = number | bigint;

const fromMemory = (dtype: KernelMemory['dtype'], value: Scalar): Scalar =>
  dtype === 'f16' ? f16FromBits(Number(value)) : dtype === 'bf16' ? fromBfloat16Bits(Number(value)) : value;

const toMemory = (dtype: KernelMemory['dtype'], value: Scalar): Scalar =>
  dtype === 'f16' ? f16ToBits(Number(value)) : dtype === 'bf16' ? toBfloat16Bits(Number(value)) : value;

export interface KernelInputs {
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
  readonly sizes: ReadonlyMap<string, number>;
  readonly order: 'ascending' | 'descending';
}

/** The outputs after interpreting the kernels of every group in order. */
export function interpretGroups(
  schedule: Schedule,
  groups: readonly BoundGroup[],
  run: KernelInputs,
): readonly ElementArray[] {
  const { program } = schedule;
  const memory = new Map<BufferId, KernelMemory>();
  for (const { id, dtype, size } of program.buffers) {
    const given = run.inputs.get(id);
    const elements = Array.from({ length: evaluateIndex(size, { sizes: run.sizes }) }, (_, index) =>
      given === undefined ? undefined : fromMemory(dtype, at<Scalar>(given, index)),
    );
    memory.set(id, { dtype, elements });
  }
  for (const { kernels, workspaces } of groups) {
    const own = new Map(
      workspaces.map(({ name, dtype, storage }): [string, KernelMemory] => {
        const count = storage.kind === 'workspace' ? evaluateIndex(storage.elements, { sizes: run.sizes }) : 0;
        return [name, { dtype, elements: new Array<Scalar | undefined>(count).fill(undefined) }];
      }),
    );
    for (const kernel of kernels) {
      const named = new Map(own);
      for (const { name, storage, dtype } of kernel.buffers)
        if (storage.kind === 'buffer') named.set(name, memory.get(storage.buffer) ?? { dtype, elements: [] });
      interpretKernel(kernel, { memory: named, sizes: run.sizes, order: run.order });
    }
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
