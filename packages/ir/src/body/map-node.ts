// Loop nodes with their bodies rebuilt: what `mapBody` is for a body, with the writes kept in step, since they may use
// loaded indices of a body.
import { at } from '@tsinductor/base';
import { freeIndirects } from '../arithmetic/query.ts';
import { indirect } from '../arithmetic/polynomial.ts';
import { substitute } from '../arithmetic/substitute.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { ContractOperand, LoopNode, SortNode } from '../loop.ts';
import type { Body } from '../scalar.ts';
import { BodyBuilder } from './body-builder.ts';
import type { BuilderOptions } from './body-builder.ts';
import { replayBody } from './replay-body.ts';
import type { Replay } from './replay-body.ts';

/** The node with every body replayed. What `replay` says of axes holds for the writes too; axes stay as they are. */
export function mapNodeBodies(node: LoopNode, replay: Replay, options: BuilderOptions = {}): LoopNode {
  const plain = (body: Body): Body => rebuild(body, [], { replay, options }).body;
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return { ...node, ...rebuild(node.body, node.writes, { replay, options }) };
    case 'reduce':
    case 'scan': {
      const { body: finish, writes } = rebuild(node.finish, node.writes, { replay, options });
      return { ...node, init: plain(node.init), step: plain(node.step), merge: plain(node.merge), finish, writes };
    }
    case 'contract': {
      const operand = (own: ContractOperand): ContractOperand =>
        own.element === undefined ? own : { ...own, element: plain(own.element) };
      return { ...node, a: operand(node.a), b: operand(node.b) };
    }
    case 'sort':
      return mapSortPlaces(node, (index) => (replay.map === undefined ? index : substitute(index, replay.map)));
  }
}

/** A sort that reads and writes at other places. */
export function mapSortPlaces(node: SortNode, map: (index: Index) => Index): SortNode {
  const { keys, places, writes } = node;
  const moved = { ...node, keys: { ...keys, at: map(keys.at) }, writes: writes.map(map) };
  return places === undefined ? moved : { ...moved, places: { ...places, at: map(places.at) } };
}

/** A node whose loop of the name of `axis` is `axis`; `value` is what its coordinate was. */
export function replaceAxis(node: LoopNode, axis: Axis, value: Index): LoopNode {
  const moved = mapNodeBodies(node, { map: new Map([[axis.name, value]]) });
  return { ...moved, axes: moved.axes.map((own) => (own.name === axis.name ? axis : own)) };
}

interface Rebuilding {
  readonly replay: Replay;
  readonly options: BuilderOptions;
}

function rebuild(
  body: Body,
  writes: readonly Index[],
  { replay, options }: Rebuilding,
): { body: Body; writes: readonly Index[] } {
  const builder = new BodyBuilder(options);
  const replayed = replayBody(body, builder, {
    ...replay,
    roots: writes.flatMap((write) => [...freeIndirects(write)]),
  });
  const moved = writes.map(replayed.indexOf);
  const used = [...new Set(moved.flatMap((write) => [...freeIndirects(write)]))];
  const count = body.results.length;
  const { nodes, results } = builder.finish([...replayed.results, ...used]);
  const ids = new Map(used.map((id, position) => [id, at(results, count + position)]));
  const renumbered = moved.map((write) =>
    ids.size === 0 ? write : substitute(write, new Map(), (id, extent) => indirect(ids.get(id) ?? id, extent)),
  );
  return { body: { nodes, results: results.slice(0, count) }, writes: renumbered };
}

/** The node with decomposed ops expanded to primitives, and axes and sizes replaced. */
export const expandNode = (node: LoopNode, { map, ops = 'decomposed' }: Expansion = {}): LoopNode =>
  mapNodeBodies(node, map === undefined ? {} : { map }, { ops });

interface Expansion {
  readonly map?: ReadonlyMap<string, Index>;
  readonly ops?: 'decomposed' | 'guarded';
}
