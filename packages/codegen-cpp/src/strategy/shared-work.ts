// Neighbouring vectors of a loop that share most of their work: what depends on where a vector stands by quotients and remainders
// alone, as random words do that are computed four at a time. In: maps, and the axis of their lanes. Out: how many vectors
// belong side by side, where the kernel's writer computes once what is equal in them.
import { alignIndex, hasIndirect } from '@tsinductor/codegen';
import type { Alignment } from '@tsinductor/codegen';
import { add, axisIndex, equal, int, substitute } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';
import { leastShare, mostSharing } from '../target.ts';
import { costOf, pointBodies, varyingNodes } from './lane-choice.ts';

interface Lanes {
  readonly axis: Axis;
  readonly lanes: number;
}

/** 1 where vectors have too little in common. */
export function sharingVectors(nodes: readonly LoopNode[], along: Lanes): number {
  if (nodes.some(({ kind }) => kind !== 'map') || !nodes.flatMap(pointBodies).some(hasQuotients)) return 1;
  for (let vectors = mostSharing; vectors > 1; vectors /= 2) {
    const { shared, all } = workOf(nodes, along, vectors);
    if (shared > leastShare * all) return vectors;
  }
  return 1;
}

const hasQuotients = ({ nodes }: Body): boolean =>
  nodes.some((node) => node.kind === 'index' && hasQuotient(node.value));

function hasQuotient(index: Index): boolean {
  if (index.kind === 'floorDiv' || index.kind === 'mod') return true;
  return (index.kind === 'sum' || index.kind === 'product') && index.items.some(hasQuotient);
}

interface Work {
  readonly shared: number;
  readonly all: number;
}

/** The work that differs between lanes, and the part of it that is the same in so many neighbouring vectors. */
function workOf(nodes: readonly LoopNode[], along: Lanes, vectors: number): Work {
  const isShared = sharedIndices(along, vectors);
  const results = new Map<BufferId, boolean>();
  let [shared, all] = [0, 0];
  for (const node of nodes) {
    for (const body of pointBodies(node)) {
      const varying = varyingNodes(body, along.axis.name);
      const sharing = sharedNodes(body, { isShared, results });
      for (const [id, scalar] of body.nodes.entries()) {
        if (varying[id] !== true) continue;
        all += costOf(scalar);
        if (sharing[id] === true) shared += costOf(scalar);
      }
      node.outs.forEach((buffer, slot) => results.set(buffer, sharing[body.results[slot] ?? -1] === true));
    }
  }
  return { shared, all };
}

/** Whether an index is the same in so many neighbouring vectors, the first of which stands at a multiple of them all. */
function sharedIndices({ axis, lanes }: Lanes, vectors: number): (index: Index) => boolean {
  const alignment: Alignment = { axis: axis.name, lanes, units: new Map([[axis.name, lanes * vectors]]) };
  const places = Array.from({ length: vectors - 1 }, (_, vector) => add(axisIndex(axis), int((vector + 1) * lanes)));
  return (index) => {
    // What is loaded is taken to differ.
    if (hasIndirect(index)) return false;
    const first = alignIndex(index, alignment);
    const at = (place: Index): Index => alignIndex(substitute(index, new Map([[axis.name, place]])), alignment);
    return places.every((place) => equal(at(place), first));
  };
}

interface Sharing {
  readonly isShared: (index: Index) => boolean;
  /** What maps before this one have written, which is at hand. */
  readonly results: ReadonlyMap<BufferId, boolean>;
}

/** For each node of a body whether it has the same value in all vectors. */
function sharedNodes({ nodes }: Body, { isShared, results }: Sharing): readonly boolean[] {
  const shared: boolean[] = [];
  const of = (id: ScalarId | undefined): boolean => id === undefined || shared[id] === true;
  const ofNode = (node: Scalar): boolean => {
    switch (node.kind) {
      case 'constant':
        return true;
      case 'index':
        return isShared(node.value);
      case 'load':
        return (results.get(node.buffer) ?? isShared(node.at)) && of(node.mask) && of(node.other);
      case 'cast':
      case 'bitcast':
        return of(node.value);
      case 'apply':
        return node.args.every(of);
      case 'carried':
      case 'check':
        return false;
    }
  };
  for (const node of nodes) shared.push(ofNode(node));
  return shared;
}
