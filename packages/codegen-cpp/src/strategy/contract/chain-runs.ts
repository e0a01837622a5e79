// Which columns of a block of rows a chain of products computes, where a table says of blocks whether they count (`BlockTable` of
// codegen): runs of blocks that count for any of the rows, in whole panels of the first product, within the bounds that a mask has
// besides. In: the mask of a chain, and a block of rows. Out: statements that find the runs, and where they are.
import { named, staticValue } from '@tsinductor/codegen';
import type { BlockTable, ColumnBounds } from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, maximum, minimum, multiply, subtract } from '@tsinductor/ir';
import type { Condition, Index, Value } from '@tsinductor/ir';
import { scalarLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import type { Runs } from '../write/runs.ts';
import type { BlockOfRows, Masked } from './chain-columns.ts';
import { whereFinite } from './chain-finite.ts';
import { placeAt } from './operands.ts';

const type = { dtype: 'i64', lanes: 1 } as const;
const valueOf = (value: Index): Value => ({ kind: 'index', value, type });

/** The runs of columns that count for a block of rows; undefined: there is no table, or a product by 0 may be other than 0. */
export function runsFor(nest: Nest, { chain, first, finite }: Masked, { point, range }: BlockOfRows): Runs | undefined {
  const bounds = chain.mask?.bounds;
  if (bounds?.table === undefined || finite === undefined) return undefined;
  const { extent } = first.oriented.n;
  const panels: Panels = { extent, width: first.plan.vectors * first.plan.lanes };
  const list = new RunList(nest, staticValue(bounds.table.columns.axis.extent) ?? 1, extent);
  findRuns(nest, { list, panels, bounds, table: bounds.table }, { point, range });
  // A row that has no blocks has columns all the same: what its softmax is follows from them.
  when(nest, { kind: 'equal', left: list.count.value, right: int(0) }, () => {
    list.putOne(startOf(panels, subtract(extent, int(1))), extent);
  });
  const axis = { name: 'all_columns', extent: int(2) };
  const isAll = whereFinite(nest, finite, { point, ifFinite: int(0), otherwise: int(1), axis });
  when(nest, { kind: 'equal', left: isAll, right: int(1) }, () => {
    list.putOne(int(0), extent);
  });
  const all = staticValue(extent);
  const isWhole = all !== undefined && all % panels.width === 0;
  return { buffer: list.buffer, count: list.count.value, multiples: [panels.width, isWhole ? panels.width : 1] };
}

/** Columns in panels. */
interface Panels {
  readonly extent: Index;
  readonly width: number;
}

/** Where the panel of a column begins, and where that of the column before it ends. */
const startOf = ({ width }: Panels, column: Index): Index => multiply(floorDivide(column, int(width)), int(width));
const endOf = ({ width, extent }: Panels, column: Index): Index =>
  minimum(multiply(ceilDivide(column, int(width)), int(width)), extent);

interface Finding {
  readonly list: RunList;
  readonly panels: Panels;
  readonly bounds: Pick<ColumnBounds, 'ahead' | 'behind'>;
  readonly table: BlockTable;
}

/** Adds the blocks that count, one after another; neighbours are one run. */
function findRuns(nest: Nest, { list, panels, bounds, table }: Finding, { point, range }: BlockOfRows): void {
  const { ahead, behind } = bounds;
  const least = behind === undefined ? int(0) : startOf(panels, maximum(subtract(range.from, int(behind)), int(0)));
  const most = ahead === undefined ? panels.extent : endOf(panels, add(range.to, int(ahead)));
  const { axis, size } = table.columns;
  scalarLoop(nest, wholeRange(axis), (column) => {
    const used = isUsed(nest, table, { point, range, column });
    const start = multiply(column, int(size));
    const from = maximum(startOf(panels, start), least);
    const to = minimum(endOf(panels, add(start, int(size))), most);
    when(nest, { kind: 'less', left: from, right: multiply(used, to) }, () => {
      list.add(from, to);
    });
  });
}

function when(nest: Nest, test: Condition, then: () => void): void {
  nest.writer.emit({ kind: 'if', test, then: nest.writer.block([], then) });
}

/** Runs in scratch, as statements write them. */
class RunList {
  readonly buffer: string;
  readonly count: Counter;
  /** Where the last run ends, plus one; 0 before the first run. */
  readonly #after: Counter;
  readonly #nest: Nest;

  constructor(nest: Nest, most: number, extent: Index) {
    this.#nest = nest;
    this.buffer = nest.writer.fresh('runs');
    nest.writer.emit({ kind: 'scratch', name: this.buffer, dtype: 'i64', size: 2 * most });
    this.count = new Counter(nest, 'run_count', int(most + 1));
    this.#after = new Counter(nest, 'runs_end', add(extent, int(2)));
  }

  /** Behind those that are there, or as a part of the last. */
  add(from: Index, to: Index): void {
    const { count } = this;
    when(this.#nest, { kind: 'less', left: this.#after.value, right: add(from, int(1)) }, () => {
      this.#put(multiply(count.value, int(2)), from);
      count.set(add(count.value, int(1)));
    });
    this.#put(subtract(multiply(count.value, int(2)), int(1)), to);
    this.#after.set(add(to, int(1)));
  }

  /** In the place of all others. */
  putOne(from: Index, to: Index): void {
    this.#put(int(0), from);
    this.#put(int(1), to);
    this.count.set(int(1));
  }

  #put(at: Index, value: Index): void {
    const access = { buffer: this.buffer, at, step: int(0), align: 8 };
    this.#nest.writer.emit({ kind: 'store', access, value: valueOf(value) });
  }
}

/** A number that statements change. */
class Counter {
  readonly value: Index;
  readonly #nest: Nest;
  readonly #name: string;

  /** 0 at first, and always below `extent`. */
  constructor(nest: Nest, base: string, extent: Index) {
    this.#nest = nest;
    this.#name = nest.writer.fresh(base);
    this.value = named(this.#name, extent);
    nest.writer.emit({ kind: 'var', name: this.#name, value: valueOf(int(0)) });
  }

  set(value: Index): void {
    this.#nest.writer.emit({ kind: 'set', name: this.#name, value: valueOf(value) });
  }

  /** Becomes 1 where a value is true. */
  mark(isSo: Value): void {
    const args = [isSo, valueOf(int(1)), { kind: 'name' as const, name: this.#name, type }];
    this.#nest.writer.emit({ kind: 'set', name: this.#name, value: { kind: 'apply', op: 'where', args, type } });
  }
}

interface InTable extends BlockOfRows {
  /** The number of a block of columns. */
  readonly column: Index;
}

/** 1 where a block of columns counts for any of the rows, else 0. */
function isUsed(nest: Nest, { buffer, at, rows, columns }: BlockTable, { point, range, column }: InTable): Index {
  const used = new Counter(nest, 'used', int(2));
  const look = (row: Index): void => {
    const place = new Map([[columns.axis.name, column], ...(rows ? [[rows.axis.name, row] as const] : [])]);
    const access = {
      buffer: nest.memory.parameter(buffer).name,
      at: placeAt(at, { batch: point }, place),
      step: int(0),
      align: 1,
    };
    used.mark({ kind: 'load', type: { dtype: 'bool', lanes: 1 }, access });
  };
  if (rows === undefined) look(int(0));
  else {
    const size = int(rows.size);
    scalarLoop(nest, { axis: rows.axis, from: floorDivide(range.from, size), to: ceilDivide(range.to, size) }, look);
  }
  return used.value;
}
