// What a loop over the elements of a tile will touch before it is written: the masks of its loads, the dtypes in play, and
// the tiles that are to be kept on the way past. The same walk as evaluation, without writing anything.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { sourceCoordinates, tileIndex } from '@tsinductor/codegen';
import { printIndex } from '@tsinductor/ir';
import type { Index, TileId, TileOp } from '@tsinductor/ir';
import type { Binder } from './binder.ts';
import { laneStep } from './evaluate-tile.ts';

export interface Visit {
  readonly tile: TileId;
  readonly coordinates: readonly Index[];
}

export interface Reach {
  readonly masks: readonly Visit[];
  readonly pending: readonly Visit[];
  readonly scratch: readonly (Visit & { readonly name: string })[];
  /** Bytes of the widest element that is computed. */
  readonly bytes: number;
}

interface Walk {
  readonly binder: Binder;
  readonly lane: string | undefined;
  readonly seen: Set<string>;
  readonly masks: Visit[];
  readonly pending: Visit[];
  readonly scratch: (Visit & { readonly name: string })[];
  bytes: number;
}

/** Everything that evaluating `visits` reaches. */
export function reachOf(visits: readonly Visit[], binder: Binder, lane: string | undefined): Reach {
  const walk: Walk = { binder, lane, seen: new Set(), masks: [], pending: [], scratch: [], bytes: 1 };
  for (const visit of visits) visitTile(visit, walk);
  return walk;
}

/** Registers hold bool as 32 bits, and half floats are computed as f32. */
const registerBytes = (dtype: DType): number => (dtype === 'bool' ? 4 : dtypeInfo[dtypeInfo[dtype].compute].bytes);

function visitTile({ tile: id, coordinates }: Visit, walk: Walk): void {
  const { binder } = walk;
  const key = `${String(id)} ${coordinates.map((index) => printIndex(index)).join(' ')}`;
  if (walk.seen.has(key)) return;
  walk.seen.add(key);
  const home = binder.home(id);
  const index = home.kind === 'scalar' ? undefined : tileIndex(id, coordinates, binder);
  const isIndex = index !== undefined && laneStep(index, walk.lane) !== undefined;
  if (!isIndex && home.kind !== 'scalar') walk.bytes = Math.max(walk.bytes, registerBytes(binder.tile(id).dtype));
  switch (home.kind) {
    case 'scalar':
      break;
    case 'scratch':
      walk.scratch.push({ tile: id, coordinates, name: home.name });
      break;
    case 'shifted':
      visitTile({ tile: home.base, coordinates }, walk);
      break;
    case 'pending':
    case 'virtual':
      if (home.kind === 'pending') walk.pending.push({ tile: id, coordinates });
      if (!isIndex) visitOperands(home.node, coordinates, walk);
      break;
  }
}

function visitOperands(node: TileOp, coordinates: readonly Index[], walk: Walk): void {
  const isMoved = node.op === 'broadcast' || node.op === 'reshape' || node.op === 'permute';
  const where = isMoved ? sourceCoordinates(node, coordinates, walk.binder) : coordinates;
  if (where === undefined) return;
  if (node.op === 'load' && node.args[1] !== undefined) walk.masks.push({ tile: node.args[1], coordinates });
  const args = node.op === 'gather' ? [at(node.args, 1)] : node.args;
  for (const arg of args) visitTile({ tile: arg, coordinates: where }, walk);
}
