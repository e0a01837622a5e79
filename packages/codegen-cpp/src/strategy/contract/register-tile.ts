// The register tile of a matrix product: rows x vectors of accumulators in named variables, a loop over a block of k, and
// the stores. Every variant (fewer rows, fewer columns, a partial last vector) is written out.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import { evaluateBody, evaluationAt, named, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, int, multiply, subtract } from '@tsinductor/ir';
import type { Access, Index, Value } from '@tsinductor/ir';
import type { Nest } from '../write/nest.ts';
import { scalarLoop } from '../write/loops.ts';
import { runsWithin } from '../write/runs.ts';
import { scratchAccess, writeEpilogue } from './epilogue.ts';
import type { Epilogue } from './epilogue.ts';
import { converted, operandName, placeAt, productAt, spanOf } from './operands.ts';
import type { Product, Tile } from './operands.ts';
import { panelPrefetch } from './panel-prefetch.ts';
import { fuses } from './oriented.ts';
import type { ProductPlan } from './plan.ts';
import { coordinatesAt, pointsOf } from './points.ts';

export function writeRegisterTile(nest: Nest, product: Product, tile: Tile): void {
  const { writer } = nest;
  const { oriented, plan } = product;
  const type = { dtype: oriented.node.accumulate, lanes: plan.lanes };
  const names = Array.from({ length: tile.rows }, (_, row) =>
    Array.from({ length: tile.vectors }, (_, vector) => {
      const name = writer.fresh(`c${String(row)}${String(vector)}`);
      writer.emit({ kind: 'var', name, value: { kind: 'constant', value: 0, type } });
      return name;
    }),
  );
  prefetchResult(nest, product, tile);
  const prefetch = panelPrefetch(nest, product, tile);
  const { from: first, depth: count } = tile.block;
  const depth = { runs: product.runs, axis: oriented.k, first, count };
  eachTap(nest, { product, tile }, (here, tap) => {
    runsWithin(nest, depth, ({ from, to }) => {
      const k = writer.fresh(oriented.k.name);
      const body = writer.block([k], () => {
        nest.memory.scoped(() => {
          const point = named(k, oriented.k.extent);
          prefetch?.(tap, point);
          writeStep(nest, here, { tile, names, tap, k: point });
        });
      });
      writer.emit({ kind: 'for', name: k, from, to, step: 1, body });
    });
  });
  writeResults(nest, product, { tile, names });
}

interface Summing {
  readonly product: Product;
  readonly tile: Tile;
}

/** The product at each tap of a block, and the tap's number in the block. */
function eachTap(nest: Nest, { product, tile }: Summing, write: (here: Product, tap: Index) => void): void {
  const { taps } = product.oriented;
  const { block } = tile;
  if (taps.length === 0) {
    write(product, int(0));
    return;
  }
  scalarLoop(nest, { axis: { name: 'tap', extent: pointsOf(taps) }, from: int(0), to: block.taps }, (tap) => {
    const here = productAt(product, coordinatesAt(nest, taps, add(block.tap, tap)));
    write(here, tap);
  });
}

const columnAt = (plan: ProductPlan, tile: Tile, vector: number): Index => add(tile.column, int(vector * plan.lanes));
const rowAt = (tile: Tile, row: number): Index => add(tile.row, int(row));

function resultPlace(product: Product, row: Index, column: Index): Index {
  const { m, n, node } = product.oriented;
  return placeAt(
    product.target.at ?? at(node.writes, 0),
    product,
    new Map([
      [m.name, row],
      [n.name, column],
    ]),
  );
}

function prefetchResult(nest: Nest, product: Product, tile: Tile): void {
  if (product.plan.lanes === 1 || product.epilogue !== undefined) return;
  const { name } = product.target;
  for (let row = 0; row < tile.rows; row++) {
    const place = resultPlace(product, rowAt(tile, row), tile.column);
    nest.writer.emit({ kind: 'prefetch', buffer: name, at: place, intent: 'write' });
  }
}

interface Step {
  readonly tile: Tile;
  /** The tap's number in the block. */
  readonly tap: Index;
  readonly names: readonly (readonly string[])[];
  readonly k: Index;
}

function writeStep(nest: Nest, product: Product, { tile, names, tap, k }: Step): void {
  const { writer } = nest;
  const { oriented, plan } = product;
  const type = { dtype: oriented.node.accumulate, lanes: plan.lanes };
  const right = Array.from({ length: tile.vectors }, (_, vector) => loadB(nest, product, { tile, vector, tap, k }));
  for (let row = 0; row < tile.rows; row++) {
    const scalar = loadA(nest, product, { tile, row, k });
    const left =
      plan.lanes === 1
        ? scalar
        : writer.define({ kind: 'broadcast', type, value: scalar }, `a${String(row)}_all`, writer.depth);
    for (let vector = 0; vector < tile.vectors; vector++) {
      const name = at(at(names, row), vector);
      const sum: Value = { kind: 'name', name, type };
      const factors = [left, at(right, vector)];
      const value: Value = fuses(type.dtype)
        ? { kind: 'apply', op: 'fma', args: [...factors, sum], type }
        : { kind: 'apply', op: 'add', args: [sum, { kind: 'apply', op: 'mul', args: factors, type }], type };
      writer.emit({ kind: 'set', name, value });
    }
  }
}

interface Column extends Pick<Step, 'tile' | 'tap' | 'k'> {
  readonly vector: number;
}

function loadB(nest: Nest, product: Product, { tile, vector, tap, k }: Column): Value {
  const { writer } = nest;
  const { oriented, plan } = product;
  const { b, node } = oriented;
  const { lanes } = plan;
  const base = `b${String(vector)}`;
  const isLast = vector === tile.vectors - 1;
  const partial = isLast && lanes > 1 && tile.lastCount !== undefined ? { count: tile.lastCount } : {};
  if (tile.packedB !== undefined) {
    const { buffer, base: start, depthStep, tapStep = int(0) } = tile.packedB;
    const place = add(add(start, add(multiply(tap, tapStep), multiply(k, depthStep))), int(vector * lanes));
    const access: Access = { buffer, at: place, step: int(1), align: dtypeInfo[node.accumulate].bytes, ...partial };
    return writer.define({ kind: 'load', type: { dtype: node.accumulate, lanes }, access }, base, writer.depth);
  }
  const point = new Map([
    [oriented.n.name, columnAt(plan, tile, vector)],
    [oriented.k.name, add(tile.block.from, k)],
  ]);
  if (b.element !== undefined) {
    invariant(tile.column.kind === 'axis', 'the columns of a tile begin at a loop variable');
    const axes = new Map([...product.batch, ...point]);
    const frame: Frame = { axes, lane: { axis: tile.column.axis.name, lanes, ...partial } };
    return widen(at(evaluateBody(b.element, evaluationAt(nest, frame)), 0), lanes, writer);
  }
  const near = placeAt(b.at, product, point);
  const next = placeAt(
    b.at,
    product,
    new Map([...point, [oriented.n.name, add(columnAt(plan, tile, vector), int(1))]]),
  );
  const access: Access = {
    buffer: operandName(nest, b),
    at: near,
    step: subtract(next, near),
    align: dtypeInfo[b.dtype].bytes,
    ...partial,
  };
  const value = writer.define({ kind: 'load', type: { dtype: b.dtype, lanes }, access }, base, writer.depth);
  return converted(nest, value, node.accumulate);
}

function loadA(nest: Nest, product: Product, { tile, row, k }: { tile: Tile; row: number; k: Index }): Value {
  const { writer } = nest;
  const { oriented } = product;
  const { a, node } = oriented;
  const base = `a${String(row)}`;
  if (tile.packedA !== undefined) {
    const { buffer, base: start, step, depthStep } = tile.packedA;
    const place = add(add(start, multiply(int(row), step)), multiply(k, depthStep));
    const access: Access = { buffer, at: place, step: int(0), align: dtypeInfo[node.accumulate].bytes };
    return writer.define({ kind: 'load', type: { dtype: node.accumulate, lanes: 1 }, access }, base, writer.depth);
  }
  const point = new Map([
    [oriented.m.name, rowAt(tile, row)],
    [oriented.k.name, add(tile.block.from, k)],
  ]);
  // The windows of a convolution are read in place, and so is its weight where the two exchanged their roles.
  if (a.element !== undefined) {
    const frame: Frame = { axes: new Map([...product.batch, ...point]) };
    return at(evaluateBody(a.element, evaluationAt(nest, frame)), 0);
  }
  const access: Access = {
    buffer: operandName(nest, a),
    at: placeAt(a.at, product, point),
    step: int(0),
    align: dtypeInfo[a.dtype].bytes,
  };
  const value = writer.define({ kind: 'load', type: { dtype: a.dtype, lanes: 1 }, access }, base, writer.depth);
  return converted(nest, value, node.accumulate);
}

function writeResults(nest: Nest, product: Product, step: Omit<Step, 'k' | 'tap'>): void {
  const { epilogue } = product;
  if (epilogue === undefined) {
    writeSums(nest, product, step);
    return;
  }
  const { tile } = step;
  const finish = (): void => {
    writeSums(nest, product, { ...step, finished: epilogue });
    if (epilogue.band === undefined) writeEpilogue(nest, product, { tile, epilogue });
  };
  const before = (): void => {
    writeSums(nest, product, step);
  };
  whetherLast(nest, product, { ...tile, last: finish, before });
}

interface Ways extends Pick<Tile, 'block' | 'accumulates'> {
  readonly last: () => void;
  readonly before: () => void;
}

/** Writes what is done at the last block of all that is summed over, and at those before it. */
export function whetherLast(nest: Nest, product: Product, { block, accumulates, last, before }: Ways): void {
  if (accumulates === 'never') {
    last();
    return;
  }
  const { writer } = nest;
  const { taps, k } = product.oriented;
  const all = multiply(pointsOf(taps), product.points ?? k.extent);
  const test = { kind: 'less' as const, left: spanOf(product, block).end, right: all };
  const then = writer.block([], before);
  writer.emit({ kind: 'if', test, then, otherwise: writer.block([], last) });
}

interface Sums extends Omit<Step, 'k' | 'tap'> {
  /** The tile is finished, and goes to scratch. */
  readonly finished?: Epilogue;
}

function writeSums(nest: Nest, product: Product, { tile, names, finished }: Sums): void {
  const { writer } = nest;
  const emitAll = (adds: boolean): void => {
    for (let row = 0; row < tile.rows; row++) {
      for (let vector = 0; vector < tile.vectors; vector++) {
        const one = { tile, row, vector, name: at(at(names, row), vector), adds };
        writeOne(nest, product, finished === undefined ? one : { ...one, finished });
      }
    }
  };
  if (tile.accumulates !== 'after first') {
    emitAll(tile.accumulates === 'always');
    return;
  }
  const block = (adds: boolean) =>
    writer.block([], () => {
      emitAll(adds);
    });
  const test = { kind: 'equal' as const, left: spanOf(product, tile.block).start, right: int(0) };
  const then = block(false);
  writer.emit({ kind: 'if', test, then, otherwise: block(true) });
}

interface One {
  readonly tile: Tile;
  readonly row: number;
  readonly vector: number;
  readonly name: string;
  readonly adds: boolean;
  readonly finished?: Epilogue;
}

function writeOne(nest: Nest, product: Product, { tile, row, vector, name, adds, finished }: One): void {
  const { writer } = nest;
  const { plan, oriented, target } = product;
  const { lanes } = plan;
  const column = columnAt(plan, tile, vector);
  const near = resultPlace(product, rowAt(tile, row), column);
  const step = subtract(resultPlace(product, rowAt(tile, row), add(column, int(1))), near);
  const partial =
    lanes > 1 && vector === tile.vectors - 1 && tile.lastCount !== undefined ? { count: tile.lastCount } : {};
  const access: Access = {
    buffer: target.name,
    at: near,
    step,
    align: dtypeInfo[target.dtype].bytes,
    ...partial,
  };
  const type = { dtype: oriented.node.accumulate, lanes };
  const sum: Value = { kind: 'name', name, type };
  const old: Value = { kind: 'load', type, access };
  const value: Value = adds ? { kind: 'apply', op: 'add', args: [old, sum], type } : sum;
  if (finished === undefined) {
    writer.emit({ kind: 'store', access, value: converted(nest, value, target.dtype) });
    return;
  }
  const align = dtypeInfo[type.dtype].bytes * lanes;
  writer.emit({ kind: 'store', access: { ...scratchAccess(finished, tile, [row, vector * lanes]), align }, value });
}
