// Index expressions by what a step along each loop adds. In: an expression over the axes of a node, whose sizes are numbers. Out:
// a linear part, which a pointer follows from step to step, and the rest, which is computed at every point.
import { at } from '@tsinductor/base';
import { coefficientOf, freeAxes, hasIndirects, int, substitute } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';

/** The axis of a loop, and how often it runs. */
export interface Extent {
  readonly name: string;
  readonly extent: number;
}

/** base + the sum of coordinates times strides, in the order of the axes. */
export interface Linear {
  readonly base: number;
  readonly strides: readonly number[];
}

/** A place is its linear part plus all of the rest, and the offset. */
export interface Place {
  readonly linear: Linear;
  readonly rest: readonly Index[];
  /** How far it is from the linear part, where that is one for several places. */
  readonly offset?: number;
}

export function placeOf(index: Index, axes: readonly Extent[]): Place {
  const whole = linearOf(index, axes);
  if (whole !== undefined) return { linear: whole, rest: [] };
  let linear: Linear = { base: 0, strides: axes.map(() => 0) };
  const rest: Index[] = [];
  for (const item of index.kind === 'sum' ? index.items : [index]) {
    const part = linearOf(item, axes);
    if (part === undefined) rest.push(item);
    else linear = sumOf(linear, part);
  }
  return { linear, rest };
}

const sumOf = (one: Linear, other: Linear): Linear => ({
  base: one.base + other.base,
  strides: one.strides.map((stride, axis) => stride + at(other.strides, axis)),
});

function linearOf(index: Index, axes: readonly Extent[]): Linear | undefined {
  if (hasIndirects(index)) return undefined;
  const used = freeAxes(index);
  const strides: number[] = [];
  for (const { name } of axes) {
    const stride = used.has(name) ? coefficientOf(index, name) : int(0);
    if (stride?.kind !== 'int') return undefined;
    strides.push(stride.value);
  }
  const base = used.size === 0 ? index : substitute(index, new Map(axes.map(({ name }) => [name, int(0)])));
  return base.kind === 'int' ? { base: base.value, strides } : undefined;
}

/** Neighbouring axes that are one loop: their positions in the list, outermost first. */
export type LoopAxes = readonly number[];

/**
 * The loops of a nest: axes of one element fall away; neighbours along which every place steps alike become one loop, but for
 * those whose coordinates stand by themselves.
 */
export function joinAxes(axes: readonly Extent[], places: readonly Place[]): readonly LoopAxes[] {
  const alone = new Set(places.flatMap(({ rest }) => rest.flatMap((index) => [...freeAxes(index)])));
  const loops: number[][] = [];
  axes.forEach(({ name, extent }, axis) => {
    if (extent === 1) return;
    const outer = loops.at(-1);
    const before = outer?.at(-1);
    const joins =
      outer !== undefined &&
      before !== undefined &&
      !alone.has(name) &&
      !alone.has(at(axes, before).name) &&
      places.every(({ linear: { strides } }) => at(strides, before) === at(strides, axis) * extent);
    if (joins) outer.push(axis);
    else loops.push([axis]);
  });
  return loops;
}
