// Contractions: both operands are copied to dense rows, so that the inner loops walk contiguous memory in blocks that
// stay in the cache.
//
// Floats are accumulated in double precision and rounded once to the out's dtype: closer to the exact sum than any order
// of f32 additions, and at f64 as close as the sum of a few numbers is. Integers wrap as their accumulator does: 32-bit arithmetic gives the low bits of every narrower one;
// i64 is computed in doubles where no sum can reach 2^53, else in 64-bit integers.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Axis, Index } from '../index-expr.ts';
import type { ContractNode, ContractOperand } from '../loop.ts';
import { wrapToDType } from '@tsinductor/ops';
import type { Value } from '@tsinductor/ops';
import type { Body, BufferId } from '../scalar.ts';
import { allocateElements, bitDecoders, bitEncoders, readElement, writeElement } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { AffineCursor, affineOf, Side } from './grid.ts';
import type { Grid } from './grid.ts';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { int } from '../arithmetic/polynomial.ts';
import { freeSizes } from '../arithmetic/query.ts';
import { substitute } from '../arithmetic/substitute.ts';
import { lawBroken } from '../errors.ts';
import type { Execution, RunNode } from './run-node.ts';
import { ScalarBody } from './scalar-body.ts';

type Matrix = Float64Array | Int32Array | BigInt64Array;

/** Where the elements of a matrix lie, for one point of the batch. */
interface Place {
  readonly grid: Grid;
  readonly cursor: AffineCursor;
  readonly at: Float64Array;
}

interface Extents {
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

export function compileContract(node: ContractNode, execution: Execution): RunNode {
  const { frame, dtypeOf } = execution;
  const [out, write] = [at(node.outs, 0), at(node.writes, 0)];
  const { batch, over } = node;
  const [m, n] = [[node.m], [node.n]];
  const place = (index: Index, rows: readonly Axis[], columns: readonly Axis[]): BatchPlace =>
    batchPlace(index, { batch, rows, columns }, frame.sizes);
  const [a, b, c] = [place(node.a.at, m, over), place(node.b.at, over, n), place(write, m, n)];
  const extents: Extents = { m: a.place.grid.rows.total, n: b.place.grid.columns.total, k: a.place.grid.columns.total };
  const reader = (operand: ContractOperand, side: BatchPlace, inner: readonly Axis[]): (() => Source) => {
    if (operand.element !== undefined)
      return elementReader(operand.element, { axes: [...node.batch, ...inner], side, node, execution });
    return () => ({ array: frame.buffer(operand.buffer), dtype: dtypeOf(operand.buffer), places: side.place.at });
  };
  const [left, right] = [reader(node.a, a, [...m, ...over]), reader(node.b, b, [...over, ...n])];
  return () => {
    const batches = a.batch.total;
    for (let batch = 0; batch < batches; batch += 1) {
      for (const side of [a, b, c]) side.move(batch);
      const result = multiply(left(), right(), { extents, accumulate: node.accumulate });
      store({ array: frame.buffer(out), dtype: dtypeOf(out), places: c.place.at }, result);
    }
  };
}

interface Computing {
  /** Those of the batch, then of m and `over`, or of `over` and n. */
  readonly axes: readonly Axis[];
  readonly side: BatchPlace;
  readonly node: ContractNode;
  readonly execution: Execution;
}

/** A matrix whose elements a body computes, for the present point of the batch. */
function elementReader(element: Body, { axes, side, node, execution }: Computing): () => Source {
  const { frame, dtypeOf } = execution;
  const { sites, sizes } = frame;
  const body = new ScalarBody(element);
  const extents = axes.map(({ extent }) => evaluateIndex(extent, { sizes }));
  const load = (buffer: BufferId, place: number): Value => {
    const value = readElement(frame.buffer(buffer), dtypeOf(buffer), place);
    if (value === undefined) throw lawBroken('contract', `reads element ${String(place)} outside a buffer`);
    return value;
  };
  const count = side.place.grid.capacity;
  const places = Float64Array.from({ length: count }, (_, position) => position);
  return () => {
    const array = allocateElements(node.accumulate, count);
    for (let position = 0; position < count; position += 1) {
      const point = { axes: coordinatesOf(axes, extents, side.batch.start * count + position), sizes, sites, load };
      writeElement(array, position, at(body.evaluate(point).results, 0));
    }
    return { array, dtype: node.accumulate, places };
  };
}

/** The point of `axes` at a row-major position. */
function coordinatesOf(axes: readonly Axis[], extents: readonly number[], position: number): Map<string, number> {
  const point = new Map<string, number>();
  let rest = position;
  for (let axis = axes.length - 1; axis >= 0; axis -= 1) {
    const extent = at(extents, axis);
    point.set(at(axes, axis).name, rest % extent);
    rest = Math.floor(rest / extent);
  }
  return point;
}

interface BatchPlace {
  readonly batch: Side;
  readonly place: Place;
  /** Finds the places for a point of the batch. */
  readonly move: (point: number) => void;
}

interface MatrixAxes {
  readonly batch: readonly Axis[];
  readonly rows: readonly Axis[];
  readonly columns: readonly Axis[];
}

function batchPlace(index: Index, axes: MatrixAxes, sizes: ReadonlyMap<string, number>): BatchPlace {
  const numbers = new Map([...freeSizes(index)].map((name) => [name, int(sizes.get(name) ?? 0)]));
  const fixed = substitute(index, numbers);
  const [batch, rows, columns] = [axes.batch, axes.rows, axes.columns].map((list) => new Side(list, sizes)) as [
    Side,
    Side,
    Side,
  ];
  Object.assign(rows, { count: rows.total });
  Object.assign(columns, { count: columns.total });
  const grid: Grid = { rows, columns, capacity: rows.total * columns.total };
  const outer = new Map(axes.batch.map(({ name }) => [name, int(0)]));
  const affine = affineOf(substitute(fixed, outer), grid);
  const zeros = new Map([...rows.names, ...columns.names].map((name) => [name, int(0)]));
  const start = affineOf(substitute(fixed, zeros), { rows: batch, columns: new Side([], sizes), capacity: 1 });
  if (affine === undefined || start === undefined) throw lawBroken('contract', 'operands must be affine in their axes');
  const inner = new AffineCursor(grid, { ...affine, base: 0 });
  const places = new Float64Array(grid.capacity);
  const move = (point: number): void => {
    batch.start = point;
    const base = start.base + batch.first(start.rowStrides);
    inner.fill(places);
    for (let k = 0; k < places.length; k += 1) places[k] = (places[k] ?? 0) + base;
  };
  return { batch, place: { grid, cursor: inner, at: places }, move };
}

interface Source {
  readonly array: ElementArray;
  readonly dtype: DType;
  readonly places: Float64Array;
}

function dense<M extends Matrix>({ array, dtype, places }: Source, into: M): M {
  const decode = bitDecoders[dtype];
  for (let k = 0; k < places.length; k += 1) {
    const raw = array[places[k] ?? 0] as number;
    into[k] = decode === undefined ? raw : decode(raw);
  }
  return into;
}

const asNumbers = ({ array, dtype, places }: Source): Float64Array => {
  const into = new Float64Array(places.length);
  if (dtype !== 'i64') return dense({ array, dtype, places }, into);
  for (let k = 0; k < places.length; k += 1) into[k] = Number(array[places[k] ?? 0]);
  return into;
};

function multiply(a: Source, b: Source, { extents, accumulate }: { extents: Extents; accumulate: DType }): Matrix {
  if (isFloat(accumulate)) return multiplyNumbers(asNumbers(a), asNumbers(b), extents);
  const [left, right] = [asNumbers(a), asNumbers(b)];
  const largest = (values: Float64Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const isExact = largest(left) * largest(right) * extents.k < 2 ** 53;
  if (isExact) return multiplyNumbers(left, right, extents);
  if (accumulate !== 'i64') return multiplyWords(Int32Array.from(left), Int32Array.from(right), extents);
  const bigints = (source: Source): BigInt64Array =>
    source.dtype === 'i64'
      ? dense(source, new BigInt64Array(source.places.length))
      : BigInt64Array.from(asNumbers(source), BigInt);
  return multiplyBigints(bigints(a), bigints(b), extents);
}

const columnsPerBlock = 512;
const rowsPerBlock = 128;

/**
 * Four rows of b at a time, for the columns and rows of a block. What a block comes to is added with what rounding loses of it, so that
 * the error of a sum is that of one block, however many there are.
 */
function multiplyNumbers(a: Float64Array, b: Float64Array, { m, n, k }: Extents): Float64Array {
  const c = new Float64Array(m * n);
  const lost = new Float64Array(k > rowsPerBlock ? m * n : 0);
  const sums = new Float64Array(Math.min(n, columnsPerBlock));
  for (let j0 = 0; j0 < n; j0 += columnsPerBlock) {
    const j1 = Math.min(n, j0 + columnsPerBlock);
    for (let p0 = 0; p0 < k; p0 += rowsPerBlock) {
      const block = { n, k, j0, j1, p0, p1: Math.min(k, p0 + rowsPerBlock) };
      for (let i = 0; i < m; i += 1) {
        multiplyBlock(a, b, { sums, i, ...block });
        addBlock(c, sums, { lost, from: i * n + j0, count: j1 - j0 });
      }
    }
  }
  // What was lost beside an infinity is no number.
  lost.forEach((rest, place) => {
    if (Number.isFinite(rest)) c[place] = (c[place] ?? 0) + rest;
  });
  return c;
}

/** Adds the sums of a block, and clears them. */
function addBlock(
  c: Float64Array,
  sums: Float64Array,
  { lost, from, count }: { readonly lost: Float64Array; readonly from: number; readonly count: number },
): void {
  for (let j = 0; j < count; j += 1) {
    const [sum, more] = [c[from + j] ?? 0, sums[j] ?? 0];
    const next = sum + more;
    const added = next - sum;
    if (lost.length > 0) lost[from + j] = (lost[from + j] ?? 0) + (sum - (next - added) + (more - added));
    c[from + j] = next;
    sums[j] = 0;
  }
}

interface Block {
  readonly sums: Float64Array;
  readonly i: number;
  readonly n: number;
  readonly k: number;
  readonly j0: number;
  readonly j1: number;
  readonly p0: number;
  readonly p1: number;
}

/** Adds the products of a chunk of row i of `a` with a block of `b` to the sums of its columns. Reads are in bounds by construction. */
/* eslint-disable @typescript-eslint/non-nullable-type-assertion-style -- a default for each read would cost time here */
function multiplyBlock(a: Float64Array, b: Float64Array, { sums, i, n, k, j0, j1, p0, p1 }: Block): void {
  const row = i * k;
  let p = p0;
  for (; p + 4 <= p1; p += 4) {
    const [x0, x1] = [a[row + p] as number, a[row + p + 1] as number];
    const [x2, x3] = [a[row + p + 2] as number, a[row + p + 3] as number];
    const [r0, r1, r2, r3] = [p * n, (p + 1) * n, (p + 2) * n, (p + 3) * n];
    for (let j = j0; j < j1; j += 1) {
      const low = x0 * (b[r0 + j] as number) + x1 * (b[r1 + j] as number);
      const high = x2 * (b[r2 + j] as number) + x3 * (b[r3 + j] as number);
      sums[j - j0] = (sums[j - j0] as number) + (low + high);
    }
  }
  for (; p < p1; p += 1) {
    const x = a[row + p] as number;
    for (let j = j0; j < j1; j += 1) sums[j - j0] = (sums[j - j0] as number) + x * (b[p * n + j] as number);
  }
}
/* eslint-enable @typescript-eslint/non-nullable-type-assertion-style */

function multiplyWords(a: Int32Array, b: Int32Array, { m, n, k }: Extents): Int32Array {
  const c = new Int32Array(m * n);
  for (let i = 0; i < m; i += 1) {
    for (let p = 0; p < k; p += 1) {
      const x = a[i * k + p] ?? 0;
      for (let j = 0; j < n; j += 1) c[i * n + j] = ((c[i * n + j] ?? 0) + Math.imul(x, b[p * n + j] ?? 0)) | 0;
    }
  }
  return c;
}

function multiplyBigints(a: BigInt64Array, b: BigInt64Array, { m, n, k }: Extents): BigInt64Array {
  const c = new BigInt64Array(m * n);
  for (let i = 0; i < m; i += 1) {
    for (let p = 0; p < k; p += 1) {
      const x = a[i * k + p] ?? 0n;
      for (let j = 0; j < n; j += 1) c[i * n + j] = BigInt.asIntN(64, (c[i * n + j] ?? 0n) + x * (b[p * n + j] ?? 0n));
    }
  }
  return c;
}

function store({ array, dtype, places }: Source, values: Matrix): void {
  const encode = bitEncoders[dtype];
  const isWhole = !isFloat(dtype);
  for (let k = 0; k < places.length; k += 1) {
    const value = values[k] ?? 0;
    const wrapped = isWhole ? wrapToDType(value, dtype) : value;
    writeElement(array, places[k] ?? 0, encode === undefined ? wrapped : encode(Number(wrapped)));
  }
}
