// How a CUDA kernel takes its arguments: each as a parameter, restricted unless two of them lie in the same memory.
import type { KernelFrame, KernelText, ParameterText } from '@tsinductor/codegen';
import { unlaunched } from './errors.ts';

export function kernelFrame({ name, linkage, parameters, index, launch }: KernelText): KernelFrame {
  if (launch === undefined) throw unlaunched(name);
  const { threads, names, sharedBytes } = launch;
  const registers: readonly (readonly [string, string])[] = [
    [names.block, 'blockIdx.x'],
    [names.blocks, 'gridDim.x'],
    [names.thread, 'threadIdx.x'],
  ];
  return {
    struct: '',
    prototype: `${linkage}__global__ void __launch_bounds__(${String(threads)}) ${name}(${parameters.map(parameterText).join(', ')})`,
    opening: (used) => [
      ...registers.filter(([own]) => used(own)).map(([own, source]) => `const ${index} ${own} = ${source};`),
      ...(sharedBytes > 0 ? ['char *const shared_memory = block_shared_memory();'] : []),
    ],
    part: {
      prototype: () => {
        throw unlaunched(name);
      },
      opening: () => [],
    },
  };
}

function parameterText({ kind, name, type, isWritten, isShared }: ParameterText): string {
  if (kind === 'size') return `const ${type} ${name}`;
  return `${isWritten ? '' : 'const '}${type} *${isShared ? '' : '__restrict__ '}${name}`;
}
