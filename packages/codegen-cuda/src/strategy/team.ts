// A tree of loops walked by the threads of a block together, a team: points are shared out, reductions are merged through
// shuffles and shared memory, rows lie where all of the team see them, and barriers stand between what one thread writes
// and another reads.
import { invariant } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import {
  bandsBelow,
  isLeaf,
  nodesBelow,
  parallelBands,
  product,
  staticValue,
  touches,
  typicalValue,
} from '@tsinductor/codegen';
import { int, multiply } from '@tsinductor/ir';
import type { Axis, Index, LocalBuffer, LoopNode, LoopTree } from '@tsinductor/ir';
import { mostBlocks } from '../target.ts';
import { axisLoops, axisValue, byThreads, nodeAt, share, writeMap } from './nest.ts';
import type { Nest } from './nest.ts';
import { isScannable, writeTeamScan } from './scan.ts';
import { onlyNode, rowsOf, writeOpened } from './serial.ts';
import { advance, declareState, finish, isCarrying, mergeTeam } from './states.ts';

interface Team {
  readonly threads: number;
}

/** The children of a tree whose parallel loops are open, one after the other. */
export function writeTeamChildren(nest: Nest, tree: LoopTree, { frame, team }: TeamFrame): void {
  if (isLeaf(tree) && tree.loops.some(({ role }) => role === 'reduction')) {
    writeTeamLeaf(nest, tree, { frame, team });
    return;
  }
  const rows = rowsOf(nest, tree);
  for (const local of rows) declareTeamRow(nest, local, frame);
  tree.children.forEach((child, position) => {
    const nodes = child.kind === 'loops' ? nodesBelow(child) : [child.node];
    if (child.kind === 'loops') writeTeamTree(nest, child, { frame, team });
    else writeTeamNode(nest, nodeAt(nest, child.node), { frame, team });
    const isLast = position === tree.children.length - 1;
    if (nodes.some((node) => isSeenByOthers(nest, node)) || (isLast && rows.length > 0))
      nest.writer.emit({ kind: 'barrier', scope: 'block' });
  });
}

interface TeamFrame {
  readonly frame: Frame;
  readonly team: Team;
}

/** Whether another node reads from memory what the node writes there, or writes over what it reads. */
function isSeenByOthers(nest: Nest, index: number): boolean {
  const { group, memory, schedule } = nest;
  const node = nodeAt(nest, index);
  const overwritten = schedule.buffers.flatMap((plan) => ('over' in plan ? [plan.over] : []));
  if (overwritten.some((buffer) => touches(node, buffer))) return true;
  return node.outs.some((out) => {
    const inMemory = memory.row(out) !== undefined || !memory.isVirtual(out);
    return inMemory && group.nodes.some((other) => other !== node && touches(other, out));
  });
}

/** A node without loops of its own: all threads compute it, one writes it. */
function writeTeamNode(nest: Nest, node: LoopNode, { frame, team }: TeamFrame): void {
  if (node.kind === 'map') {
    writeMap(nest, node, { frame, by: 'team' });
    return;
  }
  invariant(isCarrying(node), `group ${nest.group.name}: a ${node.kind} stands among loops`);
  writeReductions(nest, [node], { frame, team, over: [] });
}

function writeTeamTree(nest: Nest, tree: LoopTree, { frame, team }: TeamFrame): void {
  const axes = parallelBands(tree).map(({ axis }) => axis);
  const reduces = tree.loops.some(({ role }) => role === 'reduction');
  if (isLeaf(tree) && reduces) {
    writeTeamLeaf(nest, tree, { frame, team });
    return;
  }
  if (isLeaf(tree) || isSharedOut(nest, tree, team)) {
    sharePoints(nest, axes, { frame, team, tree });
    return;
  }
  axisLoops(nest, axes, {
    frame,
    body: (inner) => {
      writeTeamChildren(nest, tree, { frame: inner, team });
    },
  });
}

/** Whether each thread takes points of the tree for itself: there are enough, and their rows fit into its memory. */
function isSharedOut(nest: Nest, tree: LoopTree, { threads }: Team): boolean {
  const points = parallelBands(tree).reduce((left, { axis }) => left * typicalValue(axis.extent), 1);
  return points >= threads / 2 && rowsOf(nest, tree).length === 0 && !hasInnerRows(nest, tree);
}

const hasInnerRows = (nest: Nest, tree: LoopTree): boolean =>
  tree.children.some(
    (child) => child.kind === 'loops' && (rowsOf(nest, child).length > 0 || hasInnerRows(nest, child)),
  );

function sharePoints(nest: Nest, axes: readonly Axis[], { frame, team, tree }: TeamFrame & { tree: LoopTree }): void {
  share(nest, axes, {
    sharing: byThreads(nest, team.threads),
    frame,
    body: (inner) => {
      writeOpened(nest, tree, inner);
    },
  });
}

/** Reductions or scans at every point of the leaf's own parallel axes. */
function writeTeamLeaf(nest: Nest, tree: LoopTree, { frame, team }: TeamFrame): void {
  const open = parallelBands(tree).filter(({ axis }) => !frame.axes.has(axis.name));
  const axes = open.map(({ axis }) => axis);
  const over = tree.loops.filter(({ role }) => role === 'reduction').map(({ axis }) => axis);
  const nodes = nodesBelow(tree).map((index) => nodeAt(nest, index));
  const points = axes.reduce((left, { extent }) => left * typicalValue(extent), 1);
  const only = onlyNode(nest, tree);
  const scans = nodes.some(({ kind }) => kind === 'scan');
  if (points >= team.threads / 4 || (scans && (only === undefined || !isScannable(only)))) {
    sharePoints(nest, axes, { frame, team, tree });
    return;
  }
  axisLoops(nest, axes, {
    frame,
    body: (inner) => {
      if (only?.kind === 'scan') writeTeamScan(nest, only, { frame: inner, threads: team.threads });
      else writeReductions(nest, nodes, { frame: inner, team, over });
    },
  });
}

interface Reducing extends TeamFrame {
  readonly over: readonly Axis[];
}

/** Each thread reduces every so many points; then their states are merged, and all threads finish. */
function writeReductions(nest: Nest, nodes: readonly LoopNode[], { frame, team, over }: Reducing): void {
  const carried = nodes.filter(isCarrying).map((node) => ({ node, state: declareState(nest, node, frame) }));
  share(nest, over, {
    sharing: byThreads(nest, team.threads),
    frame,
    body: (inner) => {
      for (const node of nodes) {
        if (node.kind === 'map') writeMap(nest, node, { frame: inner, by: 'thread' });
        const entry = carried.find((candidate) => candidate.node === node);
        if (entry !== undefined) advance(nest, { ...entry, frame: inner });
      }
    },
  });
  for (const { node, state } of carried) {
    const merged = mergeTeam(nest, node, { state, frame, threads: team.threads });
    finish(nest, { node, state: merged }, { frame, by: 'team' });
  }
}

/** A row in shared memory, or where it does not fit in a part of workspace that the block has. */
function declareTeamRow(nest: Nest, local: LocalBuffer, frame: Frame): void {
  const { memory, shared } = nest;
  const { dtype, name } = memory.decl(local.buffer);
  const size = staticValue(local.size);
  const base = `${name}_row`;
  const outside = new Set(frame.axes.keys());
  if (size !== undefined && shared.fits(dtype, size)) {
    memory.setRow(local.buffer, { name: shared.declare(base, dtype, size), lanes: 1, outside, base: int(0) });
    return;
  }
  const workspace = memory.workspace(base, dtype, multiply(local.size, int(mostBlocks)));
  const slice = multiply(axisValue(nest, 'block'), local.size);
  memory.setRow(local.buffer, { name: workspace.name, lanes: 1, outside, base: slice });
}

/** The points of the largest loop nest inside `tree`, its own parallel loops apart. */
export function innerPoints(tree: LoopTree): number {
  const points = (axes: readonly Axis[]): number => axes.reduce((left, { extent }) => left * typicalValue(extent), 1);
  const own = tree.loops.filter(({ role }) => role === 'reduction').map(({ axis }) => axis);
  const below = tree.children.map((child) =>
    child.kind === 'node' ? 1 : points(bandsBelow(child).map(({ axis }) => axis)),
  );
  return points(own) * Math.max(1, ...below);
}

/** The points of a tree's parallel loops. */
export const outerPoints = (tree: LoopTree): Index => product(parallelBands(tree).map(({ axis }) => axis.extent));
