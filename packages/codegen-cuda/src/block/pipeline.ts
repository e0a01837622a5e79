// Software pipelines: a loop whose body loads the factors of a product sends for them some iterations ahead, straight from global
// to shared memory, while earlier ones are multiplied. In: a loop and how many stages it may have. Out: which loads are
// staged, and the statements that send, wait and meet; or the reason why the loop runs as it is written.
//
// Law: what is sent for iteration i lies in stage i mod stages. At the top of iteration i all its copies have landed and all
// threads have met, so that the stage of iteration i - 1 may be written again.
import { at, dtypeInfo } from '@tsinductor/base';
import { paramName, scalarIndex, scalarOfIndex, scalarTileIndex, valueIndex } from '@tsinductor/codegen';
import type { CountedLoop, MovedTile } from '@tsinductor/codegen';
import {
  add,
  allTileNodes,
  ceilDivide,
  int,
  isElementOp,
  modulo,
  multiply,
  negate,
  subtract,
  tileOps,
  tileSize,
} from '@tsinductor/ir';
import type { ForNode, Index, Stmt, TileId, TileNode, TileOp } from '@tsinductor/ir';
import type { BlockBinder, SharedTile } from './block-binder.ts';
import { accessWidth, fastestAxis, touchesOf } from './bind-memory.ts';
import { granuleOf, isMatrixDot } from './bind-matrix-dot.ts';
import { evaluateTile, evaluationAt, globalAccess, sharedPlace } from './evaluate-tile.ts';
import { blockedLayout } from './layout.ts';
import type { Layout } from './layout.ts';
import { copyToShared, ownerMask, prepare } from './move-tiles.ts';

type Load = TileOp & { readonly op: 'load' };

interface Staged {
  readonly load: Load;
  readonly layout: Layout;
  readonly shared: SharedTile;
}

interface Pipeline {
  readonly loop: PipelinedLoop;
  readonly turns: Index;
  readonly stages: number;
  readonly staged: readonly Staged[];
  /** What the addresses and masks of the loads are computed from, within the body, in order. */
  readonly slice: readonly TileOp[];
}

interface PipelinedLoop extends CountedLoop {
  /** Writes the statements of nodes of its body. */
  readonly bindSlice: (nodes: readonly TileOp[]) => void;
}

/** Binds a loop as a pipeline, if its loads allow one. */
export function bindPipeline(loop: PipelinedLoop, binder: BlockBinder): boolean {
  const { node, from, to, step } = loop;
  const turns = valueIndex(binder.name(scalarOfIndex(ceilDivide(subtract(to, from), int(step)), 'i64'), 'turns'));
  return binder.sharedFrame(() => {
    const pipeline = planPipeline(loop, turns, binder);
    if (pipeline === undefined) return false;
    shareFactors(loop, binder);
    openPipeline(pipeline, binder);
    const name = binder.writer.fresh('turn');
    const turn = scalarIndex(name);
    const body = binder.loop([name], touchesOf(allTileNodes(node.body)), () => {
      turnPipeline(pipeline, turn, binder);
      loop.iterate(inductionAt(loop, turn));
    });
    binder.writer.emit({ kind: 'for', name, from: int(0), to: turns, step: 1, body });
    closePipeline(binder);
    return true;
  });
}

/** Factors that are one for all iterations go to shared memory before the first. */
function shareFactors({ node, moved }: CountedLoop, binder: BlockBinder): void {
  const changing = new Set([node.induction, ...node.carried, ...moved.map(({ tile }) => tile)].map(({ id }) => id));
  for (const product of node.body.nodes) {
    if (product.kind !== 'op' || product.op !== 'dot') continue;
    const granule = isMatrixDot(product, binder) ? granuleOf(binder.tile(at(product.args, 0)).dtype) : 1;
    for (const id of product.args.slice(0, 2))
      if (binder.homes.has(id) && !changing.has(id)) copyToShared(id, binder, granule);
  }
}

const inductionAt = ({ from, step }: CountedLoop, turn: Index): Index => add(from, multiply(turn, int(step)));

function planPipeline(loop: PipelinedLoop, turns: Index, binder: BlockBinder): Pipeline | undefined {
  const { node } = loop;
  const stages = node.numStages ?? binder.target.stages;
  if (stages < 2) return undefined;
  const slices = node.body.nodes.flatMap((candidate) => {
    if (!isFactor(candidate, node, binder)) return [];
    const slice = sliceOf(candidate, node, loop.moved);
    const layout = copyLayout(candidate, binder);
    return slice === undefined || layout === undefined ? [] : [{ load: candidate, slice, layout }];
  });
  if (slices.length === 0) return undefined;
  const wanted = new Set(slices.flatMap(({ slice }) => slice));
  const slice = node.body.nodes.filter(
    (candidate): candidate is TileOp => candidate.kind === 'op' && wanted.has(candidate),
  );
  const staged = slices.map(({ load, layout }): Staged => {
    const tile = at(load.results, 0);
    const base = `${binder.label(tile.id, paramName(binder.program, load.attrs.param))}_stages`;
    const isTurned = fastestAxis(load, binder) === 0;
    const [rows, columns] = (isTurned ? tile.shape.toReversed() : tile.shape) as [number, number];
    const { name, granule } = binder.sharedTile(
      base,
      { dtype: tile.dtype, shape: [stages * rows, columns] },
      granuleOf(tile.dtype),
    );
    return { load, layout, shared: { name, granule, shape: tile.shape, isTurned } };
  });
  binder.notes.add(`${String(stages)} stages of asynchronous copies`);
  return { loop, turns, stages, staged, slice };
}

/** Whether a node loads a matrix that only a product of the same body takes, from memory that the loop leaves alone. */
function isFactor(candidate: TileNode, { body }: ForNode, binder: BlockBinder): candidate is Load {
  if (candidate.kind !== 'op' || candidate.op !== 'load') return false;
  const { id, shape } = at(candidate.results, 0);
  const product = body.nodes.find(
    (user) => user.kind === 'op' && user.op === 'dot' && user.args.slice(0, 2).includes(id),
  );
  const writes = [...allTileNodes(body)].some(
    (other) => other.kind === 'op' && (tileOps[other.op].effect === 'write' || tileOps[other.op].effect === 'atomic'),
  );
  return (
    shape.length === 2 &&
    product !== undefined &&
    binder.uses.get(id) === 1 &&
    !writes &&
    isZeroElsewhere(candidate, body.nodes, binder)
  );
}

/** Whether masked elements read as 0, which is what a copy leaves there. */
const isZeroElsewhere = ({ args: [, , other] }: Load, nodes: readonly TileNode[], binder: BlockBinder): boolean =>
  other === undefined || isZero(other, nodes, binder);

function isZero(id: TileId, nodes: readonly TileNode[], binder: BlockBinder): boolean {
  const home = binder.homes.get(id);
  if (home?.kind === 'scalar') return home.value.kind === 'constant' && Number(home.value.value) === 0;
  const maker = home?.kind === 'virtual' ? home.node : nodes.find(({ results }) => results[0]?.id === id);
  if (maker?.kind !== 'op') return false;
  if (maker.op === 'broadcast' || maker.op === 'cast') return isZero(at(maker.args, 0), nodes, binder);
  return maker.op === 'constant' && Number(maker.attrs.value) === 0;
}

/**
 * The nodes of the body that a load's offsets and mask are computed from; undefined where these depend on what only the
 * iterations before can tell.
 */
function sliceOf(load: Load, node: ForNode, moved: readonly MovedTile[]): readonly TileOp[] | undefined {
  const makers = new Map(node.body.nodes.flatMap((maker) => maker.results.map(({ id }) => [id, maker] as const)));
  const carried = new Set(node.carried.map(({ id }) => id));
  const slice = new Set<TileOp>();
  const visit = (id: TileId): boolean => {
    const mover = moved.find(({ tile }) => tile.id === id);
    if (mover !== undefined) return isInvariant(mover.amount) && visit(mover.amount);
    if (carried.has(id)) return false;
    const maker = makers.get(id);
    if (maker === undefined) return true;
    if (!isElementOp(maker) || maker.op === 'gather') return false;
    slice.add(maker);
    return maker.args.every(visit);
  };
  const isInvariant = (id: TileId): boolean => {
    if (carried.has(id) || id === node.induction.id) return false;
    const maker = makers.get(id);
    return (
      maker === undefined ||
      (maker.kind === 'op' && tileOps[maker.op].effect === 'none' && maker.args.every(isInvariant))
    );
  };
  return load.args.slice(0, 2).every(visit) ? [...slice] : undefined;
}

const leastBytes = 4;

/** How threads share the copies of a tile: chunks of neighbours in memory; undefined where they would be too narrow. */
function copyLayout(load: Load, binder: BlockBinder): Layout | undefined {
  const { shape, dtype } = at(load.results, 0);
  const axis = fastestAxis(load, binder);
  const facts = binder.facts.get(at(load.args, 0))?.[axis];
  const vector = (facts?.run ?? 1) > 1 ? accessWidth(load, binder) : 1;
  const order = axis === 0 ? [1, 0] : [0, 1];
  const layout = blockedLayout(shape, { order, vector }, { thread: binder.thread, threads: binder.threads });
  return layout.vector * dtypeInfo[dtype].bytes >= leastBytes ? layout : undefined;
}

/** Says where the pipeline's induction and moved tiles are at a turn, and computes its scalars there. */
function standAt(pipeline: Pipeline, turn: Index, binder: BlockBinder): void {
  const { loop, slice } = pipeline;
  const { node, moved } = loop;
  const index = inductionAt(loop, turn);
  binder.homes.set(node.induction.id, { kind: 'scalar', value: scalarOfIndex(index, node.induction.dtype), index });
  loop.bindSlice(slice);
  for (const { tile, base, amount, isDown } of moved) {
    const by = amountOf(amount, binder);
    if (by === undefined) continue;
    binder.homes.set(tile.id, { kind: 'shifted', base, shift: multiply(isDown ? negate(by) : by, turn) });
  }
}

function amountOf(amount: TileId, binder: BlockBinder): Index | undefined {
  return binder.homes.has(amount) ? scalarTileIndex(amount, binder) : undefined;
}

/** Sends for what iteration `turn` needs, if there is one, and closes the group. */
function sendStage(pipeline: Pipeline, turn: Index, binder: BlockBinder): void {
  const { staged, stages, turns } = pipeline;
  const homes = new Map(binder.homes);
  const then = binder.branch(() => {
    standAt(pipeline, turn, binder);
    for (const one of staged) sendTile(one, modulo(turn, int(stages)), binder);
  });
  binder.writer.emit({ kind: 'if', test: { kind: 'less', left: turn, right: turns }, then });
  for (const [id, home] of homes) binder.homes.set(id, home);
  binder.writer.emit({ kind: 'copies', action: 'commit' });
}

const stageOf = ({ shared }: Staged, stage: Index): SharedTile => ({
  ...shared,
  offset: multiply(stage, int(tileSize(shared.shape))),
});

function sendTile(one: Staged, stage: Index, binder: BlockBinder): void {
  const { load, layout } = one;
  const { dtype } = at(load.results, 0);
  const chunks = layout.registers / layout.vector;
  const send = (chunk: Index): void => {
    const register = multiply(chunk, int(layout.vector));
    const coordinates = layout.coordinates(register);
    const evaluation = evaluationAt(binder, { layout, register });
    const mask = load.args[1] === undefined ? undefined : evaluateTile(load.args[1], coordinates, evaluation);
    const from = globalAccess(load, coordinates, evaluation);
    const to = sharedPlace(stageOf(one, stage), coordinates, binder);
    const owner = ownerMask(layout, binder);
    const copy: Stmt = {
      kind: 'copyAsync',
      dtype,
      lanes: layout.vector,
      from: { buffer: from.buffer, at: from.at },
      to: { buffer: one.shared.name, at: to },
      ...(mask === undefined ? {} : { mask }),
    };
    if (owner === undefined) binder.writer.emit(copy);
    else {
      const flag = binder.name({ kind: 'cast', value: owner, type: { dtype: 'i64', lanes: 1 } }, 'flag');
      binder.writer.emit({
        kind: 'if',
        test: { kind: 'notEqual', left: valueIndex(flag), right: int(0) },
        then: [copy],
      });
    }
  };
  if (chunks === 1) {
    send(int(0));
    return;
  }
  const name = binder.writer.fresh('chunk');
  const body = binder.writer.block([name], () => {
    send({ kind: 'axis', axis: { name, extent: int(chunks) } });
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: int(chunks), step: 1, unroll: chunks, body });
}

/** Before the loop: everything that addresses read of other threads, and the copies of the first iterations. */
function openPipeline(pipeline: Pipeline, binder: BlockBinder): void {
  const homes = new Map(binder.homes);
  binder.branch(() => {
    standAt(pipeline, int(0), binder);
  });
  for (const { load, layout } of pipeline.staged) {
    binder.touch({ param: load.attrs.param, writes: false, pattern: undefined });
    binder.staged.add(at(load.results, 0).id);
    prepare(load.args.slice(0, 2), layout, binder);
  }
  for (const [id, home] of homes) binder.homes.set(id, home);
  for (let stage = 0; stage < pipeline.stages - 1; stage++) sendStage(pipeline, int(stage), binder);
}

/** At the top of an iteration: its copies have landed, the next ones set out, and its loads are in shared memory. */
function turnPipeline(pipeline: Pipeline, turn: Index, binder: BlockBinder): void {
  const { stages, staged } = pipeline;
  binder.writer.emit({ kind: 'copies', action: 'wait', pending: stages - 2 });
  binder.barrier();
  sendStage(pipeline, add(turn, int(stages - 1)), binder);
  for (const one of staged)
    binder.homes.set(at(one.load.results, 0).id, { kind: 'shared', tile: stageOf(one, modulo(turn, int(stages))) });
}

/** After the loop: nothing is under way, and the stages may be used for something else. */
function closePipeline(binder: BlockBinder): void {
  binder.writer.emit({ kind: 'copies', action: 'wait', pending: 0 });
  binder.barrier();
}
