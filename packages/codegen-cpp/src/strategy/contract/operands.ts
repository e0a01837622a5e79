// What the forms of a matrix product share: where operands, packed panels and results lie, and the parts of a product.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { mapIndex, named, staticValue } from '@tsinductor/codegen';
import { add, int, multiply } from '@tsinductor/ir';
import type { Axis, ContractOperand, Index, Value } from '@tsinductor/ir';
import type { Nest } from '../write/nest.ts';
import type { Runs } from '../write/runs.ts';
import type { Epilogue } from './epilogue.ts';
import { stepAlong } from './oriented.ts';
import type { Contract, Oriented } from './oriented.ts';
import type { ProductPlan } from './plan.ts';

/** Where a packed operand lies: element (x, k) at base + x * step + k * depthStep. */
export interface Packed {
  readonly buffer: string;
  readonly base: Index;
  /** From one row (of a) or one column (of b) to the next. */
  readonly step: Index;
  readonly depthStep: Index;
  /** From one tap to the next, where a block has several. */
  readonly tapStep?: Index;
}

/** Panels of b that lie one after another, from the first column of the product on. */
export interface PanelMemory {
  readonly buffer: string;
  /** Where the first panel begins. */
  readonly base: Index;
  /** Points of k of a panel. */
  readonly depth: Index;
}

/** Where a product is stored: its buffer, or the workspace that stands for it. */
export function resultOf({ memory }: Nest, node: Contract): { readonly name: string; readonly dtype: DType } {
  const out = at(node.outs, 0);
  const row = memory.row(out);
  return row === undefined ? memory.parameter(out) : { name: row.name, dtype: memory.decl(out).dtype };
}

/** The axes of a product's batch on which its second operand depends: for all points of the others it is the same. */
export const batchOfB = ({ node, b }: Pick<Oriented, 'node' | 'b'>): readonly Axis[] =>
  node.batch.filter((axis) => stepAlong(b, axis) !== 0 && staticValue(axis.extent) !== 1);

/** A point of a product's whole batch, of one of those axes. */
export const wholePoint = (
  { node }: Pick<Oriented, 'node'>,
  point: ReadonlyMap<string, Index>,
): ReadonlyMap<string, Index> => new Map(node.batch.map(({ name }) => [name, point.get(name) ?? int(0)]));

/** Where an operand lies: its buffer, or what stands for it. */
export const operandName = ({ memory }: Nest, { buffer }: Pick<ContractOperand, 'buffer'>): string =>
  memory.row(buffer)?.name ?? memory.parameter(buffer).name;

/** Where sums go: to the result itself, or to workspace of the accumulated dtype, in the result's layout or at a place of their own. */
export interface Target {
  readonly name: string;
  readonly dtype: DType;
  readonly at?: Index;
}

export interface Product {
  readonly oriented: Oriented;
  readonly plan: ProductPlan;
  /** The axes of the batch, and of taps, by name. */
  readonly batch: ReadonlyMap<string, Index>;
  /** Where sums go. */
  readonly target: Target;
  /** Whether only some rows are computed, which are no whole tiles. */
  readonly isPart?: boolean;
  /** How many points of k count, where the others are multiplied by 0. */
  readonly points?: Index;
  /** Which of them count, where that is found out: runs of k. */
  readonly runs?: Runs;
  /** What finished tiles go through instead of being stored. */
  readonly epilogue?: Epilogue;
}

/** What a tile sums at once: some points of k, for some taps. */
export interface DepthBlock {
  /** The first point of k, and how many there are. */
  readonly from: Index;
  readonly depth: Index;
  /** The first tap, and how many there are: more than one only where all of k is in the block, or all taps are. */
  readonly tap: Index;
  readonly taps: Index;
}

/** How many points come before a block, and how many there are up to its end. */
export function spanOf(
  { oriented: { k }, plan }: Pick<Product, 'oriented' | 'plan'>,
  { from, depth, tap, taps }: DepthBlock,
): { start: Index; end: Index } {
  if (plan.tapsWithin) return { start: multiply(from, taps), end: multiply(add(from, depth), taps) };
  const start = add(multiply(tap, k.extent), from);
  return { start, end: add(start, multiply(taps, depth)) };
}

/** A product at a point of some more of its axes. */
export const productAt = (product: Product, point: ReadonlyMap<string, Index>): Product => ({
  ...product,
  batch: new Map([...product.batch, ...point]),
});

export interface Tile {
  readonly row: Index;
  readonly column: Index;
  readonly rows: number;
  readonly vectors: number;
  /** Lanes of the last vector; undefined: all. */
  readonly lastCount: Index | undefined;
  readonly block: DepthBlock;
  /** What is added to: nothing at the first block of k, else what lies in the result. */
  readonly accumulates: 'never' | 'always' | 'after first';
  readonly packedA: Packed | undefined;
  readonly packedB: Packed | undefined;
  /** The first row of the rows that go to scratch together. */
  readonly bandStart?: Index;
}

/** An index of an operand or the result at a point. */
export function placeAt(index: Index, product: Pick<Product, 'batch'>, point: ReadonlyMap<string, Index>): Index {
  return mapIndex(index, {
    axis: (axis) => point.get(axis.name) ?? product.batch.get(axis.name) ?? named(axis.name, axis.extent),
    indirect: (value, extent) => ({ kind: 'indirect', value, extent }),
  });
}

export function converted(nest: Nest, value: Value, dtype: Value['type']['dtype']): Value {
  if (value.type.dtype === dtype) return value;
  return nest.writer.define(
    { kind: 'cast', value, type: { dtype, lanes: value.type.lanes } },
    'wide',
    nest.writer.depth,
  );
}
