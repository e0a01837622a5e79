// What a loop prefetches at each of its vectors: an element that it, or a later loop, comes to.
import { add, axisIndex, equal, int, substitute, substituteAxes } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, Prefetch } from '@tsinductor/ir';
import type { LanePart } from '../plan/lane-parts.ts';
import type { Planning } from '../plan/planning.ts';
import { rowDistance } from '../plan/rows.ts';
import type { Load } from '../plan/rows.ts';

export interface PlannedPrefetch {
  readonly buffer: BufferId;
  readonly position: Index;
  /** Where loaded values choose the place: those of a later point. */
  readonly later?: Lookahead;
  readonly intent: Prefetch['intent'];
  /** The cache that it is prefetched into. */
  readonly into: 'first' | 'second';
}

/** The body that loads the values which choose a place, and how many points further down an axis it does so. */
export interface Lookahead {
  readonly body: Body;
  readonly axis: Axis;
  readonly points: number;
}

/** A prefetch of what a load reads: into the cache that suits its buffer, if nothing else is said. */
export const prefetchOf = (
  planning: Planning,
  { buffer, position }: Load,
  given: Partial<Pick<PlannedPrefetch, 'into' | 'later'>> = {},
): PlannedPrefetch => ({
  buffer,
  position,
  intent: 'read',
  into: given.into ?? rowDistance(planning, buffer).into,
  ...(given.later === undefined ? {} : { later: given.later }),
});

/** Each prefetch once. */
export const distinctPrefetches = (prefetches: readonly PlannedPrefetch[]): readonly PlannedPrefetch[] =>
  prefetches.filter((one, place) => prefetches.findIndex((other) => isSame(one, other)) === place);

const isSame = (left: PlannedPrefetch, right: PlannedPrefetch): boolean =>
  left.buffer === right.buffer && left.later?.body === right.later?.body && equal(left.position, right.position);

/** What a part of the lanes' axis prefetches, where the whole axis would prefetch this: its points begin elsewhere on the axis. */
export function inPart(prefetches: readonly PlannedPrefetch[], { axis, starts }: LanePart): readonly PlannedPrefetch[] {
  const [start, ...more] = starts;
  if (start === undefined || (start === 0 && more.length === 0)) return prefetches;
  const moved = starts.flatMap((from) => movedTo(prefetches, axis, from));
  return more.length === 0 ? moved : distinctPrefetches(moved);
}

function movedTo(prefetches: readonly PlannedPrefetch[], axis: Axis, from: number): readonly PlannedPrefetch[] {
  const map: ReadonlyMap<string, Index> = new Map([[axis.name, add(axisIndex(axis), int(from))]]);
  return prefetches.map(({ position, later, ...rest }) => ({
    ...rest,
    position: substitute(position, map),
    ...(later === undefined ? {} : { later: { ...later, body: substituteAxes(later.body, map) } }),
  }));
}
