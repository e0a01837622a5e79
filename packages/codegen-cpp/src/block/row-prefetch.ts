// Memory that is prefetched in the last loop that reads it. In: a store or a fold, at a place of its vector loop. Out: prefetches. Rows
// that an instance has read before (as a softmax reads its row) are prefetched one instance ahead, or so many that it is some KB: the
// instances of a thread follow each other along the first axis of the grid. Rows that only a store reads are prefetched a little
// further on, as in compiled groups (strategy/traffic/passes.ts), and so are results (strategy/traffic/results.ts).
import { at, dtypeInfo } from '@tsinductor/base';
import { paramName, tileIndex } from '@tsinductor/codegen';
import { add, allTileNodes, equal, int, sameShape, substitute } from '@tsinductor/ir';
import type { Index, TileId, TileNode, TileOp } from '@tsinductor/ir';
import { nextRowDistance } from '../machine/choices/traffic.ts';
import type { RowDistance } from '../machine/choices/traffic.ts';
import { rowsWithin } from '../strategy/plan/rows.ts';
import { prefetchesResults } from '../strategy/traffic/results.ts';
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
    return (
      sites.length > (node.kind === 'op' ? 0 : 1) &&
      sites.every((site) => site.order <= order) &&
      sites.some((site) => site.order === order)
    );
  };
  return nodes.filter((other): other is Load => {
    if (other.kind !== 'op' || other.op !== 'load' || !isRow(other, binder)) return false;
    const result = at(other.results, 0);
    return sameShape(result.shape, shape) && isLast(result.id);
  });
}

const sitesOf = (id: TileId, binder: Binder): readonly UseSite[] => binder.plan.get(id)?.sites ?? [];

/** Whether a tile's rows are long enough to be worth it, and few enough bytes to be in the caches when they are read. */
function isRow({ results }: Load, { choices: { nextRow } }: Binder): boolean {
  const { dtype, shape } = at(results, 0);
  const bytes = (shape.at(-1) ?? 1) * dtypeInfo[dtype].bytes;
  return bytes >= nextRow.leastRow && bytes <= nextRow.mostRow;
}

export function writeRowPrefetches(
  loads: readonly Load[],
  {
    point,
    coordinates,
    binder,
  }: { readonly point: Point; readonly coordinates: readonly Index[]; readonly binder: Binder },
): void {
  const isWhole = point.mode.kind === 'open' || point.mode.kind === 'within';
  if (point.lanes === 1 || !isWhole) return;
  for (const load of loads) {
    const index = tileIndex(at(load.args, 0), coordinates, binder);
    const step = index === undefined ? undefined : laneStep(index, point.lane);
    if (index === undefined || step?.kind !== 'int' || step.value !== 1) continue;
    const place = placeAhead(load, index, { binder, loads });
    if (place === undefined) continue;
    const into = distanceFor(load, binder).into === 'second' ? { into: 'second' as const } : {};
    binder.writer.emit({
      kind: 'prefetch',
      buffer: paramName(binder.program, load.attrs.param),
      at: place,
      intent: 'read',
      ...into,
    });
  }
}

/** What to prefetch where the element at `index` is read; nothing where all instances read the same, or it is foreseen. */
function placeAhead(
  load: Load,
  index: Index,
  { binder, loads }: { readonly binder: Binder; readonly loads: readonly Load[] },
): Index | undefined {
  const { id, dtype, shape } = at(load.results, 0);
  const { prefetchesStreams, nextRowArrays, lineDistance } = binder.choices;
  const distance = distanceFor(load, binder);
  const isAlone = distance.into === 'second' && loads.length === 1;
  const bytes = shape.reduce((product, extent) => product * extent, dtypeInfo[dtype].bytes);
  const instances = isAlone ? rowsWithin(binder, distance, bytes) : 1;
  const next = laterInstance(index, instances, binder);
  if (equal(next, index)) return undefined;
  const isRead = binder.home(id).kind === 'scratch' || sitesOf(id, binder).length > 1;
  if (isRead) return loads.length <= nextRowArrays ? next : undefined;
  return prefetchesStreams ? add(index, int(lineDistance / Math.min(dtypeInfo[dtype].bytes, 4))) : undefined;
}

/** How what a load reads is prefetched, as rows of compiled groups are. */
const distanceFor = ({ attrs }: Load, { program, target, choices }: Binder): RowDistance =>
  target.large?.has(at(program.params, attrs.param).name) === true ? choices.memoryRows : nextRowDistance;

/** The same index in one of the instances that follow. */
function laterInstance(index: Index, instances: number, { programIds: [first] }: Binder): Index {
  return first?.kind === 'axis' ? substitute(index, new Map([[first.axis.name, add(first, int(instances))]])) : index;
}

/** Whether a program's large results are written by way of the caches: few threads, and not too much that is read beside. */
export function prefetchesStores({ program, target, choices }: Binder): boolean {
  if (!prefetchesResults({ threads: target.threads ?? 1, choices })) return false;
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
  return bytes.load <= choices.resultPrefetch.mostReads * bytes.store;
}
