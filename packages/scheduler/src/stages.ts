// The inner loops of a cluster, in order. A stage is one inner loop nest that several nodes share, or no loop at all
// (values of the outer iteration). A node stands in the first stage with its loops that comes after everything it waits
// for: a reduction's result exists when its stage has ended, a map's element at the point that made it.
import { at, get } from '@tsinductor/base';
import { equal } from '@tsinductor/ir';
import type { Axis, BufferId, LoopNode } from '@tsinductor/ir';
import { isAxis, isSameElement, pointOf } from './cluster.ts';
import type { Cluster, Member } from './cluster.ts';
import { bodyReads, hasAxis, loopsOf, namesOf, overOf, reindex, renaming, resultAxes } from './node-access.ts';
import type { Read } from './node-access.ts';

export interface Stage {
  /** Inside the outer loops; empty: a value per outer iteration. */
  readonly loops: readonly Axis[];
  readonly members: readonly Member[];
}

interface OpenStage {
  readonly loops: readonly Axis[];
  readonly members: Member[];
}

/** The cluster's nodes by stage. Loops of equal extents that nothing tells apart become one, and their nodes share it. */
export function placeStages(cluster: Cluster): readonly Stage[] {
  const stages: OpenStage[] = [];
  const placed = new Map<BufferId, { readonly node: LoopNode; readonly stage: number }>();
  const renamed = new Map<string, Axis>();
  for (const original of cluster.nodes) {
    let member: Member = { ...original, node: renameAxes(original.node, renamed) };
    const earliest = earliestStage(member.node, { placed, outer: cluster.outer });
    let loops = innerLoops(member.node, cluster.outer);
    const { node } = member;
    // A product has its loops to itself.
    const isFree = (open: OpenStage, index: number): boolean =>
      index >= earliest && node.kind !== 'contract' && agreesOnReductions(open, node);
    let stage = stages.findIndex((open, index) => isFree(open, index) && sameNames(open.loops, loops));
    if (stage === -1 && loops.length > 0) {
      const mayBecome = (targets: readonly Axis[]): boolean =>
        cluster.nodes.every((each) => staysApart(currentNames(each.node, renamed), loops, targets));
      stage = stages.findIndex(
        (open, index) => isFree(open, index) && canShare(open, loops, stages) && mayBecome(open.loops),
      );
      if (stage !== -1) {
        const target = at(stages, stage).loops;
        loops.forEach((axis, position) => renamed.set(axis.name, at(target, position)));
        member = { ...member, node: renameAxes(member.node, renamed) };
        loops = target;
      }
    }
    if (stage === -1) stage = stages.push({ loops, members: [] }) - 1;
    at(stages, stage).members.push(member);
    for (const out of member.node.outs) placed.set(out, { node: member.node, stage });
  }
  return stages;
}

/** The loops of a node that its cluster does not share. */
export const innerLoops = (node: LoopNode, outer: readonly Axis[]): readonly Axis[] =>
  loopsOf(node).filter((axis) => !hasAxis(outer, axis));

interface Placement {
  readonly placed: ReadonlyMap<BufferId, { readonly node: LoopNode; readonly stage: number }>;
  readonly outer: readonly Axis[];
}

function earliestStage(node: LoopNode, { placed, outer }: Placement): number {
  const loops = innerLoops(node, outer);
  const stages = bodyReads(node).map((read) => {
    const maker = placed.get(read.buffer);
    if (maker === undefined) return 0;
    const isShared = maker.node.kind !== 'reduce' && sameNames(innerLoops(maker.node, outer), loops);
    return isShared && isWrittenHere(maker.node, read) ? maker.stage : maker.stage + 1;
  });
  return Math.max(0, ...stages);
}

/** Whether the element that is read is the one that `maker` writes at the very point of the loops. */
function isWrittenHere(maker: LoopNode, read: Read): boolean {
  if (isSameElement(maker, read)) return true;
  const point = pointOf(maker, read);
  return point !== undefined && resultAxes(maker).every((axis) => isAxis(point, axis));
}

const sameNames = (a: readonly Axis[], b: readonly Axis[]): boolean =>
  a.length === b.length && a.every((axis) => hasAxis(b, axis));

/** All reductions of a stage run over the same of its loops. */
function agreesOnReductions(open: OpenStage, node: LoopNode): boolean {
  const over = overOf(node).length;
  if (open.members.some(({ node: other }) => other.kind === 'contract')) return false;
  return (
    over === 0 || open.members.every(({ node: other }) => overOf(other).length === 0 || sameReduction(other, node))
  );
}

/** By name, or by place where the loops are not the same ones yet. */
function sameReduction(a: LoopNode, b: LoopNode): boolean {
  const isSame = sameNames(overOf(a), overOf(b));
  const isApart = overOf(b).every((axis) => !hasAxis(loopsOf(a), axis));
  return isSame || (isApart && overOf(a).length === overOf(b).length);
}

/** Whether `loops` may become those of a stage: equal extents, and no name that is in use already. */
function canShare(open: OpenStage, loops: readonly Axis[], stages: readonly OpenStage[]): boolean {
  const fits =
    open.loops.length === loops.length &&
    loops.every((axis, position) => equal(axis.extent, at(open.loops, position).extent));
  if (!fits) return false;
  const used = new Set(stages.flatMap((stage) => stage.loops.map((axis) => axis.name)));
  return loops.every((axis) => !used.has(axis.name));
}

const currentNames = (node: LoopNode, renamed: ReadonlyMap<string, Axis>): ReadonlySet<string> =>
  namesOf(loopsOf(node).map((axis) => renamed.get(axis.name) ?? axis));

/** Whether a node with these loops still has as many when `loops` become `targets`: it may run through one of each. */
const staysApart = (own: ReadonlySet<string>, loops: readonly Axis[], targets: readonly Axis[]): boolean =>
  loops.every(({ name }, position) => !own.has(name) || !own.has(at(targets, position).name));

function renameAxes(node: LoopNode, renamed: ReadonlyMap<string, Axis>): LoopNode {
  if (renamed.size === 0) return node;
  const affected = loopsOf(node).filter((axis) => renamed.has(axis.name));
  if (affected.length === 0) return node;
  const replace = (axes: readonly Axis[]): readonly Axis[] => axes.map((axis) => renamed.get(axis.name) ?? axis);
  const map = renaming(affected.map((axis) => [axis.name, get(renamed, axis.name)]));
  return reindex(node, { map, axes: replace(node.axes), over: replace(overOf(node)) });
}
