// Memory asked for before it is read, in the last loop that passes it. In: a store, at a place of its vector loop. Out:
// prefetches. Rows that an instance has read before (as a softmax reads its row) are asked for one instance ahead: the instances
// of a thread follow each other along the first axis of the grid. Rows that are read in the very loop are asked for a little
// further on, as in compiled groups (strategy/row-ahead.ts).
import { at, dtypeInfo } from '@tsinductor/base';
import { bufferName, tileIndex } from '@tsinductor/codegen';
import { add, equal, int, sameShape, substitute } from '@tsinductor/ir';
import type { Index, TileOp } from '@tsinductor/ir';
import { ahead, aheadBytes } from '../target.ts';
import type { Binder } from './binder.ts';
import { laneStep } from './evaluate-tile.ts';
import type { Point } from './evaluate-tile.ts';

type Load = TileOp & { readonly op: 'load' };
type Store = TileOp & { readonly op: 'store' };

/** The program's loads whose elements pass by when `node`, the last store of their shape, is carried out. */
export function loadsAlong(node: Store, binder: Binder): readonly Load[] {
  const shapeOf = ({ args }: TileOp): readonly number[] => binder.tile(at(args, 0)).shape;
  const shape = shapeOf(node);
  const { nodes } = binder.program.body;
  const isAlong = (other: TileOp): boolean => sameShape(shapeOf(other), shape);
  const last = nodes.findLast((other) => other.kind === 'op' && other.op === 'store' && isAlong(other));
  if (last !== node) return [];
  return nodes.flatMap((other) => (other.kind === 'op' && other.op === 'load' && isAlong(other) && isRow(other) ? [other] : [])); // prettier-ignore
}

/** Whether a tile's rows are long enough to be worth it, and few enough bytes to be in the caches when they are read. */
function isRow({ results }: Load): boolean {
  const { dtype, shape } = at(results, 0);
  const bytes = (shape.at(-1) ?? 1) * dtypeInfo[dtype].bytes;
  return bytes >= ahead.leastRow && bytes <= ahead.mostRow;
}

export function askAhead(
  loads: readonly Load[],
  { point, coordinates, binder }: { readonly point: Point; readonly coordinates: readonly Index[]; readonly binder: Binder }, // prettier-ignore
): void {
  const isWhole = point.mode.kind === 'open' || point.mode.kind === 'within';
  if (point.lanes === 1 || !isWhole) return;
  for (const load of loads) {
    const index = tileIndex(at(load.args, 0), coordinates, binder);
    const step = index === undefined ? undefined : laneStep(index, point.lane);
    if (index === undefined || step?.kind !== 'int' || step.value !== 1) continue;
    const next = nextInstance(index, binder);
    if (equal(next, index)) continue;
    const { name, dtype } = at(binder.program.params, load.attrs.param);
    const isRead = binder.home(at(load.results, 0).id).kind === 'scratch';
    const place = isRead ? next : add(index, int(aheadBytes / dtypeInfo[dtype].bytes));
    binder.writer.emit({ kind: 'prefetch', buffer: bufferName(name), at: place, intent: 'read' });
  }
}

/** The same index in the instance that follows. */
function nextInstance(index: Index, { programIds: [first] }: Binder): Index {
  return first?.kind === 'axis' ? substitute(index, new Map([[first.axis.name, add(first, int(1))]])) : index;
}
