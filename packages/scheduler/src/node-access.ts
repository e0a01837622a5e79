// What the scheduler asks of a loop node, whatever its kind: its loops, what it reads and where, all of its index
// expressions, and the same node over other axes.
import { at } from '@tsinductor/base';
import {
  axisIndex,
  BodyBuilder,
  elementsOf,
  freeIndirects,
  hasIndirects,
  indirect,
  mapSortPlaces,
  replayBody,
  sortOperands,
  substitute,
  substituteAxes,
} from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode, Replay, ScalarId } from '@tsinductor/ir';

/** One read of a buffer. */
export interface Read {
  readonly buffer: BufferId;
  readonly at: Index;
  readonly isMasked: boolean;
}

/** All bodies of a node. */
export function bodiesOf(node: LoopNode): readonly Body[] {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return [node.body];
    case 'reduce':
    case 'scan':
      return [node.init, node.step, node.merge, node.finish];
    case 'contract':
      return elementsOf(node);
    case 'sort':
      return [];
  }
}

/** The body that is evaluated at every point, if the node has one that producers may be inlined into. */
export function pointBody(node: LoopNode): Body | undefined {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return node.body;
    case 'reduce':
    case 'scan':
      return node.step;
    case 'contract':
    case 'sort':
      return undefined;
  }
}

/** `node` with another body in the place of `pointBody`. */
export function withPointBody(node: LoopNode, body: Body): LoopNode {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return { ...node, body };
    case 'reduce':
    case 'scan':
      return { ...node, step: body };
    case 'contract':
    case 'sort':
      return node;
  }
}

/** The loops that a node has beyond those of its outputs. A sort has none: what it does with a row is its own. */
export function overOf(node: LoopNode): readonly Axis[] {
  switch (node.kind) {
    case 'map':
    case 'scatter':
    case 'sort':
      return [];
    case 'reduce':
    case 'scan':
    case 'contract':
      return node.over;
  }
}

/** All loops of a node, those of its outputs first. */
export const loopsOf = (node: LoopNode): readonly Axis[] => [...node.axes, ...overOf(node)];

/** The loops over the elements of a node's results: a scan has one for each step, a sort one for what it keeps of a row. */
export const resultAxes = (node: LoopNode): readonly Axis[] =>
  node.kind === 'scan' ? loopsOf(node) : node.kind === 'sort' ? [...node.axes, node.kept] : node.axes;

/** Reads in bodies, in order; those of contractions and the start of a scatter have no place in a body. */
export function bodyReads(node: LoopNode): readonly Read[] {
  const reads: Read[] = [];
  // Bodies have no dead nodes here: every one was finished by a builder.
  for (const { nodes } of bodiesOf(node)) {
    for (const scalar of nodes) {
      if (scalar.kind === 'load')
        reads.push({ buffer: scalar.buffer, at: scalar.at, isMasked: scalar.mask !== undefined });
    }
  }
  return reads;
}

/** Buffers that a node reads outside its bodies: whole operands. */
export function wholeReads(node: LoopNode): readonly BufferId[] {
  switch (node.kind) {
    case 'map':
    case 'reduce':
    case 'scan':
      return [];
    case 'scatter':
      return node.initial === undefined ? [] : [node.initial];
    case 'contract':
      return [node.a.buffer, node.b.buffer];
    case 'sort':
      return sortOperands(node).map(({ buffer }) => buffer);
  }
}

/** Every buffer that a node reads, once. */
export function buffersRead(node: LoopNode): readonly BufferId[] {
  const buffers = new Set(wholeReads(node));
  for (const { nodes } of bodiesOf(node))
    for (const scalar of nodes) if (scalar.kind === 'load') buffers.add(scalar.buffer);
  return [...buffers];
}

/** Every index expression of a node. */
export function indexesOf(node: LoopNode): readonly Index[] {
  return [...coordinatesOf(node), ...placesOf(node), ...booleanPlacesOf(node)];
}

/** The coordinates that its bodies compute with. */
export function coordinatesOf(node: LoopNode): readonly Index[] {
  const found: Index[] = [];
  for (const { nodes } of bodiesOf(node))
    for (const scalar of nodes) if (scalar.kind === 'index') found.push(scalar.value);
  return found;
}

/** Where it reads booleans. */
export const booleanPlacesOf = (node: LoopNode): readonly Index[] =>
  bodiesOf(node).flatMap(({ nodes }) =>
    nodes.flatMap((scalar) => (scalar.kind === 'load' && scalar.dtype === 'bool' ? [scalar.at] : [])),
  );

/** Where it reads and writes all else, and the extents that it checks. */
export function placesOf(node: LoopNode): readonly Index[] {
  const found: Index[] = [];
  for (const { nodes } of bodiesOf(node)) {
    for (const scalar of nodes) {
      if (scalar.kind === 'load' && scalar.dtype !== 'bool') found.push(scalar.at);
      else if (scalar.kind === 'check') found.push(scalar.extent);
    }
  }
  if (node.kind === 'contract') found.push(node.a.at, node.b.at);
  if (node.kind === 'sort') found.push(...sortOperands(node).map((operand) => operand.at));
  found.push(...node.writes);
  return found;
}

/** New loops for a node, and what its old axes are in terms of them. */
interface Reindexing {
  readonly map: ReadonlyMap<string, Index>;
  readonly axes: readonly Axis[];
  readonly over: readonly Axis[];
}

/** The node over other loops. Contractions have fixed ones. */
export function reindex(node: LoopNode, { map, axes, over }: Reindexing): LoopNode {
  const inBody = (body: Body): Body => substituteAxes(body, map);
  switch (node.kind) {
    case 'map':
      return { ...node, axes, writes: node.writes.map((write) => substitute(write, map)), body: inBody(node.body) };
    case 'reduce':
    case 'scan': {
      const writes = node.writes.map((write) => substitute(write, map));
      const bodies = {
        init: inBody(node.init),
        step: inBody(node.step),
        merge: inBody(node.merge),
        finish: inBody(node.finish),
      };
      return node.kind === 'reduce'
        ? { ...node, axes, over, writes, ...bodies }
        : { ...node, axes, over: [at(over, 0)], writes, ...bodies };
    }
    case 'scatter':
      return reindexScatter(node, { map, axes, over });
    case 'contract':
      return node;
    case 'sort':
      return { ...mapSortPlaces(node, (index) => substitute(index, map)), axes };
  }
}

type Contract = LoopNode & { readonly kind: 'contract' };

/** A contraction over other axes: of other names, or several in the place of one of its batch. */
export function renameContract(
  node: Contract,
  map: ReadonlyMap<string, Index>,
  rename: (axes: readonly Axis[]) => readonly Axis[],
): Contract {
  const one = (axis: Axis): Axis => at(rename([axis]), 0);
  const operand = ({ element, ...own }: Contract['a']): Contract['a'] => ({
    ...own,
    at: substitute(own.at, map),
    ...(element !== undefined && { element: substituteAxes(element, map) }),
  });
  return {
    ...node,
    axes: rename(node.axes),
    batch: rename(node.batch),
    m: one(node.m),
    n: one(node.n),
    over: rename(node.over),
    a: operand(node.a),
    b: operand(node.b),
    writes: node.writes.map((write) => substitute(write, map)),
  };
}

/** A scatter's writes mention nodes of its body, which are renumbered with it. */
function reindexScatter(node: LoopNode & { readonly kind: 'scatter' }, { map, axes }: Reindexing): LoopNode {
  return { ...node, axes, ...replayWriting(node, { map }) };
}

/** A body, and the places where its results go, which may mention its nodes. */
interface Writing {
  readonly body: Body;
  readonly writes: readonly Index[];
}

/** Both rebuilt together; `store` says what is stored of a result. */
export function replayWriting({ body, writes }: Writing, replay: Replay, store: Store = (_, id) => id): Writing {
  const builder = new BodyBuilder();
  const named = writes.some(hasIndirects) ? writes.flatMap((write) => [...freeIndirects(write)]) : [];
  const { results, idOf } = replayBody({ nodes: body.nodes, results: [...body.results, ...named] }, builder, replay);
  const stored = results.slice(0, body.results.length).map((id, slot) => store(builder, id, slot));
  // A check that turned out to be unnecessary leaves an index expression.
  const placed = writes.map((write) =>
    substitute(write, replay.map ?? new Map(), (value, extent) => builder.indirect(idOf(value), extent)),
  );
  if (!placed.some(hasIndirects)) return { body: builder.finish(stored), writes: placed };
  const roots = placed.flatMap((write) => [...freeIndirects(write)]);
  const finished = builder.finish([...stored, ...roots]);
  const newId = (id: ScalarId): ScalarId => at(finished.results, stored.length + roots.indexOf(id));
  return {
    body: { nodes: finished.nodes, results: finished.results.slice(0, stored.length) },
    writes: placed.map((write) =>
      hasIndirects(write) ? substitute(write, new Map(), (value, extent) => indirect(newId(value), extent)) : write,
    ),
  };
}

export type Store = (builder: BodyBuilder, id: ScalarId, slot: number) => ScalarId;

/** Whether an extent is known to be 1. */
export const isUnit = (axis: Axis): boolean => axis.extent.kind === 'int' && axis.extent.value === 1;

/** Whether one of the axes has the name of `axis`. */
export const hasAxis = (axes: readonly Axis[], { name }: Axis): boolean => axes.some((own) => own.name === name);

export const namesOf = (axes: readonly Axis[]): ReadonlySet<string> => new Set(axes.map((axis) => axis.name));

/** Old names to the axes that replace them. */
export const renaming = (pairs: readonly (readonly [string, Axis])[]): ReadonlyMap<string, Index> =>
  new Map(pairs.map(([name, axis]) => [name, axisIndex(axis)]));
