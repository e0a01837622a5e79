// Many graphs at once, compiled by the process's own session or another: native code, the emulation of CUDA, a CUDA device.
import { at, get } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import type { OtherDevice } from '@tsinductor/tensor/internal';
import { cppBackend } from './build/batch-backend.ts';
import type { BatchBackend } from './build/batch-backend.ts';
import { compileTogether, scheduleOf } from './build/compile-together.ts';
import type { CompiledGraph } from './build/compile-together.ts';
import { clockOf } from './build/cpp-context.ts';
import { cudaDevices, processors } from './build/pipeline.ts';
import { NativeBatch } from './build/native-batch.ts';
import { targetOf } from './build/stage-options.ts';
import { everyCandidate } from './build/tuning/every-candidate.ts';
import { CudaBatch } from './cuda/cuda-batch.ts';
import { defaultSession, useNativeMemory } from './default-compiler.ts';
import type { Session } from './session.ts';

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
  const { builder, config } = session;
  const target = new NativeBatch(builder, backend);
  const measure = clockOf(builder, config);
  return compileTogether(graphs, target, (graph) => scheduleOf(graph, { config, measure, ...backend.forTarget }));
}

/**
 * Compiles each of `graphs` once for every candidate that max-autotune has for its kernels, into one library. Results are in the order
 * of the graphs; a graph of which nothing is chosen has none. Throws as `compileGraphs` does.
 */
export async function compileCandidates(
  graphs: readonly Graph[],
  session: Session = defaultSession(),
): Promise<readonly (readonly CompiledGraph[])[]> {
  useNativeMemory();
  const { builder, config } = session;
  const native = new NativeBatch(builder, cppBackend);
  const target = targetOf(builder.requireNative(), config);
  const measure = clockOf(builder, config);
  const schedules = new Map<Graph, Schedule>();
  const candidates = graphs.map((graph): readonly (Graph | { readonly error: unknown })[] => {
    try {
      const schedule = scheduleOf(graph, { config, measure, ...processors });
      return everyCandidate(schedule, target).map((candidate) => {
        const copy = { ...graph };
        schedules.set(copy, candidate);
        return copy;
      });
    } catch (error) {
      return [{ error }];
    }
  });
  const all = candidates.flat().filter((one): one is Graph => !('error' in one));
  const compiled = await compileTogether(all, native, (graph) => get(schedules, graph));
  const outcomes = new Map(all.map((graph, position) => [graph, at(compiled, position)]));
  return candidates.map((own) =>
    own.map((one) => ('error' in one ? { kind: 'failed', error: one.error } : get(outcomes, one))),
  );
}

/**
 * Compiles `graphs` for a device in one piece of code. Results are in their order.
 *
 * Throws ToolchainError where there is no driver, no such device or no toolkit.
 */
export async function compileCudaGraphs(
  graphs: readonly Graph[],
  session: Session = defaultSession(),
  name: OtherDevice = 'cuda:0',
): Promise<readonly CompiledGraph[]> {
  const { builder, config } = session;
  return compileTogether(graphs, new CudaBatch(builder, name), (graph) =>
    scheduleOf(graph, { config, ...cudaDevices }),
  );
}
