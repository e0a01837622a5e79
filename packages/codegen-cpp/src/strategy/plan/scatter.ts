// How a scatter is laid out. Points are updated in order, as the order is part of the meaning where points collide. Where points along an
// axis can never collide (the columns of rows that are added by index), its points are lanes and are shared among threads, each of which
// owns its columns and goes through all rows in order: no atomics, and every element's sum has the same order for any number of threads.
//
// Many rows that are added into a small table are cut in chunks instead, and each is added, row by row from end to end, into a table of
// its own that a second-level cache holds. The tables are summed in order; the chunks follow from sizes.
//
// Lines that another core has changed are dear to read where cores have no cache in common, and cheap to write. So two chunks need
// one table: the first is added to the out itself, and who has the second adds its table to that when its turn comes. More of them are
// summed by all threads, each a part: one after another would wait too long.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isMultipleOf, staticValue, strideAlong, typicalValue } from '@tsinductor/codegen';
import { freeIndirects, int, substitute } from '@tsinductor/ir';
import type { Axis, LoopNode } from '@tsinductor/ir';
import { chunkCycles } from '../../machine/target.ts';
import { lanesAlong } from './lanes.ts';
import type { Planning } from './planning.ts';
import { operationsOf, varyingNodes } from './work.ts';

export type Scatter = LoopNode & { readonly kind: 'scatter' };

/** Rows that are written by index: an axis along which no points collide, which has the lanes, and the others. */
interface ScatteredRows {
  readonly node: Scatter;
  readonly axis: Axis;
  readonly extent: number;
  readonly others: readonly Axis[];
  readonly lanes: number;
}

/** Tables of `size` elements, each for `chunk` points of the axis `down`, of which there are `length`. */
export interface Tables {
  readonly down: Axis;
  readonly length: number;
  readonly chunk: number;
  readonly count: number;
  readonly size: number;
  /** Of two chunks: where the second begins, which is added into a table and to the first in its turn; nothing where all have tables. */
  readonly edge: number | undefined;
  /** Elements of the tables that a thread sums at a time. */
  readonly summed: number;
}

export type ScatterPlan =
  /** Point by point. */
  | { readonly kind: 'points'; readonly node: Scatter }
  /** Row by row, by one thread. */
  | ({ readonly kind: 'rows' } & ScatteredRows)
  /** By threads that own `block` columns each. */
  | ({ readonly kind: 'columns'; readonly block: number } & ScatteredRows)
  | ({ readonly kind: 'tables'; readonly tables: Tables } & ScatteredRows);

export function planScatter(planning: Planning, node: Scatter): ScatterPlan {
  const own = ownAxis(node);
  if (own === undefined) return { kind: 'points', node };
  const { target, choices } = planning;
  const lanes = lanesAlong(own.axis, [node], planning);
  const rows: ScatteredRows = { ...own, node, lanes, others: node.axes.filter((other) => other !== own.axis) };
  const points = node.axes.reduce((left, axis) => left * typicalValue(axis.extent), 1);
  const isShort = (points * (operationsOf(node) + 2)) / lanes < 2 * chunkCycles(target);
  const tables = isShort ? undefined : planTables(planning, rows);
  if (tables !== undefined) return { kind: 'tables', tables, ...rows };
  const block = Math.ceil(own.extent / target.threads / choices.ownedColumns) * choices.ownedColumns;
  return isShort || own.extent <= block ? { kind: 'rows', ...rows } : { kind: 'columns', block, ...rows };
}

interface OwnAxis {
  readonly axis: Axis;
  readonly extent: number;
}

/** An axis along which the element written is unlike that of any other point: write = a multiple of its extent, plus it. */
function ownAxis(node: Scatter): OwnAxis | undefined {
  const write = at(node.writes, 0);
  for (const axis of node.axes.toReversed()) {
    const extent = staticValue(axis.extent);
    if (extent === undefined || extent < 2 || strideAlong(write, axis.name) !== 1) continue;
    const varying = varyingNodes(node.body, axis.name);
    const rest = substitute(write, new Map([[axis.name, int(0)]]));
    if ([...freeIndirects(write)].every((id) => varying[id] !== true) && isMultipleOf(rest, extent))
      return { axis, extent };
  }
  return undefined;
}

/** Whether sums of a dtype are computed in it. */
const addsInPlace = (dtype: DType): boolean => dtypeInfo[dtype].compute === dtype && dtype !== 'bool';

/** As many tables as take little time to sum, where that is one for every thread and a cache holds each. */
function planTables(
  { memory, target, choices }: Planning,
  { node, extent, others }: ScatteredRows,
): Tables | undefined {
  const { tables: limits, reductionChunk, tablesInTurn } = choices;
  const [down] = others;
  const { dtype, size: elements } = memory.decl(at(node.outs, 0));
  const { bytes } = dtypeInfo[dtype];
  if (down === undefined || node.mode !== 'add' || !addsInPlace(dtype)) return undefined;
  const [size, length] = [staticValue(elements), staticValue(down.extent)];
  const points = others.reduce((left, axis) => left * (staticValue(axis.extent) ?? 0), extent);
  if (size === undefined || length === undefined || size * bytes > limits.bytes) return undefined;
  const tablesOf = (least: number): number => Math.min(limits.most, length, Math.floor(points / size / least));
  const { threads } = target;
  const wanted = Math.max(tablesOf(limits.leastPoints), Math.min(threads, tablesOf(limits.leastPointsAlone)));
  if (threads === 1 || wanted < threads || points < 4 * reductionChunk) return undefined;
  const chunk = Math.ceil(length / wanted);
  const count = Math.ceil(length / chunk);
  // Who adds the first chunk fills the out before, whose lines the other changed last: it has fewer rows.
  const edge = count === 2 && tablesInTurn ? Math.max(1, Math.floor(length * limits.firstPart)) : undefined;
  return { down, length, chunk, count, size, edge, summed: limits.block };
}
