// Where the entry finds every buffer: positions in its table of addresses, and offsets in the block of constants and the
// workspace. The workspace is the scheduler's, followed by what kernels need for themselves (one after the other).
import { dtypeInfo, get, invariant } from '@tsinductor/base';
import { add, int, maximum, multiply } from '@tsinductor/ir';
import type { BufferId, Index, Kernel, KernelBuffer, LoopProgram, Schedule } from '@tsinductor/ir';
import { BufferDirectory } from './buffer-directory.ts';
import { roundUp } from './index-math.ts';

const alignment = 64;

export interface ConstantsLayout {
  /** The offset of each constant in the block, in bytes. */
  readonly offsets: ReadonlyMap<BufferId, number>;
  readonly bytes: number;
}

/** Constants in the order of declaration, each 64-byte aligned. */
function layoutConstants(program: LoopProgram): ConstantsLayout {
  const offsets = new Map<BufferId, number>();
  let bytes = 0;
  for (const buffer of program.buffers) {
    if (buffer.role !== 'constant') continue;
    invariant(buffer.size.kind === 'int', `constant ${buffer.name} has a symbolic size`);
    offsets.set(buffer.id, bytes);
    bytes += Math.ceil((buffer.size.value * dtypeInfo[buffer.dtype].bytes) / alignment) * alignment;
  }
  return { offsets, bytes };
}

export interface Layout {
  readonly schedule: Schedule;
  readonly directory: BufferDirectory;
  readonly constants: ConstantsLayout;
  /** The position of the constants' block in the table of addresses; the workspace follows it. */
  readonly constantsPosition: number;
  readonly workspaceBytes: Index;
}

/** Whoever has workspace of its own: a kernel, or several that share it. */
type WorkspaceOwner = Pick<Kernel, 'buffers'>;

export function layoutProgram(schedule: Schedule, kernels: readonly WorkspaceOwner[]): Layout {
  const { program } = schedule;
  const own = kernels.map((kernel) => privateOffsets(kernel).bytes);
  const base = roundUp(schedule.workspaceBytes, alignment);
  return {
    schedule,
    directory: new BufferDirectory(schedule),
    constants: layoutConstants(program),
    constantsPosition: program.inputs.length + program.outputs.length,
    workspaceBytes: own.reduce((left, right) => maximum(left, add(base, right)), base),
  };
}

interface PrivateOffsets {
  readonly offsets: ReadonlyMap<string, Index>;
  readonly bytes: Index;
}

function privateOffsets(kernel: WorkspaceOwner): PrivateOffsets {
  const offsets = new Map<string, Index>();
  let bytes: Index = int(0);
  for (const { name, dtype, storage } of kernel.buffers) {
    if (storage.kind !== 'workspace') continue;
    offsets.set(name, bytes);
    bytes = add(bytes, roundUp(multiply(storage.elements, int(dtypeInfo[dtype].bytes)), alignment));
  }
  return { offsets, bytes };
}

/** Where a kernel's buffer is: a position in the table of addresses and an offset in bytes. */
interface Address {
  readonly position: number;
  readonly offset: Index;
}

export function addressOf(layout: Layout, kernel: WorkspaceOwner, buffer: KernelBuffer): Address {
  const { position, offset } = beginningOf(layout, kernel, buffer);
  const from = buffer.storage.kind === 'buffer' ? (buffer.storage.from ?? 0) : 0;
  return { position, offset: add(offset, int(from * dtypeInfo[buffer.dtype].bytes)) };
}

function beginningOf(layout: Layout, kernel: WorkspaceOwner, buffer: KernelBuffer): Address {
  const { schedule, directory, constantsPosition, constants } = layout;
  const workspace = constantsPosition + 1;
  if (buffer.storage.kind === 'workspace') {
    const base = roundUp(schedule.workspaceBytes, alignment);
    return { position: workspace, offset: add(base, get(privateOffsets(kernel).offsets, buffer.name)) };
  }
  const { buffer: id } = buffer.storage;
  const plan = directory.plan(id);
  invariant(plan !== undefined, `buffer ${buffer.name} has no plan`);
  switch (plan.kind) {
    case 'input':
      return { position: plan.position, offset: int(0) };
    case 'output':
      return { position: schedule.program.inputs.length + plan.position, offset: int(0) };
    case 'constant':
      return { position: constantsPosition, offset: int(get(constants.offsets, id)) };
    case 'workspace':
      return { position: workspace, offset: plan.offset };
    case 'hosted': {
      const host = directory.plan(plan.output);
      invariant(host?.kind === 'output', `buffer ${buffer.name} lies in a result that has no place`);
      return { position: schedule.program.inputs.length + host.position, offset: plan.offset };
    }
    case 'virtual':
      invariant(false, `buffer ${buffer.name} is virtual, but a kernel reads or writes it`);
  }
}
