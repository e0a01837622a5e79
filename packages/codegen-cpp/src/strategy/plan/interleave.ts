// How many vectors a loop computes side by side: where one alone waits for its own results, or neighbours share their work. In: the
// innermost loops and what runs in them. Out: vectors per iteration, and iterations that the C++ compiler may unroll.
import { isLeaf } from '@tsinductor/codegen';
import type { Axis, Body, LoopNode, LoopTree } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { registerModels } from '../../machine/isa.ts';
import type { LaneChoice } from './lanes.ts';
import type { Planning } from './planning.ts';
import { sharingVectors } from './shared-work.ts';
import { operationsOf, pointBodies } from './work.ts';

export interface Interleave {
  /** Vectors per iteration, each with statements of its own. */
  readonly instances: number;
  /** Iterations that the C++ compiler may unroll. */
  readonly unroll: number;
}

interface Loops {
  readonly tree: LoopTree;
  readonly shared: LaneChoice;
}

/** `nodes` are those of the tree, or what is left of them in a part of the lanes' axis. */
export function interleaveOf(
  planning: Planning,
  { tree, shared }: Loops,
  { nodes, axis }: { readonly nodes: readonly LoopNode[]; readonly axis: Axis },
): Interleave {
  const reduces = tree.loops.some((band) => band.role === 'reduction');
  const work = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  const unroll = reduces || !isLeaf(tree) ? 1 : work <= 6 ? 4 : work <= 16 ? 2 : 1;
  if (!isLeaf(tree) || shared.lanes === 1) return { instances: 1, unroll };
  const side = planning.choices.interleave[reduces ? 'reductions' : kindOfPoints(planning, nodes, work)];
  const instances = work > side.over && work <= side.upTo ? side.vectors : 1;
  const sharing = sharingVectors(planning, nodes, { axis, lanes: shared.lanes });
  return { instances: Math.max(instances, setsOf(planning, sharing)), unroll };
}

/** Several sets of vectors that share their work: the chain of operations that a set waits for is long. */
function setsOf(planning: Planning, sharing: number): number {
  return sharing > 1 && hasManyRegisters(planning) ? Math.max(sharing, planning.choices.mostInterleaved) : sharing;
}

/** Of what kind the points of maps are that take so much work. */
function kindOfPoints(
  planning: Planning,
  nodes: readonly LoopNode[],
  work: number,
): 'points' | 'instructions' | 'chains' {
  if (!hasManyRegisters(planning)) return 'points';
  if (nodes.flatMap(pointBodies).every(isInstructions)) return 'instructions';
  return work > planning.choices.interleave.chains.over ? 'chains' : 'points';
}

const hasManyRegisters = ({ target, choices }: Planning): boolean =>
  registerModels[target.isa].vectorRegisters >= choices.manyRegisters;

/** Whether a body is instructions alone, none of them a function of several. */
const isInstructions = (body: Body): boolean =>
  body.nodes.every((node) => node.kind !== 'apply' || (pointwise[node.op].traits.cost ?? 1) <= 1);
