// The loops of reductions and scans at a point of their outer axes: states in variables, several of them where a vector
// loop would wait for its own sums; then the states of accumulators, then of lanes, are merged in a fixed order. Long sums are
// taken in blocks, each with states of its own (see plan/cascade.ts).
import { at } from '@tsinductor/base';
import { assignVariables, bindAxis, evaluateBody, evaluationAt, select, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import type { LoopBand, LoopNode, Value } from '@tsinductor/ir';
import { cascadeOf, mostIterations, roundsStates } from '../plan/cascade.ts';
import { narrowed } from '../plan/narrow-scan.ts';
import { isCarrying } from '../plan/work.ts';
import type { Carrying } from '../plan/work.ts';
import type { FoldTraffic } from '../traffic/folds.ts';
import type { PlannedPrefetch } from '../traffic/prefetch.ts';
import {
  inBlocks,
  scalarLoop,
  stepOf,
  streamPart,
  vectorFrame,
  vectorParts,
  wholeRange,
  writeVectorPart,
} from './loops.ts';
import type { Range, VectorPart } from './loops.ts';
import { stepAt } from './nest.ts';
import type { Nest } from './nest.ts';
import { writePrefetches } from './prefetch.ts';
import { keepMap, writeMap, writeResult } from './results.ts';
import { eachRun } from './runs.ts';
import { scanLanes } from './scan-lanes.ts';
import { declareStates, merge, mergeAccumulators, mergeLanes, writeBlock } from './states.ts';
import type { Carried, State } from './states.ts';

/** How the points of a reduced axis are lanes: see traffic/folds.ts. */
export type FoldLoop = Pick<FoldTraffic, 'axis' | 'lanes' | 'streams' | 'accumulators'>;

/** Reductions (and what shares their loops) below some open axes. */
interface Site {
  /** In execution order. */
  readonly nodes: readonly LoopNode[];
  readonly over: readonly LoopBand[];
  /** How points of one band are lanes; none are, if absent. */
  readonly fold?: FoldLoop | undefined;
  /** The part of one band's axis that is reduced here, and how many points that is at most, where that is known. */
  readonly part?: Range & { readonly points: number | undefined };
  /** What each of its vectors prefetches. */
  readonly prefetches: readonly PlannedPrefetch[];
  /** The states of a scan before the first point; those of its `init`, if absent. */
  readonly before?: (node: Carrying, frame: Frame) => readonly Value[];
  /** Results of maps that are at hand for what follows and not written: others will write them. */
  readonly maps?: 'kept';
  /** Takes a node's final states instead of finishing it. */
  readonly deliver?: (result: Delivery) => void;
}

/** A node's final states at a point. */
export interface Delivery {
  readonly node: Carrying;
  readonly states: readonly Value[];
  readonly frame: Frame;
}

/** Runs a site once for each of `frames`, which differ in their lanes: columns that share the loops over rows. */
export function writeSite(nest: Nest, site: Site, frames: readonly Frame[]): void {
  const loops = loopsOf(nest, site);
  const isCut = loops.some(({ sizes }) => sizes.length > 0);
  const carried = site.nodes.filter(isCarrying).map((node) => {
    const isAround = isCut && node.kind === 'reduce' && roundsStates(node);
    return declareStates(nest, { node, fold: site.fold, isAround, before: site.before }, frames);
  });
  nest.memory.scoped(() => {
    writeLoops(nest, { site, loops, carried, frames });
  });
  for (const { node, states } of carried) {
    if (node.kind === 'scan') continue;
    frames.forEach((frame, index) => {
      const state = mergeAccumulators(nest, node, { frame, states: at(states, index) });
      const merged = mergeLanes(nest, node, { state, keep: frame.lane?.lanes ?? 1, frame });
      const result: Delivery = { node, states: merged, frame };
      if (site.deliver !== undefined) site.deliver(result);
      else finish(nest, result);
    });
  }
}

/** A loop over a reduced axis. */
interface SiteLoop {
  readonly range: Range;
  /** The loops by vectors that a part of it is, where its points are lanes. */
  readonly partsOf: ((range: Range) => readonly VectorPart[]) | undefined;
  /** Points per block, those of the largest blocks first; none where it is not cut. */
  readonly sizes: readonly number[];
}

/** The loops over the bands, the lanes' band last. */
function loopsOf(nest: Nest, { nodes, over, fold, part }: Site): readonly SiteLoop[] {
  const order = [
    ...over.filter((band) => band.axis.name !== fold?.axis),
    ...over.filter((band) => band.axis.name === fold?.axis),
  ];
  const loops = order.map(({ axis }) => {
    const range = part?.axis.name === axis.name ? part : wholeRange(axis);
    const inParts = fold?.axis === axis.name ? (own: Range) => partsOf(nest, fold, own) : undefined;
    const [wide] = inParts?.(range) ?? [];
    const step = wide === undefined ? 1 : stepOf(wide);
    const points = range === part ? part.points : mostIterations(axis.extent, 1);
    const iterations = points === undefined ? undefined : Math.ceil(points / step);
    return { range, partsOf: inParts, step, iterations };
  });
  const isCascade = nodes.some((node) => node.kind === 'reduce' && roundsStates(node));
  const isNarrow = fold === undefined && nodes.some((node) => isCarrying(node) && narrowed(node) !== undefined);
  const blocks = isCascade ? cascadeOf(nest, loops) : isNarrow ? loops.map(() => [nest.choices.cascade.steps]) : [];
  return loops.map(({ range, partsOf: inParts, step }, depth) => {
    return { range, partsOf: inParts, sizes: (blocks[depth] ?? []).map((iterations) => iterations * step) };
  });
}

function partsOf(nest: Nest, { lanes, streams, accumulators }: FoldLoop, range: Range): readonly VectorPart[] {
  if (streams > 1) return [streamPart({ ...range, lanes, streams })];
  return vectorParts(nest, { ...range, lanes, instances: accumulators, unroll: 1 });
}

/** What runs inside some of the loops of a site. */
interface Looping {
  readonly site: Site;
  /** The loops that are not open yet. */
  readonly loops: readonly SiteLoop[];
  readonly carried: readonly Carried[];
  readonly frames: readonly Frame[];
}

function writeLoops(nest: Nest, looping: Looping): void {
  const [loop, ...loops] = looping.loops;
  if (loop === undefined) {
    step(
      nest,
      looping,
      looping.frames.map((frame) => [frame]),
    );
    return;
  }
  eachRun(nest, loop.range, (range) => {
    writeLoop(nest, looping, { loop: { ...loop, range }, loops });
  });
}

interface Opening {
  readonly loop: SiteLoop;
  /** Those inside it. */
  readonly loops: readonly SiteLoop[];
}

function writeLoop(nest: Nest, looping: Looping, { loop, loops }: Opening): void {
  const { site } = looping;
  const { range, sizes } = loop;
  const parts = loop.partsOf?.(range);
  const isLast = loops.every((inner) => inner.sizes.length === 0);
  const within = (around: Looping, isInnermost: boolean, write: (inner: Looping) => void): void => {
    const block = { ...around, fold: site.fold, isInnermost: isInnermost && isLast };
    writeBlock(nest, block, (carried) => {
      write({ ...around, carried });
    });
  };
  const blocks = { sizes, context: looping, within };
  if (parts === undefined) {
    inBlocks(nest, { ...range, ...blocks }, (block, inner) => {
      scalarLoop(nest, block, (value) => {
        const frames = inner.frames.map((frame) => bindAxis(frame, range.axis.name, value));
        writeLoops(nest, { ...inner, loops, frames });
      });
    });
    return;
  }
  parts.forEach((part, index) => {
    inBlocks(nest, { ...part, ...blocks, sizes: index === 0 ? sizes : [] }, (block, inner) => {
      writeVectorPart(nest, { ...part, ...block }, (vectors) => {
        const points = inner.frames.map((frame) =>
          vectors.map((vector) => vectorFrame(frame, range.axis.name, vector)),
        );
        step(nest, inner, points);
      });
    });
  });
}

type Step = Pick<Looping, 'site' | 'carried'>;

/** One iteration of the innermost loop: for each frame, each of its vectors advances an accumulator of its own. */
function step(nest: Nest, looping: Step, points: readonly (readonly Frame[])[]): void {
  if (looping.site.nodes.some(({ kind }) => kind !== 'map')) {
    stepInTurn(nest, looping, points);
    return;
  }
  // Chains of operations that stand statement by statement run beside each other: a processor looks too little ahead to begin a
  // second chain before the first ends, and g++ moves no load above a store.
  nest.writer.mixed(
    points.map((vectors) => () => {
      stepInTurn(nest, looping, [vectors]);
    }),
  );
}

function stepInTurn(nest: Nest, { site, carried }: Step, points: readonly (readonly Frame[])[]): void {
  points.forEach((vectors, frameIndex) => {
    vectors.forEach((frame, accumulator) => {
      for (const node of site.nodes) {
        if (node.kind === 'map') (site.maps === 'kept' ? keepMap : writeMap)(nest, node, frame);
        const entry = carried.find((candidate) => candidate.node === node);
        if (entry !== undefined)
          advance(nest, {
            node: entry.node,
            state: at(at(entry.states, frameIndex), accumulator),
            within: entry.within && { node: entry.within.node, before: at(entry.within.before, frameIndex) },
            frame,
            reduced: site.fold !== undefined,
          });
      }
      writePrefetches(nest, site.prefetches, frame);
    });
  });
}

interface PointNodes {
  readonly nodes: readonly LoopNode[];
  readonly carried: readonly Carried[];
}

/** Runs every node at one point, in order; scans advance their state. */
export function writePoint(nest: Nest, { nodes, carried }: PointNodes, frame: Frame): void {
  step(nest, { site: { nodes, over: [], prefetches: [] }, carried }, [[frame]]);
}

interface Advance {
  readonly node: Carrying;
  readonly state: State;
  readonly within: { readonly node: Carrying; readonly before: State } | undefined;
  readonly frame: Frame;
  /** The lanes are points of the reduced axis. */
  readonly reduced: boolean;
}

function advance(nest: Nest, { node, state, within, frame, reduced }: Advance): void {
  const { writer } = nest;
  if (node.kind === 'scan' && reduced) {
    advanceLanes(nest, { node, state, frame });
    return;
  }
  const own = within?.node ?? node;
  const results = stepAt(nest, own, { frame, states: state });
  const next = results.map((value, slot) => advanced(nest, { value, old: at(state, slot), reduced }, frame));
  if (node.kind === 'scan') {
    const after = within === undefined ? next : merge(nest, own, { left: within.before, right: next, point: frame });
    evaluateBody(own.finish, evaluationAt(nest, frame, after)).forEach((value, slot) => {
      writeResult(nest, { node, slot, value }, frame);
    });
  }
  assignVariables(writer, state, next);
}

/** Points of a scan in the lanes of a vector. */
function advanceLanes(nest: Nest, { node, state, frame }: Omit<Advance, 'reduced' | 'within'>): void {
  const join = (of: Carrying, left: State, right: State): State => merge(nest, of, { left, right, point: frame });
  const { results, last } = scanLanes(nest, { node, before: state, frame, join });
  results.forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, frame);
  });
  assignVariables(nest.writer, state, last);
}

interface Advanced {
  readonly value: Value;
  readonly old: Value;
  readonly reduced: boolean;
}

/** The new state; where lanes are points of the reduced axis, only in the lanes that exist. */
function advanced(nest: Nest, { value, old, reduced }: Advanced, frame: Frame): Value {
  const { writer } = nest;
  const wide = widen(value, old.type.lanes, writer);
  const count = frame.lane?.count;
  if (!reduced || count === undefined || wide.type.lanes === 1) return wide;
  const mask: Value = { kind: 'first', count, type: { dtype: 'bool', lanes: wide.type.lanes } };
  return select(writer.define(mask, 'present'), [wide, old], writer);
}

/** The outputs of a node from its final states. */
export function finish(nest: Nest, { node, states, frame }: Delivery): void {
  evaluateBody(node.finish, evaluationAt(nest, frame, states)).forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, frame);
  });
}
