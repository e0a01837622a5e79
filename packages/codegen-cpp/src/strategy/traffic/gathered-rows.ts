// Rows of memory that loaded values choose, or in which they choose elements: no hardware prefetcher foresees them. In: a node, and the
// axes along and down which its points run. Out: what a vector prefetches some rows ahead. The place of a row that an index
// chooses is known as soon as the index is loaded, so a later index is loaded early; of a row in which elements are chosen all is
// prefetched, from end to end, as if it were read so.
import { at } from '@tsinductor/base';
import { hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { axisIndex, freeAxes, freeIndirects, liveNodes, substitute } from '@tsinductor/ir';
import type { Body, Index, LoopNode } from '@tsinductor/ir';
import { nextRowDistance } from '../../machine/choices/traffic.ts';
import type { Planning } from '../plan/planning.ts';
import {
  furtherDown,
  gatheredDistance,
  isFilledBefore,
  isRowOf,
  rowBytes,
  rowDistance,
  rowsWithin,
  unmaskedLoads,
} from '../plan/rows.ts';
import type { Load, RowAxes } from '../plan/rows.ts';
import { pointBodies, varyingNodes } from '../plan/work.ts';
import { prefetchOf } from './prefetch.ts';
import type { Lookahead, PlannedPrefetch } from './prefetch.ts';

interface GatherAxes extends RowAxes {
  /** Rows in which elements are chosen come into the second-level cache, which gains where their indices are prefetched too. */
  readonly isFar?: boolean;
}

/** What `node` prefetches of the rows that it reads by loaded values. */
export function gatheredRows(planning: Planning, node: LoopNode, axes: GatherAxes): readonly PlannedPrefetch[] {
  const limits = planning.choices.nextRow;
  return pointBodies(node).flatMap((body) =>
    unmaskedLoads(body).flatMap((load) => {
      if (!hasIndirect(load.position) || !isRowOf(planning, load.buffer, { axis: axes.along, ...limits })) return [];
      return gatheredRow(planning, { body, load, axes }) ?? gatheredElements(planning, { body, load, axes }) ?? [];
    }),
  );
}

interface Gathered {
  readonly body: Body;
  readonly load: Load;
  readonly axes: GatherAxes;
}

function gatheredRow(planning: Planning, { body, load, axes }: Gathered): PlannedPrefetch | undefined {
  const distance = gatheredDistance(planning, load.buffer);
  const points = rowsWithin(planning, distance, rowBytes(planning, load.buffer, axes.along));
  const later = lookahead(planning, { body, position: load.position, points }, axes);
  return later === undefined ? undefined : prefetchOf(planning, load, { later, into: distance.into });
}

interface Chosen {
  readonly body: Body;
  readonly position: Index;
  /** How many rows ahead. */
  readonly points: number;
}

/** The later point of a row that indices choose which are one within it, and which memory has before the kernel runs. */
export function lookahead(
  planning: Planning,
  { body, position, points }: Chosen,
  { along, down }: RowAxes,
): Lookahead | undefined {
  const chosen = [...freeIndirects(position)];
  const [inRow, byRow] = [varyingNodes(body, along.name), varyingNodes(body, down.name)];
  const isOne = chosen.every((id) => !at(inRow, id)) && strideAlong(position, along.name) === 1;
  if (!isOne || !chosen.some((id) => at(byRow, id))) return undefined;
  const needed = liveNodes({ ...body, results: [] }, chosen);
  const isKnown = body.nodes.every((node, id) => {
    if (!at(needed, id)) return true;
    return node.kind === 'load' ? isFilledBefore(planning, node.buffer) : node.kind !== 'carried';
  });
  return isKnown ? { body, axis: down, points } : undefined;
}

/** A row in which about as many elements are chosen as it has. */
function gatheredElements(
  planning: Planning,
  { body, load, axes: { along, down, isFar = false } }: Gathered,
): PlannedPrefetch | undefined {
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
  const distance = isFar ? rowDistance(planning, buffer) : nextRowDistance;
  const further = furtherDown(inOrder, down, rowsWithin(planning, distance, rowBytes(planning, buffer, along)));
  if (further === undefined) return undefined;
  return prefetchOf(planning, { buffer, position: further }, isFar ? {} : { into: 'first' });
}

/** Whether a row of so many elements is prefetched by loads of so many: not beyond its end, nor most of it in vain. */
function isNearly(elements: Index | undefined, loads: Index): boolean {
  const [has, takes] = [elements === undefined ? undefined : staticValue(elements), staticValue(loads)];
  return has !== undefined && takes !== undefined && has <= takes && takes <= 2 * has;
}
