// The axis of the lanes in parts, where comparisons of its coordinate with constants hold at every point of a part or at none: a
// concatenation reads one array in each part, a padded array is read without a mask but at its ends. In: maps and their
// lanes. Out: the maps of each part, without what is decided there; one part where nothing would be.
//
// Short parts of one length that read the same are written in one loop, which loads it once. That their order does not matter rests on
// results being made in the memory of what is read only where each point reads its own place.
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
  subtract,
} from '@tsinductor/ir';
import type { Axis, Body, Index, LoopNode } from '@tsinductor/ir';
import type { Planning } from './planning.ts';
import { isSameLoad, loadsOf } from './rows.ts';
import type { Load } from './rows.ts';
import { operationsOf, pointBodies } from './work.ts';

/** Maps, and the axis of their lanes, which counts from 0. */
export interface LanePart {
  readonly axis: Axis;
  readonly nodes: readonly LoopNode[];
  /** Where its points begin on the whole axis: in several places, where equal parts are one loop. */
  readonly starts: readonly number[];
}

interface LaneLoop extends Pick<LanePart, 'axis' | 'nodes'> {
  readonly lanes: number;
}

export const wholePart = ({ axis, nodes }: Pick<LanePart, 'axis' | 'nodes'>): LanePart => ({
  axis,
  nodes,
  starts: [0],
});

export function partsOf({ choices }: Pick<Planning, 'choices'>, { axis, nodes, lanes }: LaneLoop): readonly LanePart[] {
  const whole = wholePart({ axis, nodes });
  const extent = staticValue(axis.extent);
  if (extent === undefined || lanes === 1 || nodes.some(({ kind }) => kind !== 'map')) return [whole];
  const work = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  if (work > choices.laneParts.mostWork) return [whole];
  const places = nodes.flatMap(pointBodies).flatMap((body) => cutsOf(body, axis));
  const around = places.flatMap((place) =>
    [Math.floor(place / lanes), Math.ceil(place / lanes)].map((cut) => cut * lanes),
  );
  const cuts = [...new Set(around)].filter((cut) => cut > 0 && cut < extent).toSorted((left, right) => left - right);
  if (cuts.length === 0 || cuts.length >= choices.laneParts.most) return [whole];
  const parts = [0, ...cuts].map((from, index) => decidedPart(whole, { from, to: cuts[index] ?? extent }));
  return parts.some(({ isDecided }) => isDecided) ? joined(parts, choices.laneParts.mostJoined) : [whole];
}

/** One part of all, where they are of one length and each is a map that reads the same, without masks. */
function joined(parts: readonly LanePart[], mostJoined: number): readonly LanePart[] {
  const isShort = ({ extent }: Axis): boolean => (staticValue(extent) ?? Infinity) < mostJoined;
  const [first, ...others] = parts;
  if (first === undefined || !parts.every(({ axis, nodes }) => nodes.length === 1 && isShort(axis))) return parts;
  const loads = first.nodes.flatMap(loadsOf);
  const isAlike = ({ axis, nodes }: LanePart): boolean =>
    equal(axis.extent, first.axis.extent) && haveSameLoads(nodes.flatMap(loadsOf), loads);
  if (loads.length === 0 || parts.some(hasMasks) || !others.every(isAlike)) return parts;
  const starts = parts.flatMap((part) => part.starts);
  return [{ axis: first.axis, nodes: parts.flatMap(({ nodes }) => nodes), starts }];
}

const hasMasks = ({ nodes }: LanePart): boolean =>
  nodes.flatMap(pointBodies).some((body) => body.nodes.some((node) => node.kind === 'load' && node.mask !== undefined));

function haveSameLoads(left: readonly Load[], right: readonly Load[]): boolean {
  const isIn =
    (some: readonly Load[]) =>
    (load: Load): boolean =>
      some.some((other) => isSameLoad(other, load));
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

function decidedPart({ axis, nodes }: LanePart, { from, to }: Range): LanePart & { readonly isDecided: boolean } {
  const part: Axis = { name: axis.name, extent: int(to - from) };
  const map: ReadonlyMap<string, Index> = new Map([[axis.name, add(axisIndex(part), int(from))]]);
  const moved = nodes.map((node) => mapNodeBodies(node, { map }));
  const decided = moved.map((node) => decideBounds(node, 'indices'));
  const isDecided = decided.some((node, position) => node !== moved[position]);
  return { axis: part, nodes: decided, starts: [from], isDecided };
}
