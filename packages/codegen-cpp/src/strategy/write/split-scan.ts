// Scans of few long rows in three steps (see plan/split-scan.ts): chunks of a row give their totals, in parallel; the totals of a row
// are joined in order, into the state before each chunk; then each chunk is scanned from that state, in parallel.
import { evaluateBody, evaluationAt } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import type { Value } from '@tsinductor/ir';
import { foldLane, pointsOfChunk } from '../plan/chunks.ts';
import type { RowChunks } from '../plan/chunks.ts';
import type { SplitScan } from '../plan/split-scan.ts';
import type { Carrying } from '../plan/work.ts';
import { planSplitTraffic } from '../traffic/split.ts';
import { scalarLoop, wholeRange } from './loops.ts';
import type { Nest } from './nest.ts';
import { writeSite } from './reduce.ts';
import { merge } from './states.ts';
import type { Delivery } from './reduce.ts';
import { asWide } from './scan-lanes.ts';
import { withTraffic } from './region.ts';
import type { PlannedRegion } from './region.ts';
import {
  declareVariables,
  eachResult,
  loadStates,
  reserveStates,
  setVariables,
  storeStates,
  writeChunks,
} from './row-chunks.ts';
import type { ChunkStates } from './row-chunks.ts';

export function writeSplitScan(nest: Nest, split: SplitScan): void {
  const { rows } = split;
  nest.notes.push(`${rows.axis.name} in chunks: the total of each, then each from those before it`);
  const scans = split.region.nodes.filter((node) => node.kind === 'scan');
  const states = reserveStates(nest, rows, scans);
  writeTotals(nest, split, states);
  const { tree } = split.region;
  eachResult(nest, { tree, work: { lanes: { axis: undefined, lanes: 1 }, instances: 1 } }, ([frame]) => {
    if (frame !== undefined) for (const node of scans) joinTotals(nest, { rows, states, node }, frame);
  });
  const region = withTraffic(nest, split.region);
  writeScans({ ...nest, results: region.traffic.results }, { ...split, region }, states);
}

function writeTotals(
  nest: Nest,
  { region: { tree, nodes }, band, rows, totals, lanes }: SplitScan,
  states: ChunkStates,
): void {
  const scans = nodes.filter((node) => node.kind === 'scan');
  const work = { lanes, instances: 4, cycles: pointsOfChunk(rows) * lanes.cycles };
  const pass = { rows, nodes: totals, over: [band], lane: foldLane(tree, lanes) };
  const { fold, prefetches, notes, decisions } = planSplitTraffic(nest, pass);
  nest.notes.push(...notes);
  nest.decisions.push(...decisions);
  writeChunks(nest, { rows, work }, (frames, { number, part }) => {
    const deliver = ({ node, states: values, frame }: Delivery): void => {
      const scan = scans.find(({ id }) => id === node.id) ?? node;
      storeStates(nest, { rows, states, node, values: asWide(nest, scan, values), chunk: number }, frame);
    };
    writeSite(nest, { nodes: totals, over: [band], part, fold, prefetches, deliver, maps: 'kept' }, frames);
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

interface Scans extends SplitScan {
  readonly region: PlannedRegion;
}

function writeScans(nest: Nest, { region, band, rows }: Scans, states: ChunkStates): void {
  const { tree, nodes, shared, traffic } = region;
  const work = { lanes: shared, instances: 1, cycles: pointsOfChunk(rows) * shared.cycles, from: 'last' as const };
  const prefetches = traffic.prefetches.get(tree) ?? [];
  writeChunks(nest, { rows, work }, (frames, { number, part }) => {
    const before = (node: Carrying, frame: Frame): readonly Value[] =>
      loadStates(nest, { rows, states, node, chunk: number }, frame);
    const site = { nodes, over: [band], part, fold: traffic.folds.get(tree), prefetches };
    writeSite(nest, { ...site, before }, frames);
  });
}
