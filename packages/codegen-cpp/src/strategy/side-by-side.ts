// How many vectors a loop computes side by side: where one alone waits for its own results, or neighbours share their work. In: the
// innermost loops and what runs in them. Out: vectors per iteration, and iterations that the C++ compiler may unroll.
import { isLeaf } from '@tsinductor/codegen';
import type { Axis, Body, LoopNode, LoopTree } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { cpuModels, manyRegisters, mostBeside, sideBySide } from '../target.ts';
import { operationsOf, pointBodies } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import type { Nest } from './nest.ts';
import { sharingVectors } from './shared-work.ts';

export interface Beside {
  readonly instances: number;
  readonly unroll: number;
}

interface Loops {
  readonly tree: LoopTree;
  readonly shared: LaneChoice;
}

/** `nodes` are those of the tree, or what is left of them in a part of the lanes' axis. */
export function besideOf(
  nest: Nest,
  { tree, shared }: Loops,
  { nodes, axis }: { readonly nodes: readonly LoopNode[]; readonly axis: Axis },
): Beside {
  const reduces = tree.loops.some((band) => band.role === 'reduction');
  const work = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  const unroll = reduces || !isLeaf(tree) ? 1 : work <= 6 ? 4 : work <= 16 ? 2 : 1;
  if (!isLeaf(tree) || shared.lanes === 1) return { instances: 1, unroll };
  const side = sideBySide[reduces ? 'reductions' : pointsOf(nest, nodes, work)];
  const instances = work > side.over && work <= side.upTo ? side.vectors : 1;
  return { instances: Math.max(instances, setsOf(nest, sharingVectors(nodes, { axis, lanes: shared.lanes }))), unroll };
}

/**
 * Several sets of vectors that share their work: the chain of operations that a set waits for is long. (Measured on a Cascade Lake:
 * dropout of 64 MB takes 9.1 ms in two sets and 7.9 in four, in the same minutes.)
 */
function setsOf(nest: Nest, sharing: number): number {
  return sharing > 1 && hasManyRegisters(nest) ? Math.max(sharing, mostBeside) : sharing;
}

/** Of what kind the points of maps are that take so much work. */
function pointsOf(nest: Nest, nodes: readonly LoopNode[], work: number): 'points' | 'instructions' | 'chains' {
  if (!hasManyRegisters(nest)) return 'points';
  if (nodes.flatMap(pointBodies).every(isInstructions)) return 'instructions';
  return work > sideBySide.chains.over ? 'chains' : 'points';
}

const hasManyRegisters = ({ target }: Nest): boolean => cpuModels[target.isa].vectorRegisters >= manyRegisters;

/** Whether a body is instructions alone, none of them a function of several. */
const isInstructions = (body: Body): boolean =>
  body.nodes.every((node) => node.kind !== 'apply' || (pointwise[node.op].traits.cost ?? 1) <= 1);
