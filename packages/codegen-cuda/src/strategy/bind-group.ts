// Group -> Kernels: what must be finished before the rest begins is a kernel of its own, and each is written by the
// strategy that fits it. Values that one kernel leaves for a later one of the group lie in workspace.
import { at } from '@tsinductor/base';
import {
  BufferDirectory,
  collapseAxes,
  distinctOrigins,
  GroupMemory,
  isLeaf,
  KernelWriter,
  nodesBelow,
  shorterAxes,
  sizesOf,
  staticValue,
  touches,
  usedBuffers,
} from '@tsinductor/codegen';
import { int, removeDeadLets, withoutCopies } from '@tsinductor/ir';
import type {
  BufferId,
  Group,
  Kernel,
  KernelBuffer,
  LocalBuffer,
  LoopNode,
  LoopTree,
  Schedule,
  Stmt,
} from '@tsinductor/ir';
import type { CudaTarget } from '../target.ts';
import { bindAttention } from './attention/bind-attention.ts';
import { shouldSplitColumns, writePieceMerges, writePieces } from './columns.ts';
import { writeContract } from './contract.ts';
import { bindMatrix } from './matrix/bind-matrix.ts';
import type { BufferFacts } from './matrix/product.ts';
import type { Grid, Nest } from './nest.ts';
import { writePointwise } from './pointwise.ts';
import { writeRows } from './rows.ts';
import { writeFill, writeUpdates } from './scatter.ts';
import { writeSort } from './sort.ts';
import { SharedMemory } from './shared-memory.ts';
import { markShared } from './shared-storage.ts';
import { shouldSplit, writeMerges, writeChunks } from './split.ts';
import { planTiling, writeTiles } from './transpose.ts';

/** A group's kernels in order, and the workspace that they share. */
export interface BoundGroup {
  readonly kernels: readonly Kernel[];
  readonly workspaces: readonly KernelBuffer[];
}

/** What one kernel does, and for which nodes. */
interface Phase {
  readonly nodes: readonly number[];
  readonly write: (nest: Nest) => Grid;
}

interface Context {
  readonly group: Group;
  readonly schedule: Schedule;
  readonly target: CudaTarget;
  readonly directory: BufferDirectory;
  /** Locals that one kernel leaves for another. */
  readonly handed: readonly LocalBuffer[];
}

export function bindGroup(given: Group, schedule: Schedule, target: CudaTarget): BoundGroup {
  const group = collapseAxes(withoutCopies(given, schedule));
  const directory = new BufferDirectory(schedule);
  const isEmpty = ({ outs }: LoopNode): boolean => outs.every((out) => staticValue(directory.decl(out).size) === 0);
  if (group.nodes.every(isEmpty)) return { kernels: [], workspaces: [] };
  const context = { group, schedule, target, facts: factsOf(group, directory, target) };
  const whole = bindAttention(context) ?? bindMatrix(context);
  if (typeof whole === 'object') return { kernels: [whole], workspaces: [] };
  const phases = phasesOf(group, whole);
  const handed = group.locals.filter(({ buffer }) => usersOf(group, phases, buffer).length > 1);
  const bound = phases.map((phase) => bindPhase(phase, { group, schedule, target, directory, handed }));
  const workspaces = new Map(bound.flatMap(({ workspaces: own }) => own).map((buffer) => [buffer.name, buffer]));
  return { kernels: bound.map(({ kernel }) => kernel), workspaces: [...workspaces.values()] };
}

/** What the buffers of a group are, to who writes a kernel without a nest. */
function factsOf(group: Group, directory: BufferDirectory, { inputAlignment }: CudaTarget): BufferFacts {
  const memory = new GroupMemory(group, directory, { writer: new KernelWriter(), inputAlignment });
  return {
    decl: (buffer) => memory.decl(buffer),
    align: (buffer) => memory.parameter(buffer).align,
    isVirtual: (buffer) => memory.isVirtual(buffer),
  };
}

const usersOf = (group: Group, phases: readonly Phase[], buffer: BufferId): readonly Phase[] =>
  phases.filter(({ nodes }) => nodes.some((node) => touches(at(group.nodes, node), buffer)));

/** `reason` says why a product is not computed by matrix instructions, where it might be. */
function phasesOf(group: Group, reason: string | undefined): readonly Phase[] {
  if (group.nodes.every((node, index) => specialPhases(node, index, reason) === undefined))
    return treePhases(group, group.nest);
  return group.nodes.flatMap((node, index) => {
    const own = specialPhases(node, index, reason);
    if (own !== undefined) return own;
    const over = node.kind === 'reduce' || node.kind === 'scan' ? node.over : [];
    const loops = [
      ...node.axes.map((axis) => ({ axis, role: 'parallel' as const })),
      ...over.map((axis) => ({ axis, role: 'reduction' as const })),
    ];
    return treePhases(group, { kind: 'loops', loops, children: [{ kind: 'node', node: index }] });
  });
}

/** Nodes that bring their own loops. */
function specialPhases(node: LoopNode, index: number, reason: string | undefined): readonly Phase[] | undefined {
  if (node.kind === 'contract') return [{ nodes: [index], write: (nest) => writeContract(nest, node, reason) }];
  if (node.kind === 'sort') return [{ nodes: [index], write: (nest) => writeSort(nest, node) }];
  if (node.kind !== 'scatter') return undefined;
  return [
    { nodes: [index], write: (nest) => writeFill(nest, node) },
    { nodes: [index], write: (nest) => writeUpdates(nest, node) },
  ];
}

/** The kernels of a nest: one, or where nothing encloses its parts those of each of them. */
function treePhases(group: Group, tree: LoopTree): readonly Phase[] {
  if (tree.loops.length === 0 && !isLeaf(tree)) {
    return tree.children.flatMap((child) =>
      treePhases(group, child.kind === 'loops' ? child : { kind: 'loops', loops: [], children: [child] }),
    );
  }
  const nodes = nodesBelow(tree);
  if (shouldSplitColumns(group, tree))
    return [
      { nodes, write: (nest) => writePieces(nest, tree) },
      { nodes, write: (nest) => writePieceMerges(nest, tree) },
    ];
  if (!shouldSplit(group, tree)) return [{ nodes, write: (nest) => writeTree(nest, tree) }];
  return [
    { nodes, write: (nest) => writeChunks(nest, tree) },
    { nodes, write: (nest) => writeMerges(nest, tree) },
  ];
}

function writeTree(nest: Nest, tree: LoopTree): Grid {
  const nodes = nodesBelow(tree).map((index) => at(nest.group.nodes, index));
  if (!isLeaf(tree) || nodes.some(({ kind }) => kind !== 'map')) return writeRows(nest, tree);
  // A tile has all of its points.
  const isWhole = nodes.every((node) => shorterAxes(node, tree.loops).length === 0);
  const tiling = isWhole ? planTiling(nest, tree) : undefined;
  return tiling === undefined ? writePointwise(nest, tree) : writeTiles(nest, tiling);
}

/** A barrier right after another does nothing. */
function withoutDoubleBarriers(block: readonly Stmt[]): readonly Stmt[] {
  return block.flatMap((statement, position): readonly Stmt[] => {
    if (statement.kind === 'barrier' && block[position - 1]?.kind === 'barrier') return [];
    if (statement.kind === 'for') return [{ ...statement, body: withoutDoubleBarriers(statement.body) }];
    return [statement];
  });
}

interface BoundPhase {
  readonly kernel: Kernel;
  readonly workspaces: readonly KernelBuffer[];
}

function bindPhase(phase: Phase, { group, schedule, target, directory, handed }: Context): BoundPhase {
  const writer = new KernelWriter(target.positions);
  const names = { block: writer.fresh('block'), blocks: writer.fresh('blocks'), thread: writer.fresh('thread') };
  for (const name of Object.values(names)) writer.declare(name);
  const memory = new GroupMemory(group, directory, { writer, inputAlignment: target.inputAlignment });
  const shared = new SharedMemory(writer);
  for (const { buffer } of handed) {
    const { dtype, name, size } = memory.decl(buffer);
    const workspace = memory.workspace(name, dtype, size);
    memory.setRow(buffer, { name: workspace.name, lanes: 1, outside: new Set(), base: int(0) });
  }
  const nest: Nest = { target, schedule, group, writer, memory, shared, names, notes: [] };
  const { blocks, threads } = phase.write(nest);
  const body = withoutDoubleBarriers(removeDeadLets(writer.finish()));
  const nodes = phase.nodes.map((index) => at(group.nodes, index));
  const kernel: Kernel = {
    name: group.name,
    buffers: markShared(usedBuffers(memory.buffers, body), schedule),
    sizes: sizesOf(body, schedule, [blocks]),
    body,
    launch: { blocks, threads, sharedBytes: shared.bytes, names },
    ...(target.positions === 'assumed' ? { indexDType: 'i32' } : {}),
    origins: distinctOrigins(nodes.flatMap(({ origins }) => origins)),
    notes: nest.notes,
  };
  return { kernel, workspaces: memory.buffers.filter(({ storage }) => storage.kind === 'workspace') };
}
