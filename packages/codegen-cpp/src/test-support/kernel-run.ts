// For tests: runs the kernels of a schedule in the Kernel IR's interpreter, in place of compiled code.
import { evaluateIndex, interpretKernel } from '@tsinductor/ir';
import type { BufferId, Kernel, KernelMemory, Schedule } from '@tsinductor/ir';
import { blankMemory, programMemory, programOutputs } from '@tsinductor/testing/loops';
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
    for (const { name, dtype, storage } of kernel.buffers) {
      const own = storage.kind === 'workspace' ? undefined : memory.get(storage.buffer);
      const count = storage.kind === 'workspace' ? evaluateIndex(storage.elements, { sizes: run.sizes }) : 0;
      named.set(name, own ?? blankMemory(dtype, count));
    }
    interpretKernel(kernel, { memory: named, sizes: run.sizes, chunk: run.chunk });
  }
  return programOutputs(program, memory);
}
