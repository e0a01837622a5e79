// What a bound Block IR program is made of, by name: its buffers, scalar arguments, the sizes of the grid. In: a user's names.
// Out: names in generated text, and the indices that stand for them. The same on every target.
//
// A name that comes from a user's begins with what no other name does, of ours or of any compiler, language or header: `ptr0_`,
// `arg3_` for parameters, with their position, and `v_` for all that is computed. Parameters differ by their positions, and
// what is computed by the numbers that the writer of a kernel adds, so the rest is free to be short and readable.
import { at } from '@tsinductor/base';
import { int, sizeSymbol } from '@tsinductor/ir';
import type { BlockProgram, Index, KernelBuffer } from '@tsinductor/ir';

/** An operation's camelCase name as generated code spells it. */
export const snake = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before}_${letter}`).toLowerCase();

const longestWord = 32;

/** As much of a user's name as fits into any language's, in single underscores: compilers keep double ones. */
function wordOf(name: string): string {
  const word = snake(name)
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, longestWord)
    .replace(/^_|_$/g, '');
  return word === '' ? 'other' : word;
}

/** The name of what a user calls `name`, and a kernel computes: the writer makes it one that nothing else has. */
export const localName = (name: string): string => `v_${wordOf(name)}`;

/** The name of a parameter: of a buffer, or of the size that a scalar is. */
export function paramName({ params }: Pick<BlockProgram, 'params'>, position: number): string {
  const { name, kind } = at(params, position);
  return `${kind === 'buffer' ? 'ptr' : 'arg'}${String(position)}_${wordOf(name)}`;
}

/** The size that says how many elements a buffer has, where code checks its accesses. */
export const countName = (program: Pick<BlockProgram, 'params'>, position: number): string =>
  `${paramName(program, position)}_count`;

export const gridName = (axis: number): string => `grid${String(axis)}`;
export const kernelName = ({ name }: Pick<BlockProgram, 'name'>): string => `kernel_${wordOf(name)}`;

/** An index by a name of an i32 or i64 scalar; nothing is known of its range but that it is no size of 1. */
export const scalarIndex = (name: string): Index => ({ kind: 'axis', axis: { name, extent: int(2 ** 40) } });

export const gridSize = (axis: number): Index => sizeSymbol(gridName(axis), 1);

/** The sizes of a bound kernel's entry, in order: the grid, then every scalar argument. */
export const blockSizes = (program: BlockProgram): readonly string[] => [
  ...[0, 1, 2].map(gridName),
  ...program.params.flatMap(({ kind }, position) => (kind === 'scalar' ? [paramName(program, position)] : [])),
];

/** The program's buffers as a kernel's, `sizeOf` elements each. */
export const blockBuffers = (program: BlockProgram, sizeOf: (position: number) => Index): readonly KernelBuffer[] =>
  program.params.flatMap((param, position): KernelBuffer[] =>
    param.kind === 'buffer'
      ? [
          {
            name: paramName(program, position),
            dtype: param.dtype,
            role: 'readWrite',
            storage: { kind: 'buffer', buffer: position },
            size: sizeOf(position),
            align: param.divisor,
          },
        ]
      : [],
  );
