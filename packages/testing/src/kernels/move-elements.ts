// What statements do that put many elements elsewhere, as they are: transposes and sorts. In: the statement, and how an interpreter
// reads and writes memory.
import { at } from '@tsinductor/base';
import type { Value as Scalar } from '@tsinductor/ops';
import { sortedPositions } from '@tsinductor/ir';
import type { Index, SortStmt, Stmt, TileCorner } from '@tsinductor/ir';

interface ElementMemory {
  readonly index: (index: Index) => number;
  readonly read: (buffer: string, place: number) => Scalar;
  readonly write: (buffer: string, place: number, value: Scalar) => void;
}

export function moveElements(statement: Stmt & { readonly kind: 'transpose' | 'sort' }, memory: ElementMemory): void {
  if (statement.kind === 'sort') sort(statement, memory);
  else transpose(statement, memory);
}

function transpose(
  { from, to, rows, columns }: Stmt & { readonly kind: 'transpose' },
  { index, read, write }: ElementMemory,
): void {
  const [fromAt, fromStep, toAt, toStep] = [from.at, from.step, to.at, to.step].map(index);
  const [height, width] = [index(rows), index(columns)];
  for (let r = 0; r < height; r++) {
    for (let c = 0; c < width; c++) {
      const element = read(from.buffer, Number(fromAt) + r * Number(fromStep) + c);
      write(to.buffer, Number(toAt) + c * Number(toStep) + r, element);
    }
  }
}

/** By the values of the row, which a f64 holds as they are. */
function sort(statement: SortStmt, memory: ElementMemory): void {
  const { dtype, descending, keys, length, kept, places, values, indices } = statement;
  const elements = rowOf(keys, memory.index(length), memory);
  const row = dtype === 'i64' ? BigInt64Array.from(elements, BigInt) : Float64Array.from(elements, Number);
  const span = { start: 0, step: 1, length: row.length, descending };
  const order = sortedPositions(row, { dtype: dtype === 'i64' ? dtype : 'f64', ...span });
  const count = memory.index(kept);
  const wanted = places && rowOf(places, count, memory).map(Number);
  const put = ({ buffer, at: place, step }: TileCorner, k: number, value: Scalar): void => {
    memory.write(buffer, memory.index(place) + k * memory.index(step), value);
  };
  for (let k = 0; k < count; k++) {
    const position = at(order, Math.min(Math.max(wanted === undefined ? k : at(wanted, k), 0), order.length - 1));
    if (values !== undefined) put(values, k, at(elements, position));
    if (indices !== undefined) put(indices, k, BigInt(position));
  }
}

function rowOf(
  { buffer, at: place, step }: TileCorner,
  count: number,
  { index, read }: ElementMemory,
): readonly Scalar[] {
  const [start, distance] = [index(place), index(step)];
  return Array.from({ length: count }, (_, k) => read(buffer, start + k * distance));
}
