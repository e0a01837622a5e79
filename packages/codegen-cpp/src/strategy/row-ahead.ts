// What loops ask for before they read it, so that memory is at work while they compute. In: the layout of a region. Out: for
// each innermost tree, what each of its vectors asks for.
//
// Rows of memory that passes read, one after another: the first pass waits for memory while the others compute. So the last pass
// that reads a row asks for the next one, vector by vector as it goes, and the first pass then finds it in the caches: for a later
// one where it goes by way of the second-level cache, which has room for more, and is of one array.
// (Measured on a Cascade Lake: softmax and layer norm of 64 MB take 20 to 25 % less.) A single pass that reduces rows asks for
// the rows after it: its own end is a time in which nothing is read. (Rows of 4 KB: sums take 9 % less, argmax 24 %.)
//
// A pass that computes and writes as it reads from end to end asks a little ahead of itself: processors foresee the lines, but
// not while they wait for arithmetic or for their own writes. (Sums of two arrays of 64 MB take 7 % less, a GELU gate 10 %.)
import { isFloat } from '@tsinductor/base';
import { BodyEvaluator, hasIndirect, isLeaf, parallelBands, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, axisIndex, equal, int, minimum } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree, Prefetch } from '@tsinductor/ir';
import { aheadBytes, habitsOf, ahead as limits, longRowsAheadBytes, passes, streams } from '../target.ts';
import { gatheredRows } from './gathered-rows.ts';
import { chooseLanes } from './lane-choice.ts';
import { isBesideCaches, isRowOf, loadsOf, rowFurtherOn, rowHabits, rowsAhead } from './memory-rows.ts';
import type { Below } from './memory-rows.ts';
import { bindAxis, evaluationAt } from './nest.ts';
import type { Ahead, Frame, Nest } from './nest.ts';
import { leavesOf, nodesOf } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';
import { runsFurtherOn } from './unit-axes.ts';
import { windowsAhead } from './windows-ahead.ts';

interface Reading {
  readonly leaf: LoopTree;
  readonly asked: Ahead;
}

/** What each innermost tree of a region asks for. */
export function planAhead(nest: Nest, region: RegionPlan): ReadonlyMap<LoopTree, readonly Ahead[]> {
  if (region.shared.axis === undefined) return planRows(nest, region.tree);
  const { tree, columns } = region;
  if (!isLeaf(tree) || region.tiles !== undefined || columns?.rowsAhead === 0) return new Map();
  const along = region.shared.axis;
  const down = tree.loops.filter(({ role }) => role === 'reduction').at(-1)?.axis;
  const isColumns = down !== undefined && down.name !== along.name;
  const asked = isColumns
    ? rowsBelow(nest, tree, { along, down, rows: columns?.rowsAhead ?? rowsBelowAhead })
    : [linesAhead, longRowsAhead, rowsFurtherOn].flatMap((asking) => asking(nest, tree, along));
  return new Map([[tree, [...asked, ...windowsAhead(nest, region), ...runsFurtherOn(nest, region)]]]);
}

/** How many rows ahead columns ask: what is side by side there is a few lines, too few to be foreseen. */
const rowsBelowAhead = 8;
const leastRowsBelow = 64;

/** The arrays of memory whose columns are read downwards, as by a scan over rows, some rows further down. */
function rowsBelow(nest: Nest, tree: LoopTree, { along, down, rows }: Below): readonly Ahead[] {
  if ((staticValue(down.extent) ?? 0) < leastRowsBelow) return [];
  return nodesOf(nest, tree)
    .flatMap(loadsOf)
    .flatMap(({ buffer, position }) => rowFurtherOn(nest, { buffer, position }, { along, down, rows }));
}

/**
 * The rows that one pass finds by loaded values or reduces, those some rows further on. Where lines are foreseen in the order of
 * their addresses alone, what is asked for of one array disturbs that of the others: the rows by which elements are chosen are
 * asked for with them. (Measured on a Zen 4: elements of rows of 64 MB by indices of 128 MB take a third less so with two
 * third-level caches, a fifth with one; of the former alone, into the second cache, 28 % more.)
 */
function rowsFurtherOn(nest: Nest, tree: LoopTree, along: Axis): readonly Ahead[] {
  const down = tree.loops.findLast(({ axis }) => axis.name !== along.name)?.axis;
  if (down === undefined || (staticValue(down.extent) ?? 0) < leastRowsBelow) return [];
  const nodes = nodesOf(nest, tree);
  const { asksInPasses, asksInOrder } = habitsOf(nest.target);
  const direct = nodes
    .flatMap(loadsOf)
    .flatMap((load) =>
      rowFurtherOn(nest, load, { along, down, rows: rowsAhead(nest, load.buffer, along), limits: passes }),
    );
  const isFar = asksInOrder && direct.some(({ buffer }) => !isFloat(nest.memory.decl(buffer).dtype));
  const chosen = nodes.flatMap((node) => gatheredRows(nest, node, { along, down, isFar }));
  const disturbs = isFar && chosen.some(({ buffer, later }) => later === undefined && isBesideCaches(nest, buffer));
  const reduces = nodes.some(({ kind }) => kind === 'reduce');
  return distinct([...chosen, ...((reduces && asksInPasses) || disturbs ? direct : [])]);
}

/** Each of what is asked for once. */
export const distinct = (asked: readonly Ahead[]): readonly Ahead[] =>
  asked.filter((one, place) => asked.findIndex((other) => isSame(one, other)) === place);

const isSame = (left: Ahead, right: Ahead): boolean =>
  left.buffer === right.buffer && left.later?.body === right.later?.body && equal(left.position, right.position);

/** The arrays of memory that maps and scans read along `axis`, some lines further on. */
function linesAhead(nest: Nest, tree: LoopTree, axis: Axis): readonly Ahead[] {
  const nodes = nodesOf(nest, tree);
  if (nodes.some(({ kind }) => kind !== 'map' && kind !== 'scan')) return [];
  return linesFurtherOn(nest, nodes, { axis, leastRow: aheadBytes, bytes: aheadBytes });
}

/** Rows too long to ask for the next, or pieces of one: what reductions read along `axis`, some lines further on. */
export function longRowsAhead(nest: Nest, tree: LoopTree, axis: Axis): readonly Ahead[] {
  const nodes = nodesOf(nest, tree);
  return nodes.every(({ kind }) => kind !== 'reduce') ? [] : piecesAhead(nest, nodes, axis);
}

/** The same for nodes of which some are reductions. */
export const piecesAhead = (nest: Nest, nodes: readonly LoopNode[], axis: Axis): readonly Ahead[] =>
  linesFurtherOn(nest, nodes, { axis, leastRow: passes.mostRow + 1, bytes: longRowsAheadBytes });

interface Lines {
  readonly axis: Axis;
  readonly leastRow: number;
  /** How much further on. */
  readonly bytes: number;
}

function linesFurtherOn(nest: Nest, nodes: readonly LoopNode[], { axis, leastRow, bytes }: Lines): readonly Ahead[] {
  const asked = new Map<BufferId, Ahead>();
  if (!habitsOf(nest.target).asksInPasses) return [];
  for (const { buffer, position } of nodes.flatMap(loadsOf)) {
    const isLine = !hasIndirect(position) && strideAlong(position, axis.name) === 1;
    if (asked.has(buffer) || !isLine || !isRowOf(nest, buffer, { axis, ...streams, leastRow })) continue;
    // Of wider elements as many as of f32: a loop comes to them as late.
    const elements = bytes / Math.min(nest.memory.bytesOf(buffer), 4);
    asked.set(buffer, { buffer, position: add(position, int(elements)) });
  }
  return [...asked.values()];
}

function planRows(nest: Nest, tree: LoopTree): ReadonlyMap<LoopTree, readonly Ahead[]> {
  const row = parallelBands(tree).at(-1)?.axis;
  const plan = new Map<LoopTree, readonly Ahead[]>();
  if (row === undefined || isLeaf(tree)) return plan;
  const lastOnes = (isAlone: boolean): ReadonlyMap<BufferId, Reading> =>
    new Map(
      leavesOf(tree)
        .flatMap((leaf) => readingsOf(nest, leaf, { row, isAlone }))
        .map((reading) => [reading.asked.buffer, reading]),
    );
  const together = lastOnes(false);
  const arrays = [...together.values()].filter(({ asked }) => asked.later === undefined).length;
  const isFew = arrays <= habitsOf(nest.target).nextRows;
  const lastOf = arrays === 1 ? lastOnes(true) : together;
  for (const { leaf, asked } of lastOf.values())
    if (isFew || asked.later !== undefined) plan.set(leaf, [...(plan.get(leaf) ?? []), asked]);
  return plan;
}

/** What a leaf may ask for of the rows of memory that it reads along its lanes: the next of each, or those that it finds later. */
function readingsOf(
  nest: Nest,
  leaf: LoopTree,
  { row, isAlone }: { readonly row: Axis; readonly isAlone: boolean },
): readonly Reading[] {
  const nodes = nodesOf(nest, leaf);
  const { axis } = chooseLanes(leaf.loops, nodes, nest);
  if (axis === undefined) return [];
  const axes = { along: axis, down: row };
  return nodes
    .flatMap((node) => [
      ...loadsOf(node).flatMap((load) =>
        rowFurtherOn(nest, load, { ...axes, rows: isAlone ? laterRow(nest, load.buffer, axis) : 1, limits }),
      ),
      ...gatheredRows(nest, node, axes),
    ])
    .map((asked) => ({ leaf, asked }));
}

/** Which row of a lone array is asked for: the next one, or a later one of memory where rows are short. */
const laterRow = (nest: Nest, buffer: BufferId, axis: Axis): number =>
  isBesideCaches(nest, buffer) ? Math.min(habitsOf(nest.target).laterRows, rowsAhead(nest, buffer, axis)) : 1;

/** Asks for the vectors of `ahead` at a point; a partial vector is left to the loop that will read it. */
export function writeAhead(nest: Nest, ahead: readonly Ahead[], frame: Frame): void {
  if (frame.lane?.count !== undefined) return;
  for (const asked of ahead) {
    const { name } = nest.memory.parameter(asked.buffer);
    nest.writer.emit({ kind: 'prefetch', buffer: name, at: placeAhead(nest, asked, frame), ...kindOf(nest, asked) });
  }
}

/** What for, and into which cache: what is to be written comes to where it is written. */
export function kindOf(
  nest: Nest,
  { buffer, intent = 'read', into = rowHabits(nest, buffer).into }: Pick<Ahead, 'buffer' | 'intent' | 'into'>,
): Pick<Prefetch, 'intent' | 'into'> {
  return intent === 'read' && into === 'second' ? { intent, into } : { intent };
}

/** Where what is asked for at a point lies. */
export function placeAhead(nest: Nest, { position, later }: Omit<Ahead, 'buffer'>, frame: Frame): Index {
  if (later === undefined)
    return new BodyEvaluator({ nodes: [], results: [] }, evaluationAt(nest, frame)).resolve(position);
  const { body, axis, points } = later;
  const there = minimum(add(frame.axes.get(axis.name) ?? axisIndex(axis), int(points)), add(axis.extent, int(-1)));
  return new BodyEvaluator(body, evaluationAt(nest, bindAxis(frame, axis.name, there))).resolve(position);
}
