// What the writers share: the kernel being written, and a point of its loops (which axes are open, and as what).
import { at } from '@tsinductor/base';
import { evaluateBody, strideAlong } from '@tsinductor/codegen';
import type { Evaluation, GroupMemory, KernelWriter, Lane } from '@tsinductor/codegen';
import type { Index, Schedule, Value } from '@tsinductor/ir';
import type { Planning } from '../plan/planning.ts';
import type { Carrying } from '../plan/work.ts';
import type { TrafficDecision } from '../traffic/rule.ts';
import type { RegionTraffic } from '../traffic/traffic.ts';

/** The kernel being written. */
export interface Nest extends Planning {
  readonly schedule: Schedule;
  readonly writer: KernelWriter;
  readonly memory: GroupMemory;
  readonly notes: string[];
  /** What was decided of memory traffic, region by region. */
  readonly decisions: TrafficDecision[];
  /** How results are written in the region being written. */
  readonly results: RegionTraffic['results'];
}

/** A point of the nest: the axes that are open, by the kernel's names, and the lanes if an axis is vectorised. */
export interface Frame {
  readonly axes: ReadonlyMap<string, Index>;
  readonly lane?: Lane;
}

export const emptyFrame: Frame = { axes: new Map() };

/** `frame` without its lanes. */
export const scalarFrame = (frame: Frame): Frame => ({ axes: frame.axes });

export const bindAxis = (frame: Frame, axis: string, value: Index): Frame => ({
  ...frame,
  axes: new Map(frame.axes).set(axis, value),
});

export const evaluationAt = (nest: Nest, frame: Frame, carried?: readonly Value[]): Evaluation => ({
  writer: nest.writer,
  point: { ...frame, ...(carried === undefined ? {} : { carried }) },
  units: nest.memory.multiples,
  source: (buffer, position, resolve) => nest.memory.source(buffer, position, resolve),
});

/** The states after a point, from those before it. */
export const stepAt = (
  nest: Nest,
  node: Carrying,
  { frame, states }: { readonly frame: Frame; readonly states: readonly Value[] },
): readonly Value[] => evaluateBody(node.step, { ...evaluationAt(nest, frame, states), isInOrder: comesInOrder(node) });

/** Whether the elements come in the order of their positions: in each lane and accumulator the points of one axis do. */
function comesInOrder({ over, step }: Carrying): boolean {
  const { name } = at(over, 0);
  if (over.length > 1) return false;
  return step.nodes.every((node) => node.kind !== 'index' || (strideAlong(node.value, name) ?? -1) >= 0);
}
