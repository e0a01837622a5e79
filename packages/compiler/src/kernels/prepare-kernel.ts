// A specialised program as something that runs: compiled C++ from the cache or the compile pool, or the interpreter where
// there is no compiler, where it was asked for, or where C++ has no form for the program. Which one, and why, is a value.
import { at, isTsInductorError, stableHash } from '@tsinductor/base';
import type { TsInductorError, UserError } from '@tsinductor/base';
import { generateBlock, printedEntry, printLogWords } from '@tsinductor/codegen-cpp';
import type { Extent } from '@tsinductor/codegen-cpp';
import { allTileNodes, assertionFailed, assertionsOf, interpretBlock } from '@tsinductor/ir';
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
import type { Grid, LaunchOptions, PreparedKernel } from './launch.ts';
import { tellPrinted } from './printed-lines.ts';
import type { UnitFailure } from './printed-lines.ts';
import { ScalarWords } from './scalar-words.ts';

export interface PrepareOptions extends CudaOptions {
  readonly backend: LaunchOptions['backend'];
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

function compiled(program: BlockProgram, { written, machine, options }: Compiling): PreparedKernel {
  const { isa, toolchain, bridge, threads, family, caches } = machine;
  const { mayAlias, large } = options;
  const code = generateBlock(program, { isa, mayAlias, large, threads, family, caches });
  const key = stableHash({
    kind: 'kernel',
    units: code.units,
    compiler: toolchain.fingerprint,
    cpu: machine.isaReport.cpu,
  });
  const { builder } = options;
  const library = builder.libraryNow({
    key,
    name: program.name,
    units: code.units,
    plan: { entry: code.entry },
    toolchain,
  });
  const given = program.params.filter(({ kind }) => kind === 'buffer').length + 1;
  const log = code.hasLog ? new BigInt64Array(printLogWords) : undefined;
  const buffers = given + (log === undefined ? 0 : 1);
  const table = new Float64Array(buffers + 3);
  const words = new ScalarWords(program.params.length);
  table[given - 1] = bridge.addressOf(words.array);
  if (log !== undefined) table[given] = bridge.addressOf(log);
  const call = bridge.bind(bridge.load(library, code.entry), table, { buffers, sizes: 3 });
  return {
    program,
    runsOn: `native code for ${isa}, ${String(threads)} ${threads === 1 ? 'thread' : 'threads'}`,
    compiled: code,
    written,
    run: ({ grid, args, addresses, print }) => {
      table.set(addresses);
      words.set(args);
      table.set(grid, buffers);
      bridge.setThreads(threads);
      call();
      if (log === undefined) return;
      const failure = tellPrinted({ bridge, entry: bridge.load(library, printedEntry), log, print });
      if (failure !== undefined) throw failedAssertion(program, grid, failure);
    },
  };
}

/** The error of the interpreter, which would have found the same. */
function failedAssertion(program: BlockProgram, [width, height]: Grid, { unit, site }: UnitFailure): UserError {
  const { origin, attrs } = at(assertionsOf(program), site);
  const rows = Math.floor(unit / width);
  const place = [unit % width, rows % height, Math.floor(rows / height)] as const;
  return assertionFailed({ kernel: program.name, program: place, origin }, attrs.message);
}
