// Memory asked for before it is read, in the last loop that reads it. In: a store or a fold, at a place of its vector loop. Out:
// prefetches. Rows that an instance has read before (as a softmax reads its row) are asked for one instance ahead, or so many that
// it is some KB: the instances of a thread follow each other along the first axis of the grid. Rows that only a store reads are asked for a little
// further on, as in compiled groups (strategy/row-ahead.ts), and so are results (strategy/asked-results.ts).
import { at, dtypeInfo } from '@tsinductor/base';
import { bufferName, tileIndex } from '@tsinductor/codegen';
import { add, allTileNodes, equal, int, sameShape, substitute } from '@tsinductor/ir';
import type { Index, TileId, TileNode, TileOp } from '@tsinductor/ir';
import { rowsOf } from '../strategy/memory-rows.ts';
import { ahead, aheadBytes, asking, asksForResults, habitsOf, nearRows } from '../target.ts';
import type { RowHabits } from '../target.ts';
import type { Binder } from './binder.ts';
import { laneStep } from './evaluate-tile.ts';
import type { Point } from './evaluate-tile.ts';
import type { UseSite } from './plan-tiles.ts';

type Load = TileOp & { readonly op: 'load' };
/** The program's loads that are read for the last time when `node`, which goes over elements of `shape`, is carried out. */
export function loadsAlong(node: TileNode, shape: readonly number[], binder: Binder): readonly Load[] {
  const { nodes } = binder.program.body;
  const order = nodes.indexOf(node);
  const isLast = (id: TileId): boolean => {
    const sites = sitesOf(id, binder);
    return sites.length > (node.kind === 'op' ? 0 : 1) && sites.every((site) => site.order <= order) && sites.some((site) => site.order === order); // prettier-ignore
  };
  return nodes.filter((other): other is Load => {
    if (other.kind !== 'op' || other.op !== 'load' || !isRow(other)) return false;
    const result = at(other.results, 0);
    return sameShape(result.shape, shape) && isLast(result.id);
  });
}

const sitesOf = (id: TileId, binder: Binder): readonly UseSite[] => binder.plan.get(id)?.sites ?? [];

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
    const place = placeAhead(load, index, { binder, loads });
    const { name } = at(binder.program.params, load.attrs.param);
    if (place === undefined) continue;
    const into = habitsFor(load, binder).into === 'second' ? { into: 'second' as const } : {};
    binder.writer.emit({ kind: 'prefetch', buffer: bufferName(name), at: place, intent: 'read', ...into });
  }
}

/** What to ask for where the element at `index` is read; nothing where all instances read the same, or it is foreseen. */
function placeAhead(
  load: Load,
  index: Index,
  { binder, loads }: { readonly binder: Binder; readonly loads: readonly Load[] },
): Index | undefined {
  const { id, dtype, shape } = at(load.results, 0);
  const { asksInPasses, nextRows } = habitsOf(binder.target);
  const habits = habitsFor(load, binder);
  const isAlone = habits.into === 'second' && loads.length === 1;
  const bytes = shape.reduce((product, extent) => product * extent, dtypeInfo[dtype].bytes);
  const instances = isAlone ? rowsOf(habits, bytes) : 1;
  const next = laterInstance(index, instances, binder);
  if (equal(next, index)) return undefined;
  const isRead = binder.home(id).kind === 'scratch' || sitesOf(id, binder).length > 1;
  if (isRead) return loads.length <= nextRows ? next : undefined;
  return asksInPasses ? add(index, int(aheadBytes / Math.min(dtypeInfo[dtype].bytes, 4))) : undefined;
}

/** How what a load reads is asked for, as rows of compiled groups are. */
const habitsFor = ({ attrs }: Load, { program, target }: Binder): RowHabits =>
  target.large?.has(at(program.params, attrs.param).name) === true ? habitsOf(target).memory : nearRows;

/** The same index in one of the instances that follow. */
function laterInstance(index: Index, instances: number, { programIds: [first] }: Binder): Index {
  return first?.kind === 'axis' ? substitute(index, new Map([[first.axis.name, add(first, int(instances))]])) : index;
}

/** Whether a program's large results are written by way of the caches: few threads, and not too much that is read beside. */
export function prefetchesStores({ program, target }: Binder): boolean {
  if (!asksForResults(target)) return false;
  const bytes = { load: 0, store: 0 };
  for (const [position, { name, dtype }] of program.params.entries()) {
    if (target.large?.has(name) !== true) continue;
    for (const op of ['load', 'store'] as const) {
      const isUsed = [...allTileNodes(program.body)].some(
        (node) => node.kind === 'op' && node.op === op && node.attrs.param === position,
      );
      if (isUsed) bytes[op] += dtypeInfo[dtype].bytes;
    }
  }
  return bytes.load <= asking.mostReads * bytes.store;
}
