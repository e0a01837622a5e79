// A function of the program over stand-ins that have shapes and dtypes alone: a graph of what it does with tensors of these. Nothing is
// computed, and nobody else's trace sees it.
import type { Graph, Meta, SizeEnvironment } from '@tsinductor/graph';
import { withoutGradients } from '../autograd/grad-mode.ts';
import { zeros } from '../generated/functions.ts';
import { unrecorded } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { TraceSession } from './session.ts';

export interface TracedOver<R> {
  /** Its inputs are the stand-ins, then what the function closes over; its outputs what `outputs` of its result names. */
  readonly graph: Graph;
  /** How many tensors it closes over. */
  readonly captures: number;
  /** Whether it writes to its inputs, or calls what no graph can say. */
  readonly isPure: boolean;
  readonly result: R;
}

/** Runs `fn` once on stand-ins. Questions about symbolic sizes are asked of `sizes`. */
export function traceOver<R>(
  fn: (inputs: readonly Tensor[]) => R,
  { metas, sizes }: { readonly metas: readonly Meta[]; readonly sizes: SizeEnvironment },
  outputs: (result: R) => readonly Tensor[],
): TracedOver<R> {
  return unrecorded(() => {
    const session = new TraceSession({ sizes });
    // Each has memory of its own, of which only the identity counts.
    const standIns = metas.map((meta) => session.formal(zeros([1], { dtype: meta.dtype }), meta));
    const { result, made } = session.run(() =>
      withoutGradients(() => {
        const given = fn(standIns);
        return { result: given, made: outputs(given) };
      }),
    );
    const { graph, placeholders, hosts } = session.finish(made);
    const isPure = graph.mutations.length === 0 && hosts.length === 0;
    return { graph, captures: placeholders.length - metas.length, isPure, result };
  });
}
