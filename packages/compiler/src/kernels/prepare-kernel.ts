// A specialised program as something that runs: compiled C++ from the cache or the compile pool, or the interpreter where
// there is no compiler, where it was asked for, or where C++ has no form for the program. Which one, and why, is a value.
import { isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';
import { areChecksCheap, placesFollowFromData } from '@tsinductor/codegen-cpp';
import type { Extent } from '@tsinductor/codegen-cpp';
import { allTileNodes, interpretBlock } from '@tsinductor/ir';
import type { BlockArgument, BlockProgram } from '@tsinductor/ir';
import { placeOf } from '@tsinductor/tensor/internal';
import type { Device } from '@tsinductor/tensor/internal';
import type { NativeMachine } from '../build/machine.ts';
import { isToolchainFailure } from '../errors.ts';
import type { BoundArgument } from './bind-arguments.ts';
import { emulatedKernel } from './cuda-kernel.ts';
import type { CudaOptions } from './cuda-kernel.ts';
import { deviceKernel } from './device-kernel.ts';
import { isDebugged, KernelDebugger } from './kernel-debugger.ts';
import type { LaunchOptions, PreparedKernel } from './launch.ts';
import { checkedFirst, nativeKernel } from './native-kernel.ts';
import type { NativeKernel } from './native-kernel.ts';

export interface PrepareOptions extends CudaOptions {
  readonly backend: LaunchOptions['backend'];
  readonly check: LaunchOptions['check'];
  /** Where the tensors are. */
  readonly device: Device;
  /** The buffers, by their names, that are larger than a CPU's caches and begin at a line of memory. */
  readonly large: ReadonlyMap<string, Extent>;
}

/** The positions of the buffers that a program stores to or updates. */
export function writtenParams(program: BlockProgram): ReadonlySet<number> {
  const written = new Set<number>();
  for (const node of allTileNodes(program.body)) {
    if (node.kind === 'op' && (node.op === 'store' || node.op === 'atomic' || node.op === 'atomicCas'))
      written.add(node.attrs.param);
  }
  return written;
}

export function prepareKernel(
  { program, written }: Pick<PreparedKernel, 'program' | 'written'>,
  options: PrepareOptions,
): PreparedKernel {
  const { device } = options;
  if (device !== 'cpu') return { program, compiled: undefined, written, ...deviceKernel(program, device, options) };
  if (options.backend === 'interpreter') return interpreted(program, written, 'the interpreter, as the launch asks');
  const machine = options.builder.machine();
  if (machine.kind === 'interpreter') {
    if (options.backend !== undefined) options.builder.requireNative();
    return interpreted(program, written, `the interpreter: ${machine.reason}`);
  }
  if (options.backend === 'cuda-emulated')
    return { program, compiled: undefined, written, ...emulatedKernel(program, machine, options) };
  try {
    return compiled(program, { written, machine, options });
  } catch (error) {
    if (options.backend === 'cpp' || !isTsInductorError(error) || !isInterpreted(error, options)) throw error;
    return interpreted(program, written, `the interpreter: ${error.message}`);
  }
}

/** Whether the interpreter runs what was not compiled: for want of a form in C++, or where the machine's compiler failed. */
function isInterpreted(error: TsInductorError, { builder }: PrepareOptions): boolean {
  if (error.code === 'KERNEL_NOT_COMPILED') return true;
  if (builder.config.suppressErrors === false || !isToolchainFailure(error)) return false;
  builder.announcer.warnOnce(error.code, `kernels run on the interpreter where they cannot be built: ${error.message}`);
  return true;
}

function interpreted(program: BlockProgram, written: ReadonlySet<number>, runsOn: string): PreparedKernel {
  let followed: KernelDebugger | undefined;
  return {
    program,
    runsOn,
    compiled: undefined,
    written,
    run: ({ grid, args, print }) => {
      const steps = isDebugged() ? (followed ??= new KernelDebugger(program)).follow() : {};
      interpretBlock(program, { grid, args: args.map(interpreterArgument), print, ...steps });
    },
  };
}

function interpreterArgument(argument: BoundArgument): BlockArgument {
  if (argument.kind === 'scalar') return argument.value;
  const { storage, layout } = placeOf(argument.tensor, 'launch');
  return { elements: storage.elements(argument.dtype, layout.offset) };
}

interface Compiling {
  readonly written: ReadonlySet<number>;
  readonly machine: NativeMachine;
  readonly options: PrepareOptions;
}

/**
 * Compiled code that compares accesses with what buffers have: at every launch, where that costs little beside what the kernel
 * does, or where places follow from what memory holds; otherwise at the first launch for each grid, sizes and scalars, which decide
 * them, and later ones run code without checks.
 */
function compiled(program: BlockProgram, { written, machine, options }: Compiling): PreparedKernel {
  const build = (checks: boolean): NativeKernel => nativeKernel(program, { machine, options, checks });
  if (options.check === false) return { program, written, ...build(false) };
  const checked = build(true);
  const { kernel } = checked.compiled;
  if (areChecksCheap(kernel) || placesFollowFromData(kernel)) return { program, written, ...checked };
  return { program, written, ...checked, run: checkedFirst(checked.run, () => build(false).run) };
}
