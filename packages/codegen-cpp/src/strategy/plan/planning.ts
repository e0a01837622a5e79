// What a plan is made from. It has no writer, so nothing that takes it can emit a statement: plans and memory traffic are data, which
// the writers of strategy/write read.
import { at, dtypeInfo } from '@tsinductor/base';
import { isLeaf, nodesBelow, staticValue } from '@tsinductor/codegen';
import type { GroupMemory } from '@tsinductor/codegen';
import type { BufferDecl, BufferId, Group, LoopNode, LoopTree } from '@tsinductor/ir';
import type { Choices } from '../../machine/choices.ts';
import type { CpuTarget } from '../../machine/target.ts';
import type { WideSteps } from './lanes.ts';

export interface Planning {
  readonly target: CpuTarget;
  readonly choices: Choices;
  readonly group: Group;
  readonly memory: MemoryFacts;
  /** What the kernels of a graph find out together about its ops. */
  readonly wideSteps: WideSteps;
}

/** What may be asked about the buffers of a group. */
type MemoryFacts = Pick<GroupMemory, 'decl' | 'bytesOf' | 'isVirtual' | 'isWritten' | 'row'>;

export const nodeAt = ({ group }: Pick<Planning, 'group'>, index: number): LoopNode => at(group.nodes, index);

/** The innermost trees of a tree, in order. */
export const leavesOf = (tree: LoopTree): readonly LoopTree[] =>
  isLeaf(tree) ? [tree] : tree.children.flatMap((child) => (child.kind === 'node' ? [] : leavesOf(child)));

export const nodesOf = (planning: Pick<Planning, 'group'>, tree: LoopTree): readonly LoopNode[] =>
  nodesBelow(tree).map((index) => nodeAt(planning, index));

/** Bytes of a buffer; 0 where its size is not known. */
export const sizeInBytes = ({ dtype, size }: Pick<BufferDecl, 'dtype' | 'size'>): number =>
  (staticValue(size) ?? 0) * dtypeInfo[dtype].bytes;

/** Whether a buffer is memory of its own: neither local to the group nor kept in scratch. */
export const isInMemory = ({ memory }: Pick<Planning, 'memory'>, buffer: BufferId): boolean =>
  !memory.isVirtual(buffer) && memory.row(buffer) === undefined;

/** Whether a buffer is so large that the last-level cache may not have it. */
export const exceedsCaches = ({ memory, choices }: Planning, buffer: BufferId): boolean =>
  sizeInBytes(memory.decl(buffer)) >= choices.memoryBytes;

/** Whether a buffer is so large that its results are written by non-temporal stores, where these pay. */
export const isNonTemporal = ({ memory, choices }: Planning, buffer: BufferId): boolean =>
  sizeInBytes(memory.decl(buffer)) >= choices.nonTemporalBytes;
