// Many graphs at once: for conformance runs and fuzzing, where each graph is small and the compiler's start-up would
// dominate. There is no fallback here: a graph that cannot be compiled is an error value, never an interpreted result.
import type { Config } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import type { Measure } from '@tsinductor/scheduler';
import type { Executable } from '../run/executable.ts';
import { planPipeline } from './pipeline.ts';
import type { ForTarget } from './pipeline.ts';
import { watchingFor } from './stage-log.ts';
import { compileAsync } from './target-compiler.ts';
import type { TargetCompiler } from './target-compiler.ts';

export type CompiledGraph =
  | { readonly kind: 'compiled'; readonly executable: Executable; readonly kernels: number }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A graph on its way. */
export interface ScheduledGraph {
  readonly graph: Graph;
  readonly schedule: Schedule;
}

/** Compiles graphs that share their code: gives an executable, or an error, for each. */
export type BatchCompiler<Generated, Built> = TargetCompiler<
  readonly ScheduledGraph[],
  Generated,
  Built,
  readonly CompiledGraph[]
>;

/** The schedule of a graph in primitives, as the settings watch it. */
export const scheduleOf = (graph: Graph, { config, measure, ...forTarget }: Scheduling): Schedule =>
  planPipeline(forTarget).run({ graph, primitives: graph }, { config, measure }, watchingFor(config).watch);

interface Scheduling extends ForTarget {
  readonly config: Config;
  readonly measure?: Measure | undefined;
}

/** Schedules `graphs` and has them built in one piece, or where that fails in smaller ones; results are in their order. */
export async function compileTogether<Generated, Built>(
  graphs: readonly Graph[],
  target: BatchCompiler<Generated, Built>,
  scheduled: (graph: Graph) => Schedule,
): Promise<readonly CompiledGraph[]> {
  const outcomes = graphs.map((graph): ScheduledGraph | { readonly error: unknown } => {
    try {
      return { graph, schedule: scheduled(graph) };
    } catch (error) {
      return { error };
    }
  });
  const ready = outcomes.filter((outcome): outcome is ScheduledGraph => 'schedule' in outcome);
  const loaded = await buildOrSplit(ready, target);
  let next = 0;
  return outcomes.map((outcome): CompiledGraph => {
    if (!('schedule' in outcome)) return { kind: 'failed', error: outcome.error };
    return loaded[next++] ?? { kind: 'failed', error: new RangeError('a graph was not built') };
  });
}

/** Builds all; where that fails, halves, until the graphs that cannot be built stand alone with their errors. */
async function buildOrSplit<Generated, Built>(
  scheduled: readonly ScheduledGraph[],
  target: BatchCompiler<Generated, Built>,
): Promise<readonly CompiledGraph[]> {
  if (scheduled.length === 0) return [];
  try {
    return await compileAsync(target, scheduled);
  } catch (error) {
    if (scheduled.length === 1) return [{ kind: 'failed', error }];
    const middle = scheduled.length >> 1;
    const left = await buildOrSplit(scheduled.slice(0, middle), target);
    return [...left, ...(await buildOrSplit(scheduled.slice(middle), target))];
  }
}
