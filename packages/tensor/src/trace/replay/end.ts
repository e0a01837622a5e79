// The end of a segment that was done before. In: what the program needs and holds. Out: what tells how it ended then, and its
// results, where they belong.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import { unrecorded } from '../../process-state.ts';
import { placeOf } from '../../tensor.ts';
import type { Tensor } from '../../tensor.ts';
import { handOut, keepInputs } from '../segment-results.ts';
import type { SourceIndex } from '../source.ts';
import type { Memory } from '../traced-memory.ts';
import type { Replay } from './replay.ts';
import type { SegmentEnd } from './step.ts';

/** What decides how a segment is run beside its steps. */
export interface Ending {
  readonly wanted: readonly Memory[];
  readonly isLast: boolean;
}

/** Equal for ends of the same steps that are run in the same way. */
export function signatureOf(
  { fresh, inputs }: { readonly fresh: readonly Memory[]; readonly inputs: readonly { readonly tensor: Tensor }[] },
  { wanted, isLast }: Ending,
): string {
  let text = isLast ? 'last ' : '';
  for (const memory of fresh) {
    const isAlive = memory.tensors.some(({ isDisposed }) => !isDisposed);
    text += wanted.includes(memory) ? (isAlive ? 'W' : 'w') : isAlive ? 'a' : '-';
  }
  inputs.forEach(({ tensor }, position) => {
    if (placeOf(tensor, 'a segment').storage.isShared) text += ` ${String(position)}`;
  });
  return text;
}

/** Runs the segment. Throws what an operator in it throws, then as if nothing had happened. */
export function runReplay(
  replay: Replay,
  end: SegmentEnd,
  { sources, isLast }: { readonly sources: SourceIndex; readonly isLast: boolean },
): void {
  const { plan, graph, refs, written } = end;
  const inputs = replay.inputs.map(({ tensor }) => tensor);
  const kept = keepInputs(plan, inputs);
  for (const input of written) sources.protect(replay.placeOf(input).storage);
  const results = unrecorded(() => plan.run?.(inputs) ?? []);
  replay.fresh.forEach((memory, position) => {
    memory.current = at(refs, position);
  });
  const existing = replay.inputs.flatMap(({ memory }) => (memory === undefined ? [] : [memory]));
  const settle = replay.settle.bind(replay);
  handOut({ plan, graph, results, inputs, existing, fresh: replay.fresh, kept, isLast, settle }, sources);
}

/** A graph without the lines that it was recorded at, which hold what was on the stack. */
export const withoutOrigins = (graph: Graph): Graph => ({
  ...graph,
  nodes: graph.nodes.map((node) => ({ ...node, origin: { from: [] } })),
});
