// How a sort is shared among threads, and how much memory it needs beside its results. Many rows are shared, each thread sorting
// whole ones; where rows are few, all threads sort one after the other together. Which it is may depend on sizes that are not known.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { product, staticValue } from '@tsinductor/codegen';
import {
  add,
  ceilDivide,
  coefficientOf,
  floorDivide,
  int,
  isAtMost,
  maximum,
  minimum,
  multiply,
  subtract,
} from '@tsinductor/ir';
import type { Index, LoopNode } from '@tsinductor/ir';
import { sortSizes } from '../../sort-sizes.ts';
import type { Planning } from './planning.ts';

const { leastCut, mostChunks, mostChunksOfFew, shortCounts, longCounts, fewOf, mostShortOfFew, moreCandidates } =
  sortSizes;

export type Sort = LoopNode & { readonly kind: 'sort' };

export interface SortPlan {
  /** How many rows there are. */
  readonly rows: Index;
  /** So many are sorted one after the other: none or all of them; and by whom. */
  readonly together: Index;
  readonly threads: 'one' | 'all';
  /** Otherwise threads share chunks of rows: so many, of which none or all are sorted. Each has scratch of `words` i64. */
  readonly rowChunks: Index;
  readonly shared: Index;
  readonly words: Index;
  /** Elements of all scratch, in i64: that of the chunks that are shared, or of a row that is sorted by all threads. */
  readonly scratch: Index;
}

/** Fewer elements than this are not worth a second thread. */
const sharedElements = 2048;

export function planSort({ target, memory }: Planning, node: Sort): SortPlan {
  const rows = product(node.axes.map(({ extent }) => extent));
  const { dtype } = memory.decl(node.keys.buffer);
  const one = wordsOf(node, { dtype, chunks: 1 });
  const all = wordsOf(node, { dtype, chunks: mostChunks });
  const length = node.along.extent;
  const elements = staticValue(multiply(rows, length));
  const nobody = { rowChunks: int(1), shared: int(0), words: one };
  if (target.threads === 1 || (elements !== undefined && elements < sharedElements))
    return { rows, together: rows, threads: 'one', ...nobody, scratch: one };
  const most = target.anyThreads === true ? 64 : 4 * target.threads;
  const isShort = isAtMost(length, int(leastCut - 1));
  // 1 where there are rows for all threads, or none of them is worth several; else 0.
  const areMany = isShort ? int(1) : minimum(int(1), floorDivide(rows, int(most)));
  const together = multiply(subtract(int(1), areMany), rows);
  const rowChunks = minimum(rows, int(most));
  const shared = multiply(areMany, rowChunks);
  return {
    rows,
    together,
    threads: 'all',
    rowChunks,
    shared,
    words: one,
    scratch: maximum(all, multiply(shared, one)),
  };
}

interface RowWords {
  readonly dtype: DType;
  readonly chunks: number;
}

/** Scratch of a row, in i64, as `sort_row_by` of the prelude divides it. */
function wordsOf(node: Sort, { dtype, chunks }: RowWords): Index {
  const { along, keys } = node;
  const length = along.extent;
  const { bytes } = dtypeInfo[dtype];
  const isLong = !isAtMost(length, int(2 ** 32 - 1));
  const step = coefficientOf(keys.at, along);
  const isApart = !(step?.kind === 'int' && step.value === 1);
  const copied = isApart ? ceilDivide(multiply(length, int(bytes)), int(8)) : int(0);
  const counts = isAtMost(length, int(leastCut - 1)) ? shortCounts : longCounts * chunks;
  const items = multiply(int(bytes === 8 || isLong ? 2 : 1), itemsOf(node, chunks));
  // One more, so that items of two words are aligned.
  return roundUp(add(add(copied, int(counts + 1)), items), 8);
}

/** How many items a row needs room for: twice its elements, or where few of them are kept those that chunks keep. */
function itemsOf({ along, kept, places }: Sort, chunks: number): Index {
  const all = multiply(int(2), along.extent);
  if (places !== undefined) return all;
  const found = add(
    multiply(int(Math.min(chunks, mostChunksOfFew)), add(multiply(int(2), kept.extent), int(moreCandidates))),
    kept.extent,
  );
  const [length, count] = [staticValue(along.extent), staticValue(kept.extent)];
  if (length === undefined || count === undefined) return maximum(all, found);
  return count <= Math.floor(length / fewOf) && length > mostShortOfFew ? found : all;
}

const roundUp = (index: Index, unit: number): Index => multiply(ceilDivide(index, int(unit)), int(unit));

/** The coordinates of a row by its number, as index expressions over it. */
export function rowPoint(node: Sort, row: Index): ReadonlyMap<string, Index> {
  const point = new Map<string, Index>();
  let rest = row;
  node.axes.toReversed().forEach(({ name, extent }, position) => {
    const isOuter = position === node.axes.length - 1;
    const outer = floorDivide(rest, extent);
    point.set(name, isOuter ? rest : subtract(rest, multiply(outer, extent)));
    rest = outer;
  });
  return point;
}

/** Where an out of the sort holds what. */
export const outOf = (node: Sort, result: 'values' | 'indices'): { buffer: number; at: Index } | undefined => {
  const position = node.results.indexOf(result);
  return position === -1 ? undefined : { buffer: at(node.outs, position), at: at(node.writes, position) };
};
