// Many graphs at once on a CUDA device: for conformance runs, where each is small and starting nvcc would dominate. Outputs
// are on the CPU.
import { printGraph } from '@tsinductor/graph';
import { readFileSync } from 'node:fs';
import { at } from '@tsinductor/base';
import { generateCudaBatch } from '@tsinductor/codegen-cuda';
import type { CudaBatch as CudaPrograms } from '@tsinductor/codegen-cuda';
import type { OtherDevice } from '@tsinductor/tensor/internal';
import type { CudaArtifact } from '../build/read-artifact.ts';
import type { Builder, CudaCodeRequest } from '../build/builder.ts';
import type { BatchCompiler, CompiledGraph, ScheduledGraph } from '../build/compile-together.ts';
import { watchingFor } from '../build/stage-log.ts';
import { cudaOptionsOf } from '../build/stage-options.ts';
import { makePlan, reportOfPlan } from '../run/plan.ts';
import { openCuda } from './cuda-devices.ts';
import type { CudaTensorDevice } from './cuda-devices.ts';
import { CudaExecutable, inputAlignment } from './cuda-executable.ts';
import { describeCode, targetFor } from './cuda-target.ts';
import type { CudaChoice } from './cuda-target.ts';

interface GeneratedCudaBatch extends CudaPrograms {
  readonly scheduled: readonly ScheduledGraph[];
}

export class CudaBatch implements BatchCompiler<GeneratedCudaBatch, CudaArtifact> {
  readonly #builder: Builder;
  readonly #device: CudaTensorDevice;
  readonly #choice: CudaChoice;

  /** Throws ToolchainError where there is no driver, no such device or no toolkit. */
  constructor(builder: Builder, name: OtherDevice) {
    this.#builder = builder;
    this.#device = openCuda(name);
    this.#choice = targetFor(this.#device.cuda.facts.architecture, builder.config.cuda.arch);
    builder.requireToolkit();
  }

  generate(scheduled: readonly ScheduledGraph[]): GeneratedCudaBatch {
    const { config } = this.#builder;
    const target = { architecture: this.#choice.architecture, inputAlignment, ...cudaOptionsOf(config) };
    const schedules = scheduled.map(({ schedule }) => schedule);
    return { scheduled, ...generateCudaBatch(schedules, target, watchingFor(config).watch) };
  }

  build(generated: GeneratedCudaBatch): CudaArtifact {
    return this.#builder.cudaNow(this.#requestOf(generated));
  }

  buildAsync(generated: GeneratedCudaBatch): Promise<CudaArtifact> {
    return this.#builder.cuda(this.#requestOf(generated));
  }

  load({ scheduled, programs }: GeneratedCudaBatch, built: CudaArtifact): readonly CompiledGraph[] {
    const device = this.#device;
    const module = device.cuda.loadModule(readFileSync(this.#choice.form === 'cubin' ? built.cubin : built.ptx));
    return programs.map((program, position): CompiledGraph => {
      const { graph, schedule } = at(scheduled, position);
      const plan = makePlan(graph, schedule, { ...program, entry: '' });
      const placement = { device: device.name, outputs: graph.outputs.map(() => 'cpu' as const) };
      const siteOf = (site: number): (typeof schedule.program.sites)[number] | undefined =>
        schedule.program.sites[site];
      const { sizeAsserts, scalarAsserts } = this.#builder.config;
      const code = { device, module, kernels: program.kernels, placement, siteOf, sizeAsserts, scalarAsserts };
      const report = { ...reportOfPlan(plan), graph: printGraph(graph), runsOn: describeCode(this.#choice, device) };
      return { kind: 'compiled', kernels: plan.kernels.length, executable: new CudaExecutable(plan, code, report) };
    });
  }

  #requestOf({ source }: GeneratedCudaBatch): CudaCodeRequest {
    const { architecture } = this.#choice;
    return { name: 'batch', source: { source, architecture }, toolkit: this.#builder.requireToolkit() };
  }
}
