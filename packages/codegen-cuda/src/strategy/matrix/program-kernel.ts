// A Block IR program that a strategy has written for a group, as the group's kernel. In: the program, what stands for each of its parameters,
// its grid, and how it is bound. Out: a kernel over the group's buffers and the program's sizes.
import { at } from '@tsinductor/base';
import { distinctOrigins, gridName, paramName, sizesOf } from '@tsinductor/codegen';
import { mapKernel, product, substitute } from '@tsinductor/ir';
import type { BlockProgram, BufferId, Group, Index, Kernel, KernelBuffer, Schedule } from '@tsinductor/ir';
import { bindBlock } from '../../block/bind-block.ts';
import type { CudaTarget } from '../../target.ts';
import { markShared, sharedBuffers } from '../shared-storage.ts';
import type { BufferFacts } from './product.ts';
import type { ProductArgument } from './tile-expressions.ts';

export interface ProgramContext {
  readonly group: Group;
  readonly schedule: Schedule;
  readonly target: CudaTarget;
  readonly facts: BufferFacts;
}

/** A program over parameters, and what stands for each of them. */
export interface WrittenProgram {
  readonly program: BlockProgram;
  readonly arguments: readonly ProductArgument[];
}

interface Binding {
  /** Program instances along each axis of the grid. */
  readonly grid: readonly [Index, Index, Index];
  readonly warps: number;
  readonly stages: number;
  /** Which choice it is, and why. */
  readonly note: string;
}

export function programKernel(written: WrittenProgram, binding: Binding, context: ProgramContext): Kernel {
  const { group, schedule, target, facts } = context;
  const { grid, warps, stages, note } = binding;
  const used = new Set(written.arguments.flatMap((one) => (one.kind === 'buffer' ? [one.buffer] : [])));
  const mayAlias = sharedBuffers(used, schedule).size > 0;
  const { architecture, sharedLimit } = target;
  const bound = bindBlock(written.program, { architecture, sharedLimit, warps, stages, mayAlias, anyOrder: true });
  const sizes = sizesOfProgram(written, grid);
  const inPlace = (index: Index): Index => substitute(index, sizes);
  const kernel = mapKernel(bound, { index: inPlace });
  const { launch } = kernel;
  const blocks = product([...grid]);
  return {
    ...kernel,
    name: group.name,
    buffers: markShared(
      kernel.buffers.map((buffer) => bufferOf(buffer, written, facts)),
      schedule,
    ),
    sizes: sizesOf(kernel.body, schedule, [blocks]),
    ...(launch && { launch: { ...launch, blocks } }),
    origins: distinctOrigins(group.nodes.flatMap(({ origins }) => origins)),
    notes: [note, ...kernel.notes.slice(1)],
  };
}

/** What the sizes of the bound program are: instances along each axis of the grid, and what its scalar arguments stand for. */
function sizesOfProgram(
  { program, arguments: given }: WrittenProgram,
  grid: Binding['grid'],
): ReadonlyMap<string, Index> {
  const counts = grid.map((count, axis): [string, Index] => [gridName(axis), count]);
  const scalars = given.flatMap((one, position): [string, Index][] =>
    one.kind === 'size' ? [[paramName(program, position), one.value]] : [],
  );
  return new Map([...counts, ...scalars]);
}

/** A parameter of the program as the buffer of the group that it stands for. */
function bufferOf(
  bound: KernelBuffer,
  { arguments: given }: WrittenProgram,
  { decl, align }: BufferFacts,
): KernelBuffer {
  const position = bound.storage.kind === 'buffer' ? bound.storage.buffer : -1;
  const argument = at(given, position);
  const buffer: BufferId = argument.kind === 'buffer' ? argument.buffer : -1;
  const { shares: _, ...rest } = bound;
  return { ...rest, storage: { kind: 'buffer', buffer }, size: decl(buffer).size, align: align(buffer) };
}
