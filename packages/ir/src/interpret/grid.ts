// The points that the vector interpreter evaluates at once: rows times columns, where rows and columns each run over a
// contiguous range of the row-major points of some axes (a Side). Point k is row k / columns, column k % columns.
// A map has one row; a reduction has its positions as rows and its outputs as columns.
import { at } from '@tsinductor/base';
import { coefficientOf } from '../arithmetic/linear-form.ts';
import { freeIndirects } from '../arithmetic/query.ts';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { int } from '../arithmetic/polynomial.ts';
import { substitute } from '../arithmetic/substitute.ts';
import type { Axis, Index } from '../index-expr.ts';

export type Sizes = ReadonlyMap<string, number>;

export class Side {
  readonly names: readonly string[];
  readonly extents: readonly number[];
  /** Points in all. */
  readonly total: number;
  start = 0;
  count = 0;

  constructor(axes: readonly Axis[], sizes: Sizes) {
    this.names = axes.map(({ name }) => name);
    this.extents = axes.map(({ extent }) => evaluateIndex(extent, { sizes }));
    this.total = this.extents.reduce((product, extent) => product * extent, 1);
  }

  /** The step from one point to the next where it is the same for all of `start .. start + count`. */
  uniformStep(strides: readonly number[]): number | undefined {
    const last = this.extents.length - 1;
    if (last < 0) return 0;
    const inner = at(this.extents, last);
    if (this.count <= inner - (this.start % inner)) return at(strides, last);
    return this.flatStride(strides);
  }

  /** The stride with which the flattened axes step, where they step like one axis. */
  flatStride(strides: readonly number[]): number | undefined {
    let flat: number | undefined;
    let step = 0;
    for (let axis = this.extents.length - 1; axis >= 0; axis -= 1) {
      const [extent, stride] = [at(this.extents, axis), at(strides, axis)];
      if (extent === 1) continue;
      flat ??= stride;
      if (step === 0 ? stride !== flat : stride !== step) return undefined;
      step = stride * extent;
    }
    return flat ?? 0;
  }

  /** The sum of coordinate times stride, for the point `start`. */
  first(strides: readonly number[]): number {
    let [rest, total] = [this.start, 0];
    for (let axis = this.extents.length - 1; axis >= 0; axis -= 1) {
      const extent = at(this.extents, axis);
      total += (rest % extent) * at(strides, axis);
      rest = Math.floor(rest / extent);
    }
    return total;
  }

  /** The sums for all points of the range. */
  fill(strides: readonly number[], out: Float64Array): void {
    const last = this.extents.length - 1;
    const [inner, step] = last < 0 ? [1, 0] : [at(this.extents, last), at(strides, last)];
    const coordinates = this.#coordinates();
    let position = this.first(strides);
    let run = inner - (coordinates[last] ?? 0);
    for (let k = 0; k < this.count;) {
      const end = Math.min(this.count, k + run);
      for (; k < end; k += 1, position += step) out[k] = position;
      position += this.#carry(coordinates, strides) - inner * step;
      run = inner;
    }
  }

  #coordinates(): number[] {
    const coordinates = this.extents.map(() => 0);
    let rest = this.start;
    for (let axis = this.extents.length - 1; axis >= 0; axis -= 1) {
      coordinates[axis] = rest % at(this.extents, axis);
      rest = Math.floor(rest / at(this.extents, axis));
    }
    return coordinates;
  }

  /** Moves to the start of the next run of the innermost axis; returns what that adds. */
  #carry(coordinates: number[], strides: readonly number[]): number {
    let added = 0;
    for (let axis = coordinates.length - 2; axis >= 0; axis -= 1) {
      const next = at(coordinates, axis) + 1;
      added += at(strides, axis);
      if (next < at(this.extents, axis)) {
        coordinates[axis] = next;
        return added;
      }
      coordinates[axis] = 0;
      added -= next * at(strides, axis);
    }
    return added;
  }
}

export interface Grid {
  readonly rows: Side;
  readonly columns: Side;
  /** The most points that are evaluated at once. */
  readonly capacity: number;
}

export const pointCount = ({ rows, columns }: Grid): number => rows.count * columns.count;

/** An index that is a constant plus multiples of axes, in numbers. */
interface Affine {
  readonly base: number;
  readonly rowStrides: readonly number[];
  readonly columnStrides: readonly number[];
}

/** The affine form of `index` over the axes of the grid, or undefined where it has none. Sizes are numbers already. */
export function affineOf(index: Index, { rows, columns }: Grid): Affine | undefined {
  if (freeIndirects(index).size > 0) return undefined;
  const strides = (names: readonly string[]): readonly (number | undefined)[] =>
    names.map((name) => {
      const stride = coefficientOf(index, name);
      return stride?.kind === 'int' ? stride.value : undefined;
    });
  const [rowStrides, columnStrides] = [strides(rows.names), strides(columns.names)];
  if (!isComplete(rowStrides) || !isComplete(columnStrides)) return undefined;
  const zeros = new Map([...rows.names, ...columns.names].map((name) => [name, int(0)]));
  const base = substitute(index, zeros);
  return base.kind === 'int' ? { base: base.value, rowStrides, columnStrides } : undefined;
}

const isComplete = (strides: readonly (number | undefined)[]): strides is readonly number[] =>
  !strides.includes(undefined);

/** The values of an affine index at all points of a grid, in pieces that are found anew for every range. */
export class AffineCursor {
  readonly #grid: Grid;
  readonly #affine: Affine;
  readonly #rows: Float64Array;
  readonly #columns: Float64Array;

  constructor(grid: Grid, affine: Affine) {
    this.#grid = grid;
    this.#affine = affine;
    this.#rows = new Float64Array(Math.min(grid.capacity, grid.rows.total));
    this.#columns = new Float64Array(Math.min(grid.capacity, grid.columns.total));
  }

  /** Start and step, where all points lie on one line. */
  line(): { readonly start: number; readonly step: number } | undefined {
    const { rows, columns } = this.#grid;
    const { base, rowStrides, columnStrides } = this.#affine;
    const start = base + rows.first(rowStrides) + columns.first(columnStrides);
    const row = rows.count === 1 ? 0 : rows.uniformStep(rowStrides);
    const column = columns.count === 1 ? 0 : columns.uniformStep(columnStrides);
    if (row === undefined || column === undefined) return undefined;
    if (rows.count === 1) return { start, step: column };
    if (columns.count === 1) return { start, step: row };
    return row === column * columns.count ? { start, step: column } : undefined;
  }

  /** The values at all points. */
  fill(out: Float64Array): void {
    const { rows, columns } = this.#grid;
    const { base, rowStrides, columnStrides } = this.#affine;
    if (rows.count === 1) {
      columns.fill(columnStrides, out);
      const offset = base + rows.first(rowStrides);
      if (offset !== 0) for (let k = 0; k < columns.count; k += 1) out[k] = (out[k] ?? 0) + offset;
      return;
    }
    rows.fill(rowStrides, this.#rows);
    columns.fill(columnStrides, this.#columns);
    let k = 0;
    for (let row = 0; row < rows.count; row += 1) {
      const offset = base + (this.#rows[row] ?? 0);
      for (let column = 0; column < columns.count; column += 1) out[k++] = offset + (this.#columns[column] ?? 0);
    }
  }
}
