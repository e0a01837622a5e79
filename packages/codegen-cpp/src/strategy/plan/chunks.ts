// Work for threads: how many units of a parallel loop a chunk has, and long axes that are cut in chunks, units of a loop of their own.
// The chunks of an axis follow from sizes and vectors alone, so that what is computed in chunks does not depend on the threads.
import { parallelBands, product, typicalValue } from '@tsinductor/codegen';
import { ceilDivide, floorDivide, int, maximum, minimum, multiply } from '@tsinductor/ir';
import type { Axis, Index, LoopBand, LoopTree } from '@tsinductor/ir';
import { chunkCycles } from '../../machine/target.ts';
import type { LaneChoice } from './lanes.ts';
import type { Planning } from './planning.ts';

/**
 * Units per chunk: work that pays for a thread, and one chunk for each thread, or several where each of them has work that is worth a
 * claim.
 */
export function grainOf({ target, choices }: Planning, total: Index, cyclesPerUnit: number): Index {
  const { threads, anyThreads = false } = target;
  const { several, most, worthClaiming } = choices.chunks;
  const unitsFor = (cycles: number): number => Math.min(mostUnits, Math.max(1, Math.ceil(cycles / cyclesPerUnit)));
  const least = chunkCycles(target);
  const worthwhile = floorDivide(total, int(threads * unitsFor(worthClaiming * least)));
  const areSeveral = minimum(int(1), floorDivide(worthwhile, int(several)));
  const perThread = minimum(worthwhile, multiply(areSeveral, int(most)));
  const parts = maximum(perThread, int(anyThreads ? several : 1));
  return maximum(int(unitsFor(least)), ceilDivide(total, multiply(int(threads), parts)));
}

/** More units than any loop has, and few enough to be reckoned with. */
const mostUnits = 2 ** 40;

/** An axis of a tree that is cut. */
export interface RowChunks {
  readonly tree: LoopTree;
  /** The axis that is cut, points of it per chunk, and how many chunks. */
  readonly axis: Axis;
  readonly chunk: Index;
  readonly chunks: Index;
  /** The number of results. */
  readonly results: Index;
}

interface ChunkSize {
  readonly unit: number;
  /** Points of the tree per chunk. */
  readonly about: number;
}

/** Chunks of a tree's loop `cut`, of about so many points of the tree each, and of whole `unit`s of the loop's. */
export function chunksOf(tree: LoopTree, cut: LoopBand, { unit, about }: ChunkSize): RowChunks {
  const others = tree.loops.filter((band) => band !== cut);
  const below = product(others.map((band) => band.axis.extent));
  const points = maximum(int(1), floorDivide(int(about), maximum(int(1), below)));
  const chunk = multiply(ceilDivide(points, int(unit)), int(unit));
  const results = product(parallelBands(tree).map((band) => band.axis.extent));
  return { tree, axis: cut.axis, chunk, chunks: ceilDivide(cut.axis.extent, chunk), results };
}

/** About how many points a chunk has of all loops inside the outer ones. */
export const pointsOfChunk = ({ tree, chunk, axis }: RowChunks): number =>
  tree.loops
    .filter((band) => band.role === 'reduction' && band.axis !== axis)
    .reduce((points, band) => points * typicalValue(band.axis.extent), typicalValue(chunk));

export const reductionBands = (tree: LoopTree): readonly LoopBand[] =>
  tree.loops.filter((band) => band.role === 'reduction');

/** A lane of a loop over points that are joined into one state. */
export interface FoldLane {
  readonly axis: string;
  readonly lanes: number;
}

/** The lanes, where they are points of an axis that is reduced or scanned; nothing where results are the lanes. */
export function foldLane(tree: LoopTree, { axis, lanes }: Pick<LaneChoice, 'axis' | 'lanes'>): FoldLane | undefined {
  const isOuter = parallelBands(tree).some((band) => band.axis.name === axis?.name);
  return axis === undefined || isOuter ? undefined : { axis: axis.name, lanes };
}
