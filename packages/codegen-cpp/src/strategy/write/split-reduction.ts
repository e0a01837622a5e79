// Reductions to few results in two steps (see plan/split-reduction.ts): chunks of the reduced axis give partial states, in parallel,
// then the states of a result are merged in order.
import { invariant } from '@tsinductor/base';
import { evaluateBody, evaluationAt, typicalValue, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Value } from '@tsinductor/ir';
import { cascadeOf, mostIterations, roundsStates } from '../plan/cascade.ts';
import { pointsOfChunk, reductionBands } from '../plan/chunks.ts';
import type { SplitReduction } from '../plan/split-reduction.ts';
import type { Carrying } from '../plan/work.ts';
import type { SplitTraffic } from '../traffic/split.ts';
import { writeColumns } from './columns.ts';
import type { ColumnStates } from './columns.ts';
import { inBlocks, scalarLoop, wholeRange } from './loops.ts';
import type { Nest } from './nest.ts';
import { finish, writeSite } from './reduce.ts';
import { merge } from './states.ts';
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

/** A reduction that is cut, what it prefetches, and where its chunks leave their states. */
interface Splitting extends SplitReduction {
  readonly traffic: SplitTraffic;
  readonly states: ChunkStates;
}

export function writeSplitReduction(nest: Nest, plan: SplitReduction, traffic: SplitTraffic): void {
  const { rows, nodes, shared } = plan;
  const split: Splitting = { ...plan, traffic, states: reserveStates(nest, rows, nodes) };
  nest.notes.push(`${rows.axis.name} in chunks, merged in order`, ...traffic.notes);
  nest.decisions.push(...traffic.decisions);
  if (split.columns === undefined) writePartials(nest, split);
  else writeColumnPartials(nest, split);
  eachResult(nest, { tree: rows.tree, work: { lanes: shared, instances: 1 } }, (frames) => {
    for (const frame of frames) for (const node of nodes) mergeChunks(nest, { split, node }, frame);
  });
}

function writePartials(nest: Nest, split: Splitting): void {
  const { rows, nodes, states, shared, traffic } = split;
  const work = { lanes: shared, instances: 4, cycles: pointsOfChunk(rows) / 8 };
  writeChunks(nest, { rows, work }, (frames, { number, part }) => {
    const site = { nodes, over: reductionBands(rows.tree), part, fold: traffic.fold, prefetches: traffic.prefetches };
    writeSite(
      nest,
      {
        ...site,
        deliver: ({ node, states: values, frame }) => {
          storeStates(nest, { rows, states, node, values, chunk: number }, frame);
        },
      },
      frames,
    );
  });
}

/** Chunks of whole rows, each reduced down its columns. */
function writeColumnPartials(nest: Nest, { rows, nodes, states, shared, columns, traffic }: Splitting): void {
  invariant(columns !== undefined, 'a reduction by columns has no plan of them');
  const cycles = pointsOfChunk(rows) * (typicalValue(columns.axis.extent) / 8);
  const work = { lanes: shared, instances: 1, cycles, isWhole: true };
  writeChunks(nest, { rows, work }, ([frame], { number, part }) => {
    invariant(frame !== undefined, 'a chunk of rows has no frame');
    const deliver = ({ node, values, frame: inner }: ColumnStates): void => {
      storeStates(nest, { rows, states, node, values, chunk: number }, inner);
    };
    const range = wholeRange(columns.axis);
    const { nextRows } = traffic;
    writeColumns(nest, { plan: columns, nodes, range, prefetches: [], nextRows, part, deliver }, frame);
  });
}

interface Merged {
  readonly split: Splitting;
  readonly node: Carrying;
}

/** The states of chunks in ascending order, those of some first where there are many: see plan/cascade.ts. */
function mergeChunks(nest: Nest, { split: { rows, states }, node }: Merged, frame: Frame): void {
  const range = { axis: { name: 'chunk', extent: rows.chunks }, from: int(0), to: rows.chunks };
  const [sizes = []] = roundsStates(node) ? cascadeOf(nest, [{ iterations: mostIterations(rows.chunks, 1) }]) : [];
  const begin = (): readonly Value[] => {
    const initial = evaluateBody(node.init, evaluationAt(nest, frame));
    return declareVariables(
      nest,
      initial.map((value) => widen(value, frame.lane?.lanes ?? 1, nest.writer)),
    );
  };
  const join = (left: readonly Value[], right: readonly Value[]): void => {
    setVariables(nest, left, merge(nest, node, { left, right, point: frame }));
  };
  const within = (around: readonly Value[], _isInnermost: boolean, write: (inner: readonly Value[]) => void): void => {
    const state = begin();
    write(state);
    join(around, state);
  };
  const state = begin();
  inBlocks(nest, { ...range, sizes, context: state, within }, (block, inner) => {
    scalarLoop(nest, block, (chunk) => {
      join(inner, loadStates(nest, { rows, states, node, chunk }, frame));
    });
  });
  finish(nest, { node, states: state, frame });
}
