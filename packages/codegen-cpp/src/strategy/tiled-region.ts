// A region whose accesses across the grain go through tiles: blocks of tiles, columns of tiles, points (see tile.ts).
import { add, int, minimum } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isMultipleOf, named } from './index-math.ts';
import { vectorFrame, vectorLoop, wholeRange } from './nest.ts';
import type { Frame, Nest, Range } from './nest.ts';
import { declareCarried, writePoint } from './reduce.ts';
import { isReduced, nodesOf } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';
import { tilesPerBlock, writeTileColumn } from './tile.ts';
import type { TilePlan } from './tile.ts';

/** Where a region's inner loops run. */
export interface Inside {
  readonly frame: Frame;
  /** The parts of the shared lane axis and of the tiles' axis to run over; all of it where one is missing. */
  readonly ranges: ReadonlyMap<string, Range>;
}

/** Blocks of tiles: the tiles' axis outside, so that a block's rows are finished while they are near. */
export function writeTiled(
  nest: Nest,
  plan: RegionPlan & { readonly tiles: TilePlan },
  { frame, ranges }: Inside,
): void {
  const { tiles, tree, shared } = plan;
  const { lanes } = shared;
  const nodes = nodesOf(nest, tree);
  const along = { ...(ranges.get(tiles.lane.name) ?? wholeRange(tiles.lane)), lanes, instances: 1, unroll: 1 };
  const down = ranges.get(tiles.across.name) ?? wholeRange(tiles.across);
  const column = (from: Index, to: Index): void => {
    vectorLoop(nest, along, ([vector]) => {
      if (vector === undefined) return;
      const inner = vectorFrame(frame, tiles.lane.name, vector);
      const carried = declareCarried(nest, nodes, inner);
      writeTileColumn(nest, { plan: tiles, lanes, from, to, frame: inner }, (point) => {
        writePoint(nest, { nodes, carried }, point);
      });
    });
  };
  if (isReduced(tree, tiles.across)) {
    column(down.from, down.to);
    return;
  }
  const { writer, memory } = nest;
  const name = writer.fresh(`${tiles.across.name}_block`);
  const step = lanes * tilesPerBlock;
  memory.multiples.set(name, lanes);
  const block = writer.block([name], () => {
    const from = named(name, tiles.across.extent);
    column(
      from,
      isMultipleOf(down.to, step, memory.multiples) ? add(from, int(step)) : minimum(add(from, int(step)), down.to),
    );
  });
  writer.emit({ kind: 'for', name, from: down.from, to: down.to, step, body: block });
}
