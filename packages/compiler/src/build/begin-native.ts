// A graph whose native code is made beside this thread, on a machine that may not be known yet: neither finding a compiler, nor asking
// what the processor can do, nor generating C++ is waited for. In: a graph. Out, in the end: an executable; or that no native code
// runs here.
//
// Functions of the program's own (settings that are hooks) cannot go to a worker. With such, C++ is generated in this thread, and only
// built beside it.
import type { Config } from '@tsinductor/config';
import type { Executable } from '../run/executable.ts';
import type { Builder } from './builder.ts';
import type { InterpretingMachine } from './machine.ts';
import type { NativeCompiler } from './native-compiler.ts';
import { done, then } from './pending.ts';
import type { Pending } from './pending.ts';
import { compileBeside } from './target-compiler.ts';
import type { CompileJob } from './target-compiler.ts';

/** Who compiles. */
interface Compilers {
  readonly builder: Builder;
  readonly native: NativeCompiler;
}

type NoMachine = Pick<InterpretingMachine, 'kind' | 'code' | 'reason'>;

export function beginNative(job: CompileJob, { builder, native }: Compilers): Pending<Executable | NoMachine> {
  const { name, traced, placement, config } = job;
  if (hasHooks(config)) {
    const machine = builder.machine(config);
    return machine.kind === 'interpreter' ? done(machine) : compileBeside(native, native.jobFor(job, machine));
  }
  const started = performance.now();
  const built = builder.beginWholeGraph({ name, traced, placement }, config, native.naming());
  return then(built, (result) => {
    if (result.kind === 'interpreter') return result;
    // All of it is on disk now.
    builder.isMachineKnown(config);
    const machine = builder.machine(config);
    if (machine.kind === 'interpreter') return machine;
    return native.loadBuilt({ ...native.jobFor(job, machine), started }, result);
  });
}

const hasHooks = (config: Config): boolean => Object.values(config).some(holdsFunction);

const holdsFunction = (value: unknown): boolean =>
  typeof value === 'function' ||
  (typeof value === 'object' && value !== null && Object.values(value).some(holdsFunction));
