// Tracing a call, and what it reads of objects that the function closes over.
import type { Config } from '@tsinductor/config';
import { isTensor } from '@tsinductor/tensor';
import { afterPasses } from '../passes/pre-grad.ts';
import type { Helper } from './called-helpers.ts';
import { traceCall } from './generalise.ts';
import { anything } from './outer-content.ts';
import type { OuterRead } from './outer-reads.ts';
import { watchAround } from './outer-watch.ts';
import type { AliasedCall, Call, TracedCall, Tracing } from './trace-call.ts';

interface Watched {
  readonly traced: TracedCall | AliasedCall;
  readonly notes: readonly string[];
  /** The function and its helpers, with what they close over after the trace. None where the engine does not tell. */
  readonly functions: readonly Helper[];
}

/** A traced call, whose guards have what was read around the function. Throws UserError TRACE_WRITE where it writes there. */
export function traceWatching(
  call: Call,
  { config, ...tracing }: Omit<Tracing, 'around' | 'keepScalars'> & { readonly config: Config },
): Watched {
  const { fn, scope } = call;
  const captures: readonly unknown[] = Object.values(scope.captures ?? {});
  const watch = watchAround(fn, [scope.this, ...scope.arguments, ...captures]);
  const { traced, notes } = traceCall(call, {
    ...tracing,
    keepScalars: config.alwaysKeepTensorConstants,
    around: (run) => watch.during(run),
  });
  if ('error' in traced) return { traced, notes, functions: [] };
  // What `captures` gives is read again at every call.
  const given = new Set(captures.filter(isTensor));
  const outerReads = watch.reads().flatMap((read) => withoutGiven(read, given));
  return { traced: { ...afterPasses(traced, config), outerReads }, notes, functions: watch.functions() };
}

/** A read, but for the tensors that are given. */
function withoutGiven(read: OuterRead, given: ReadonlySet<unknown>): readonly OuterRead[] {
  if (read.key !== undefined) return given.has(read.value) ? [] : [read];
  return [{ ...read, content: read.content.map((value) => (given.has(value) ? anything : value)) }];
}
