// From a traced graph to code on a CUDA device. In: a graph and where it runs. Out: an executable; or the coded error that
// says what is missing.
//
// The code is found in the cache by its text, architecture, flags and compiler; generating the text again in a second
// process takes milliseconds. In this process a graph that was loaded on a device is found by what decides its text.
import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { stableHash } from '@tsinductor/base';
import { generateCuda } from '@tsinductor/codegen-cuda';
import type { CudaProgram } from '@tsinductor/codegen-cuda';
import type { Config } from '@tsinductor/config';
import { fingerprint } from '@tsinductor/config';
import { optimize, printGraph } from '@tsinductor/graph';
import type { CheckSite } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { findCudaToolkit, requireCudaToolkit } from '@tsinductor/runtime';
import type { CudaToolkit, CudaToolkitReport } from '@tsinductor/runtime';
import type { Tensor } from '@tsinductor/tensor';
import { openDevice } from '@tsinductor/tensor/internal';
import type { OtherDevice, Placement } from '@tsinductor/tensor/internal';
import { LRUCache } from 'lru-cache';
import type { CudaArtifact, CudaRequest } from '../build/artifacts.ts';
import { checkIndexLimits } from '../run/check-index-limits.ts';
import { planStages, positionsOf } from '../build/compilation.ts';
import { foreignDevice } from '../errors.ts';
import type { Executable } from '../run/executable.ts';
import { makePlan, sizesOfCall } from '../run/plan.ts';
import type { TracedGraph } from '../session.ts';
import { CudaTensorDevice } from './cuda-devices.ts';
import { CudaExecutable, inputAlignment } from './cuda-executable.ts';
import { targetFor } from './cuda-target.ts';
import type { CudaChoice } from './cuda-target.ts';

/** A placement on a device. */
export interface CudaPlacement extends Placement {
  readonly device: OtherDevice;
}

/** A graph to compile. */
export interface CudaJobRequest {
  readonly name: string;
  readonly traced: TracedGraph;
  readonly examples: readonly Tensor[];
  readonly placement: CudaPlacement;
  readonly config: Config;
}

/** Everything but the machine code. */
export interface GeneratedCuda extends CudaJobRequest {
  readonly key: string;
  readonly device: CudaTensorDevice;
  readonly choice: CudaChoice;
  readonly program: CudaProgram;
  readonly stages: ReturnType<typeof planStages>;
  readonly started: number;
}

/** What a session does for its compiler. */
export interface CudaHost {
  /** Machine code, from the cache or from nvcc. */
  build(config: Config, job: Omit<CudaRequest, 'seconds'>): CudaArtifact;
  buildAsync(config: Config, job: Omit<CudaRequest, 'seconds'>): Promise<CudaArtifact>;
  /** Shows what was generated to whoever asked for it. */
  show(generated: GeneratedCuda): void;
}

const keptExecutables = 256;

export class CudaCompiler {
  readonly #host: CudaHost;
  readonly #executables = new LRUCache<string, Executable>({ max: keptExecutables });
  readonly #toolkits = new Map<string, CudaToolkitReport>();

  constructor(host: CudaHost) {
    this.#host = host;
  }

  /** Makes an executable, blocking until it is built. */
  prepare(request: CudaJobRequest): Executable {
    const generated = this.#generate(request);
    return 'run' in generated
      ? generated
      : this.#load(generated, this.#host.build(request.config, this.#jobOf(generated)));
  }

  /** The same without blocking while nvcc runs. */
  async prepareAsync(request: CudaJobRequest): Promise<Executable> {
    const generated = this.#generate(request);
    if ('run' in generated) return generated;
    return this.#load(generated, await this.#host.buildAsync(request.config, this.#jobOf(generated)));
  }

  /** What was loaded before, or what there is to build. */
  #generate(request: CudaJobRequest): Executable | GeneratedCuda {
    const { traced, examples, placement, config } = request;
    const device = openCuda(placement.device);
    const choice = targetFor(device.cuda.facts.architecture, config.cuda.arch);
    const key = stableHash({
      graph: { ...traced.graph, nodes: traced.graph.nodes.map((node) => ({ ...node, origin: undefined })) },
      config: fingerprint(config),
      placement,
      choice,
    });
    const known = config.forceDisableCaches ? undefined : this.#executables.get(key);
    if (known !== undefined) return known;
    const started = performance.now();
    const stages = planStages(traced, config);
    const { architecture } = choice;
    const program = generateCuda(stages.scheduled, { architecture, inputAlignment, positions: positionsOf(config) });
    checkIndexLimits(program.indexLimits, sizesOfCall(traced.graph.sizes, examples));
    const generated = { ...request, key, device, choice, program, stages, started };
    this.#host.show(generated);
    return generated;
  }

  /** What nvcc has to make. Throws ToolchainError CUDA_TOOLKIT_NOT_FOUND, which lists every place. */
  #jobOf({ name, program, config }: GeneratedCuda): Omit<CudaRequest, 'seconds'> {
    const toolkit = this.requireToolkit(config);
    return { name, source: { source: program.source, architecture: program.architecture }, toolkit };
  }

  /** The toolkit that these settings find. Throws ToolchainError CUDA_TOOLKIT_NOT_FOUND. */
  requireToolkit(config: Config): CudaToolkit {
    return requireCudaToolkit(this.toolkitReport(config));
  }

  /** The same with what was searched, looked for once. */
  toolkitReport({ cuda: { cudaCxx, home, path, installed }, cpp: { searchPath } }: Config): CudaToolkitReport {
    const key = JSON.stringify([cudaCxx, home, path, installed, searchPath]);
    const report =
      this.#toolkits.get(key) ??
      findCudaToolkit({
        configured: cudaCxx ?? undefined,
        cudaHome: home ?? undefined,
        cudaPath: path ?? undefined,
        path: searchPath,
        installed: installed.split(delimiter),
      });
    this.#toolkits.set(key, report);
    return report;
  }

  #load(generated: GeneratedCuda, { cubin, ptx }: Pick<CudaArtifact, 'cubin' | 'ptx'>): Executable {
    const { traced, device, choice, program, stages, placement, config } = generated;
    const module = device.cuda.loadModule(readFileSync(choice.form === 'cubin' ? cubin : ptx));
    const plan = makePlan(traced.graph, stages.scheduled, { ...program, entry: '' });
    const { kernels } = program;
    const siteOf = (site: number): CheckSite | undefined => lowerGraph(optimize(traced.primitives)).sites[site];
    const { sizeAsserts } = config;
    const { facts } = device.cuda;
    const executable = new CudaExecutable(plan, { device, module, kernels, placement, siteOf, sizeAsserts }, {
      runsOn: `CUDA code for ${choice.architecture}${choice.form === 'ptx' ? ', compiled by the driver,' : ''} on ${device.name} (${facts.name})`,
      graph: printGraph(traced.graph),
      loopNodes: plan.loopNodes,
      kernels: plan.kernels,
      decisions: plan.decisions,
      source: () => program.source,
      cacheKey: generated.key,
      milliseconds: performance.now() - generated.started,
      ...(plan.workspaceBytes.kind === 'int' ? { workspaceBytes: plan.workspaceBytes.value } : {}),
    }); // prettier-ignore
    this.#executables.set(generated.key, executable);
    return executable;
  }
}

/** The device of that name, which must be one of ours. */
export function openCuda(name: OtherDevice): CudaTensorDevice {
  const device = openDevice(name);
  if (!(device instanceof CudaTensorDevice)) throw foreignDevice(name);
  return device;
}
