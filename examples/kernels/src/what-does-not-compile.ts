// What TypeScript refuses about a launch. Each line would be an error at run time as well, with the code beside it; the build
// fails if one of them begins to compile.
import { ones, zeros } from 'tsinductor';
import type { LaunchOptions } from 'tsinductor/dsl';
import { addKernel } from './vector-add.ts';

const args = { x: ones([4]), y: ones([4]), out: zeros([4]), n: 4, BLOCK: 4 };

export const refused: Readonly<Record<string, readonly [run: () => void, code: string]>> = {
  'a number where a tensor belongs': [
    (): void => {
      // @ts-expect-error -- x is a tensor
      addKernel.launch([1], { ...args, x: 1 });
    },
    'KERNEL_LAUNCH_ARGUMENT',
  ],
  'a tensor where a number belongs': [
    (): void => {
      // @ts-expect-error -- n is a number
      addKernel.launch([1], { ...args, n: args.x });
    },
    'KERNEL_LAUNCH_ARGUMENT',
  ],
  'a missing argument': [
    (): void => {
      const { BLOCK, ...rest } = args;
      // @ts-expect-error -- BLOCK is not given
      addKernel.launch([BLOCK], rest);
    },
    'KERNEL_LAUNCH_ARGUMENT',
  ],
  'an argument that there is not': [
    (): void => {
      // @ts-expect-error -- the kernel has no m
      addKernel.launch([1], { x: args.x, y: args.y, out: args.out, n: 4, BLOCK: 4, m: 1 });
    },
    'KERNEL_LAUNCH_ARGUMENT',
  ],
  'a grid of what is no launch constant': [
    (): void => {
      // @ts-expect-error -- a grid knows launch constants only
      addKernel.launch((meta): readonly number[] => [Number(meta.n)], args);
    },
    'KERNEL_GRID',
  ],
  'an option that there is not': [
    (): void => {
      const options: LaunchOptions = {
        // @ts-expect-error -- it is called numWarps
        warps: 4,
      };
      addKernel.launch([1], args, options);
    },
    'KERNEL_LAUNCH_OPTION',
  ],
};
