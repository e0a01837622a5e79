// A specialised program as CUDA: its source, what nvcc makes of it where it is installed, and the executor that runs it on the
// host, in the emulation of CUDA. In: a verified program and the options of its launch. Out: values; what is missing is a
// reason.
import { readFileSync } from 'node:fs';
import { at, isTsInductorError, stableHash, UserError } from '@tsinductor/base';
import { printLogWords } from '@tsinductor/codegen-cpp';
import { emulatedUnit, generateCudaBlocks } from '@tsinductor/codegen-cuda';
import type { Architecture, BlockTarget } from '@tsinductor/codegen-cuda';
import { interpretBlock, printKernelIr } from '@tsinductor/ir';
import type { BlockArgument, BlockProgram } from '@tsinductor/ir';
import { cudaEmulationHeader } from '@tsinductor/runtime';
import type { EntryId, KernelFacts } from '@tsinductor/runtime';
import { placeOf } from '@tsinductor/tensor/internal';
import { emulationMessage } from '../build/batch-backend.ts';
import type { NativeMachine } from '../build/machine.ts';
import type { Builder } from '../build/builder.ts';
import { emulatedAssertion, emulationFault } from './kernel-errors.ts';
import type { PreparedLaunch } from './launch.ts';
import { tellPrinted } from './printed-lines.ts';
import { ScalarWords } from './scalar-words.ts';

export interface CudaOptions {
  readonly numWarps?: number | undefined;
  readonly numStages?: number | undefined;
  readonly mayAlias: boolean;
  readonly builder: Builder;
}

/** What the settings of the session, or else the oldest architecture that there is code for, make of the options. */
export function blockTarget({ numWarps = 4, numStages = 3, mayAlias, builder }: CudaOptions): BlockTarget {
  const architecture: Architecture = builder.config.cuda.arch === '90a' ? 'sm_90a' : 'sm_80';
  return { architecture, warps: numWarps, stages: numStages, mayAlias };
}

/** What a launch is on a GPU. */
export type CudaInspection =
  | { readonly kind: 'absent'; readonly reason: string }
  | {
      readonly kind: 'source';
      readonly architecture: Architecture;
      /** How blocks were bound to threads. */
      readonly notes: readonly string[];
      /** The bound kernel. */
      readonly kernelIr: string;
      readonly source: string;
      readonly threads: number;
      /** Dynamic shared memory of a block. */
      readonly sharedBytes: number;
      /** What nvcc makes of it, or why it is not known. */
      readonly machine:
        | { readonly kind: 'absent'; readonly reason: string }
        | { readonly kind: 'compiled'; readonly ptx: string; readonly facts: KernelFacts };
    };

export function inspectCuda(program: BlockProgram, options: CudaOptions): CudaInspection {
  const target = blockTarget(options);
  let blocks: ReturnType<typeof generateCudaBlocks>;
  try {
    blocks = generateCudaBlocks([program], target);
  } catch (error) {
    if (!isTsInductorError(error) || error.code !== 'KERNEL_NOT_COMPILED') throw error;
    return { kind: 'absent', reason: error.message };
  }
  const { source, programs, kernels } = blocks;
  const { notes, threads, sharedBytes } = at(at(programs, 0).kernels, 0);
  const { architecture } = target;
  const kernelIr = printKernelIr(at(kernels, 0));
  const machine = compiled(program.name, { source, architecture }, options.builder);
  return { kind: 'source', architecture, notes, kernelIr, source, threads, sharedBytes, machine };
}

type MachineCode = (CudaInspection & { readonly kind: 'source' })['machine'];

function compiled(name: string, source: { source: string; architecture: Architecture }, builder: Builder): MachineCode {
  const { toolkit, searched } = builder.toolkitReport();
  if (toolkit === undefined)
    return { kind: 'absent', reason: `there is no CUDA toolkit in ${searched.map(({ place }) => place).join(', ')}` };
  const { ptx, facts } = builder.cudaNow({ name, source, toolkit });
  return { kind: 'compiled', ptx: readFileSync(ptx, 'utf8'), facts: at(facts, 0) };
}

interface EmulatedKernel {
  readonly runsOn: string;
  readonly run: (launch: PreparedLaunch) => void;
}

/**
 * Builds the unchanged CUDA source behind the emulation of CUDA. Each launch runs in both orders of threads and blocks, and
 * throws UserError KERNEL_EMULATION for what the emulation finds, KERNEL_ASSERT for an assertion of the kernel's.
 */
export function emulatedKernel(program: BlockProgram, machine: NativeMachine, options: CudaOptions): EmulatedKernel {
  if (options.mayAlias)
    throw emulationFault(
      program,
      'it writes to memory that two of its buffers share, and the emulation gives each its own',
    );
  const { toolchain, bridge } = machine;
  const target = blockTarget(options);
  const batch = generateCudaBlocks([program], target);
  const unit = emulatedUnit(batch, { header: cudaEmulationHeader(), name: 'emulated' });
  const units = [{ name: unit.name, source: unit.source }];
  const { entry } = at(unit.programs, 0);
  const key = stableHash({
    kind: 'emulated kernel',
    units,
    compiler: toolchain.fingerprint,
    cpu: machine.isaReport.cpu,
  });
  const library = options.builder.libraryNow({ key, name: program.name, units, plan: { entry }, toolchain });
  const load = (symbol: string): EntryId => bridge.load(library, symbol);
  const [loaded, moveLog, printed] = [load(entry), load(unit.logEntry), load(unit.printedEntry)];
  const words = new ScalarWords(program.params.length);
  return {
    runsOn: `emulated CUDA for ${target.architecture}, ${String(target.warps * 32)} threads a block`,
    run: ({ grid, args, addresses, print }) => {
      words.set(args);
      const tensors = args.flatMap((argument) => (argument.kind === 'buffer' ? [argument.tensor] : []));
      const bytes = tensors.map((tensor) => {
        const { storage, layout } = placeOf(tensor, 'launch');
        return storage.elements(tensor.dtype, layout.offset).byteLength;
      });
      const places = [...addresses, bridge.addressOf(words.array)];
      const sizes = [...grid, ...bytes];
      const counts = { buffers: places.length, sizes: sizes.length };
      const status = bridge.bind(loaded, Float64Array.from([...places, ...sizes]), counts)();
      const log = new BigInt64Array(printLogWords);
      bridge.bind(moveLog, Float64Array.of(bridge.addressOf(log)), { buffers: 1, sizes: 0 })();
      tellPrinted({ bridge, entry: printed, log, print });
      if (status !== 0) throw failureOf(program, { found: emulationMessage(bridge, library), grid, args });
    },
  };
}

interface Failed extends Pick<PreparedLaunch, 'grid' | 'args'> {
  readonly found: string;
}

/** What the emulation found, whose message has the kernel's name in front: as the interpreter says it, if it finds it too. */
function failureOf(program: BlockProgram, { found, ...launch }: Failed): Error {
  if (/^\w+: assertion failed: /.test(found)) return emulatedAssertion(program, found);
  return interpretedFault(program, launch) ?? emulationFault(program, found);
}

/** What the interpreter says of a launch that has left memory as it was, which it leaves so too. */
function interpretedFault(
  program: BlockProgram,
  { grid, args }: Pick<PreparedLaunch, 'grid' | 'args'>,
): UserError | undefined {
  const copies = args.map((argument): BlockArgument => {
    if (argument.kind === 'scalar') return argument.value;
    const { storage, layout } = placeOf(argument.tensor, 'launch');
    return { elements: storage.elements(argument.dtype, layout.offset).slice() };
  });
  try {
    interpretBlock(program, { grid, args: copies, print: () => undefined });
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  return undefined;
}
