// Index expressions over all points of a grid: affine ones as lines or sums of two parts, others node by node.
import type { Index } from '../index-expr.ts';
import type { ScalarId } from '../scalar.ts';
import { remainder } from '../arithmetic/evaluate.ts';
import { lawBroken } from '../errors.ts';
import { printIndex } from '../print/print-index.ts';
import { AffineCursor, affineOf, pointCount } from './grid.ts';
import type { Grid } from './grid.ts';
import type { Places } from './vector-memory.ts';

interface Line {
  readonly start: number;
  readonly step: number;
}

/** An index, evaluated anew for every range of the grid. */
export interface IndexVector {
  /** Where the points lie; the array of `each` is the vector's own, valid until the next call. */
  places(): Places;
  /** Where the first point lies, and how far each is from the one before, where that is the same for all. */
  line(): Line | undefined;
  /** The value at each point. */
  fill(out: Float64Array): void;
}

interface IndexContext {
  readonly grid: Grid;
  /** The values of a loaded index. */
  readonly indirect: (value: ScalarId) => Float64Array;
}

/** `index`, whose sizes are numbers already. */
export function indexVector(index: Index, context: IndexContext): IndexVector {
  const { grid } = context;
  const values = new Float64Array(grid.capacity);
  const affine = affineOf(index, grid);
  if (affine === undefined) {
    const fill = compile(index, context);
    return {
      fill,
      line: () => undefined,
      places: () => (fill(values), { kind: 'each', at: values, count: pointCount(grid) }),
    };
  }
  const cursor = new AffineCursor(grid, affine);
  return {
    fill: (out) => cursor.fill(out),
    line: () => cursor.line(),
    places: () => {
      const line = cursor.line();
      const count = pointCount(grid);
      if (line !== undefined) return { kind: 'line', ...line, count };
      cursor.fill(values);
      return { kind: 'each', at: values, count };
    },
  };
}

type Fill = (out: Float64Array) => void;

function compile(index: Index, context: IndexContext): Fill {
  const { grid } = context;
  const affine = affineOf(index, grid);
  if (affine !== undefined) {
    const cursor = new AffineCursor(grid, affine);
    return (out) => cursor.fill(out);
  }
  switch (index.kind) {
    case 'int':
    case 'size':
    case 'axis':
      throw lawBroken(printIndex(index), 'names an axis that the node does not have');
    case 'indirect': {
      const source = context.indirect(index.value);
      return (out) => out.set(source.subarray(0, pointCount(grid)));
    }
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return index.items
        .map((item) => compile(item, context))
        .reduce((a, b) => combine(a, b, { kind: index.kind, grid }));
    case 'floorDiv':
    case 'mod':
      return combine(compile(index.dividend, context), compile(index.divisor, context), { kind: index.kind, grid });
  }
}

type Combined = 'sum' | 'product' | 'min' | 'max' | 'floorDiv' | 'mod';

function combine(left: Fill, right: Fill, { kind, grid }: { kind: Combined; grid: Grid }): Fill {
  const other = new Float64Array(grid.capacity);
  const loop = loops[kind];
  return (out) => {
    left(out);
    right(other);
    loop(out, other, pointCount(grid));
  };
}

const loops: Readonly<Record<Combined, (a: Float64Array, b: Float64Array, count: number) => void>> = {
  sum: (a, b, count) => {
    for (let k = 0; k < count; k += 1) a[k] = (a[k] ?? 0) + (b[k] ?? 0);
  },
  product: (a, b, count) => {
    for (let k = 0; k < count; k += 1) a[k] = (a[k] ?? 0) * (b[k] ?? 0);
  },
  min: (a, b, count) => {
    for (let k = 0; k < count; k += 1) a[k] = Math.min(a[k] ?? 0, b[k] ?? 0);
  },
  max: (a, b, count) => {
    for (let k = 0; k < count; k += 1) a[k] = Math.max(a[k] ?? 0, b[k] ?? 0);
  },
  floorDiv: (a, b, count) => {
    for (let k = 0; k < count; k += 1) a[k] = Math.floor((a[k] ?? 0) / (b[k] ?? 1));
  },
  mod: (a, b, count) => {
    for (let k = 0; k < count; k += 1) a[k] = remainder(a[k] ?? 0, b[k] ?? 1);
  },
};
