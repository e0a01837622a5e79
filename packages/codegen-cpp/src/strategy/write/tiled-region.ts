// A region whose accesses across the grain go through tiles: blocks of tiles, columns of tiles, points (see tile.ts).
import { isMultipleOf } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, int, minimum } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isReduced } from '../plan/region.ts';
import type { RegionPlan } from '../plan/region.ts';
import { isTransposed, runsAcross } from '../plan/tiles.ts';
import type { TilePlan } from '../plan/tiles.ts';
import type { RegionTraffic } from '../traffic/traffic.ts';
import { vectorFrame, vectorLoop, wholeRange } from './loops.ts';
import type { Range, Vector } from './loops.ts';
import type { Nest } from './nest.ts';
import { writePoint } from './reduce.ts';
import { declareCarried, writeBlock } from './states.ts';
import { declareTiles, writeTile } from './tile.ts';
import type { Tiling } from './tile.ts';
import { writeTransposedBlock } from './transposed-block.ts';

/** Where a region's inner loops run. */
export interface Inside {
  readonly frame: Frame;
  /** The parts of the shared lane axis and of the tiles' axis to run over; all of it where one is missing. */
  readonly ranges: ReadonlyMap<string, Range>;
}

interface Tiled extends RegionPlan {
  readonly tiles: TilePlan;
  readonly traffic: RegionTraffic;
}

/** Runs a region by tiles: scans down one column of tiles after another, maps by blocks of tiles. */
export function writeTiled(nest: Nest, plan: Tiled, { frame, ranges }: Inside): void {
  const { tiles, copy, tree, traffic } = plan;
  const scratch = copy === undefined ? declareTiles(nest, tiles) : [];
  const parts: Parts = {
    plan,
    tiling: { plan: tiles, traffic: traffic.tiles, scratch, ...(copy === undefined ? {} : { copy }) },
    frame,
    along: ranges.get(tiles.lane.name) ?? wholeRange(tiles.lane),
    across: ranges.get(tiles.across.name) ?? wholeRange(tiles.across),
  };
  if (isReduced(tree, tiles.across)) writeColumnsOfTiles(nest, parts);
  else writeBlocksOfTiles(nest, parts);
}

interface Parts {
  readonly plan: Tiled;
  readonly tiling: Tiling;
  readonly frame: Frame;
  readonly along: Range;
  readonly across: Range;
}

/** A state of the scan for each lane, carried down the column. */
function writeColumnsOfTiles(nest: Nest, { plan, tiling, frame, along, across }: Parts): void {
  const { nodes } = plan;
  const { lanes } = tiling.plan;
  eachVector(nest, { ...along, lanes }, (vector) => {
    const inner = vectorFrame(frame, along.axis.name, vector);
    const carried = declareCarried(nest, nodes, inner);
    stepLoop(nest, { ...across, step: lanes }, (corner) => {
      writeBlock(nest, { carried, frames: [inner], isInnermost: true }, (own) => {
        const body = (point: Frame): void => {
          writePoint(nest, { nodes, carried: own }, point);
        };
        writeTile(nest, tiling, { corner, end: across.to, start: across.from, frame: inner, body });
      });
    });
  });
}

/** Blocks of tiles, and in them rows of tiles along the lanes, or across them. */
function writeBlocksOfTiles(nest: Nest, { plan, tiling, frame, along, across }: Parts): void {
  const { lanes, block } = tiling.plan;
  const { nodes } = plan;
  const body = (point: Frame): void => {
    writePoint(nest, { nodes, carried: [] }, point);
  };
  const tileAt = (vector: Vector, corner: Index, { from, to }: Pick<Range, 'from' | 'to'>): void => {
    writeTile(nest, tiling, { corner, end: to, start: from, frame: vectorFrame(frame, along.axis.name, vector), body });
  };
  stepLoop(nest, { ...across, step: lanes * block.across, base: 'block' }, (down) => {
    const downEnd = blockEnd(nest, { range: across, from: down, step: lanes * block.across });
    const rows = { axis: across.axis, from: down, to: downEnd, step: lanes };
    if (runsAcross(block)) {
      eachVector(nest, { ...along, lanes }, (vector) => {
        stepLoop(nest, rows, (corner) => {
          tileAt(vector, corner, rows);
        });
      });
      return;
    }
    stepLoop(nest, { ...along, step: lanes * block.along, base: 'block' }, (right) => {
      const rightEnd = blockEnd(nest, { range: along, from: right, step: lanes * block.along });
      if (isTransposed(block)) {
        const columns = { axis: along.axis, from: right, to: rightEnd };
        writeTransposedBlock(nest, { tiling, frame, rows, columns, body });
        return;
      }
      stepLoop(nest, rows, (corner) => {
        eachVector(nest, { axis: along.axis, from: right, to: rightEnd, lanes }, (vector) => {
          tileAt(vector, corner, rows);
        });
      });
    });
  });
}

function eachVector(nest: Nest, range: Range & { readonly lanes: number }, body: (vector: Vector) => void): void {
  vectorLoop(nest, { ...range, instances: 1, unroll: 1 }, ([vector]) => {
    if (vector !== undefined) body(vector);
  });
}

interface Stepping extends Range {
  readonly step: number;
  readonly base?: string;
}

/** A loop by steps, whose variable is known to be a multiple of them where its start is. */
function stepLoop(nest: Nest, { axis, from, to, step, base }: Stepping, body: (value: Index) => void): void {
  const { writer, memory } = nest;
  const name = writer.fresh(base === undefined ? axis.name : `${axis.name}_${base}`);
  const unit = isMultipleOf(from, step, memory.multiples) ? step : 1;
  memory.multiples.set(name, unit);
  const block = writer.block([name], () => {
    body({ kind: 'axis', axis: { name, extent: axis.extent } });
  });
  writer.emit({ kind: 'for', name, from, to, step, body: block });
}

interface BlockEnd {
  readonly range: Range;
  readonly from: Index;
  readonly step: number;
}

/** The end of a block, by name where the last block may be smaller. */
function blockEnd(nest: Nest, { range, from, step }: BlockEnd): Index {
  const { writer, memory } = nest;
  const end = add(from, int(step));
  if (isMultipleOf(range.to, step, memory.multiples)) return end;
  const value = minimum(end, range.to);
  const type = { dtype: 'i64' as const, lanes: 1 };
  const defined = writer.define({ kind: 'index', value, type }, `${range.axis.name}_end`, writer.depth);
  if (defined.kind !== 'name') return value;
  const unit = largestUnit(range.to, { step, multiples: memory.multiples });
  memory.multiples.set(defined.name, unit);
  return { kind: 'axis', axis: { name: defined.name, extent: add(range.axis.extent, int(1)) } };
}

/** The largest power of two up to `step` that `index` is known to be a multiple of. */
function largestUnit(
  index: Index,
  { step, multiples }: { step: number; multiples: ReadonlyMap<string, number> },
): number {
  let unit = step;
  while (unit > 1 && !isMultipleOf(index, unit, multiples)) unit /= 2;
  return unit;
}
