// The loops of reductions and scans at a point of their outer axes: states in variables, several of them where a vector
// loop would wait for its own sums; then the states of accumulators, then of lanes, are merged in a fixed order.
import { at } from '@tsinductor/base';
import {
  assignVariables,
  declareVariable,
  bindAxis,
  evaluateBody,
  evaluationAt,
  select,
  widen,
} from '@tsinductor/codegen';
import type { Frame, Point } from '@tsinductor/codegen';
import type { LoopBand, LoopNode, Value } from '@tsinductor/ir';
import { isCarrying } from '../plan/work.ts';
import type { Carrying } from '../plan/work.ts';
import type { FoldTraffic } from '../traffic/folds.ts';
import type { PlannedPrefetch } from '../traffic/prefetch.ts';
import { scalarLoop, streamLoop, vectorFrame, vectorLoop, wholeRange } from './loops.ts';
import type { Range, Vector } from './loops.ts';
import { stepAt } from './nest.ts';
import type { Nest } from './nest.ts';
import { writePrefetches } from './prefetch.ts';
import { keepMap, writeMap, writeResult } from './results.ts';
import { lastOf, scanLanes } from './scan-lanes.ts';

/** How the points of a reduced axis are lanes: see traffic/folds.ts. */
type FoldLoop = Pick<FoldTraffic, 'axis' | 'lanes' | 'streams' | 'accumulators'>;

/** Reductions (and what shares their loops) below some open axes. */
interface Site {
  /** In execution order. */
  readonly nodes: readonly LoopNode[];
  readonly over: readonly LoopBand[];
  /** How points of one band are lanes; none are, if absent. */
  readonly fold?: FoldLoop | undefined;
  /** The part of one band's axis that is reduced here. */
  readonly part?: Range;
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

/** The variables that hold one state of a node: one per result of its init. */
type State = readonly Value[];

interface Carried {
  readonly node: Carrying;
  /** By frame, by accumulator. */
  readonly states: readonly (readonly State[])[];
}

/** Runs a site once for each of `frames`, which differ in their lanes: columns that share the loops over rows. */
export function writeSite(nest: Nest, site: Site, frames: readonly Frame[]): void {
  const carried = site.nodes.filter(isCarrying).map((node) => declareStates(nest, { node, site }, frames));
  nest.memory.scoped(() => {
    writeLoops(nest, { site, carried, depth: 0 }, frames);
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

interface Declaring {
  readonly node: Carrying;
  readonly site: Site;
}

function declareStates(nest: Nest, { node, site }: Declaring, frames: readonly Frame[]): Carried {
  const { writer } = nest;
  const { lanes: foldLanes = 1, accumulators = 1 } = site.fold ?? {};
  const states = frames.map((frame) => {
    const lanes = frame.lane?.lanes ?? foldLanes;
    return Array.from({ length: accumulators }, (): State => {
      const initial = site.before?.(node, frame) ?? evaluateBody(node.init, evaluationAt(nest, frame));
      return initial.map((value): Value => {
        const wide = widen(value, lanes, writer);
        return declareVariable(writer, `${nest.memory.decl(at(node.outs, 0)).name}_state`, wide);
      });
    });
  });
  return { node, states };
}

interface Looping {
  readonly site: Site;
  readonly carried: readonly Carried[];
  readonly depth: number;
}

/** The loops over the bands, the lanes' band last. */
function writeLoops(nest: Nest, looping: Looping, frames: readonly Frame[]): void {
  const { site, depth } = looping;
  const { fold } = site;
  const order = [
    ...site.over.filter((band) => band.axis.name !== fold?.axis),
    ...site.over.filter((band) => band.axis.name === fold?.axis),
  ];
  const band = order[depth];
  if (band === undefined) {
    step(
      nest,
      looping,
      frames.map((frame) => [frame]),
    );
    return;
  }
  const range = site.part?.axis.name === band.axis.name ? site.part : wholeRange(band.axis);
  if (fold?.axis !== band.axis.name) {
    scalarLoop(nest, range, (value) => {
      const inner = frames.map((frame) => bindAxis(frame, band.axis.name, value));
      writeLoops(nest, { ...looping, depth: depth + 1 }, inner);
    });
    return;
  }
  const body = (vectors: readonly Vector[]): void => {
    step(
      nest,
      looping,
      frames.map((frame) => vectors.map((vector) => vectorFrame(frame, band.axis.name, vector))),
    );
  };
  const { lanes, streams, accumulators } = fold;
  if (streams > 1) streamLoop(nest, { ...range, lanes, streams }, body);
  else vectorLoop(nest, { ...range, lanes, instances: accumulators, unroll: 1 }, body);
}

/** One iteration of the innermost loop: for each frame, each of its vectors advances an accumulator of its own. */
function step(nest: Nest, looping: Looping, points: readonly (readonly Frame[])[]): void {
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

function stepInTurn(nest: Nest, { site, carried }: Looping, points: readonly (readonly Frame[])[]): void {
  points.forEach((vectors, frameIndex) => {
    vectors.forEach((frame, accumulator) => {
      for (const node of site.nodes) {
        if (node.kind === 'map') (site.maps === 'kept' ? keepMap : writeMap)(nest, node, frame);
        const entry = carried.find((candidate) => candidate.node === node);
        if (entry !== undefined)
          advance(nest, {
            node: entry.node,
            state: at(at(entry.states, frameIndex), accumulator),
            frame,
            reduced: site.fold !== undefined,
          });
      }
      writePrefetches(nest, site.prefetches, frame);
    });
  });
}

/** The states of the scans among `nodes` at a point of their outer axes. */
export function declareCarried(nest: Nest, nodes: readonly LoopNode[], frame: Frame): readonly Carried[] {
  const site: Site = { nodes, over: [], prefetches: [] };
  return nodes
    .filter((node): node is Carrying => node.kind === 'scan')
    .map((node) => declareStates(nest, { node, site }, [frame]));
}

interface PointNodes {
  readonly nodes: readonly LoopNode[];
  readonly carried: readonly Carried[];
}

/** Runs every node at one point, in order; scans advance their state. */
export function writePoint(nest: Nest, { nodes, carried }: PointNodes, frame: Frame): void {
  step(nest, { site: { nodes, over: [], prefetches: [] }, carried, depth: 0 }, [[frame]]);
}

interface Advance {
  readonly node: Carrying;
  readonly state: State;
  readonly frame: Frame;
  /** The lanes are points of the reduced axis. */
  readonly reduced: boolean;
}

function advance(nest: Nest, { node, state, frame, reduced }: Advance): void {
  const { writer } = nest;
  if (node.kind === 'scan' && reduced) {
    advanceLanes(nest, { node, state, frame });
    return;
  }
  const results = stepAt(nest, node, { frame, states: state });
  const next = results.map((value, slot) => advanced(nest, { value, old: at(state, slot), reduced }, frame));
  if (node.kind === 'scan') {
    evaluateBody(node.finish, evaluationAt(nest, frame, next)).forEach((value, slot) => {
      writeResult(nest, { node, slot, value }, frame);
    });
  }
  assignVariables(writer, state, next);
}

/** Points of a scan in the lanes of a vector. */
function advanceLanes(nest: Nest, { node, state, frame }: Omit<Advance, 'reduced'>): void {
  const join = (left: State, right: State): State => merge(nest, node, { left, right, point: frame });
  const after = scanLanes(nest, { node, before: state, frame, join });
  evaluateBody(node.finish, evaluationAt(nest, frame, after)).forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, frame);
  });
  after.forEach((value, slot) => {
    const name = nameOf(at(state, slot));
    if (name !== undefined) nest.writer.emit({ kind: 'set', name, value: lastOf(nest, value) });
  });
}

const nameOf = (value: Value): string | undefined => (value.kind === 'name' ? value.name : undefined);

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

interface Accumulated {
  readonly frame: Frame;
  readonly states: readonly State[];
}

/** Joins accumulators pairwise, neighbours first. */
function mergeAccumulators(nest: Nest, node: Carrying, { frame, states }: Accumulated): State {
  let level = states;
  while (level.length > 1) {
    const next: State[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [at(level, index), level[index + 1]];
      next.push(right === undefined ? left : merge(nest, node, { left, right, point: frame }));
    }
    level = next;
  }
  return at(level, 0);
}

interface Merging {
  readonly left: State;
  readonly right: State;
  readonly point: Pick<Point, 'axes'>;
}

export function merge(nest: Nest, node: Carrying, { left, right, point }: Merging): State {
  const results = evaluateBody(node.merge, evaluationAt(nest, { axes: point.axes }, [...left, ...right]));
  return results.map((value, slot) => widen(value, at(left, slot).type.lanes, nest.writer));
}

/** Joins the lanes of a reduction's vector, halves with halves; states of columns keep theirs. */
function mergeLanes(nest: Nest, node: Carrying, { state, keep, frame }: Lanes): State {
  let level = state;
  while (at(level, 0).type.lanes > keep) {
    const half = (part: 'low' | 'high'): State =>
      level.map((value) => {
        const type = { dtype: value.type.dtype, lanes: value.type.lanes / 2 };
        return nest.writer.define({ kind: 'half', value, part, type }, part);
      });
    level = merge(nest, node, { left: half('low'), right: half('high'), point: frame });
  }
  return level;
}

interface Lanes {
  readonly state: State;
  readonly keep: number;
  readonly frame: Frame;
}

/** The outputs of a node from its final states. */
export function finish(nest: Nest, { node, states, frame }: Delivery): void {
  evaluateBody(node.finish, evaluationAt(nest, frame, states)).forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, frame);
  });
}
