// Tracing a call, and what it reads of objects that the function closes over.
import { isTensor } from '@tsinductor/tensor';
import { traceCall } from './generalise.ts';
import { watchAround } from './outer-reads.ts';
import type { Around } from './outer-reads.ts';
import type { AliasedCall, Call, TracedCall, Tracing } from './trace-call.ts';

interface Watched {
  readonly traced: TracedCall | AliasedCall;
  readonly notes: readonly string[];
  /** What was around the function; undefined where the engine does not tell, or there is no trace. */
  readonly around?: Around | undefined;
}

/** A traced call, whose guards have what was read around the function. Throws UserError TRACE_WRITE where it writes there. */
export function traceWatching(call: Call, tracing: Omit<Tracing, 'around'>): Watched {
  const { fn, scope } = call;
  const watch = watchAround(fn, [scope.this, ...scope.arguments]);
  const { traced, notes } = traceCall(call, { ...tracing, around: (run) => watch.during(run) });
  if ('error' in traced) return { traced, notes };
  // What `captures` gives is read again at every call.
  const given = new Set(Object.values(scope.captures ?? {}));
  const outerReads = watch.reads().filter(({ value }) => !isTensor(value) || !given.has(value));
  return { traced: { ...traced, outerReads }, notes, around: watch.around };
}
