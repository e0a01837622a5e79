// The axis of the lanes in parts, where comparisons of its coordinate with constants hold at every point of a part or at none: a
// concatenation reads one array in each part, a padded array is read without a mask but at its ends. In: maps and their
// lanes. Out: the maps of each part, without what is decided there; one part where nothing would be.
//
// (Measured on a Cascade Lake: a rotary embedding, two halves that are computed and put side by side, takes 15 % less.)
//
// Short parts of one length that read the same are written in one loop, which loads it once. (Measured on a Zen 4: the same
// embedding of 64 MB takes another fifth less.) That their order does not matter rests on results being made in the memory of what
// is read only where each point reads its own place.
import { isInteger } from '@tsinductor/base';
import { staticValue, strideAlong } from '@tsinductor/codegen';
import {
  add,
  axisIndex,
  constantValue,
  decideBounds,
  equal,
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
import { loadsOf } from './memory-rows.ts';
import type { Ahead } from './nest.ts';
import { distinct } from './row-ahead.ts';

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
  return parts.some(({ isDecided }) => isDecided) ? joined(parts) : [whole];
}

/** One part of all, where they are of one length and each is a map that reads the same, without masks. */
function joined(parts: readonly LanePart[]): readonly LanePart[] {
  const [first, ...others] = parts;
  if (first === undefined || !parts.every(({ axis, nodes }) => nodes.length === 1 && isShort(axis))) return parts;
  const loads = first.nodes.flatMap(loadsOf);
  const isAlike = ({ axis, nodes }: LanePart): boolean =>
    equal(axis.extent, first.axis.extent) && haveSameLoads(nodes.flatMap(loadsOf), loads);
  if (loads.length === 0 || parts.some(hasMasks) || !others.every(isAlike)) return parts;
  const asked = distinct(parts.flatMap(({ ahead }) => ahead));
  return [{ axis: first.axis, nodes: parts.flatMap(({ nodes }) => nodes), ahead: asked }];
}

const isShort = ({ extent }: Axis): boolean => (staticValue(extent) ?? Infinity) < lanesInParts.mostJoined;

const hasMasks = ({ nodes }: LanePart): boolean =>
  nodes.flatMap(pointBodies).some((body) => body.nodes.some((node) => node.kind === 'load' && node.mask !== undefined));

function haveSameLoads(left: readonly Ahead[], right: readonly Ahead[]): boolean {
  const isIn =
    (some: readonly Ahead[]) =>
    (load: Ahead): boolean =>
      some.some(({ buffer, position }) => buffer === load.buffer && equal(position, load.position));
  return left.every(isIn(right)) && right.every(isIn(left));
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
