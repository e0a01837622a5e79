// Tiles that are copied from memory to memory by way of registers alone (see plan/tile-copy.ts).
import { bindAxis, resolveIndex } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, int } from '@tsinductor/ir';
import type { Index, Stmt, TileCorner } from '@tsinductor/ir';
import type { CopySide, TileCopy } from '../plan/tile-copy.ts';
import type { TileAxes } from '../plan/tiles.ts';
import type { Nest } from './nest.ts';
import { vectorStore } from './results.ts';

interface CopiedTiles extends TileAxes {
  readonly copy: TileCopy;
}

/** The rows of a tile along the lanes' axis, which the frame counts, and along the other one. */
interface Corner {
  readonly corner: Index;
  readonly rows: Index;
  readonly frame: Frame;
}

/** The statement that copies a tile: by non-temporal stores where the lanes are what is written. */
export function copiedTile(
  nest: Nest,
  { copy, lane, across, lanes }: CopiedTiles,
  { corner, rows, frame }: Corner,
): Stmt {
  const { memory } = nest;
  const { dtype, from, to } = copy;
  const first = bindAxis(frame, across.name, corner);
  const next = bindAxis(frame, across.name, add(corner, int(1)));
  const place = resolveIndex(to.position, first);
  const aligns = [place, resolveIndex(to.position, next)].map((index) => memory.alignment(to.buffer, index, lanes));
  const isNonTemporal =
    copy.written.name === lane.name &&
    vectorStore(nest, to.buffer, { lanes, align: Math.min(...aligns), step: int(1) }).kind === 'non-temporal';
  const count = frame.lane?.count ?? int(lanes);
  const [height, width] = copy.written.name === lane.name ? [count, rows] : [rows, count];
  const cornerOf = ({ buffer, step }: CopySide, at: Index): TileCorner => ({
    buffer: memory.parameter(buffer).name,
    at,
    step: resolveIndex(step, frame),
  });
  return {
    kind: 'transpose',
    dtype,
    from: cornerOf(from, resolveIndex(from.position, first)),
    to: cornerOf(to, place),
    rows: height,
    columns: width,
    tile: lanes,
    ...(isNonTemporal ? { hint: 'non-temporal' as const } : {}),
  };
}
