// From a traced graph to code on a CUDA device. In: a graph and where it runs. Out: an executable; or the coded error that
// says what is missing.
//
// The code is found in the cache by its text, architecture, flags and compiler; generating the text again in a second
// process takes milliseconds. In this process a graph that was loaded on a device is found by what decides its text.
import { readFileSync } from 'node:fs';
import { stableHash } from '@tsinductor/base';
import type { StageTime } from '@tsinductor/base';
import type { CudaProgram } from '@tsinductor/codegen-cuda';
import { fingerprint } from '@tsinductor/config';
import { printGraph } from '@tsinductor/graph';
import { LRUCache } from 'lru-cache';
import { whyBypassed } from '../build/cache-tally.ts';
import type { CudaArtifact } from '../build/read-artifact.ts';
import type { Builder, CudaCodeRequest } from '../build/builder.ts';
import type { Pending } from '../build/pending.ts';
import { cudaPipeline, showStage } from '../build/pipeline.ts';
import type { CudaContext, Printed } from '../build/pipeline.ts';
import { watchingFor } from '../build/stage-log.ts';
import type { StageLog } from '../build/stage-log.ts';
import { cudaOptionsOf } from '../build/stage-options.ts';
import type { BesideCompiler, CompileJob } from '../build/target-compiler.ts';
import { checkIndexLimits } from '../run/check-index-limits.ts';
import type { Executable } from '../run/executable.ts';
import { makePlan, reportOfPlan } from '../run/plan.ts';
import { siteFinder } from '../run/site-finder.ts';
import { openCuda } from './cuda-devices.ts';
import type { CudaTensorDevice } from './cuda-devices.ts';
import { CudaExecutable, inputAlignment } from './cuda-executable.ts';
import { describeCode, targetFor } from './cuda-target.ts';
import type { CudaChoice } from './cuda-target.ts';

/** A graph for this device, under its key. */
interface CudaCompileJob extends CompileJob {
  readonly device: CudaTensorDevice;
  readonly choice: CudaChoice;
  readonly key: string;
  readonly started: number;
}

/** A job with its CUDA. */
interface GeneratedCuda {
  readonly job: CudaCompileJob;
  readonly printed: Printed<CudaProgram>;
  readonly times: readonly StageTime[] | undefined;
}

const keptExecutables = 256;

export class CudaCompiler implements BesideCompiler<CudaCompileJob, GeneratedCuda, CudaArtifact, Executable> {
  readonly #builder: Builder;
  readonly #log: StageLog;
  readonly #executables = new LRUCache<string, Executable>({ max: keptExecutables });

  constructor(builder: Builder, log: StageLog) {
    this.#builder = builder;
    this.#log = log;
  }

  jobFor(job: CompileJob): CudaCompileJob {
    const { traced, placement, config } = job;
    const device = openCuda(placement.device);
    const choice = targetFor(device.cuda.facts.architecture, config.cuda.arch);
    const key = stableHash({
      graph: { ...traced.graph, nodes: traced.graph.nodes.map((node) => ({ ...node, origin: undefined })) },
      config: fingerprint(config),
      calls: [config.sizeAsserts, config.scalarAsserts, config.triton.debugSyncGraph, config.triton.debugSyncKernel],
      placement,
      choice,
    });
    return { ...job, device, choice, key, started: performance.now() };
  }

  find({ key, config, tally }: CudaCompileJob): Executable | undefined {
    const known = config.forceDisableCaches ? undefined : this.#executables.get(key);
    if (known !== undefined) tally?.add('memory');
    return known;
  }

  generate(job: CudaCompileJob): GeneratedCuda {
    const { traced, examples, config } = job;
    const watching = watchingFor(config);
    const printed = cudaPipeline().run(traced, contextOf(job), watching.watch);
    const { scheduled, program } = printed;
    if (config.scalarAsserts)
      checkIndexLimits({ indexLimits: program.indexLimits, sizes: traced.graph.sizes }, examples);
    const { kernels } = program;
    this.#log.tell({ job, scheduled, kernels }, watching);
    return { job, printed, times: watching.times?.list() };
  }

  build(generated: GeneratedCuda): CudaArtifact {
    return this.#builder.cudaNow(this.#requestOf(generated), generated.job.config);
  }

  buildAsync(generated: GeneratedCuda): Promise<CudaArtifact> {
    return this.#builder.cuda(this.#requestOf(generated), generated.job.config);
  }

  begin(generated: GeneratedCuda): Pending<CudaArtifact> {
    return this.#builder.beginCuda(this.#requestOf(generated), generated.job.config);
  }

  load({ job, printed, times }: GeneratedCuda, { cubin, ptx, origin }: Omit<CudaArtifact, 'facts'>): Executable {
    const { traced, device, choice, placement, config, key, started } = job;
    const { scheduled, program } = printed;
    const module = device.cuda.loadModule(readFileSync(choice.form === 'cubin' ? cubin : ptx));
    const plan = makePlan(traced.graph, scheduled, { ...program, entry: '' });
    const { kernels } = program;
    const { sizeAsserts, scalarAsserts } = config;
    const waits = { forGraph: config.triton.debugSyncGraph, forKernel: config.triton.debugSyncKernel };
    const code = { device, module, kernels, placement, siteOf: siteFinder(traced), sizeAsserts, scalarAsserts, waits };
    const executable = new CudaExecutable(plan, code, {
      ...reportOfPlan(plan),
      get graph() {
        return printGraph(traced.graph);
      },
      runsOn: describeCode(choice, device),
      source: () => program.source,
      cacheKey: key,
      milliseconds: performance.now() - started,
      showStage: (name) => showStage(cudaPipeline(), { traced, context: contextOf(job) }, name),
      ...(times === undefined ? {} : { stages: times }),
    });
    this.#executables.set(key, executable);
    this.#count(job, origin);
    return executable;
  }

  #count({ tally, config }: CudaCompileJob, origin: CudaArtifact['origin']): void {
    tally?.add(origin === 'built' ? 'builds' : origin);
    const reason = origin !== 'built' ? undefined : whyBypassed(config, this.#builder.artifacts(config).isTemporary);
    if (reason !== undefined) tally?.bypass(reason);
  }

  /** What nvcc has to make. Throws ToolchainError CUDA_TOOLKIT_NOT_FOUND, which lists every place. */
  #requestOf({ job: { name, config }, printed: { program } }: GeneratedCuda): CudaCodeRequest {
    const toolkit = this.#builder.requireToolkit(config);
    return { name, source: { source: program.source, architecture: program.architecture }, toolkit };
  }
}

const contextOf = ({ config, choice: { architecture } }: CudaCompileJob): CudaContext => ({
  config,
  target: { architecture, inputAlignment, ...cudaOptionsOf(config) },
});
