// How a matrix product is laid out: orientation, register tile, cache blocks, what is packed, and the units that threads
// share. See Note [matrix products].
//
// Note [matrix products]
// The register tile has a few rows by a few vectors of columns, all accumulators in named variables. Elements of a are
// broadcast from where they lie (each row of a is read once per panel of b, in order); b is read in place while it is
// small, and otherwise copied into panels as wide as the tile, one after another, so that it streams from the second
// level cache. Units are blocks of rows and columns that share nothing: no barrier, and any number of threads. The sum
// over k is never divided between units, so results do not depend on threads.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, ContractOperand, LoopNode } from '@tsinductor/ir';
import { chunksPerThread, cpuModels, lanesFor } from '../target.ts';
import type { CpuTarget } from '../target.ts';
import { nextPowerOfTwo, staticValue, typicalValue } from './index-math.ts';
import type { Nest } from './nest.ts';

export type Contract = LoopNode & { readonly kind: 'contract' };

export interface Operand extends ContractOperand {
  readonly dtype: DType;
}

/** A product with its roles settled: n is the axis along which the result is contiguous, if there is one. */
export interface Oriented {
  readonly node: Contract;
  readonly a: Operand;
  readonly b: Operand;
  readonly m: Axis;
  readonly n: Axis;
  readonly k: Axis;
  readonly outDType: DType;
}

/** Steps of an operand, where they are numbers. */
export const stepAlong = (operand: ContractOperand, axis: Axis): number | undefined => {
  const step = coefficientOf(operand.at, axis);
  return step?.kind === 'int' ? step.value : undefined;
};

export function orient(nest: Nest, node: Contract): Oriented {
  const operand = (given: ContractOperand): Operand => ({ ...given, dtype: nest.memory.decl(given.buffer).dtype });
  const [a, b] = [operand(node.a), operand(node.b)];
  const outDType = nest.memory.decl(at(node.outs, 0)).dtype;
  const write = at(node.writes, 0);
  const step = (axis: Axis): number | undefined => staticValue(coefficientOf(write, axis) ?? write);
  const swaps = (step(node.m) === 1 && step(node.n) !== 1 && staticValue(node.m.extent) !== 1) || staticValue(node.n.extent) === 1;
  return swaps
    ? { node, a: b, b: a, m: node.n, n: node.m, k: node.k, outDType }
    : { node, a, b, m: node.m, n: node.n, k: node.k, outDType };
}

export interface TilePlan {
  readonly lanes: number;
  readonly rows: number;
  readonly vectors: number;
  /** Points of k per block. */
  readonly depth: number;
  readonly packA: boolean;
  readonly packB: boolean;
  /** Rows per block, of which the packed part of a is kept; and per unit. */
  readonly blockRows: number;
  readonly unitRows: number | undefined;
  /** Panels that are packed before they are used, and that a unit has. */
  readonly panels: number;
}

const maximumDepth = 512;
const smallBytes = 1024 * 1024;

/** A register tile for so many rows: few rows leave registers for more columns. */
function tileFor(target: CpuTarget, rows: number, lanes: number): { readonly rows: number; readonly vectors: number } {
  const model = cpuModels[target.isa];
  if (lanes === 1) return { rows: Math.min(rows, 4), vectors: 1 };
  if (rows >= model.tileRows || target.isa !== 'avx512') return { rows: Math.min(rows, model.tileRows), vectors: model.tileVectors };
  const wide: Readonly<Record<number, number>> = { 1: 16, 2: 8, 3: 6 };
  return { rows, vectors: wide[rows] ?? model.tileVectors };
}

export function planTile(oriented: Oriented, target: CpuTarget): TilePlan {
  const { node, a, b, m, n, k, outDType } = oriented;
  const bytes = dtypeInfo[node.accumulate].bytes;
  const columns = staticValue(n.extent);
  const full = lanesFor(target.isa, bytes);
  const lanes = columns === undefined ? full : Math.min(full, nextPowerOfTwo(columns));
  const [height, width, length] = [m, n, k].map((axis) => typicalValue(axis.extent)) as [number, number, number];
  const tile = tileFor(target, staticValue(m.extent) ?? 64, lanes);
  const vectors = columns === undefined ? tile.vectors : Math.min(tile.vectors, Math.ceil(columns / lanes));
  const panelWidth = vectors * lanes;
  const blocks = Math.ceil(length / maximumDepth);
  const rounded = Math.ceil(Math.ceil(length / blocks) / 8) * 8;
  const depth = outDType === node.accumulate && staticValue(k.extent) !== undefined ? rounded : outDType === node.accumulate ? maximumDepth : length;
  const inPlaceB = b.dtype === node.accumulate && stepAlong(b, n) === 1;
  const large = length * width * bytes > smallBytes && height > 2 * tile.rows;
  const packB = !inPlaceB ? height > tile.rows || b.dtype !== node.accumulate : large;
  const packA = a.dtype !== node.accumulate || (stepAlong(a, k) !== 1 && length * height * bytes > smallBytes / 4);
  const units = Math.max(1, target.threads * chunksPerThread);
  const batch = node.batch.reduce((left, axis) => left * typicalValue(axis.extent), 1);
  const panelsInAll = Math.ceil(width / panelWidth);
  const panels = Math.max(1, Math.min(packA ? 2 : 4, Math.floor((panelsInAll * batch) / Math.max(2, units / 2))));
  const columnUnits = Math.ceil(panelsInAll / panels) * batch;
  const unitRows = columnUnits >= units / 2 ? undefined : rowsPerUnit({ height, columnUnits, units, rows: tile.rows });
  return { lanes, rows: tile.rows, vectors, depth, packA, packB, panels, unitRows, blockRows: packA ? 96 : 192 };
}

interface Splitting {
  readonly height: number;
  readonly columnUnits: number;
  readonly units: number;
  readonly rows: number;
}

function rowsPerUnit({ height, columnUnits, units, rows }: Splitting): number | undefined {
  const parts = Math.ceil(units / columnUnits);
  const each = Math.max(4 * rows, Math.ceil(height / parts / rows) * rows);
  return each >= height ? undefined : each;
}

/** The op that adds a product to a sum, fused for floats. */
export const fuses = (dtype: DType): boolean => isFloat(dtype);

export const volume = ({ m, n, k }: Oriented): number => [m, n, k].reduce((left, axis) => left * typicalValue(axis.extent), 1);

