// What a bound Block IR program is made of, by name: its buffers, scalar arguments, the sizes of the grid. In: a user's names.
// Out: names in generated text, and the indices that stand for them. The same on every target.
import { int, sizeSymbol } from '@tsinductor/ir';
import type { BlockProgram, Index, KernelBuffer } from '@tsinductor/ir';

/** A user's name as generated code spells it: never a word of the prelude, which has no such endings. */
export const snake = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before}_${letter}`).toLowerCase();

export const bufferName = (name: string): string => `${snake(name)}_ptr`;
export const scalarName = (name: string): string => `${snake(name)}_arg`;
export const gridName = (axis: number): string => `grid${String(axis)}`;
export const kernelName = (program: BlockProgram): string => `kernel_${program.name.toLowerCase()}`;

/** An index by a name of an i32 or i64 scalar; nothing is known of its range but that it is no size of 1. */
export const scalarIndex = (name: string): Index => ({ kind: 'axis', axis: { name, extent: int(2 ** 40) } });

export const gridSize = (axis: number): Index => sizeSymbol(gridName(axis), 1);

/** The sizes of a bound kernel's entry, in order: the grid, then every scalar argument. */
export const blockSizes = (program: BlockProgram): readonly string[] => [
  ...[0, 1, 2].map(gridName),
  ...program.params.filter(({ kind }) => kind === 'scalar').map(({ name }) => scalarName(name)),
];

/** The program's buffers as a kernel's, `sizeOf` elements each. */
export const blockBuffers = (
  program: BlockProgram,
  sizeOf: (param: BlockProgram['params'][number]) => Index,
): readonly KernelBuffer[] =>
  program.params.flatMap((param, position): KernelBuffer[] =>
    param.kind === 'buffer'
      ? [
          {
            name: bufferName(param.name),
            dtype: param.dtype,
            role: 'readWrite',
            storage: { kind: 'buffer', buffer: position },
            size: sizeOf(param),
            align: param.divisor,
          },
        ]
      : [],
  );
