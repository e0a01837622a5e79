// A table that says of blocks of rows and columns whether any column of one counts for a row of it, as the block masks of attention do
// (PyTorch's BlockMask). In: a node between two products. Out: where the table is read, by numbers of blocks.
import {
  axisIndex,
  add,
  ceilDivide,
  divisorsOf,
  equal,
  freeAxes,
  hasIndirects,
  multiply,
  substitute,
} from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, Scalar } from '@tsinductor/ir';

/** A loop over blocks of an axis, and how many points a block has. */
interface BlockAxis {
  readonly axis: Axis;
  readonly size: number;
}

export interface BlockTable {
  readonly buffer: BufferId;
  /** Where the element of a block is: over the batch, and `rows` and `columns` as numbers of blocks. */
  readonly at: Index;
  /** Undefined: all rows share one row of blocks. */
  readonly rows: BlockAxis | undefined;
  readonly columns: BlockAxis;
}

/** Narrower blocks cost more to look at than they save. */
const leastColumns = 16;

type Load = Scalar & { readonly kind: 'load' };

interface Grid {
  readonly rows: Axis;
  readonly columns: Axis;
}

/** The first boolean in a body that is the same for all of a block's rows and columns; `isOwn`: of buffers that others fill. */
export function blockTableIn(body: Body, grid: Grid, isOwn: (buffer: BufferId) => boolean): BlockTable | undefined {
  const tables = body.nodes.map((scalar) =>
    isBoolean(scalar) && !isOwn(scalar.buffer) ? tableOf(scalar, grid) : undefined,
  );
  return tables.find((table) => table !== undefined);
}

/** Whether a value is the element of a table for this very row and column. */
export function isOfTable(load: Load, table: BlockTable, grid: Grid): boolean {
  const own = isBoolean(load) && load.buffer === table.buffer ? tableOf(load, grid) : undefined;
  return own !== undefined && equal(own.at, table.at) && own.rows?.size === table.rows?.size;
}

const isBoolean = (scalar: Scalar): scalar is Load =>
  scalar.kind === 'load' && scalar.dtype === 'bool' && scalar.mask === undefined;

function tableOf({ buffer, at }: Load, { rows, columns }: Grid): BlockTable | undefined {
  if (hasIndirects(at)) return undefined;
  const byColumn = inBlocks(at, columns, 'column_block');
  if (byColumn === undefined || byColumn.size < leastColumns) return undefined;
  const { at: place, ...column } = byColumn;
  if (!freeAxes(place).has(rows.name)) return { buffer, at: place, rows: undefined, columns: column };
  const byRow = inBlocks(place, rows, 'row_block');
  if (byRow === undefined) return undefined;
  const { at: both, ...row } = byRow;
  return { buffer, at: both, rows: row, columns: column };
}

/** A place by the number of a block of an axis, where all points of a block share it. */
function inBlocks(at: Index, own: Axis, name: string): (BlockAxis & { readonly at: Index }) | undefined {
  const [divisor, ...others] = divisorsOf(at, own);
  if (divisor?.kind !== 'int' || others.length > 0) return undefined;
  const axis = { name, extent: ceilDivide(own.extent, divisor) };
  const within = { name: 'within', extent: divisor };
  const point = add(multiply(axisIndex(axis), divisor), axisIndex(within));
  const place = substitute(at, new Map([[own.name, point]]));
  return freeAxes(place).has(within.name) ? undefined : { at: place, axis, size: divisor.value };
}
