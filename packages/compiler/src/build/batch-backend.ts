// What many graphs at once are compiled to: native code, or CUDA code that the host's emulation of CUDA runs. In:
// schedules. Out: units for the C++ compiler, the programs whose entries they have, and what an entry's failure means.
import { cudaEmulationHeader } from '@tsinductor/runtime';
import { generateBatch } from '@tsinductor/codegen-cpp';
import type { CppProgram } from '@tsinductor/codegen-cpp';
import { emulatedUnit, emulationFailed, generateCudaBatch } from '@tsinductor/codegen-cuda';
import type { Architecture } from '@tsinductor/codegen-cuda';
import type { Config } from '@tsinductor/config';
import type { CheckSite, Schedule } from '@tsinductor/ir';
import type { CompileUnit } from '@tsinductor/runtime';
import type { NativeMachine } from './machine.ts';
import { cudaDevices, processors } from './pipeline.ts';
import type { ForTarget } from './pipeline.ts';
import { watchingFor } from './stage-log.ts';
import { cudaOptionsOf, targetOf } from './stage-options.ts';

export interface Batch {
  readonly units: readonly CompileUnit[];
  readonly programs: readonly Omit<CppProgram, 'units'>[];
}

/** A place that an entry's failure names, where it is none of the program's. */
type FailureOf = (site: number, machine: NativeMachine, library: string) => CheckSite | undefined;

export interface BatchBackend {
  readonly name: string;
  /** What its kernels can be. */
  readonly forTarget: ForTarget;
  readonly generate: (schedules: readonly Schedule[], machine: NativeMachine, config: Config) => Batch;
  readonly failureOf: FailureOf;
}

export const cppBackend: BatchBackend = {
  name: 'native code',
  forTarget: processors,
  generate: (schedules, machine, config) =>
    generateBatch(schedules, targetOf(machine, config), watchingFor(config).watch),
  failureOf: () => undefined,
};

/** What our own allocator aligns to at least. */
const inputAlignment = 64;

const messageBytes = 512;

/** CUDA for `architecture`, run by the emulation. Units are as many as compilers may run at once. */
export const emulatedCudaBackend = (architecture: Architecture): BatchBackend => ({
  name: `emulated CUDA for ${architecture}`,
  forTarget: cudaDevices,
  generate: (schedules, _machine, config) => {
    const header = cudaEmulationHeader();
    const count = Math.max(1, Math.min(config.compileThreads, schedules.length));
    const length = Math.ceil(schedules.length / count);
    const units = Array.from({ length: count }, (_, position) => {
      const own = schedules.slice(position * length, (position + 1) * length);
      const target = { architecture, inputAlignment, ...cudaOptionsOf(config) };
      const batch = generateCudaBatch(own, target, watchingFor(config).watch);
      return emulatedUnit(batch, { header, name: `emulated_${String(position)}` });
    });
    return { units, programs: units.flatMap(({ programs }) => programs) };
  },
  failureOf: (site, { bridge }, library) => {
    if (site !== emulationFailed - 1) return undefined;
    return { op: 'emulated CUDA', what: emulationMessage(bridge, library) };
  },
});

/** What the emulation said last. */
export function emulationMessage(bridge: NativeMachine['bridge'], library: string): string {
  const block = bridge.allocate(messageBytes);
  try {
    const table = Float64Array.of(block.address);
    bridge.bind(bridge.load(library, 'emulation_message'), table, { buffers: 1, sizes: 0 })();
    const bytes = Buffer.from(block.buffer, 0, messageBytes);
    return bytes.toString('utf8', 0, Math.max(0, bytes.indexOf(0)));
  } finally {
    bridge.free(block);
  }
}
