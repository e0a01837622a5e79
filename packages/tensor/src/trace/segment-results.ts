// The end of a segment that has run: every tensor over a computed memory, or over memory that exists, gets its place; the
// others wait. In: the memories of the segment and its results. Out: what waits, as an EndedSegment.
import { at } from '@tsinductor/base';
import type { Graph, ValueRef } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { EndedSegment } from './ended-segment.ts';
import { settle } from './segment-log.ts';
import type { SegmentPlan } from './segment.ts';
import { Source } from './source.ts';
import type { SourceIndex } from './source.ts';
import type { Memory } from './traced-memory.ts';

interface RanSegment {
  readonly plan: SegmentPlan;
  readonly graph: Graph;
  readonly results: readonly Tensor[];
  /** Memories that it made, in the order of the choice, and their values. */
  readonly fresh: readonly Memory[];
  readonly refs: readonly ValueRef[];
  /** Inputs that values which wait are made of. */
  readonly kept: readonly Source[];
  readonly isLast: boolean;
  /** Of the segment's symbolic sizes. */
  readonly sizeOf: (index: Index) => number;
}

const sourceOf = (tensor: Tensor): Source => new Source(tensor.dtype, placeOf(tensor, 'a segment'));

/** Holds the inputs that will be needed, as they are before the segment runs. */
export const keepInputs = ({ choice }: SegmentPlan, inputs: readonly Tensor[]): readonly Source[] =>
  choice.keptInputs.map((position) => sourceOf(at(inputs, position)));

/** Gives what was made its memory. The segment has let go of its inputs: who else holds one decides what becomes of it. */
export function handOut(ran: RanSegment, sources: SourceIndex): void {
  const { plan, results, fresh, sizeOf } = ran;
  const { outputs, keptOutputs, waiting } = plan.choice;
  const kept = [...ran.kept];
  for (let output = 0; output < results.length; output += 1) {
    const root = at(results, output);
    const position = outputs[output];
    if (position !== undefined) {
      settle(at(fresh, position), placeOf(root, 'a segment'), sizeOf);
      if (keptOutputs.includes(position)) kept.push(sourceOf(root));
    }
    root.dispose();
  }
  if (waiting.length > 0) leaveWaiting(ran, kept, sources);
}

function leaveWaiting(ran: RanSegment, kept: readonly Source[], sources: SourceIndex): void {
  const { plan, graph, refs, fresh, isLast } = ran;
  const waiting = plan.choice.waiting.map((position) => at(fresh, position));
  const ended = new EndedSegment({ plan, graph, refs }, kept, waiting);
  for (const source of ended.sources) {
    if (isLast) source.release();
    else sources.add(source);
  }
}
