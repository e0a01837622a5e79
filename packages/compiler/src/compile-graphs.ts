// Many graphs at once: for conformance runs and fuzzing, where each graph is small and the compiler's start-up would
// dominate. Graphs share units, and equal kernels are built once. There is no fallback here: a graph that cannot be
// compiled is an error value, never an interpreted result.
import { stableHash } from '@tsinductor/base';
import { fingerprint } from '@tsinductor/config';
import { printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import { cppBackend } from './build/batch-backend.ts';
import type { BatchBackend } from './build/batch-backend.ts';
import { planStages } from './build/compilation.ts';
import { defaultSession, useNativeMemory } from './default-compiler.ts';
import type { Executable } from './run/executable.ts';
import type { NativeMachine } from './build/machine.ts';
import { NativeExecutable } from './run/native-executable.ts';
import { clockOf } from './build/measure-schedule.ts';
import { isPlan, makePlan } from './run/plan.ts';
import type { Plan } from './run/plan.ts';
import type { Session } from './session.ts';

export type CompiledGraph =
  | { readonly kind: 'compiled'; readonly executable: Executable; readonly kernels: number }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A graph on its way. */
export interface ScheduledGraph {
  readonly graph: Graph;
  readonly schedule: Schedule;
}

/**
 * Compiles `graphs`, which are in primitives, into one library. Results are in their order. Throws only if the whole build fails, or if there is
 * no native compiler here (COMPILER_NOT_FOUND as a plain error message).
 */
export async function compileGraphs(
  graphs: readonly Graph[],
  session: Session = defaultSession(),
  backend: BatchBackend = cppBackend,
): Promise<readonly CompiledGraph[]> {
  useNativeMemory();
  const building = { machine: session.requireNative(), session, backend };
  const measure = clockOf(session, session.config);
  return compileTogether(graphs, {
    scheduleOf: (graph) => planStages({ graph, primitives: graph }, session.config, measure).scheduled,
    buildAll: (scheduled) => build(scheduled, building),
  });
}

/** Schedules `graphs` and has them built in one piece, or where that fails in smaller ones; results are in their order. */
export async function compileTogether(
  graphs: readonly Graph[],
  { scheduleOf, buildAll }: Together,
): Promise<readonly CompiledGraph[]> {
  const outcomes = graphs.map((graph): ScheduledGraph | { readonly error: unknown } => {
    try {
      return { graph, schedule: scheduleOf(graph) };
    } catch (error) {
      return { error };
    }
  });
  const scheduled = outcomes.filter((outcome): outcome is ScheduledGraph => 'schedule' in outcome);
  const loaded = await buildOrSplit(scheduled, buildAll);
  let next = 0;
  return outcomes.map((outcome): CompiledGraph => {
    if (!('schedule' in outcome)) return { kind: 'failed', error: outcome.error };
    return loaded[next++] ?? { kind: 'failed', error: new RangeError('a graph was not built') };
  });
}

interface Building {
  readonly machine: NativeMachine;
  readonly session: Session;
  readonly backend: BatchBackend;
}

/** How graphs are made that share their code. */
interface Together {
  readonly scheduleOf: (graph: Graph) => Schedule;
  readonly buildAll: BuildAll;
}

type BuildAll = (scheduled: readonly ScheduledGraph[]) => Promise<readonly CompiledGraph[]>;

/** Builds all; where that fails, halves, until the graphs that cannot be built stand alone with their errors. */
async function buildOrSplit(
  scheduled: readonly ScheduledGraph[],
  buildAll: BuildAll,
): Promise<readonly CompiledGraph[]> {
  if (scheduled.length === 0) return [];
  try {
    return await buildAll(scheduled);
  } catch (error) {
    if (scheduled.length === 1) return [{ kind: 'failed', error }];
    const middle = scheduled.length >> 1;
    const left = await buildOrSplit(scheduled.slice(0, middle), buildAll);
    return [...left, ...(await buildOrSplit(scheduled.slice(middle), buildAll))];
  }
}

async function build(scheduled: readonly ScheduledGraph[], building: Building): Promise<readonly CompiledGraph[]> {
  const { machine, session, backend } = building;
  const { toolchain } = machine;
  const schedules = scheduled.map((item) => item.schedule);
  const batch = backend.generate(schedules, machine, session.config);
  const plans = scheduled.map((item, index) => {
    const program = batch.programs[index];
    return program === undefined ? undefined : makePlan(item.graph, item.schedule, program);
  });
  const key = stableHash({
    kind: 'batch',
    units: batch.units,
    plans,
    config: fingerprint(session.config),
    compiler: toolchain.fingerprint,
    cpu: machine.isaReport.cpu,
  });
  const artifact = await session.buildBatch({ key, name: 'batch', units: batch.units, plan: { plans }, toolchain });
  return scheduled.map((item, index): CompiledGraph => {
    const plan: unknown = plans[index];
    return isPlan(plan)
      ? {
          kind: 'compiled',
          kernels: plan.kernels.length,
          executable: loadEntry(item, plan, { artifact, building }),
        }
      : { kind: 'failed', error: new RangeError('no plan was made') };
  });
}

function loadEntry(
  { graph, schedule: { program } }: ScheduledGraph,
  plan: Plan,
  { artifact, building }: { artifact: string; building: Building },
): Executable {
  const { machine, session, backend } = building;
  const { sizeAsserts } = session.config;
  const siteOf = (site: number) => program.sites[site] ?? backend.failureOf(site, machine, artifact);
  const entry = machine.bridge.load(artifact, plan.entry);
  return new NativeExecutable(
    plan,
    { bridge: machine.bridge, threads: machine.threads, entry, siteOf, sizeAsserts },
    {
      runsOn: `${backend.name} for ${machine.isa}`,
      graph: printGraph(graph),
      loopNodes: plan.loopNodes,
      kernels: plan.kernels,
      decisions: plan.decisions,
    },
  );
}
