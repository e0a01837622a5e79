// Many graphs at once on a CUDA device: for conformance runs, where each is small and starting nvcc would dominate. In:
// graphs in primitives. Out: an executable or an error for each; outputs are on the CPU. Nothing falls back.
import { generateCudaBatch } from '@tsinductor/codegen-cuda';
import { printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { openDevice } from '@tsinductor/tensor/internal';
import type { OtherDevice } from '@tsinductor/tensor/internal';
import { readFileSync } from 'node:fs';
import { planStages, positionsOf } from '../build/compilation.ts';
import { compileTogether } from '../compile-graphs.ts';
import type { CompiledGraph, ScheduledGraph } from '../compile-graphs.ts';
import { defaultSession } from '../default-compiler.ts';
import { foreignDevice } from '../errors.ts';
import { makePlan } from '../run/plan.ts';
import type { Session } from '../session.ts';
import { CudaTensorDevice } from './cuda-devices.ts';
import { CudaExecutable, inputAlignment } from './cuda-executable.ts';
import { targetFor } from './cuda-target.ts';

interface Target {
  readonly session: Session;
  readonly device: CudaTensorDevice;
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
  const device = openDevice(name);
  if (!(device instanceof CudaTensorDevice)) throw foreignDevice(name);
  session.cuda.requireToolkit(session.config);
  return compileTogether(graphs, {
    scheduleOf: (graph) => planStages({ graph, primitives: graph }, session.config).scheduled,
    buildAll: (scheduled) => build(scheduled, { session, device }),
  });
}

async function build(
  scheduled: readonly ScheduledGraph[],
  { session, device }: Target,
): Promise<readonly CompiledGraph[]> {
  const { config } = session;
  const { architecture, form } = targetFor(device.cuda.facts.architecture, config.cuda.arch);
  const schedules = scheduled.map(({ schedule }) => schedule);
  const { source, programs } = generateCudaBatch(schedules, {
    architecture,
    inputAlignment,
    positions: positionsOf(config),
  });
  const toolkit = session.cuda.requireToolkit(config);
  const built = await session.buildCuda({ name: 'batch', source: { source, architecture }, toolkit });
  const module = device.cuda.loadModule(readFileSync(form === 'cubin' ? built.cubin : built.ptx));
  return programs.map((program, position): CompiledGraph => {
    const item = scheduled[position];
    if (item === undefined) return { kind: 'failed', error: new RangeError('a program without a graph') };
    const { graph, schedule } = item;
    const plan = makePlan(graph, schedule, { ...program, entry: '' });
    const { kernels } = program;
    const placement = { device: device.name, outputs: graph.outputs.map(() => 'cpu' as const) };
    const siteOf = (site: number) => schedule.program.sites[site];
    const { sizeAsserts } = config;
    const executable = new CudaExecutable(plan, { device, module, kernels, placement, siteOf, sizeAsserts }, {
      runsOn: `CUDA code for ${architecture} on ${device.name} (${device.cuda.facts.name})`,
      graph: printGraph(graph),
      loopNodes: plan.loopNodes,
      kernels: plan.kernels,
      decisions: plan.decisions,
    }); // prettier-ignore
    return { kind: 'compiled', kernels: plan.kernels.length, executable };
  });
}
