// Neighbouring vectors of a loop that share most of their work: what depends on where a vector stands by quotients and remainders
// alone, as random words do that are computed four at a time. In: maps, and the axis of their lanes. Out: how many vectors
// belong side by side, where the kernel's writer computes once what is equal in them.
import { at } from '@tsinductor/base';
import { alignIndex, hasIndirect } from '@tsinductor/codegen';
import type { Alignment } from '@tsinductor/codegen';
import { add, axisIndex, int, printIndex, substitute } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';
import type { Planning } from './planning.ts';
import { costOf, pointBodies, varyingNodes } from './work.ts';

interface Lanes {
  readonly axis: Axis;
  readonly lanes: number;
}

/** How many vectors side by side share the most, the fewest of those; 1 where they have too little in common. */
export function sharingVectors(
  { choices: { sharedWork, mostInterleaved } }: Pick<Planning, 'choices'>,
  nodes: readonly LoopNode[],
  along: Lanes,
): number {
  if (nodes.some(({ kind }) => kind !== 'map') || !nodes.flatMap(pointBodies).some(hasQuotients)) return 1;
  let best = { vectors: 1, share: sharedWork.least };
  for (let vectors = 2; vectors <= mostInterleaved; vectors *= 2) {
    const share = sharedPart(nodes, along, vectors);
    if (share > best.share + sharedWork.worthMore) best = { vectors, share };
  }
  return best.vectors;
}

const hasQuotients = ({ nodes }: Body): boolean =>
  nodes.some((node) => node.kind === 'index' && hasQuotient(node.value));

function hasQuotient(index: Index): boolean {
  if (index.kind === 'floorDiv' || index.kind === 'mod') return true;
  return (index.kind === 'sum' || index.kind === 'product') && index.items.some(hasQuotient);
}

/** The part of the work of so many neighbouring vectors that some of them do for others. */
function sharedPart(nodes: readonly LoopNode[], along: Lanes, vectors: number): number {
  const formsOf = alignedForms(along, vectors);
  const results = new Map<BufferId, Labels>();
  let [done, all] = [0, 0];
  for (const node of nodes) {
    for (const body of pointBodies(node)) {
      const varying = varyingNodes(body, along.axis.name);
      const labels = labelsOf(body, { formsOf, results, vectors });
      for (const [id, scalar] of body.nodes.entries()) {
        if (varying[id] !== true) continue;
        all += costOf(scalar) * vectors;
        done += costOf(scalar) * new Set(labels[id]).size;
      }
      node.outs.forEach((buffer, slot) => {
        const own = labels[body.results[slot] ?? -1];
        if (own !== undefined) results.set(buffer, own);
      });
    }
  }
  return all === 0 ? 0 : 1 - done / all;
}

/** For each vector a name of its value: equal names, equal values. */
type Labels = readonly string[];

/** An index as it reads in each of so many neighbouring vectors, the first of which stands at a multiple of them all. */
function alignedForms({ axis, lanes }: Lanes, vectors: number): (index: Index) => Labels {
  const alignment: Alignment = { axis: axis.name, lanes, units: new Map([[axis.name, lanes * vectors]]) };
  const places = Array.from({ length: vectors }, (_, vector) => add(axisIndex(axis), int(vector * lanes)));
  return (index) =>
    places.map((place, vector) => {
      // What is loaded is taken to differ.
      if (hasIndirect(index)) return String(vector);
      return printIndex(alignIndex(substitute(index, new Map([[axis.name, place]])), alignment));
    });
}

interface Labelling {
  readonly formsOf: (index: Index) => Labels;
  /** What maps before this one have written, which is at hand. */
  readonly results: ReadonlyMap<BufferId, Labels>;
  readonly vectors: number;
}

/** The labels of each node of a body. */
function labelsOf({ nodes }: Body, { formsOf, results, vectors }: Labelling): readonly Labels[] {
  const all: Labels[] = [];
  const each = (label: (vector: number) => string): Labels =>
    Array.from({ length: vectors }, (_, vector) => label(vector));
  const joined = (parts: readonly Labels[]): Labels => {
    const numbers = new Map<string, number>();
    return each((vector) => {
      const key = parts.map((part) => at(part, vector)).join(' ');
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return String(numbers.get(key));
    });
  };
  const of = (...ids: readonly (ScalarId | undefined)[]): readonly Labels[] =>
    ids.flatMap((id) => (id === undefined ? [] : [at(all, id)]));
  const ofNode = (node: Scalar): Labels => {
    switch (node.kind) {
      case 'constant':
        return each(() => '');
      case 'index':
        return formsOf(node.value);
      case 'load':
        return joined([results.get(node.buffer) ?? formsOf(node.at), ...of(node.mask, node.other)]);
      case 'cast':
      case 'bitcast':
        return at(all, node.value);
      case 'apply':
        return joined(of(...node.args));
      case 'carried':
      case 'check':
        return each(String);
    }
  };
  for (const node of nodes) all.push(ofNode(node));
  return all;
}
