// Bodies rebuilt inside another: with axes replaced, loads and state redirected, under a mask. Everything that changes
// a body is a replay into a fresh builder, so that value numbering and folding happen again.
import { at, get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { substitute } from '../arithmetic/substitute.ts';
import type { Index } from '../index-expr.ts';
import type { Body, Scalar, ScalarId } from '../scalar.ts';
import { BodyBuilder } from './body-builder.ts';
import { liveNodes } from './traverse-body.ts';
import type { Load } from './traverse-body.ts';

export interface Replay {
  /** What axes and sizes become, by name. */
  readonly map?: ReadonlyMap<string, Index>;
  /** Replaces a load, whose parts are those of the new body; undefined keeps it. */
  readonly load?: (load: Load, builder: BodyBuilder) => ScalarId | undefined;
  /** Replaces a state. */
  readonly carried?: (slot: number, dtype: DType, builder: BodyBuilder) => ScalarId;
  /** Nodes that are needed beyond the results: loaded indices that a write uses. */
  readonly roots?: readonly ScalarId[];
  /** Where this is false the results are not used: nothing is read there. */
  readonly mask?: ScalarId;
}

/** What became of the nodes of a replayed body. */
interface Replayed {
  readonly results: readonly ScalarId[];
  readonly idOf: (old: ScalarId) => ScalarId;
  readonly indexOf: (index: Index) => Index;
}

const noNames: ReadonlyMap<string, Index> = new Map();

/** Builds the live nodes of `body` in `builder`. */
export function replayBody(body: Body, builder: BodyBuilder, replay: Replay = {}): Replayed {
  const ids = new Map<ScalarId, ScalarId>();
  const idOf = (old: ScalarId): ScalarId => get(ids, old);
  const indexOf = (index: Index): Index =>
    substitute(index, replay.map ?? noNames, (value, extent) => builder.indirect(idOf(value), extent));
  const replayed: Replayed = { results: [], idOf, indexOf };
  const live = liveNodes(body, replay.roots);
  const place: Place = { builder, replay, replayed };
  body.nodes.forEach((node, id) => {
    if (live[id] === true) ids.set(id, replayNode(node, place));
  });
  return { ...replayed, results: body.results.map(idOf) };
}

interface Place {
  readonly builder: BodyBuilder;
  readonly replay: Replay;
  readonly replayed: Replayed;
}

function replayNode(node: Scalar, { builder, replay, replayed: { idOf, indexOf } }: Place): ScalarId {
  switch (node.kind) {
    case 'constant':
      return builder.constant(node.value, node.dtype);
    case 'index':
      return builder.index(indexOf(node.value));
    case 'carried':
      return replay.carried?.(node.slot, node.dtype, builder) ?? builder.carried(node.slot, node.dtype);
    case 'cast':
      return builder.cast(idOf(node.value), node.dtype);
    case 'bitcast':
      return builder.bitcast(idOf(node.value), node.dtype);
    case 'apply':
      return builder.apply(node.op, node.args.map(idOf));
    case 'check':
      return builder.check(passing(builder, idOf(node.value), replay.mask), indexOf(node.extent), node);
    case 'load': {
      const mask = bothMasks(builder, node.mask === undefined ? undefined : idOf(node.mask), replay.mask);
      const other = node.other === undefined ? undefined : idOf(node.other);
      const masked = { ...(mask !== undefined && { mask }), ...(other !== undefined && { other }) };
      const load: Load = { kind: 'load', dtype: node.dtype, buffer: node.buffer, at: indexOf(node.at), ...masked };
      return replay.load?.(load, builder) ?? builder.load(load.buffer, load.dtype, load.at, masked);
    }
  }
}

/** A value that is checked, and where the mask is false one that passes: what it is made of was not read there. */
function passing(builder: BodyBuilder, value: ScalarId, mask: ScalarId | undefined): ScalarId {
  if (mask === undefined || isZeroElsewhere(builder, value, mask)) return value;
  return builder.apply('where', [mask, value, builder.constant(0, builder.dtypeOf(value))]);
}

/** Whether a value is a plain 0 where the mask is false: read under it, or chosen by it. */
function isZeroElsewhere(builder: BodyBuilder, value: ScalarId, mask: ScalarId): boolean {
  const node = builder.node(value);
  if (node.kind === 'cast') return isZeroElsewhere(builder, node.value, mask);
  if (node.kind === 'load')
    return node.other === undefined && node.mask !== undefined && isWithin(builder, node.mask, mask);
  if (node.kind !== 'apply' || node.op !== 'where' || node.args[0] !== mask) return false;
  const other = builder.node(at(node.args, 2));
  return other.kind === 'constant' && Number(other.value) === 0;
}

/** Whether one mask is false wherever the other is. */
function isWithin(builder: BodyBuilder, mask: ScalarId, outer: ScalarId): boolean {
  if (mask === outer) return true;
  const node = builder.node(mask);
  return node.kind === 'apply' && node.op === 'logicalAnd' && node.args.some((arg) => isWithin(builder, arg, outer));
}

function bothMasks(builder: BodyBuilder, a: ScalarId | undefined, b: ScalarId | undefined): ScalarId | undefined {
  if (a === undefined || b === undefined || a === b) return a ?? b;
  return builder.apply('logicalAnd', [a, b]);
}

/** The body rebuilt on its own. */
export function mapBody(body: Body, replay: Replay): Body {
  const builder = new BodyBuilder();
  return builder.finish(replayBody(body, builder, replay).results);
}

/** The body with axes (or sizes) replaced in all its indices. Where that makes no two of them alike, nothing is numbered again. */
export function substituteAxes(body: Body, map: ReadonlyMap<string, Index>): Body {
  if (map.size === 0) return body;
  const nodes = body.nodes.map((node) => withIndexes(node, map));
  if (nodes.every((node, id) => node === body.nodes[id])) return body;
  const substituted: Body = { nodes, results: body.results };
  return isRenaming(map) ? substituted : mapBody(substituted, {});
}

/** Whether axes become other axes, each a different one. */
function isRenaming(map: ReadonlyMap<string, Index>): boolean {
  const names = new Set<string>();
  for (const index of map.values()) if (index.kind === 'axis') names.add(index.axis.name);
  return names.size === map.size;
}

/** The node with its own indices substituted; the same one where that changes nothing. */
function withIndexes(node: Scalar, map: ReadonlyMap<string, Index>): Scalar {
  switch (node.kind) {
    case 'index': {
      const value = substitute(node.value, map);
      return value === node.value ? node : { ...node, value };
    }
    case 'load': {
      const place = substitute(node.at, map);
      return place === node.at ? node : { ...node, at: place };
    }
    case 'check': {
      const extent = substitute(node.extent, map);
      return extent === node.extent ? node : { ...node, extent };
    }
    case 'constant':
    case 'carried':
    case 'cast':
    case 'bitcast':
    case 'apply':
      return node;
  }
}

/** The body with every op that has a decomposition expanded, down to primitives. */
export function expandDecompositions(body: Body): Body {
  const builder = new BodyBuilder({ ops: 'decomposed' });
  return builder.finish(replayBody(body, builder).results);
}

/** The body without what its results do not need. */
export const removeDead = (body: Body): Body => (liveNodes(body).every((live) => live) ? body : mapBody(body, {}));
