// Maps and scatters over vectors: the points of the axes in row-major order, a chunk at a time.
import { at, dtypeInfo } from '@tsinductor/base';
import { evaluator, pointwise } from '@tsinductor/ops';
import type { PointwiseName, Value } from '@tsinductor/ops';
import type { DType } from '@tsinductor/base';
import type { MapNode, ScatterNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
import { bitEncoders, clearElements, copyElements, readElement, writeElement } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { Side, pointCount } from './grid.ts';
import type { Grid } from './grid.ts';
import { VectorBody } from './vector-body.ts';
import type { IndexVector } from './vector-index.ts';
import { scatter } from './vector-memory.ts';
import type { Places } from './vector-memory.ts';
import type { Execution, RunNode } from './run-node.ts';

/** Points that are evaluated at once: vectors of them stay in the cache. */
export const chunk = 1024;
/** An innermost axis this long is walked on its own, so that its loads are lines. */
const longAxis = 192;

/** One row, whose columns are the points of the node's axes. */
function flatGrid(node: MapNode | ScatterNode, { frame }: Execution): Grid {
  const columns = new Side(node.axes, frame.sizes);
  const rows = new Side([], frame.sizes);
  rows.count = 1;
  return { rows, columns, capacity: Math.min(chunk, columns.total) };
}

/** Visits the points before `end` in chunks of at most `capacity`, within one run of a long innermost axis each. */
function forChunks({ columns, capacity }: Grid, visit: () => void, end: number = columns.total): void {
  const inner = columns.extents.at(-1) ?? 1;
  const span = inner >= longAxis ? inner : columns.total;
  for (columns.start = 0; columns.start < end; columns.start += columns.count) {
    const left = span - (columns.start % span);
    columns.count = Math.min(capacity, left);
    visit();
  }
}

export function compileMap(node: MapNode, execution: Execution): RunNode {
  const grid = flatGrid(node, execution);
  if (grid.columns.total === 0) return () => undefined;
  const { frame } = execution;
  const body = new VectorBody(node.body, grid, frame);
  const writes = node.writes.map((write) => body.index(write));
  const dtypes = body.resultDTypes;
  const write = (out: BufferId, position: number, places: Places): void => {
    scatter({ array: frame.buffer(out), dtype: at(dtypes, position) }, places, body.result(position));
  };
  const chunk = (): void => {
    body.run();
    node.outs.forEach((out, position) => {
      write(out, position, at(writes, position).places());
    });
  };
  if (node.body.nodes.some(({ kind }) => kind !== 'constant')) return () => forChunks(grid, chunk);
  return () => {
    forChunks(grid, chunk, 1);
    const starts = writes.map((index) => firstOf(grid, index));
    if (starts.includes(undefined)) forChunks(grid, chunk);
    else node.outs.forEach((out, position) => repeatFirst(frame.buffer(out), at(starts, position) ?? 0, grid));
  };
}

/** Where the points begin, if they all lie side by side. */
function firstOf({ columns }: Grid, write: IndexVector): number | undefined {
  [columns.start, columns.count] = [0, columns.total];
  const line = write.line();
  return line?.step === 1 || columns.total === 1 ? line?.start : undefined;
}

/** Gives all points the element of the first one. */
function repeatFirst(array: ElementArray, start: number, { columns }: Grid): void {
  (array as Float64Array).fill(at(array as Float64Array, start), start, start + columns.total);
}

export const combining: Readonly<Record<Exclude<ScatterNode['mode'], 'set'>, PointwiseName>> = {
  add: 'add',
  multiply: 'mul',
  min: 'minimum',
  max: 'maximum',
};

/** In ascending order of points, one at a time, since several may write one element. */
export function compileScatter(node: ScatterNode, execution: Execution): RunNode {
  const grid = flatGrid(node, execution);
  const { frame, dtypeOf } = execution;
  const out = at(node.outs, 0);
  const start = (): void => {
    const target = frame.buffer(out);
    if (node.initial === undefined) clearElements(target);
    else copyElements(target, frame.buffer(node.initial));
  };
  if (grid.columns.total === 0) return start;
  const body = new VectorBody(node.body, grid, frame);
  const write = body.index(at(node.writes, 0));
  const places = new Float64Array(grid.capacity);
  const combine = node.mode === 'set' ? undefined : combiner(combining[node.mode], dtypeOf(out));
  return () => {
    start();
    const target = frame.buffer(out);
    forChunks(grid, () => {
      body.run();
      write.fill(places);
      update({ target, dtype: dtypeOf(out), places, count: pointCount(grid) }, body.result(0), combine);
    });
  };
}

type Combine = (old: Value, value: Value) => Value;

/** An op in the compute dtype of `dtype`; the element is rounded to its dtype each time. */
function combiner(op: PointwiseName, dtype: DType): Combine {
  return evaluator(pointwise[op], dtypeInfo[dtype].compute);
}

interface Update {
  readonly target: ElementArray;
  readonly dtype: DType;
  readonly places: Float64Array;
  readonly count: number;
}

function update(
  { target, dtype, places, count }: Update,
  values: ArrayLike<Value>,
  combine: Combine | undefined,
): void {
  const encode = bitEncoders[dtype];
  for (let k = 0; k < count; k += 1) {
    const place = at(places, k);
    const value = at(values, k);
    const next = combine === undefined ? value : combine(readElement(target, dtype, place) ?? 0, value);
    writeElement(target, place, encode === undefined ? next : encode(Number(next)));
  }
}
