// What the writers share: the kernel being written, and a point of its loops (which axes are open, and as what).
import { at } from '@tsinductor/base';
import { evaluateBody, evaluationAt, strideAlong } from '@tsinductor/codegen';
import type { Frame, GroupMemory, KernelWriter } from '@tsinductor/codegen';
import type { Schedule, Value } from '@tsinductor/ir';
import type { Planning } from '../plan/planning.ts';
import type { Carrying } from '../plan/work.ts';
import type { TrafficDecision } from '../traffic/rule.ts';
import type { RegionTraffic } from '../traffic/traffic.ts';
import type { Runs } from './runs.ts';

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
  /** Axes of which only some points count, by name; absent: none. */
  readonly runs?: ReadonlyMap<string, Runs>;
}

/** A point of the nest: the axes that are open, by the kernel's names, and the lanes if an axis is vectorised. */
/** `frame` without its lanes. */
export const scalarFrame = (frame: Frame): Frame => ({ axes: frame.axes });

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
