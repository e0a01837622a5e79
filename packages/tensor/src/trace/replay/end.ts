// The end of a segment that was done before. In: what the program needs and holds. Out: what tells how it ended then, and its
// results, where they belong.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import { unrecorded } from '../../process-state.ts';
import { settle } from '../segment-log.ts';
import { handOut, keepInputs } from '../segment-results.ts';
import type { Tensor } from '../../tensor.ts';
import type { SegmentPlan } from '../segment.ts';
import type { Source, SourceIndex } from '../source.ts';
import type { Memory } from '../traced-memory.ts';
import type { Replay } from './replay.ts';
import type { SegmentEnd } from './step.ts';

/** What decides how a segment is run beside its steps. */
interface Ending {
  readonly wanted: readonly Memory[];
  readonly isLast: boolean;
  /** Positions of inputs whose memory a typed array of the program shares. */
  readonly shared: readonly number[];
}

/** Equal for ends of the same steps that are run in the same way. `fresh`: what the steps made. */
export function signatureOf(fresh: readonly Memory[], { wanted, isLast, shared }: Ending): string {
  let text = isLast ? 'last ' : '';
  for (const memory of fresh) {
    const isAlive = memory.tensors.some(({ isDisposed }) => !isDisposed);
    text += wanted.includes(memory) ? (isAlive ? 'W' : 'w') : isAlive ? 'a' : '-';
  }
  return shared.length === 0 ? text : `${text} ${shared.join()}`;
}

/** Runs the segment. Throws what an operator in it throws, then as if nothing had happened. */
export function runReplay(
  replay: Replay,
  end: SegmentEnd,
  { sources, isLast }: { readonly sources: SourceIndex; readonly isLast: boolean },
): void {
  const { plan, graph, refs, written } = end;
  const { fresh } = replay;
  const inputs = replay.inputs.map(({ tensor }) => tensor);
  const kept = keepInputs(plan, inputs);
  for (const input of written) sources.protectNeeded(replay.placeOf(input).storage);
  const results = resultsOf(plan, inputs, kept);
  for (const input of written) sources.written(replay.placeOf(input).storage);
  for (let position = 0; position < fresh.length; position += 1) at(fresh, position).current = at(refs, position);
  for (const { memory, place } of replay.inputs) if (memory !== undefined) settle(memory, place, replay.sizeOf);
  replay.release();
  handOut({ plan, graph, refs, results, fresh, kept, isLast, sizeOf: replay.sizeOf }, sources);
}

function resultsOf({ run }: SegmentPlan, inputs: readonly Tensor[], kept: readonly Source[]): readonly Tensor[] {
  try {
    return unrecorded(() => run?.(inputs) ?? []);
  } catch (error) {
    for (const source of kept) source.release();
    throw error;
  }
}

/** A graph without the lines that it was recorded at, which hold what was on the stack. */
export const withoutOrigins = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => ({ ...node, origin: { from: [] } })),
});
