// A specialised program on a CUDA device: its code from the cache or from nvcc, loaded once, and launches put into the device's
// stream, in the order in which they are made. In: a verified program, the options of its launch, a device. Out: what runs it,
// which waits for nothing. What an instance prints comes out, and what it fails of is an error, when the device is next waited
// for.
import { readFileSync } from 'node:fs';
import { at, get } from '@tsinductor/base';
import { generateCudaBlocks } from '@tsinductor/codegen-cuda';
import type { CudaArgument } from '@tsinductor/codegen-cuda';
import type { BlockProgram } from '@tsinductor/ir';
import type { KernelArgument } from '@tsinductor/runtime';
import { placeOf } from '@tsinductor/tensor/internal';
import type { OtherDevice } from '@tsinductor/tensor/internal';
import { openCuda } from '../cuda/cuda-devices.ts';
import { targetFor } from '../cuda/cuda-target.ts';
import { blockTarget } from './cuda-kernel.ts';
import type { CudaOptions } from './cuda-kernel.ts';
import type { PreparedKernel, PreparedLaunch } from './launch.ts';
import { ScalarWords } from './scalar-words.ts';

/**
 * Throws UserError KERNEL_NOT_COMPILED where CUDA has no form for the program, CUDA_ARCHITECTURE..., ToolchainError
 * CUDA_TOOLKIT_NOT_FOUND, and what driver and nvcc say.
 */
export function deviceKernel(
  program: BlockProgram,
  device: OtherDevice,
  options: CudaOptions,
): Pick<PreparedKernel, 'runsOn' | 'run'> {
  const { builder } = options;
  const opened = openCuda(device);
  const { facts } = opened.cuda;
  const { architecture, form } = targetFor(facts.architecture, builder.config.cuda.arch);
  const { source, programs } = generateCudaBlocks([program], { ...blockTarget(options), architecture });
  const { sizes, kernels } = at(programs, 0);
  const { name, threads, sharedBytes, arguments: parameters } = at(kernels, 0);
  const toolkit = builder.requireToolkit();
  const built = builder.cudaNow({ name: program.name, source: { source, architecture }, toolkit });
  const module = opened.cuda.loadModule(readFileSync(form === 'cubin' ? built.cubin : built.ptx));
  const words = new ScalarWords(program.params.length);
  return {
    runsOn: `CUDA code for ${architecture} on ${device} (${facts.name}), ${String(threads)} threads a block`,
    run: (launch) => {
      const { grid, args, addresses } = launch;
      words.set(args);
      const given = [...grid, ...bytesOf(launch), ...words.array];
      const values = new Map(sizes.map((size, position) => [size, at(given, position)]));
      const blocks = grid[0] * grid[1] * grid[2];
      const valueOf = (parameter: CudaArgument): KernelArgument => {
        if (parameter.kind === 'buffer') return at(addresses, parameter.position);
        return parameter.kind === 'size' ? get(values, parameter.name) : 0;
      };
      module.launch(name, { blocks, threads, sharedBytes }, parameters.map(valueOf));
    },
  };
}

/** From where each buffer begins to the end of its memory. */
const bytesOf = ({ args, addresses }: PreparedLaunch): readonly number[] =>
  args
    .filter((argument) => argument.kind === 'buffer')
    .map(({ tensor }, position) => {
      const { storage } = placeOf(tensor, 'launch');
      return storage.address + storage.byteLength - at(addresses, position);
    });
