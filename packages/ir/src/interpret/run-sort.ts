// Sorts, row by row: the positions of a row's elements in order (sort-positions.ts), and what the outs hold of them.
import { at } from '@tsinductor/base';
import { coefficientOf } from '../arithmetic/linear-form.ts';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { int } from '../arithmetic/polynomial.ts';
import { freeSizes } from '../arithmetic/query.ts';
import { substitute } from '../arithmetic/substitute.ts';
import { lawBroken } from '../errors.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { SortNode } from '../loop.ts';
import { writeElement } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { affineOf, Side } from './grid.ts';
import type { Sizes } from './grid.ts';
import type { Execution, RunNode } from './run-node.ts';
import { sortedPositions } from './sort-positions.ts';

/** Where the elements of a row lie. */
interface RowPlace {
  /** The first one, of the row of this number. */
  readonly start: (row: number) => number;
  readonly step: number;
}

export function compileSort(node: SortNode, { frame, dtypeOf }: Execution): RunNode {
  const { along, kept, keys, places, descending } = node;
  const { sizes } = frame;
  const rows = new Side(node.axes, sizes);
  const [length, count] = [along, kept].map(({ extent }) => evaluateIndex(extent, { sizes })) as [number, number];
  const placing = { axes: node.axes, rows, sizes };
  const from = rowPlace(keys.at, along, placing);
  const wanted = places && { buffer: places.buffer, ...rowPlace(places.at, kept, placing) };
  const outs = node.writes.map((write) => rowPlace(write, kept, placing));
  const dtype = dtypeOf(keys.buffer);
  if (length === 0) return () => undefined;
  return () => {
    const source = frame.buffer(keys.buffer);
    for (let number = 0; number < rows.total; number += 1) {
      const start = from.start(number);
      const row = { dtype, start, step: from.step, length, descending };
      const order = sortedPositions(source, row, wanted === undefined ? count : length);
      const chosen =
        wanted === undefined ? order : placed(order, frame.buffer(wanted.buffer), { ...wanted, row: number, count });
      node.outs.forEach((out, position) => {
        const result = {
          array: frame.buffer(out),
          place: at(outs, position).start(number),
          step: at(outs, position).step,
        };
        if (at(node.results, position) === 'indices') writeIndices(result, chosen, count);
        else writeValues(result, chosen, { count, source, start, step: from.step });
      });
    }
  };
}

interface Placing {
  readonly axes: readonly Axis[];
  readonly rows: Side;
  readonly sizes: Sizes;
}

function rowPlace(index: Index, along: Axis, { axes, rows, sizes }: Placing): RowPlace {
  const numbers = new Map([...freeSizes(index)].map((name) => [name, int(sizes.get(name) ?? 0)]));
  const fixed = substitute(index, numbers);
  const step = coefficientOf(fixed, along);
  if (step?.kind !== 'int') throw lawBroken('sort', 'rows must be affine in their axis');
  const first = substitute(fixed, new Map([[along.name, int(0)]]));
  const affine = affineOf(first, { rows, columns: new Side([], sizes), capacity: 1 });
  if (affine === undefined)
    return { step: step.value, start: (row) => evaluateIndex(first, { axes: pointOf(axes, rows, row), sizes }) };
  const start = (row: number): number => {
    rows.start = row;
    return affine.base + rows.first(affine.rowStrides);
  };
  return { step: step.value, start };
}

/** The coordinates of a row. */
function pointOf(axes: readonly Axis[], { extents }: Side, row: number): ReadonlyMap<string, number> {
  const point = new Map<string, number>();
  let rest = row;
  for (let axis = axes.length - 1; axis >= 0; axis -= 1) {
    const extent = at(extents, axis);
    point.set(at(axes, axis).name, rest % extent);
    rest = Math.floor(rest / extent);
  }
  return point;
}

/** The positions at the places of the order that an array asks for. */
function placed(
  order: Uint32Array,
  array: ElementArray,
  { start, step, row, count }: RowPlace & { readonly row: number; readonly count: number },
): Uint32Array {
  const first = start(row);
  return Uint32Array.from({ length: count }, (_, k) => {
    const place = Number(array[first + k * step]);
    return at(order, Math.min(Math.max(place, 0), order.length - 1));
  });
}

/** Where a row of results goes. */
interface ResultRow {
  readonly array: ElementArray;
  readonly place: number;
  readonly step: number;
}

/** Positions are below 2^32: the upper words of their i64 are 0. */
function writeIndices({ array, place, step }: ResultRow, chosen: Uint32Array, count: number): void {
  const words = new Uint32Array(array.buffer, array.byteOffset, 2 * array.length);
  for (let k = 0, word = 2 * place; k < count; k += 1, word += 2 * step) {
    words[word] = chosen[k] ?? 0;
    words[word + 1] = 0;
  }
}

interface ValuesOf {
  readonly count: number;
  readonly source: ElementArray;
  readonly start: number;
  readonly step: number;
}

function writeValues(result: ResultRow, chosen: Uint32Array, { count, source, start, step }: ValuesOf): void {
  for (let k = 0; k < count; k += 1)
    writeElement(result.array, result.place + k * result.step, source[start + (chosen[k] ?? 0) * step] ?? 0);
}
