// A tree of loops walked by one thread: plain loops in order, states in variables, rows in the thread's own memory.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import { isLeaf, nodesBelow, parallelBands, staticValue, touches } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Axis, LocalBuffer, LoopNode, LoopTree } from '@tsinductor/ir';
import { axisLoops, nodeAt, writeMap } from './nest.ts';
import type { Nest } from './nest.ts';
import { advance, declareState, finish, isCarrying } from './states.ts';

/** The loops of `tree`, and what is in them. */
function writeSerial(nest: Nest, tree: LoopTree, frame: Frame): void {
  const axes = parallelBands(tree).map(({ axis }) => axis);
  axisLoops(nest, axes, {
    frame,
    body: (inner) => {
      writeOpened(nest, tree, inner);
    },
  });
}

/** A tree whose parallel loops are open. */
export function writeOpened(nest: Nest, tree: LoopTree, frame: Frame): void {
  if (isLeaf(tree)) {
    writeLeaf(nest, tree, frame);
    return;
  }
  for (const local of rowsOf(nest, tree)) declareRow(nest, local, frame);
  for (const child of tree.children) {
    if (child.kind === 'loops') writeSerial(nest, child, frame);
    else writeNodes(nest, [nodeAt(nest, child.node)], { over: [], frame });
  }
}

const reductionAxes = (tree: LoopTree): readonly Axis[] =>
  tree.loops.filter(({ role }) => role === 'reduction').map(({ axis }) => axis);

function writeLeaf(nest: Nest, tree: LoopTree, frame: Frame): void {
  const nodes = nodesBelow(tree).map((index) => nodeAt(nest, index));
  writeNodes(nest, nodes, { over: reductionAxes(tree), frame });
}

/** Nodes that share the loops `over`: reductions are finished after them, all else is written at every point. */
function writeNodes(
  nest: Nest,
  nodes: readonly LoopNode[],
  { over, frame }: { readonly over: readonly Axis[]; readonly frame: Frame },
): void {
  const states = new Map(nodes.filter(isCarrying).map((node) => [node as LoopNode, declareState(nest, node, frame)]));
  axisLoops(nest, over, {
    frame,
    body: (inner) => {
      for (const node of nodes) {
        if (node.kind === 'map') writeMap(nest, node, { frame: inner, by: 'thread' });
        if (!isCarrying(node)) continue;
        const state = states.get(node) ?? [];
        advance(nest, { node, state, frame: inner });
        if (node.kind === 'scan') finish(nest, { node, state }, { frame: inner, by: 'thread' });
      }
    },
  });
  for (const node of nodes)
    if (node.kind === 'reduce') finish(nest, { node, state: states.get(node) ?? [] }, { frame, by: 'thread' });
}

/** The rows that belong to `tree`: all their users are below it, and not all below one of its children. */
export function rowsOf(nest: Nest, tree: LoopTree): readonly LocalBuffer[] {
  return nest.group.locals.filter((local) => {
    if (local.kind !== 'row' || nest.memory.row(local.buffer) !== undefined) return false;
    const users = nest.group.nodes.flatMap((node, index) => (touches(node, local.buffer) ? [index] : []));
    const has = (candidate: LoopTree): boolean => {
      const below = new Set(nodesBelow(candidate));
      return users.every((index) => below.has(index));
    };
    return has(tree) && !tree.children.some((child) => child.kind === 'loops' && has(child));
  });
}

/** Bytes of a row of known size. */
export function rowBytes(nest: Nest, local: LocalBuffer): number | undefined {
  const elements = staticValue(local.size);
  return elements === undefined ? undefined : elements * dtypeInfo[nest.memory.decl(local.buffer).dtype].bytes;
}

function declareRow(nest: Nest, local: LocalBuffer, frame: Frame): void {
  const { memory, writer } = nest;
  const { dtype, name } = memory.decl(local.buffer);
  const size = staticValue(local.size);
  invariant(size !== undefined, `group ${nest.group.name}: a row of unknown size in one thread's memory`);
  const row = writer.fresh(`${name}_row`);
  writer.emit({ kind: 'scratch', name: row, dtype, size });
  memory.setRow(local.buffer, { name: row, lanes: 1, outside: new Set(frame.axes.keys()), base: int(0) });
}

/** The node at a leaf's only place. */
export const onlyNode = (nest: Nest, tree: LoopTree): LoopNode | undefined => {
  const nodes = nodesBelow(tree);
  return nodes.length === 1 ? nodeAt(nest, at(nodes, 0)) : undefined;
};
