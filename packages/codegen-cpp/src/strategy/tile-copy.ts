// Tiles that nothing is computed with: what is read across the grain is written with it, as it is. In: the nodes and the turned
// accesses of a nest by tiles. Out: one statement for each tile, from memory to memory by way of registers alone, where a tile of
// scratch between would be written and read again. (Measured on a Zen 4, 64 MB, by hand: a transposition takes 14 to 20 % less with
// two third-level caches, 5 to 10 with one; as generated, 4 MB and 256 KB of it take 30 to 57 % less.)
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resolveIndex, strideAlong } from '@tsinductor/codegen';
import { add, coefficientOf, int } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, Stmt, TileCorner } from '@tsinductor/ir';
import { bindAxis, wayOf } from './nest.ts';
import type { Frame, Nest } from './nest.ts';
import type { TileAxes, TurnedAccess } from './tiles-ahead.ts';

/** A result that is what a load reads, each along an axis of its own. */
export interface TileCopy {
  readonly dtype: DType;
  readonly from: Side;
  readonly to: Side;
  /** The axes along which each is contiguous: of the load, and of the result. */
  readonly read: Axis;
  readonly written: Axis;
}

interface Side {
  readonly buffer: BufferId;
  readonly position: Index;
  /** From one row of a tile to the next, which are points of the other side's axis. */
  readonly step: Index;
}

/** The copy that tiles are, if nothing is computed with what they read, and no lines of the result are asked for. */
export function tileCopyOf(
  { memory, asked }: Nest,
  nodes: readonly LoopNode[],
  { accesses, lane, across }: Pick<TileAxes, 'lane' | 'across'> & { readonly accesses: readonly TurnedAccess[] },
): TileCopy | undefined {
  const sides = copiedSides(nodes);
  const [turned, ...more] = accesses;
  if (sides === undefined || turned === undefined || more.length > 0) return undefined;
  const [from, to] = sides;
  const isMemory = ({ buffer }: Pick<Side, 'buffer'>): boolean =>
    !memory.isVirtual(buffer) && memory.row(buffer) === undefined;
  if (!sides.every(isMemory) || asked.has(to.buffer)) return undefined;
  const { dtype } = memory.decl(to.buffer);
  const [read, written] = turned.store ? [lane, across] : [across, lane];
  const isAlong = strideAlong(from.position, read.name) === 1 && strideAlong(to.position, written.name) === 1;
  const [fromStep, toStep] = [coefficientOf(from.position, written), coefficientOf(to.position, read)];
  if (memory.decl(from.buffer).dtype !== dtype || !isAlong || fromStep === undefined || toStep === undefined)
    return undefined;
  return { dtype, from: { ...from, step: fromStep }, to: { ...to, step: toStep }, read, written };
}

/** What the only node loads and writes, if it does nothing else. */
function copiedSides([node, ...others]: readonly LoopNode[]): readonly [Place, Place] | undefined {
  if (node?.kind !== 'map' || others.length > 0 || node.outs.length !== 1) return undefined;
  const [load, ...rest] = node.body.nodes;
  if (load?.kind !== 'load' || load.mask !== undefined || rest.length > 0) return undefined;
  const to = { buffer: at(node.outs, 0), position: at(node.writes, 0) };
  return [{ buffer: load.buffer, position: load.at }, to];
}

type Place = Omit<Side, 'step'>;

/** The rows of a tile along the lanes' axis, which the frame counts, and along the other one. */
interface Corner {
  readonly corner: Index;
  readonly rows: Index;
  readonly frame: Frame;
}

/** The statement that copies a tile: past the caches where the lanes are what is written. */
export function copiedTile(
  nest: Nest,
  { copy, lane, across, lanes }: TileAxes & { readonly copy: TileCopy },
  { corner, rows, frame }: Corner,
): Stmt {
  const { memory } = nest;
  const { dtype, from, to } = copy;
  const first = bindAxis(frame, across.name, corner);
  const next = bindAxis(frame, across.name, add(corner, int(1)));
  const place = resolveIndex(to.position, first);
  const aligns = [place, resolveIndex(to.position, next)].map((index) => memory.alignment(to.buffer, index, lanes));
  const isPast =
    copy.written.name === lane.name &&
    wayOf(nest, to.buffer, { wide: lanes, align: Math.min(...aligns), place: { step: int(1) } }) === 'past';
  const count = frame.lane?.count ?? int(lanes);
  const [height, width] = copy.written.name === lane.name ? [count, rows] : [rows, count];
  const cornerOf = ({ buffer, step }: Side, at: Index): TileCorner => ({
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
    ...(isPast ? { hint: 'stream' as const } : {}),
  };
}
