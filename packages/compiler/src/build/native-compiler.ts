// From a traced graph to native code. In: a graph, settings and a machine with a C++ compiler. Out: an executable with its report.
//
// What was compiled last is kept in memory, and everything on disk, under a key of what decides the code. An executable that is
// dropped here stays whole for whoever holds it, and its memory goes when nobody does.
import { stableHash } from '@tsinductor/base';
import type { StageTime } from '@tsinductor/base';
import type { CppProgram } from '@tsinductor/codegen-cpp';
import { printGraph } from '@tsinductor/graph';
import { LRUCache } from 'lru-cache';
import { isLoadFailure, notKept } from '../errors.ts';
import { openMachineLimits } from '../profile/machine-limits.ts';
import type { MachineLimits } from '../profile/machine-limits.ts';
import { openProfile, reported } from '../profile/open-profile.ts';
import { checkIndexLimits } from '../run/check-index-limits.ts';
import type { Executable } from '../run/executable.ts';
import { NativeExecutable } from '../run/native-executable.ts';
import { makePlan, reportOfPlan } from '../run/plan.ts';
import { failureFinder } from '../run/site-finder.ts';
import { placeOfArtifacts } from './artifacts.ts';
import { whyBypassed } from './cache-tally.ts';
import type { Artifact, Origin } from './read-artifact.ts';
import { buildFingerprint } from './build-fingerprint.ts';
import { remembered } from './builder.ts';
import type { Builder } from './builder.ts';
import { graphFields, graphKey } from './graph-key.ts';
import type { NativeMachine } from './machine.ts';
import { cppContextOf } from './cpp-context.ts';
import { cppPipeline, showStage } from './pipeline.ts';
import type { Pending } from './pending.ts';
import type { CppContext, Printed } from './pipeline.ts';
import { keepsStages, watchingFor } from './stage-log.ts';
import type { StageLog, Watching } from './stage-log.ts';
import type { BesideCompiler, CompileJob } from './target-compiler.ts';
import { recordsDigest } from './tuning/records-digest.ts';
import type { GraphBuilt } from './workers/protocol.ts';

/** A graph for this machine, under its key. */
interface NativeJob extends CompileJob {
  readonly native: NativeMachine;
  readonly key: string;
  /** A part of the key: the measurements that the code goes by. */
  readonly records: string | undefined;
  /** Under what it is kept: the key, or a name that nothing else will ever have where caches are off. */
  readonly slot: string;
  /** When it was asked for, by `performance.now`. */
  readonly started: number;
}

/** What the key of a graph has beside what decides its code. */
interface Naming {
  /** A part of the key where caches are off: no other graph has it. */
  readonly unique: string;
  /** Of the compiler that generates the code, as whoever looks for it knows it. */
  readonly build: string;
}

/** A job with its C++. */
interface GeneratedNative {
  readonly job: NativeJob;
  readonly printed: Printed<CppProgram>;
  readonly times: readonly StageTime[] | undefined;
}

/** How what is loaded came to be. */
interface Opening {
  readonly origin: Origin;
  readonly times?: readonly StageTime[] | undefined;
}

/** A graph of no more nodes is likely one kernel, for which no workers are started. */
export const fewNodes = 12;

export class NativeCompiler implements BesideCompiler<NativeJob, GeneratedNative, Artifact, Executable> {
  readonly #builder: Builder;
  readonly #log: StageLog;
  /** So that two functions with the same graph share its code. */
  readonly #executables: LRUCache<string, Executable>;
  readonly #limits = new Map<string, MachineLimits>();
  #uncached = 0;

  /** At most so many executables are kept. */
  constructor(builder: Builder, log: StageLog, kept: number) {
    this.#builder = builder;
    this.#log = log;
    this.#executables = new LRUCache({ max: kept });
  }

  jobFor(job: CompileJob, native: NativeMachine, { unique, build }: Naming = this.naming()): NativeJob {
    const { config, traced } = job;
    const records = recordsDigest(config, this.#builder);
    const key = graphKey(traced.graph, { native, config, build, records });
    const slot = config.forceDisableCaches ? stableHash([key, unique]) : key;
    return { ...job, native, key, records, slot, started: performance.now() };
  }

  /** How the next graph is named: as no other one, where caches are off. */
  naming(): Naming {
    return { unique: String(this.#uncached++), build: buildFingerprint };
  }

  /** Whether it is on disk. */
  isStored(job: NativeJob): boolean {
    return this.#builder.artifacts(job.config).find(job.slot) !== undefined;
  }

  find(job: NativeJob): Executable | undefined {
    const known = this.#executables.get(memoryKey(job));
    if (known !== undefined) {
      job.tally?.add('memory');
      if (keepsStages(job.config)) this.#keepStages(job);
      return known;
    }
    const artifacts = this.#builder.artifacts(job.config);
    const found = artifacts.find(job.slot, { isPatient: job.isBackground !== true });
    if (found === undefined) return undefined;
    try {
      const executable = this.#open(job, found, { origin: found.origin });
      if (keepsStages(job.config)) this.#keepStages(job);
      return executable;
    } catch (error) {
      if (!isLoadFailure(error)) throw error;
      artifacts.discard(job.slot, error.message);
      return undefined;
    }
  }

  generate(job: NativeJob): GeneratedNative {
    if (job.traced.primitives.nodes.length > fewNodes) this.#builder.startWorkers(job.config);
    const watching = watchingFor(job.config);
    const printed = this.#printed(job, watching);
    this.#log.tell(toldOf(job, printed), watching);
    return { job, printed, times: watching.times?.list() };
  }

  build(generated: GeneratedNative): Artifact {
    return this.#builder.graphNow(requestOf(generated), generated.job.config);
  }

  buildAsync(generated: GeneratedNative): Promise<Artifact> {
    return this.#builder.graph(requestOf(generated), generated.job.config);
  }

  begin(generated: GeneratedNative): Pending<Artifact> {
    return this.#builder.beginGraph(requestOf(generated), generated.job.config);
  }

  load(generated: GeneratedNative, artifact: Artifact): Executable {
    const { job, times } = generated;
    const origin = { origin: artifact.origin, times };
    try {
      return this.#open(job, artifact, origin);
    } catch (error) {
      if (!isLoadFailure(error)) throw error;
      // Somebody has removed it since, or it is not what it should be: it is built once more.
      this.#builder.artifacts(job.config).discard(job.slot, error.message);
      return this.#open(job, this.build(generated), origin);
    }
  }

  /** What a worker has built or found of the whole job, and is kept under `slot`; how long its stages took. */
  loadBuilt(job: NativeJob, { slot, found, times }: Extract<GraphBuilt, { kind: 'native' }>): Executable {
    const artifact = this.#builder.artifacts(job.config).find(slot);
    if (artifact === undefined) throw notKept(slot);
    return this.#open({ ...job, slot }, artifact, { origin: found ?? 'built', times });
  }

  /** What was loaded and is kept. */
  kept(): readonly Executable[] {
    return [...this.#executables.values()];
  }

  clear(): void {
    this.#executables.clear();
  }

  /** The folder of a graph whose code was found. */
  #keepStages(job: NativeJob): void {
    const watching = watchingFor(job.config);
    this.#log.keep(toldOf(job, this.#printed(job, watching)), watching);
  }

  #printed(job: NativeJob, { watch }: Watching): Printed<CppProgram> {
    return cppPipeline().run(job.traced, this.#contextOf(job), watch);
  }

  #contextOf({ native, config }: NativeJob): CppContext {
    return cppContextOf(this.#builder, native, config);
  }

  #open(job: NativeJob, artifact: Artifact, { origin, times }: Opening): Executable {
    const { native, config, traced, key, started } = job;
    const { plan, source } = artifact;
    const { bridge, threads } = native;
    const entry = bridge.load(artifact.library, plan.entry);
    const profile = openProfile(plan, config, this.#surroundingsOf(job));
    const { sizeAsserts, scalarAsserts } = config;
    const code = { bridge, entry, threads, failureOf: failureFinder(traced), sizeAsserts, scalarAsserts, profile };
    const executable = new NativeExecutable(plan, code, {
      ...reportOfPlan(plan),
      get graph() {
        return printGraph(traced.graph);
      },
      runsOn: `native code for ${native.isa}, ${String(threads)} threads`,
      source,
      cacheKey: key,
      origin,
      milliseconds: performance.now() - started,
      showStage: (name) => showStage(cppPipeline(), { traced, context: this.#contextOf(job) }, name),
      ...(times === undefined ? {} : { stages: times }),
      ...(profile === undefined || !config.profileBandwidth
        ? {}
        : { timings: () => reported(profile.timings(), config) }),
    });
    this.#executables.set(memoryKey(job), executable);
    this.#count(job, origin);
    return executable;
  }

  #count({ tally, config }: NativeJob, origin: Origin): void {
    if (tally === undefined) return;
    tally.add(origin === 'built' ? 'builds' : origin);
    const reason = origin !== 'built' ? undefined : whyBypassed(config, this.#builder.artifacts(config).isTemporary);
    if (reason !== undefined) tally.bypass(reason);
  }

  #surroundingsOf({ name, native }: NativeJob): Parameters<typeof openProfile>[2] {
    const { announcer } = this.#builder;
    return {
      name,
      print: (table) => {
        announcer.tell('profile', table);
      },
      warn: (message) => {
        announcer.warnOnce('PROFILE_OUTPUT', message);
      },
      limits: () => remembered(this.#limits, native.threads, () => openMachineLimits(this.#builder, native)),
    };
  }
}

const toldOf = (job: NativeJob, { scheduled, program }: Printed<CppProgram>): Parameters<StageLog['keep']>[0] => ({
  job,
  scheduled,
  kernels: program.kernels,
});

function requestOf({ job, printed }: GeneratedNative): Parameters<Builder['graph']>[0] {
  const { name, slot, traced, examples, native, config, records } = job;
  const { scheduled, program } = printed;
  const plan = makePlan(traced.graph, scheduled, program);
  // Where no call is at hand, the first one asks.
  if (examples.length > 0 && config.scalarAsserts) checkIndexLimits(plan, examples);
  const fields = graphFields(traced.graph, { native, config, records });
  // What goes by choices that could not be measured is nothing that another process would find.
  const isProvisional = scheduled.decisions.some((one) => one.kind === 'tuned' && one.isProvisional === true);
  const key = isProvisional ? stableHash([slot, process.pid, job.started]) : slot;
  return { key, name, units: program.units, plan, toolchain: native.toolchain, fields };
}

/** The code, and what of the settings decides where it is kept and how it is called. */
const memoryKey = ({ slot, config, native }: Pick<NativeJob, 'slot' | 'config' | 'native'>): string => {
  const { sizeAsserts, scalarAsserts } = config;
  const { profileBandwidthRegex, profileBandwidthOutput } = config;
  const told = [profileBandwidthRegex, profileBandwidthOutput];
  return JSON.stringify([slot, native.threads, sizeAsserts, scalarAsserts, placeOfArtifacts(config), ...told]);
};
