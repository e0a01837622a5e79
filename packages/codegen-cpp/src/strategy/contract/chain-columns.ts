// Which columns of a block of rows a chain of products computes, where a mask leaves out others (`columnBounds` of codegen): whole panels of the
// first product, and no others where a product by 0 would not be 0. The loops over a row run over those alone.
import { invariant } from '@tsinductor/base';
import { nodesBelow, staticValue } from '@tsinductor/codegen';
import {
  add,
  axisIndex,
  ceilDivide,
  floorDivide,
  int,
  maximum,
  minimum,
  multiply,
  substitute,
  substituteAxes,
  subtract,
} from '@tsinductor/ir';
import type { Axis, Body, Index, LoopNode, LoopTree } from '@tsinductor/ir';
import type { Nest } from '../write/nest.ts';
import { whereFinite } from './chain-finite.ts';
import type { FiniteCheck } from './chain-finite.ts';
import type { Chain } from './chain-plan.ts';
import type { AxisPart } from './in-threads.ts';
import type { Oriented } from './oriented.ts';
import type { ProductPlan } from './plan.ts';
import { nameBelow } from './points.ts';

/** Columns from the first that counts to the end of those that do. */
export interface Columns extends AxisPart {
  readonly count: Index;
}

/**
 * Which columns count for a block of rows: whole panels of the first product, or all where a product by 0 is not 0; undefined: all.
 */
export function columnsFor(
  nest: Nest,
  { chain, first, finite }: Masked,
  { point, range }: BlockOfRows,
): Columns | undefined {
  if (chain.mask === undefined || finite === undefined || chain.mask.bounds.table !== undefined) return undefined;
  const { plan, oriented } = first;
  const { extent } = oriented.n;
  const width = plan.vectors * plan.lanes;
  const { ahead, behind } = chain.mask.bounds;
  const all = staticValue(extent);
  const isWhole = all !== undefined && all % width === 0;
  const choose = (name: string, ifFinite: Index, otherwise: Index): Index => {
    const axis = { name, extent: add(extent, int(1)) };
    const chosen = whereFinite(nest, finite, { point, ifFinite, otherwise, axis });
    if (chosen.kind === 'axis' && (isWhole || name === 'first_column'))
      nest.memory.multiples.set(chosen.axis.name, width);
    return chosen;
  };
  const panels = (columns: Index): Index => multiply(columns, int(width));
  const end = (reach: number): Index => minimum(panels(ceilDivide(add(range.to, int(reach)), int(width))), extent);
  const start = (reach: number): Index =>
    panels(floorDivide(maximum(subtract(range.from, int(reach)), int(0)), int(width)));
  const from = behind === undefined ? int(0) : choose('first_column', start(behind), int(0));
  const to = ahead === undefined ? extent : choose('columns', end(ahead), extent);
  return { from, to, count: behind === undefined ? to : countOf(nest, { from, to }, isWhole ? width : 1) };
}

/** The number of columns as a variable of its own, which is a multiple of something. */
function countOf(nest: Nest, { from, to }: AxisPart, multiple: number): Index {
  const count = nameBelow(nest, { name: 'count', extent: add(to, int(1)) }, subtract(to, from));
  if (count.kind === 'axis') nest.memory.multiples.set(count.axis.name, multiple);
  return count;
}

export interface BlockOfRows {
  /** Of the batch. */
  readonly point: ReadonlyMap<string, Index>;
  readonly range: AxisPart;
}

export interface Masked {
  readonly chain: Chain;
  /** The first product, whose columns they are. */
  readonly first: { readonly oriented: Oriented; readonly plan: ProductPlan };
  /** Of operands that are multiplied by 0, where columns may be left out of it. */
  readonly finite: readonly FiniteCheck[] | undefined;
}

interface Within {
  readonly tree: LoopTree;
  readonly columns: Columns | undefined;
}

/** The loops of one row over those columns. */
export function withinColumns(
  nest: Nest,
  { mask }: Chain,
  { tree, columns }: Within,
): { masked: Nest; tree: LoopTree } {
  if (mask === undefined || columns === undefined) return { masked: nest, tree };
  const shorter = (axis: Axis): Axis => (mask.columns.has(axis.name) ? { ...axis, extent: columns.count } : axis);
  const below = new Set(nodesBelow(tree));
  const inTree = (own: LoopTree): LoopTree => ({
    ...own,
    loops: own.loops.map((band) => ({ ...band, axis: shorter(band.axis) })),
    children: own.children.map((child) => (child.kind === 'loops' ? inTree(child) : child)),
  });
  const from = new Map(
    [...mask.columns].map((name) => [name, add(axisIndex({ name, extent: columns.count }), columns.from)]),
  );
  const nodes = nest.group.nodes.map((node, index) => {
    if (!below.has(index)) return node;
    const [axes, over] = [node.axes.map(shorter), node.kind === 'reduce' ? node.over.map(shorter) : []];
    return movedNode(node, { map: from, axes, over });
  });
  return { masked: { ...nest, group: { ...nest.group, nodes } }, tree: inTree(tree) };
}

interface Moving {
  readonly map: ReadonlyMap<string, Index>;
  readonly axes: readonly Axis[];
  readonly over: readonly Axis[];
}

/** A map or a reduction over other loops. */
function movedNode(node: LoopNode, { map, axes, over }: Moving): LoopNode {
  const writes = node.writes.map((write) => substitute(write, map));
  const moved = (body: Body): Body => substituteAxes(body, map);
  if (node.kind === 'map') return { ...node, axes, writes, body: moved(node.body) };
  invariant(node.kind === 'reduce', 'a mask is seen in maps and reductions alone');
  const { init, step, merge, finish } = node;
  return {
    ...node,
    axes,
    over,
    writes,
    init: moved(init),
    step: moved(step),
    merge: moved(merge),
    finish: moved(finish),
  };
}
