// Products of tiles by the matrix instructions of a warp. Both factors lie in shared memory, swizzled in granules of 16 bytes;
// each warp has a part of the result, fragment by fragment in registers. Sums are f32; products of a statement are summed
// before they are added, so the order differs from the definition's, within its bound.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, allTileNodes, floorDivide, int, modulo, multiply, warpThreads } from '@tsinductor/ir';
import type { Index, Value } from '@tsinductor/ir';
import type { BlockBinder, SharedTile } from './block-binder.ts';
import type { Dot } from './bind-dot.ts';
import { elementAt, evaluateTile, evaluationAt, sharedPlace } from './evaluate-tile.ts';
import { fragmentColumns, fragmentLayout, fragmentRows, warpGrid } from './layout.ts';
import { copyToShared, prepare } from './move-tiles.ts';

/** Bytes that one row of a loaded matrix has, and that an asynchronous copy moves at most. */
const granuleBytes = 16;

export const granuleOf = (dtype: DType): number => granuleBytes / dtypeInfo[dtype].bytes;

/** The inner extent of one multiplication, where instructions multiply elements of this dtype at this precision. */
function depthOf(dtype: DType, precision: 'ieee' | 'tf32'): number | undefined {
  if (dtype === 'f16' || dtype === 'bf16') return 16;
  return dtype === 'f32' && precision === 'tf32' ? 8 : undefined;
}

/** Whether whole fragments make up a product, in a dtype that has instructions. */
export function isMatrixDot(node: Dot, binder: BlockBinder): boolean {
  const { dtype, shape } = binder.tile(at(node.args, 0));
  const [rows, columns] = at(node.results, 0).shape as [number, number];
  const depth = depthOf(dtype, node.attrs.precision);
  const isWhole = rows % fragmentRows === 0 && columns % (2 * fragmentColumns) === 0;
  return depth !== undefined && isWhole && at(shape, 1) % depth === 0;
}

/** Lets tiles of a product's shape be held as its fragments are, so that sums go round without moving. */
export function chooseFragments(binder: BlockBinder): void {
  for (const node of allTileNodes(binder.program.body)) {
    if (node.kind !== 'op' || node.op !== 'dot' || !isMatrixDot(node, binder)) continue;
    const shape = at(node.results, 0).shape as [number, number];
    const layout = fragmentLayout(shape, { thread: binder.thread, threads: binder.threads });
    binder.chosen.set(shape.join(' '), layout);
  }
}

interface Product {
  readonly binder: BlockBinder;
  readonly dtype: DType;
  readonly left: SharedTile;
  readonly right: SharedTile;
  readonly lane: Index;
}

export function bindMatrixDot(node: Dot, binder: BlockBinder): void {
  const result = at(node.results, 0);
  const shape = result.shape as [number, number];
  const layout = binder.layoutFor(shape);
  const { dtype, shape: leftShape } = binder.tile(at(node.args, 0));
  const granule = granuleOf(dtype);
  const [left, right] = [
    copyToShared(at(node.args, 0), binder, granule),
    copyToShared(at(node.args, 1), binder, granule),
  ];
  const name = sumsOf(node, binder);
  const grid = warpGrid(shape, { thread: binder.thread, threads: binder.threads });
  const product: Product = { binder, dtype, left, right, lane: modulo(binder.thread, int(warpThreads)) };
  const step = depthOf(dtype, node.attrs.precision) ?? 1;
  const depth = at(leftShape, 1);
  const k = binder.writer.fresh('k');
  const inner: Index = { kind: 'axis', axis: { name: k, extent: int(depth) } };
  const body = binder.writer.block([k], () => {
    const rows = Array.from({ length: grid.rows }, (_, row) =>
      leftFragment(product, add(grid.row, int(row * fragmentRows)), inner),
    );
    const columns = Array.from({ length: grid.columns / 2 }, (_, pair) =>
      rightFragments(product, inner, add(grid.column, int(pair * 2 * fragmentColumns))),
    ).flat();
    rows.forEach((leftWords, row) => {
      columns.forEach((rightWords, column) => {
        const sum = { buffer: name, at: int((row * grid.columns + column) * 4) };
        binder.writer.emit({ kind: 'matrixMultiply', dtype, left: leftWords, right: rightWords, sum });
      });
    });
  });
  binder.writer.emit({ kind: 'for', name: k, from: int(0), to: int(depth), step, body });
  binder.homes.set(result.id, { kind: 'registers', name, layout });
  binder.notes.add(`products of ${dtype === 'f32' ? 'tf32' : dtype} by matrix instructions`);
}

/** The array of sums: that of what is added to, where nobody else wants it, or one that begins with its elements. */
function sumsOf(node: Dot, binder: BlockBinder): string {
  const { id, shape } = at(node.results, 0);
  const layout = binder.layoutFor(shape);
  const start = node.args[2];
  const home = start === undefined ? undefined : binder.home(start);
  if (
    start !== undefined &&
    home?.kind === 'registers' &&
    home.layout.key === layout.key &&
    binder.uses.get(start) === 1
  )
    return home.name;
  if (start !== undefined) prepare([start], layout, binder);
  const name = binder.registers(id, layout);
  binder.overRegisters(layout, (register) => {
    const zero: Value = { kind: 'constant', value: 0, type: { dtype: 'f32', lanes: 1 } };
    const value =
      start === undefined
        ? zero
        : evaluateTile(start, layout.coordinates(register), evaluationAt(binder, { layout, register }));
    binder.writer.emit({ kind: 'store', access: elementAt(name, register, 'f32'), value });
  });
  return name;
}

/**
 * Four matrices of 8 x 8: those of 16 rows and 16 columns from a corner, by columns of matrices. A lane names a row of one of them as
 * it is stored; of a turned tile that is a column.
 */
function loadMatrices(
  { binder, dtype, lane }: Product,
  from: SharedTile,
  { corner, areColumns }: { readonly corner: readonly [Index, Index]; readonly areColumns: boolean },
): readonly Value[] {
  const isTurned = from.isTurned === true;
  const [half, ofHalf] = [floorDivide(lane, int(16)), modulo(lane, int(16))];
  const [row, column] = isTurned
    ? [multiply(floorDivide(ofHalf, int(8)), int(8)), add(multiply(half, int(8)), modulo(lane, int(8)))]
    : [ofHalf, multiply(half, int(8))];
  const place = sharedPlace(from, [add(corner[0], row), add(corner[1], column)], binder);
  const transposed = areColumns !== isTurned;
  const names = Array.from({ length: 4 }, () => binder.writer.fresh(areColumns ? 'right' : 'left'));
  binder.writer.emit({ kind: 'matrixLoad', names, dtype, from: { buffer: from.name, at: place }, transposed });
  return names.map((name): Value => ({ kind: 'name', name, type: { dtype: 'i32', lanes: 1 } }));
}

function word({ binder, dtype }: Product, from: SharedTile, coordinates: readonly Index[]): Value {
  const access = elementAt(from.name, sharedPlace(from, coordinates, binder), dtype);
  const value = binder.name({ kind: 'load', access, type: { dtype, lanes: 1 } }, `${from.name}_at`);
  return binder.name({ kind: 'bitcast', value, type: { dtype: 'i32', lanes: 1 } }, 'word');
}

function leftFragment(product: Product, row: Index, k: Index): readonly Value[] {
  const { dtype, left, lane } = product;
  if (dtype !== 'f32') return loadMatrices(product, left, { corner: [row, k], areColumns: false });
  const [g, t] = [floorDivide(lane, int(4)), modulo(lane, int(4))];
  return [0, 1, 2, 3].map((slot) =>
    word(product, left, [add(add(row, g), int((slot % 2) * 8)), add(add(k, t), int(Math.floor(slot / 2) * 4))]),
  );
}

/** The fragments of two neighbouring groups of eight columns. */
function rightFragments(product: Product, k: Index, column: Index): readonly (readonly Value[])[] {
  const { dtype, right, lane } = product;
  if (dtype !== 'f32') {
    const words = loadMatrices(product, right, { corner: [k, column], areColumns: true });
    return [words.slice(0, 2), words.slice(2)];
  }
  const [g, t] = [floorDivide(lane, int(4)), modulo(lane, int(4))];
  return [0, 1].map((part) =>
    [0, 1].map((slot) =>
      word(product, right, [add(add(k, t), int(slot * 4)), add(add(column, g), int(part * fragmentColumns))]),
    ),
  );
}
