// Block IR -> CUDA: the bound kernels, printed, and what launching them takes. A program's table of addresses is its buffer
// parameters in order, and one more with 8 bytes for each scalar argument: integers as i64, floats as the bits of an f64. Its
// sizes are the grid's three, the bytes of each buffer, and those words.
import { at } from '@tsinductor/base';
import { blockSizes, OpFunctions, paramName, printKernel } from '@tsinductor/codegen';
import type { PrintedKernel } from '@tsinductor/codegen';
import { int, sizeSymbol, verifyKernel } from '@tsinductor/ir';
import type { BlockProgram, Kernel } from '@tsinductor/ir';
import { cudaDialect } from '../cuda-dialect.ts';
import { isCollective, sourceText } from '../generate.ts';
import { withInstructions } from '../kernel-stages.ts';
import type { CudaArgument, CudaBatch, CudaKernel, CudaProgram } from '../generate.ts';
import { bindBlock, bytesName } from './bind-block.ts';
import type { BlockTarget } from './block-binder.ts';

interface CudaBlocks extends CudaBatch {
  /** The bound kernel of each program. */
  readonly kernels: readonly Kernel[];
}

/**
 * Hand-written kernels as one CUDA source, equal kernels once. Needs no toolkit and no device.
 *
 * @throws UserError KERNEL_NOT_COMPILED where a program has no form in CUDA.
 * @example
 * const { source } = generateCudaBlocks([program], { architecture: 'sm_80', warps: 4, stages: 3, mayAlias: false });
 */
export function generateCudaBlocks(programs: readonly BlockProgram[], target: BlockTarget): CudaBlocks {
  const printed = new Map<string, PrintedKernel>();
  const functions = new OpFunctions(cudaDialect);
  const kernels = programs.map((program) => withInstructions(bindBlock(program, target)));
  const described = programs.map((program, position): Omit<CudaProgram, 'source'> => {
    const kernel = at(kernels, position);
    verifyKernel(kernel);
    const text = printKernel(kernel, { dialect: cudaDialect, functions, linkage: 'extern "C" ' });
    if (!printed.has(text.name)) printed.set(text.name, text);
    return describe(program, { kernel, text, target });
  });
  return { source: sourceText([...printed.values()]), programs: described, kernels };
}

interface Described {
  readonly kernel: Kernel;
  readonly text: PrintedKernel;
  readonly target: BlockTarget;
}

function describe(program: BlockProgram, { kernel, text, target }: Described): Omit<CudaProgram, 'source'> {
  const buffers = bufferPositions(program);
  const [grid, words] = [blockSizes(program).slice(0, 3), blockSizes(program).slice(3)];
  const sizes = [...grid, ...buffers.map((position) => bytesName(program, position)), ...words];
  return {
    architecture: target.architecture,
    kernels: [cudaKernel(program, { kernel, text, target })],
    sizes,
    words: { position: buffers.length, from: sizes.length - words.length },
    workspaceBytes: int(0),
    indexLimits: [],
    constants: { offsets: new Map(), bytes: 0 },
  };
}

const bufferPositions = ({ params }: BlockProgram): readonly number[] =>
  params.flatMap(({ kind }, position) => (kind === 'buffer' ? [position] : []));

function cudaKernel(program: BlockProgram, { kernel, text }: Described): CudaKernel {
  const buffers = bufferPositions(program);
  const { launch } = kernel;
  const addresses = kernel.buffers.map(({ name, dtype, role }): CudaArgument => {
    const position = buffers.findIndex((param) => paramName(program, param) === name);
    const bytes = sizeSymbol(bytesName(program, at(buffers, position)), 0);
    return { kind: 'buffer', name, dtype, position, offset: int(0), bytes, isWritten: role !== 'read' };
  });
  return {
    name: text.name,
    arguments: [...addresses, ...kernel.sizes.map((name): CudaArgument => ({ kind: 'size', name }))],
    blocks: launch?.blocks ?? int(1),
    threads: launch?.threads ?? 1,
    sharedBytes: launch?.sharedBytes ?? 0,
    isCollective: isCollective(kernel),
    notes: kernel.notes,
    origins: kernel.origins,
  };
}
