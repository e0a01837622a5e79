// Many graphs at once: for conformance runs and fuzzing, where each graph is small and the compiler's start-up would
// dominate. Graphs share units, and equal kernels are built once. There is no fallback here: a graph that cannot be
// compiled is an error value, never an interpreted result.
import { stableHash } from '@tsinductor/base';
import { generateBatch } from '@tsinductor/codegen-cpp';
import { fingerprint } from '@tsinductor/config';
import { optimize, printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import { defaultSession, useNativeMemory } from './default-compiler.ts';
import type { Executable } from './executable.ts';
import type { NativeMachine } from './machine.ts';
import { NativeExecutable } from './native-executable.ts';
import { isPlan, makePlan } from './plan.ts';
import type { Plan } from './plan.ts';
import type { Session } from './session.ts';

export type CompiledGraph =
  | { readonly kind: 'compiled'; readonly executable: Executable; readonly kernels: number }
  | { readonly kind: 'failed'; readonly error: unknown };

interface Scheduled {
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
): Promise<readonly CompiledGraph[]> {
  useNativeMemory();
  const machine = session.requireNative();
  const outcomes = graphs.map((graph): Scheduled | { readonly error: unknown } => {
    try {
      return { graph, schedule: schedule(lowerGraph(optimize(graph)), { config: session.config }) };
    } catch (error) {
      return { error };
    }
  });
  const scheduled = outcomes.filter((outcome): outcome is Scheduled => 'schedule' in outcome);
  const loaded = await buildOrSplit(scheduled, machine, session);
  let next = 0;
  return outcomes.map((outcome): CompiledGraph => {
    if (!('schedule' in outcome)) return { kind: 'failed', error: outcome.error };
    return loaded[next++] ?? { kind: 'failed', error: new RangeError('a graph was not built') };
  });
}

/** Builds all; where that fails, halves, until the graphs that cannot be built stand alone with their errors. */
async function buildOrSplit(
  scheduled: readonly Scheduled[],
  machine: NativeMachine,
  session: Session,
): Promise<readonly CompiledGraph[]> {
  if (scheduled.length === 0) return [];
  try {
    return await build(scheduled, machine, session);
  } catch (error) {
    if (scheduled.length === 1) return [{ kind: 'failed', error }];
    const middle = scheduled.length >> 1;
    const left = await buildOrSplit(scheduled.slice(0, middle), machine, session);
    return [...left, ...(await buildOrSplit(scheduled.slice(middle), machine, session))];
  }
}

async function build(
  scheduled: readonly Scheduled[],
  machine: NativeMachine,
  session: Session,
): Promise<readonly CompiledGraph[]> {
  const { isa, threads, toolchain } = machine;
  const batch = generateBatch(
    scheduled.map((item) => item.schedule),
    { isa, threads, units: session.config.compileThreads },
  );
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
      ? { kind: 'compiled', kernels: plan.kernels.length, executable: loadEntry(item, plan, { artifact, machine }) }
      : { kind: 'failed', error: new RangeError('no plan was made') };
  });
}

function loadEntry(
  { graph, schedule: { program } }: Scheduled,
  plan: Plan,
  { artifact, machine }: { artifact: string; machine: NativeMachine },
): Executable {
  const entry = machine.bridge.load(artifact, plan.entry);
  return new NativeExecutable(
    plan,
    { bridge: machine.bridge, entry, siteOf: (site) => program.sites[site] },
    {
      runsOn: `native code for ${machine.isa}`,
      graph: printGraph(graph),
      loopNodes: plan.loopNodes,
      kernels: plan.kernels,
      decisions: plan.decisions,
    },
  );
}
