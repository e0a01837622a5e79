// What follows a matrix product at each of its elements (bias, activation, residual, cast), computed while the product's
// tile is in the first-level cache: the register tile goes to scratch, and the nodes that follow run over its rows as over
// those of any nest. So an epilogue may load, mask and convert whatever a map may, and the tile's own code stays as it is.
import { dtypeInfo } from '@tsinductor/base';
import { bindAxis, difference, staticValue } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, int, multiply } from '@tsinductor/ir';
import type { Access, Index, LoopNode, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { laneBytes } from '../plan/lanes.ts';
import { scalarLoop, vectorLoop } from '../write/loops.ts';
import type { Vector } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { writeMap, writeResult } from '../write/results.ts';
import { converted } from './operands.ts';
import type { Product, Tile } from './operands.ts';
import type { Contract } from './oriented.ts';

export type MapNode = LoopNode & { readonly kind: 'map' };

/** The nodes of a group that has one product, and maps at its elements. */
export interface Followed {
  readonly product: Contract;
  /** In execution order. */
  readonly maps: readonly MapNode[];
}

/** The rows of a tile in scratch, `width` elements each. */
export interface Epilogue {
  readonly maps: readonly MapNode[];
  readonly scratch: string;
  readonly width: number;
  /** Where results lie along rows: the tiles that go to scratch before their columns are stored. */
  readonly band?: Band;
}

/** Tiles one below another, whose columns are stored together (see contract/turned.ts). */
export interface Band {
  readonly rows: number;
  /** Scratch for the columns, and elements from one to the next. */
  readonly columns: string;
  readonly pitch: number;
}

/** Where the register tile's element (row, column) is put. */
export const scratchAccess = (
  { scratch, width }: Epilogue,
  { row, bandStart = row }: Pick<Tile, 'row' | 'bandStart'>,
  [down, along]: readonly [number, number],
): Omit<Access, 'align'> => ({
  buffer: scratch,
  at: add(multiply(difference(row, bandStart), int(width)), int(down * width + along)),
  step: int(1),
});

/** Runs the epilogue over a tile whose values lie in scratch. */
export function writeEpilogue(nest: Nest, product: Product, { tile, epilogue }: Finished): void {
  const { m } = product.oriented;
  if (tile.rows === 1) {
    writeRow(nest, product, { tile, epilogue, row: int(0) });
    return;
  }
  const rows = { axis: { name: `${m.name}_row`, extent: int(tile.rows) }, from: int(0), to: int(tile.rows) };
  scalarLoop(nest, rows, (row) => {
    writeRow(nest, product, { tile, epilogue, row });
  });
}

interface Finished {
  readonly tile: Tile;
  readonly epilogue: Epilogue;
}

function writeRow(nest: Nest, product: Product, finished: Finished & { readonly row: Index }): void {
  const { tile, epilogue } = finished;
  const { plan, oriented } = product;
  const whole = (tile.vectors - 1) * plan.lanes;
  const width = add(int(whole), tile.lastCount ?? int(plan.lanes));
  const lanes = Math.min(plan.lanes, lanesFor(nest.target.isa, laneBytes(epilogue.maps, oriented.n.name, nest)));
  const axis = { name: `${oriented.n.name}_column`, extent: int(epilogue.width) };
  const unroll = staticValue(width) === undefined ? 1 : 2;
  vectorLoop(nest, { axis, from: int(0), to: width, lanes, instances: 1, unroll }, (vectors) => {
    for (const vector of vectors)
      nest.memory.scoped(() => {
        const place = add(multiply(finished.row, int(epilogue.width)), vector.at);
        finishSums(nest, product, {
          vector,
          from: { buffer: epilogue.scratch, at: place },
          row: add(tile.row, finished.row),
          column: add(tile.column, vector.at),
        });
      });
  });
}

/** A vector of finished sums in scratch, and the point of the product at its first lane. */
interface Sums {
  readonly vector: Vector;
  readonly from: Pick<Access, 'buffer' | 'at'>;
  readonly row: Index;
  readonly column: Index;
}

/** Takes a vector of finished sums through all that follows the product. */
export function finishSums(
  nest: Nest,
  { oriented, batch, epilogue }: Product,
  { vector, from, row, column }: Sums,
): void {
  const { node, m, n, outDType } = oriented;
  const { lanes, count } = vector.lane;
  const access: Access = {
    ...from,
    step: int(1),
    align: dtypeInfo[node.accumulate].bytes,
    ...(count === undefined || lanes === 1 ? {} : { count }),
  };
  const load: Value = { kind: 'load', type: { dtype: node.accumulate, lanes }, access };
  const sum = nest.writer.define(load, 'sum', nest.writer.depth);
  const inBatch: Frame = { axes: new Map(batch), lane: vector.lane };
  const frame = bindAxis(bindAxis(inBatch, m.name, row), n.name, column);
  writeResult(nest, { node, slot: 0, value: converted(nest, sum, outDType) }, frame);
  for (const map of epilogue?.maps ?? []) writeMap(nest, map, frame);
}
