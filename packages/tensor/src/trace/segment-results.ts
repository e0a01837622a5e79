// The end of a segment that has run: every tensor over a computed memory, or over memory that exists, gets its place; the
// others wait. In: the memories of the segment and its results. Out: what waits, as an EndedSegment.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import type { Placed } from '../recorder.ts';
import { placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { EndedSegment } from './ended-segment.ts';
import type { SegmentPlan } from './segment.ts';
import { Source } from './source.ts';
import type { SourceIndex } from './source.ts';
import type { Memory } from './traced-memory.ts';

export interface RanSegment {
  readonly plan: SegmentPlan;
  readonly graph: Graph;
  readonly results: readonly Tensor[];
  /** By the positions of placeholders. */
  readonly inputs: readonly Tensor[];
  /** Memories of inputs that tensors were recorded over. */
  readonly existing: readonly Memory[];
  /** Memories that it made, in the order of the choice. */
  readonly fresh: readonly Memory[];
  /** Inputs that values which wait are made of. */
  readonly kept: ReadonlyMap<number, Source>;
  readonly isLast: boolean;
  settle(memory: Memory, place: Placed): void;
}

/** Holds the inputs that will be needed, as they are before the segment runs. */
export const keepInputs = ({ choice }: SegmentPlan, inputs: readonly Tensor[]): ReadonlyMap<number, Source> =>
  new Map(choice.keptInputs.map((input) => [input, new Source(at(inputs, input))]));

export function handOut(ran: RanSegment, sources: SourceIndex): void {
  const { plan, graph, results, inputs, existing, fresh, kept, isLast } = ran;
  const { choice } = plan;
  const computed = choice.outputs.flatMap((position, output) => {
    const root = at(results, output);
    const memory = at(fresh, position);
    ran.settle(memory, placeOf(root, 'a segment'));
    if (choice.keptOutputs.includes(position)) return [{ ref: memory.current, source: new Source(root) }];
    root.dispose();
    return [];
  });
  for (let i = choice.outputs.length; i < results.length; i += 1) at(results, i).dispose();
  for (const memory of existing) ran.settle(memory, placeOf(at(inputs, memory.placeholder ?? 0), 'a segment'));
  inputs.forEach((tensor, position) => {
    if (!kept.has(position)) tensor.dispose();
  });
  if (choice.waiting.length === 0) return;
  const waiting = choice.waiting.map((position) => at(fresh, position));
  const ended = new EndedSegment({ plan, graph }, { inputs: kept, computed }, waiting);
  for (const source of ended.sources) {
    if (isLast) source.release();
    else sources.add(source);
  }
}
