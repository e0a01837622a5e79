// Many graphs in one library of native code, or of what a batch backend makes of them: they share units, and equal kernels
// are built once.
import { at, stableHash } from '@tsinductor/base';
import { fingerprint } from '@tsinductor/config';
import { printGraph } from '@tsinductor/graph';
import { checkFailed } from '../errors.ts';
import type { Executable } from '../run/executable.ts';
import { NativeExecutable } from '../run/native-executable.ts';
import { makePlan, reportOfPlan } from '../run/plan.ts';
import type { Plan } from '../run/plan.ts';
import type { Batch, BatchBackend } from './batch-backend.ts';
import type { Builder, LibraryRequest } from './builder.ts';
import type { BatchCompiler, CompiledGraph, ScheduledGraph } from './compile-together.ts';
import type { NativeMachine } from './machine.ts';

interface GeneratedBatch {
  readonly scheduled: readonly ScheduledGraph[];
  readonly units: Batch['units'];
  readonly plans: readonly Plan[];
}

export class NativeBatch implements BatchCompiler<GeneratedBatch, string> {
  readonly #builder: Builder;
  readonly #machine: NativeMachine;
  readonly #backend: BatchBackend;

  /** Throws a ToolchainError where there is no native compiler. */
  constructor(builder: Builder, backend: BatchBackend) {
    this.#builder = builder;
    this.#machine = builder.requireNative();
    this.#backend = backend;
  }

  generate(scheduled: readonly ScheduledGraph[]): GeneratedBatch {
    const schedules = scheduled.map(({ schedule }) => schedule);
    const { units, programs } = this.#backend.generate(schedules, this.#machine, this.#builder.config);
    const plans = programs.map((program, position) => {
      const { graph, schedule } = at(scheduled, position);
      return makePlan(graph, schedule, program);
    });
    return { scheduled, units, plans };
  }

  /** The path of the library. */
  build(generated: GeneratedBatch): string {
    return this.#builder.libraryNow(this.#requestOf(generated));
  }

  buildAsync(generated: GeneratedBatch): Promise<string> {
    return this.#builder.library(this.#requestOf(generated));
  }

  load({ scheduled, plans }: GeneratedBatch, library: string): readonly CompiledGraph[] {
    return scheduled.map((item, position): CompiledGraph => {
      const plan = plans[position];
      return plan === undefined
        ? { kind: 'failed', error: new RangeError('no plan was made') }
        : { kind: 'compiled', kernels: plan.kernels.length, executable: this.#entry(item, plan, library) };
    });
  }

  #requestOf({ units, plans }: GeneratedBatch): LibraryRequest {
    const { toolchain, isaReport } = this.#machine;
    const key = stableHash({
      kind: 'batch',
      units,
      plans,
      config: fingerprint(this.#builder.config),
      compiler: toolchain.fingerprint,
      cpu: isaReport.cpu,
    });
    return { key, name: 'batch', units, plan: { plans }, toolchain };
  }

  #entry({ graph, schedule: { program } }: ScheduledGraph, plan: Plan, library: string): Executable {
    const { bridge, threads, isa } = this.#machine;
    const backend = this.#backend;
    const { sizeAsserts, scalarAsserts } = this.#builder.config;
    const failureOf = (site: number): Error =>
      checkFailed(program.sites[site] ?? backend.failureOf(site, this.#machine, library));
    const entry = bridge.load(library, plan.entry);
    return new NativeExecutable(
      plan,
      { bridge, threads, entry, failureOf, sizeAsserts, scalarAsserts },
      { ...reportOfPlan(plan), graph: printGraph(graph), runsOn: `${backend.name} for ${isa}` },
    );
  }
}
