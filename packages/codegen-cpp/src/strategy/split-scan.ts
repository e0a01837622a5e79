// Scans of few long rows in three steps: chunks of a row give their totals, in parallel; the totals of a row are joined in order,
// into the state before each chunk; then each chunk is scanned from that state, in parallel (Blelloch, Prefix sums and their
// applications, 1990). In: an innermost tree with scans, and maps before and after them. Out: how it is cut, or nothing, with
// the reason in the kernel's notes where its sizes ask for it.
//
// What a scan reads is read twice, so rows are cut where threads are twice as many as rows, or more. So a row alone has the same
// results on any number of threads from two on, and several rows on any from two for each: the chunks follow from sizes and vectors.
// Totals have lanes and accumulators as reductions do, with points between each other's: what a scan joins is a reduction's.
// (Measured on two cores of a Cascade Lake: running sums of 64 MB take 8.5 ms instead of 11, of 4 MB 0.24 instead of 0.35.)
import { at } from '@tsinductor/base';
import { evaluateBody, isLeaf, parallelBands, strideAlong, typicalValue } from '@tsinductor/codegen';
import { equal } from '@tsinductor/ir';
import type { Body, BufferId, Index, LoopBand, LoopNode, LoopTree, Value } from '@tsinductor/ir';
import { reductionChunk } from '../target.ts';
import { chooseLanes, pointBodies } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { evaluationAt, scalarLoop, wholeRange } from './nest.ts';
import type { Carrying, Frame, Nest } from './nest.ts';
import { merge, writeSite } from './reduce.ts';
import type { Delivery } from './reduce.ts';
import { layOut } from './region.ts';
import { nodesOf, planRegion } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';
import { piecesAhead } from './row-ahead.ts';
import {
  chunksOf,
  declareVariables,
  eachResult,
  loadStates,
  pointsOfChunk,
  reserveStates,
  setVariables,
  siteLane,
  storeStates,
  writeChunks,
} from './row-chunks.ts';
import type { ChunkStates, RowChunks } from './row-chunks.ts';

/** How a tree's scans are cut. */
export interface SplitScan {
  readonly region: RegionPlan;
  readonly band: LoopBand;
  readonly rows: RowChunks;
  /** What gives the totals: reductions with the scans' states, and the maps that their steps read; and its lanes. */
  readonly totals: readonly LoopNode[];
  readonly lanes: LaneChoice;
}

/** How a tree is cut, where it is scans of rows so long, and so few, that it gains. */
export function planSplitScan(nest: Nest, tree: LoopTree): SplitScan | undefined {
  const nodes = nodesOf(nest, tree);
  const [band] = reductionBands(tree);
  const { splitReductions = true, leastSplits = 0, threads } = nest.target;
  if (!splitReductions || threads < 2 || band === undefined || !areLongScans(tree, nodes)) return undefined;
  const region = planRegion(nest, tree);
  const totals = totalsOf(nodes);
  const lanes = chooseLanes(tree.loops, totals, nest);
  const unit = Math.max(
    ...[region.shared, lanes].map((one) => (one.axis?.name === band.axis.name ? 4 * one.lanes : 1)),
  );
  const rows = chunksOf(tree, band, { unit });
  const chunks = typicalValue(rows.chunks);
  if (threads < 2 * unitsOf(region) || chunks < Math.max(2, leastSplits)) return undefined;
  const reason = obstacle(nest, nodes, region);
  if (reason === undefined) return { region, band, rows, totals, lanes };
  nest.notes.push(`${band.axis.name} not in chunks: ${reason}`);
  return undefined;
}

const reductionBands = (tree: LoopTree): readonly LoopBand[] => tree.loops.filter(({ role }) => role === 'reduction');

/** Whether an innermost tree scans one axis, and has points enough that threads pay. */
function areLongScans(tree: LoopTree, nodes: readonly LoopNode[]): boolean {
  const points = tree.loops.reduce((product, { axis }) => product * typicalValue(axis.extent), 1);
  const isRow = isLeaf(tree) && reductionBands(tree).length === 1;
  return isRow && points >= 4 * reductionChunk && nodes.some(({ kind }) => kind === 'scan');
}

/** Into how many units a region falls that is not cut: rows, or vectors of neighbouring rows. */
function unitsOf({ tree, shared }: RegionPlan): number {
  const extents = parallelBands(tree).map(({ axis }) => {
    const extent = typicalValue(axis.extent);
    return axis.name === shared.axis?.name ? Math.ceil(extent / shared.lanes) : extent;
  });
  return extents.reduce((left, right) => left * right, 1);
}

type Load = Body['nodes'][number] & { readonly kind: 'load' };

const loadsIn = (bodies: readonly Body[]): readonly Load[] =>
  bodies.flatMap(({ nodes }) => nodes.filter((scalar) => scalar.kind === 'load'));

/** The scans as reductions, and the maps that give what they read, in order. */
function totalsOf(nodes: readonly LoopNode[]): readonly LoopNode[] {
  const wanted = new Set<BufferId>();
  const want = (bodies: readonly Body[]): void => {
    for (const { buffer } of loadsIn(bodies)) wanted.add(buffer);
  };
  const totals: LoopNode[] = [];
  for (const node of nodes.toReversed()) {
    if (node.kind === 'scan') {
      totals.unshift({ ...node, kind: 'reduce' });
      want([node.step]);
    } else if (node.outs.some((out) => wanted.has(out))) {
      totals.unshift(node);
      want(pointBodies(node));
    }
  }
  return totals;
}

/** Why the rows of a tree cannot be cut. */
function obstacle(nest: Nest, nodes: readonly LoopNode[], { tree, tiles, columns }: RegionPlan): string | undefined {
  if (tiles !== undefined) return 'tiles hold the states of several rows';
  if (columns !== undefined) return 'blocks of columns hold the states of their rows';
  if (nodes.some(({ kind }) => kind !== 'map' && kind !== 'scan'))
    return 'something else is computed in the same loops';
  const written = new Map<BufferId, Index>();
  for (const node of nodes) node.outs.forEach((out, slot) => written.set(out, at(node.writes, slot)));
  const [axis] = reductionBands(tree).map((band) => band.axis.name);
  const isPoint = (buffer: BufferId, position: Index): boolean => {
    const inMemory = !nest.memory.isVirtual(buffer) || nest.memory.row(buffer) !== undefined;
    return !inMemory || (strideAlong(position, axis ?? '') ?? 0) !== 0;
  };
  if (![...written].every(([buffer, position]) => isPoint(buffer, position)))
    return 'a result does not have an element for each point';
  for (const { buffer, at: position } of loadsIn(nodes.flatMap(pointBodies))) {
    const own = written.get(buffer);
    if (own !== undefined && !isScalar(nest, buffer) && !equal(own, position))
      return 'results are read elsewhere than where they are written';
  }
  return readsScans(nodes) ? 'a scan follows another' : undefined;
}

const isScalar = ({ group }: Nest, buffer: BufferId): boolean =>
  group.locals.some((local) => local.buffer === buffer && local.kind === 'scalar');

/** Whether what gives the totals of a scan reads a scan's results. */
function readsScans(nodes: readonly LoopNode[]): boolean {
  const scanned = new Set(nodes.flatMap((node) => (node.kind === 'scan' ? node.outs : [])));
  const read = totalsOf(nodes).flatMap((node) => loadsIn(pointBodies(node)));
  return read.some(({ buffer }) => scanned.has(buffer));
}

export function writeSplitScan(nest: Nest, split: SplitScan): void {
  const { region, rows } = split;
  nest.notes.push(`${rows.axis.name} in chunks: the total of each, then each from those before it`);
  const scans = nodesOf(nest, region.tree).filter((node) => node.kind === 'scan');
  const states = reserveStates(nest, rows, scans);
  writeTotals(nest, split, states);
  eachResult(nest, { tree: region.tree, work: { lanes: { axis: undefined, lanes: 1 }, instances: 1 } }, ([frame]) => {
    if (frame !== undefined) for (const node of scans) joinTotals(nest, { rows, states, node }, frame);
  });
  writeScans(layOut(nest, region), split, states);
}

function writeTotals(
  nest: Nest,
  { region: { tree }, band, rows, totals, lanes }: SplitScan,
  states: ChunkStates,
): void {
  const work = { lanes, instances: 4, cycles: pointsOfChunk(rows) * lanes.cycles };
  writeChunks(nest, { rows, work }, (frames, { number, part }) => {
    const deliver = ({ node, states: values, frame }: Delivery): void => {
      storeStates(nest, { rows, states, node, values, chunk: number }, frame);
    };
    const ahead = piecesAhead(nest, totals, band.axis);
    const site = { nodes: totals, over: [band], part, ...siteLane(tree, lanes), ahead, deliver };
    writeSite(nest, { ...site, maps: 'kept' }, frames);
  });
}

interface Joining {
  readonly rows: RowChunks;
  readonly states: ChunkStates;
  readonly node: Carrying;
}

/** In place of the total of each chunk the state before it: the first one's is the initial one. */
function joinTotals(nest: Nest, { rows, states, node }: Joining, frame: Frame): void {
  const before = declareVariables(nest, evaluateBody(node.init, evaluationAt(nest, frame)));
  scalarLoop(nest, wholeRange({ name: 'chunk', extent: rows.chunks }), (chunk) => {
    const place = { rows, states, node, chunk };
    const total = loadStates(nest, place, frame);
    storeStates(nest, { ...place, values: before }, frame);
    setVariables(nest, before, merge(nest, node, { left: before, right: total, point: frame }));
  });
}

function writeScans(nest: Nest, { region: { tree, shared }, band, rows }: SplitScan, states: ChunkStates): void {
  const work = { lanes: shared, instances: 1, cycles: pointsOfChunk(rows) * shared.cycles, from: 'last' as const };
  const site = { nodes: nodesOf(nest, tree), over: [band], ...siteLane(tree, shared) };
  writeChunks(nest, { rows, work }, (frames, { number, part }) => {
    const before = (node: Carrying, frame: Frame): readonly Value[] =>
      loadStates(nest, { rows, states, node, chunk: number }, frame);
    writeSite(nest, { ...site, part, before, ahead: nest.ahead.get(tree) ?? [] }, frames);
  });
}
