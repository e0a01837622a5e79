// For tests: runs the kernels of a schedule in the Kernel IR's interpreter, in place of compiled code.
import { evaluateIndex } from '@tsinductor/ir';
import type { BufferId, Kernel, Schedule } from '@tsinductor/ir';
import { blankMemory, interpretKernel, memoryFrom, programMemory, programOutputs } from '@tsinductor/testing/loops';
import type { KernelMemory } from '@tsinductor/testing/loops';
import type { ElementArray } from '@tsinductor/testing/loops';

interface KernelInputs {
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
  readonly sizes: ReadonlyMap<string, number>;
  /** Units per chunk of parallel loops. */
  readonly chunk: number;
}

/** The outputs after running `kernels` (one per group) in order. */
export function runKernels(schedule: Schedule, kernels: readonly Kernel[], run: KernelInputs): readonly ElementArray[] {
  const { program } = schedule;
  const memory = programMemory(program, run);
  for (const kernel of kernels) {
    const named = new Map<string, KernelMemory>();
    const parts = kernel.buffers.map(({ name, dtype, storage }) => {
      const own = storage.kind === 'workspace' ? undefined : memory.get(storage.buffer);
      const count = storage.kind === 'workspace' ? evaluateIndex(storage.elements, { sizes: run.sizes }) : 0;
      const part = memoryFrom(own ?? blankMemory(dtype, count), storage.kind === 'workspace' ? 0 : storage.from);
      named.set(name, part.part);
      return part;
    });
    interpretKernel(kernel, { memory: named, sizes: run.sizes, chunk: run.chunk });
    for (const part of parts) part.store();
  }
  return programOutputs(program, memory);
}
