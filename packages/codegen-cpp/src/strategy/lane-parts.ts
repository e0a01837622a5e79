// The axis of the lanes in parts, where comparisons of its coordinate with constants hold at every point of a part or at none: a
// concatenation reads one array in each part, a padded array is read without a mask but at its ends. In: maps and their
// lanes. Out: the maps of each part, without what is decided there; one part where nothing would be.
//
// (Measured on a Cascade Lake: a rotary embedding, two halves that are computed and put side by side, takes 15 % less.)
import { isInteger } from '@tsinductor/base';
import { staticValue, strideAlong } from '@tsinductor/codegen';
import {
  add,
  axisIndex,
  constantValue,
  decideBounds,
  int,
  mapNodeBodies,
  multiply,
  substitute,
  substituteAxes,
  subtract,
} from '@tsinductor/ir';
import type { Axis, Body, Index, LoopNode } from '@tsinductor/ir';
import { lanesInParts } from '../target.ts';
import { operationsOf, pointBodies } from './lane-choice.ts';
import type { Ahead } from './nest.ts';

/** Maps, what they ask for, and the axis of their lanes, which counts from 0. */
export interface LanePart {
  readonly axis: Axis;
  readonly nodes: readonly LoopNode[];
  readonly ahead: readonly Ahead[];
}

export function partsOf(whole: LanePart, lanes: number): readonly LanePart[] {
  const { axis, nodes } = whole;
  const extent = staticValue(axis.extent);
  if (extent === undefined || lanes === 1 || nodes.some(({ kind }) => kind !== 'map')) return [whole];
  const work = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  if (work > lanesInParts.mostWork) return [whole];
  const places = nodes.flatMap(pointBodies).flatMap((body) => cutsOf(body, axis));
  const around = places.flatMap((place) =>
    [Math.floor(place / lanes), Math.ceil(place / lanes)].map((cut) => cut * lanes),
  );
  const cuts = [...new Set(around)].filter((cut) => cut > 0 && cut < extent).toSorted((left, right) => left - right);
  if (cuts.length === 0 || cuts.length >= lanesInParts.most) return [whole];
  const parts = [0, ...cuts].map((from, index) => decidedPart(whole, { from, to: cuts[index] ?? extent }));
  return parts.some(({ isDecided }) => isDecided) ? parts : [whole];
}

/** Where a coordinate along the axis passes an integer of the body. */
function cutsOf({ nodes }: Body, axis: Axis): readonly number[] {
  const integers = nodes.flatMap((node) => {
    if (node.kind !== 'constant' || !isInteger(node.dtype)) return [];
    return [Number(typeof node.value === 'object' ? node.value.bigint : node.value)];
  });
  return nodes.flatMap((node) => {
    const step = node.kind === 'index' ? strideAlong(node.value, axis.name) : undefined;
    if (node.kind !== 'index' || step === undefined || step === 0) return [];
    const start = constantValue(subtract(node.value, multiply(axisIndex(axis), int(step))));
    return start === undefined ? [] : integers.map((integer) => (integer - start) / step);
  });
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function decidedPart(
  { axis, nodes, ahead }: LanePart,
  { from, to }: Range,
): LanePart & { readonly isDecided: boolean } {
  const part: Axis = { name: axis.name, extent: int(to - from) };
  const map: ReadonlyMap<string, Index> = new Map([[axis.name, add(axisIndex(part), int(from))]]);
  const moved = nodes.map((node) => mapNodeBodies(node, { map }));
  const decided = moved.map((node) => decideBounds(node, 'indices'));
  return {
    axis: part,
    nodes: decided,
    ahead: ahead.map(({ position, later, ...asked }) => ({
      ...asked,
      position: substitute(position, map),
      ...(later === undefined ? {} : { later: { ...later, body: substituteAxes(later.body, map) } }),
    })),
    isDecided: decided.some((node, position) => node !== moved[position]),
  };
}
