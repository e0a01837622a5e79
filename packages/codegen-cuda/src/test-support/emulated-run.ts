// For tests: runs CUDA programs in the emulation, in a process of their own, and bound kernels in the Kernel IR's
// interpreter.
import { at } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import type { BufferId, Schedule } from '@tsinductor/ir';
import { cudaEmulationHeader } from '@tsinductor/runtime';
import {
  blankMemory,
  compileNative,
  differences,
  entryBuffers,
  expected,
  inputsOf,
  interpretKernel,
  memoryFrom,
  programMemory,
  programOutputs,
} from '@tsinductor/testing/loops';
import type { Case, Compiled, ElementArray, KernelMemory } from '@tsinductor/testing/loops';
import { emulatedUnit } from '../emulated-unit.ts';
import type { EmulatedUnit } from '../emulated-unit.ts';
import { generateCudaBatch } from '../generate.ts';
import type { BoundGroup } from '../strategy/bind-group.ts';
import type { CudaTarget } from '../target.ts';

interface EmulatedBatch extends EmulatedUnit {
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

/** What is wrong with what `cases` leave in the emulation, as text; `inputsOf` gives each its numbers. */
export function wrongInEmulation(
  cases: readonly Case[],
  target: CudaTarget,
  { inputsOf: numbersOf = inputsOf, differences: differencesOf = differences }: Comparing = {},
): readonly string[] {
  const { compiled, programs } = emulate(
    cases.map(({ schedule }) => schedule),
    target,
  );
  try {
    return cases.flatMap((one, index) => {
      const program = at(programs, index);
      const inputs = numbersOf(one);
      const bytes = evaluateIndex(program.workspaceBytes, { sizes: one.sizes });
      const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, bytes);
      const sizes = [...one.sizes.values()];
      const { status } = compiled.call(program.entry, { buffers, sizes, threads: 1, repeats: 0 });
      const wanted = expected(one, inputs);
      const actual = wanted.map((array, output) => {
        const copy = array.slice();
        new Uint8Array(copy.buffer).set(at(buffers, one.schedule.program.inputs.length + output));
        return copy;
      });
      const failed = status === 0 ? [] : [`${one.name}: status ${String(status)}`];
      return [...failed, ...differencesOf(one, actual, wanted)];
    });
  } finally {
    compiled.dispose();
  }
}

/** Numbers for a case, and what is wrong with its results. */
interface Comparing {
  readonly inputsOf?: typeof inputsOf;
  readonly differences?: typeof differences;
}

interface KernelInputs {
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
  const memory = programMemory(program, run);
  for (const { kernels, workspaces } of groups) {
    const own = new Map(
      workspaces.map(({ name, dtype, storage }): [string, KernelMemory] => {
        const count = storage.kind === 'workspace' ? evaluateIndex(storage.elements, { sizes: run.sizes }) : 0;
        return [name, blankMemory(dtype, count)];
      }),
    );
    for (const kernel of kernels) {
      const named = new Map(own);
      const parts = kernel.buffers.flatMap(({ name, storage, dtype }) => {
        if (storage.kind !== 'buffer') return [];
        const part = memoryFrom(memory.get(storage.buffer) ?? blankMemory(dtype, 0), storage.from);
        named.set(name, part.part);
        return [part];
      });
      interpretKernel(kernel, { memory: named, sizes: run.sizes, order: run.order });
      for (const part of parts) part.store();
    }
  }
  return programOutputs(program, memory);
}
