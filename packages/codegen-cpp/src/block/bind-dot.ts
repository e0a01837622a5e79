// Matrix products: both factors in scratch, a register tile of named accumulators (rows times vectors), and for ascending k
// one fused multiply-add for each. The sum stays in memory between tiles of k, in place where nothing else reads it.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { widened, zeroOf } from '@tsinductor/codegen';
import { add, axisIndex, int, multiply } from '@tsinductor/ir';
import type { Access, Index, TileId, TileOp, Value } from '@tsinductor/ir';
import { lanesFor } from '../machine/isa.ts';
import type { Binder } from './binder.ts';
import { emitFor } from './element-loop.ts';
import { copyTile, fillScratch, keepTile } from './keep-tiles.ts';

interface Product {
  readonly binder: Binder;
  readonly a: { readonly name: string; readonly dtype: DType };
  readonly b: { readonly name: string; readonly dtype: DType };
  readonly sum: string;
  readonly dtype: DType;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly lanes: number;
  /** The register tile. */
  readonly tileRows: number;
  readonly tileVectors: number;
  /** Whether sums begin at what is in memory. */
  readonly accumulates: boolean;
}

export function bindDot(node: TileOp & { readonly op: 'dot' }, binder: Binder): void {
  const [left, right, initial] = [at(node.args, 0), at(node.args, 1), node.args[2]];
  const result = at(node.results, 0);
  const a = { name: keepTile(left, binder), dtype: binder.tile(left).dtype };
  const b = { name: keepTile(right, binder), dtype: binder.tile(right).dtype };
  const [rows, depth] = binder.tile(left).shape as [number, number];
  const columns = at(result.shape, 1);
  const sum = initial === undefined ? binder.scratch(result.id) : sumScratch(initial, result.id, binder);
  const { isa } = binder.target;
  const lanes = Math.min(columns, lanesFor(isa, dtypeInfo[result.dtype].bytes));
  const tileVectors = Math.min(columns / lanes, powerBelow(binder.choices.registerTiles[isa].vectors));
  const tileRows = Math.min(rows, powerBelow(binder.choices.registerTiles[isa].rows));
  const accumulates = initial !== undefined;
  writeProduct({
    binder,
    a,
    b,
    sum,
    dtype: result.dtype,
    rows,
    columns,
    depth,
    lanes,
    tileRows,
    tileVectors,
    accumulates,
  });
  binder.homes.set(result.id, { kind: 'scratch', name: sum });
}

const powerBelow = (count: number): number => 2 ** Math.floor(Math.log2(count));

/** Where the sum is kept: in the place of what it is added to, if this is the only use of that. */
function sumScratch(initial: TileId, result: TileId, binder: Binder): string {
  const isOnlyUse = binder.plan.get(initial)?.direct === 1;
  if (isOnlyUse && binder.ownsScratch(initial)) return keepTile(initial, binder);
  const home = binder.home(initial);
  if (home.kind !== 'scratch') return copyTile(initial, binder.tile(initial).shape, binder);
  const name = binder.scratch(result);
  fillScratch({ name, id: result, from: initial, shape: binder.tile(initial).shape }, binder);
  return name;
}

function writeProduct(product: Product): void {
  const { binder, rows, columns, lanes, tileRows, tileVectors } = product;
  const [row, column] = [binder.writer.fresh('m'), binder.writer.fresh('n')];
  const width = lanes * tileVectors;
  emitFor(binder, { name: row, from: int(0), to: int(rows), step: tileRows }, () => {
    emitFor(binder, { name: column, from: int(0), to: int(columns), step: width }, () => {
      writeRegisters(product, {
        row: axisIndex({ name: row, extent: int(rows) }),
        column: axisIndex({ name: column, extent: int(columns) }),
      });
    });
  });
}

interface Corner {
  readonly row: Index;
  readonly column: Index;
}

function writeRegisters(product: Product, { row, column }: Corner): void {
  const { binder, sum, dtype, columns, depth, lanes, tileRows, tileVectors, accumulates } = product;
  const type = { dtype, lanes };
  const place = (r: number, v: number): Access => ({
    buffer: sum,
    at: add(multiply(add(row, int(r)), int(columns)), add(column, int(v * lanes))),
    step: int(1),
    align: dtypeInfo[dtype].bytes,
  });
  const names = Array.from({ length: tileRows }, (_, r) =>
    Array.from({ length: tileVectors }, (_unused, v) => {
      const name = binder.writer.fresh(`c${String(r)}${String(v)}`);
      const value: Value = accumulates ? { kind: 'load', access: place(r, v), type } : widened(zeroOf(dtype), lanes);
      binder.writer.emit({ kind: 'var', name, value });
      return name;
    }),
  );
  const k = binder.writer.fresh('k');
  emitFor(binder, { name: k, from: int(0), to: int(depth), step: 1 }, () => {
    writeStep(product, { names, row, column, k: axisIndex({ name: k, extent: int(depth) }) });
  });
  names.forEach((line, r) => {
    line.forEach((name, v) => {
      binder.writer.emit({ kind: 'store', access: place(r, v), value: { kind: 'name', name, type } });
    });
  });
}

interface Step extends Corner {
  readonly names: readonly (readonly string[])[];
  readonly k: Index;
}

function writeStep(product: Product, { names, row, column, k }: Step): void {
  const { binder, a, b, dtype, columns, depth, lanes } = product;
  const load = (
    { name, dtype: from }: { name: string; dtype: DType },
    where: Index,
    { count, label }: { count: number; label: string },
  ): Value => {
    const access: Access = { buffer: name, at: where, step: int(1), align: dtypeInfo[from].bytes };
    const value = binder.name({ kind: 'load', access, type: { dtype: from, lanes: count } }, label);
    return from === dtype ? value : binder.name({ kind: 'cast', value, type: { dtype, lanes: count } }, label);
  };
  const right = at(names, 0).map((_, v) =>
    load(b, add(multiply(k, int(columns)), add(column, int(v * lanes))), { count: lanes, label: `b${String(v)}` }),
  );
  names.forEach((line, r) => {
    const scalar = load(a, add(multiply(add(row, int(r)), int(depth)), k), { count: 1, label: `a${String(r)}` });
    const left =
      lanes === 1
        ? scalar
        : binder.name({ kind: 'broadcast', value: scalar, type: { dtype, lanes } }, `a${String(r)}_all`);
    line.forEach((name, v) => {
      binder.writer.emit({
        kind: 'set',
        name,
        value: multiplyAdd(left, at(right, v), { kind: 'name', name, type: { dtype, lanes } }),
      });
    });
  });
}

function multiplyAdd(left: Value, right: Value, sum: Value): Value {
  const { type } = sum;
  if (type.dtype === 'f32' || type.dtype === 'f64') return { kind: 'apply', op: 'fma', args: [left, right, sum], type };
  return { kind: 'apply', op: 'add', args: [{ kind: 'apply', op: 'mul', args: [left, right], type }, sum], type };
}
