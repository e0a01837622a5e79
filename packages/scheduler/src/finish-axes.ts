// The loops of a finished cluster in their final form: neighbours that all accesses step through as through one are
// joined, and the rest are named i, j, k ... from the outside in, so that equal groups print alike.
import type { Axis, Index, LoopNode } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import { indexesOf, loopsOf, namesOf, overOf, reindex, renameContract, renaming } from './node-access.ts';
import { joinList } from './normalize-axes.ts';
import type { Stage } from './stages.ts';
import { isShorter } from './widen.ts';

interface Shaped {
  readonly cluster: Cluster;
  readonly stages: readonly Stage[];
}

interface Finished extends Shaped {
  /** How many names the loops have taken. */
  readonly names: number;
}

/** `first` names are taken by other loops of the group. */
export function finishAxes(shaped: Shaped, first = 0): Finished {
  return nameAxes(joinNeighbours(shaped), first);
}

const LETTERS = 'ijklmn';

function joinNeighbours(shaped: Shaped): Shaped {
  const nodes = shaped.stages.flatMap((stage) => stage.members.map(({ node }) => node));
  if (nodes.some((node) => node.kind === 'contract' || node.kind === 'scan')) return shaped;
  // What is shorter than its loops keeps its lengths.
  if (nodes.some((node) => isShorter(node, shaped.cluster))) return shaped;
  const lists = [shaped.cluster.outer, ...runsOf(shaped.stages)].filter((list) => list.length > 1);
  if (lists.length === 0) return shaped;
  const indexes = nodes.flatMap(indexesOf);
  return lists.reduce((current, list) => joinOne(current, list, indexes), shaped);
}

/** Maximal runs of inner loops with one role that stand together wherever one of them stands. */
function runsOf(stages: readonly Stage[]): readonly (readonly Axis[])[] {
  const lists = new Map<string, readonly Axis[]>();
  const owners = new Map<string, Set<string>>();
  for (const stage of stages) {
    const over = namesOf(stage.members.flatMap(({ node }) => overOf(node)));
    for (const run of [
      stage.loops.filter((axis) => !over.has(axis.name)),
      stage.loops.filter((axis) => over.has(axis.name)),
    ]) {
      const key = run.map((axis) => axis.name).join(' ');
      lists.set(key, run);
      for (const axis of run) owners.set(axis.name, (owners.get(axis.name) ?? new Set()).add(key));
    }
  }
  return [...lists.values()].filter((run) => run.every((axis) => owners.get(axis.name)?.size === 1));
}

function joinOne(shaped: Shaped, list: readonly Axis[], indexes: readonly Index[]): Shaped {
  const { axes, map } = joinList(list, indexes);
  if (map.size === 0) return shaped;
  const gone = namesOf(list);
  const place = (own: readonly Axis[]): readonly Axis[] => {
    const first = own.findIndex((axis) => gone.has(axis.name));
    return first === -1
      ? own
      : [...own.slice(0, first), ...axes, ...own.slice(first).filter((axis) => !gone.has(axis.name))];
  };
  return mapNodes(shaped, place, (node) => reindex(node, { map, axes: place(node.axes), over: place(overOf(node)) }));
}

function mapNodes(
  { cluster, stages }: Shaped,
  axes: (axes: readonly Axis[]) => readonly Axis[],
  change: (node: LoopNode) => LoopNode,
): Shaped {
  const changed = stages.map((stage) => ({
    loops: axes(stage.loops),
    members: stage.members.map((member) => ({ ...member, node: change(member.node) })),
  }));
  const nodes = changed.flatMap((stage) => stage.members).sort((a, b) => a.position - b.position);
  return { cluster: { ...cluster, outer: axes(cluster.outer), nodes }, stages: changed };
}

function nameAxes(shaped: Shaped, first: number): Finished {
  const all = namesOf([shaped.cluster.outer, ...shaped.stages.map((stage) => stage.loops)].flat());
  const named = new Map([...all].map((name, position) => [name, axisName(first + position)]));
  const one = (axis: Axis): Axis => ({ ...axis, name: named.get(axis.name) ?? axis.name });
  const rename = (axes: readonly Axis[]): readonly Axis[] => axes.map(one);
  const renamed = mapNodes(shaped, rename, (node) => {
    const map = renaming(loopsOf(node).map((axis) => [axis.name, one(axis)]));
    return node.kind === 'contract'
      ? renameContract(node, map, rename)
      : reindex(node, { map, axes: rename(node.axes), over: rename(overOf(node)) });
  });
  return { ...renamed, names: all.size };
}

const axisName = (position: number): string => LETTERS[position] ?? `i${String(position)}`;
