// Launch constants by measurement. For each combination of key arguments, dtypes and machine every configuration is timed
// once, in any process: its record lies on disk, so that adding a configuration times only that one. While they are timed
// kernels write to their tensors; what those held is put back before the launch that was asked for.
import { at, get, stableHash } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { RecordStore } from '@tsinductor/cache';
import { isConstexpr } from '@tsinductor/dsl';
import type { LaunchArguments, MetaArguments, Schema } from '@tsinductor/dsl';
import type { Tensor } from '@tsinductor/tensor';
import { ownState, placeOf, recorderInUse } from '@tsinductor/tensor/internal';
import type { KernelLaunch } from '@tsinductor/tensor/internal';
import type { Builder } from '../build/builder.ts';
import { requireHost } from './bind-arguments.ts';
import type { BoundLaunch } from './bind-arguments.ts';
import { doBench } from '../profile/do-bench.ts';
import type { BenchOptions } from '../profile/do-bench.ts';
import { isToolchainFailure } from '../errors.ts';
import { badConfiguration, badKey, noConfigurations } from './kernel-errors.ts';
import { checkTuning, pruned } from './tuning-options.ts';
import type { PruneOptions } from './tuning-options.ts';
import type { Kernel } from './kernel.ts';
import type { Grid, GridLike, LaunchOptions } from './launch.ts';
import { recordedLaunch, writtenBy } from './record-launch.ts';

export interface AutotuneOptions<S extends Schema, Config> {
  /** Launch constants (and `numWarps`, `numStages`) to try, the first where nothing was measured. */
  readonly configs: readonly (Config & Pick<LaunchOptions, 'numWarps' | 'numStages'>)[];
  /** Arguments on whose values the best configuration depends: sizes. */
  readonly key: readonly (keyof S & string)[];
  readonly bench?: BenchOptions;
  /** Which configurations are measured at all, for a launch with these arguments. */
  readonly pruneConfigsBy?: PruneOptions<S, Config>;
  /** Buffers that are zeros at the beginning of every measured run: those that the kernel adds to. */
  readonly resetToZero?: readonly (keyof S & string)[];
}

/** A kernel whose configurations' constants need not be given. */
export interface TunedKernel<S extends Schema, Config> {
  readonly kernel: Kernel<S>;
  launch(grid: GridLike<S>, args: TunedArguments<S, Config>, options?: Pick<LaunchOptions, 'backend' | 'print'>): void;
  /** The configuration that a launch with these arguments takes, measured if need be, with all times in milliseconds. */
  best(
    grid: GridLike<S>,
    args: TunedArguments<S, Config>,
    options?: Pick<LaunchOptions, 'backend' | 'print'>,
  ): TuningResult<Config>;
}

type TunedArguments<S extends Schema, Config> = Omit<LaunchArguments<S, Tensor>, keyof Config & string>;

export interface TuningResult<Config> {
  readonly config: Config;
  readonly milliseconds: number;
  readonly measured: number;
  readonly times: readonly number[];
}

type Plain = Readonly<Record<string, number | undefined>>;

export function autotune<S extends Schema, Config extends Partial<MetaArguments<S>>>(
  kernel: Kernel<S>,
  options: AutotuneOptions<S, Config>,
): TunedKernel<S, Config> {
  const { configs, key } = options;
  const { schema } = kernel.definition;
  checkTuning(kernel, options);
  if (configs.length === 0) throw noConfigurations(kernel.name);
  for (const config of configs as readonly Plain[]) {
    for (const name of Object.keys(config)) {
      const entry = schema[name];
      if (name !== 'numWarps' && name !== 'numStages' && (entry === undefined || !isConstexpr(entry)))
        throw badConfiguration(kernel.name, name);
    }
  }
  for (const name of key) if (!Object.hasOwn(schema, name)) throw badKey(kernel.name, name);
  const tuner = new Tuner(kernel, options);
  return {
    kernel,
    launch: (grid, args, how = {}) => {
      tuner.launch(grid, args, how);
    },
    best: (grid, args, how = {}) => {
      const recorder = recorderInUse();
      const measure = (): TuningResult<Config> => tuner.best(grid, args, how);
      return recorder === undefined ? measure() : recorder.suspend(measure, `best() of kernel ${kernel.name} measures`);
    },
  };
}

/** Arguments as they are given, without the constants of configurations. */
type Given = Readonly<Record<string, unknown>>;

interface Choice<Config> {
  readonly config: Config;
  /** The constants among it, and the rest. */
  readonly constants: Plain;
  readonly hints: Pick<LaunchOptions, 'numWarps' | 'numStages'>;
}

interface Best<Config> {
  readonly choice: Choice<Config>;
  readonly result: TuningResult<Config>;
}

/** A launch that may be made by any of the choices. */
interface Launching<Config> {
  /** What the times depend on beside dtypes and the machine. */
  readonly keys: readonly string[];
  readonly options: LaunchOptions;
  /** The arguments, as they are given. */
  readonly given: Given;
  readonly of: (choice: Choice<Config>) => { readonly bound: BoundLaunch; readonly size: Grid };
}

class Tuner<S extends Schema, Config extends object> {
  readonly #kernel: Kernel<S>;
  readonly #choices: readonly Choice<Config>[];
  readonly #key: readonly string[];
  readonly #bench: BenchOptions | undefined;
  readonly #prune: PruneOptions<S, Config> | undefined;
  readonly #resetToZero: readonly string[];
  /** What was found in a session, by what differs between the launches of it. */
  readonly #best = new Map<string, Best<Config>>();
  #builder: Builder | undefined;

  constructor(
    kernel: Kernel<S>,
    { configs, key, bench, pruneConfigsBy, resetToZero = [] }: AutotuneOptions<S, Config>,
  ) {
    this.#kernel = kernel;
    this.#prune = pruneConfigsBy;
    this.#resetToZero = resetToZero;
    this.#choices = configs.map((config) => {
      const { numWarps, numStages, ...constants } = config as Plain;
      const warps = numWarps === undefined ? {} : { numWarps };
      return { config, constants, hints: numStages === undefined ? warps : { ...warps, numStages } };
    });
    this.#key = key;
    this.#bench = bench;
  }

  launch(grid: GridLike<S>, args: Given, options: LaunchOptions): void {
    const launching = this.#launching(grid, args, options);
    const recorder = recorderInUse();
    if (recorder === undefined) this.#launchBest(launching);
    else recorder.launch(this.#recorded(launching));
  }

  best(grid: GridLike<S>, args: Given, options: LaunchOptions): TuningResult<Config> {
    return this.#bestOf(this.#launching(grid, args, options)).result;
  }

  #launching(grid: GridLike<S>, args: Given, options: LaunchOptions): Launching<Config> {
    return {
      keys: this.#key.map((name) => String(args[name])),
      options,
      given: args,
      of: ({ constants }) => {
        const bound = this.#kernel.bind({ ...args, ...constants }, options);
        for (const argument of bound.args)
          if (argument.kind === 'buffer')
            requireHost(this.#kernel.name, argument, 'configurations are measured on the CPU');
        return { bound, size: this.#kernel.gridOf(grid, bound.constants) };
      },
    };
  }

  /** The launch as a node of a graph: whatever a choice writes to is written; grids are known when it is recorded. */
  #recorded({ keys, options, given, of }: Launching<Config>): KernelLaunch {
    const { name, definition } = this.#kernel;
    const launches = new Map(this.#choices.map((choice) => [choice, of(choice)] as const));
    const known = (choice: Choice<Config>): ReturnType<typeof of> => get(launches, choice);
    const written = new Set([...launches.values()].flatMap(({ bound }) => [...writtenBy(definition, bound)]));
    const tuned = this.#choices.map(({ constants, hints }) => JSON.stringify({ ...constants, ...hints }));
    return recordedLaunch({
      name,
      args: known(at(this.#choices, 0)).bound.args,
      written,
      attrs: { tuned },
      launch: (args) => {
        const withArgs = (choice: Choice<Config>): ReturnType<typeof of> => {
          const { bound, size } = known(choice);
          return { bound: { ...bound, args }, size };
        };
        this.#launchBest({ keys, options, given, of: withArgs });
      },
    });
  }

  #launchBest(launching: Launching<Config>): void {
    this.#run(this.#bestOf(launching).choice, launching);
  }

  #run(choice: Choice<Config>, { of, options }: Launching<Config>): void {
    const { bound, size } = of(choice);
    this.#kernel.run(size, bound, { ...options, ...choice.hints });
  }

  #bestOf(launching: Launching<Config>): Best<Config> {
    const { builder } = this.#kernel;
    if (builder !== this.#builder) this.#best.clear();
    this.#builder = builder;
    const first = launching.of(at(this.#choices, 0)).bound;
    const dtypes = first.args.map(({ dtype }) => dtype);
    const key = JSON.stringify([launching.keys, launching.options.backend, dtypes]);
    const known = this.#best.get(key);
    if (known !== undefined) return known;
    const best = this.#measure(this.#problem(launching, dtypes), launching, first);
    this.#best.set(key, best);
    return best;
  }

  /** What the times depend on: the kernel, the key's arguments, dtypes, the machine. */
  #problem({ keys, options }: Launching<Config>, dtypes: readonly DType[]): string {
    const { definition, builder } = this.#kernel;
    return stableHash({
      kernel: definition.name,
      source: definition.source.text,
      functions: Object.entries(definition.functions).map(([name, { text }]) => [name, text]),
      key: keys,
      dtypes,
      backend: options.backend ?? 'any',
      machine: machineOf(builder),
    });
  }

  /** All problems of this kernel on this machine. */
  #bundle(): string {
    const { definition, builder } = this.#kernel;
    return stableHash({ kernel: definition.name, source: definition.source.text, machine: machineOf(builder) });
  }

  /** Earlier measurements; undefined where they cannot be kept: then every process measures. */
  #records(): RecordStore | undefined {
    const { builder } = this.#kernel;
    try {
      return builder.tuningRecords(this.#bundle(), 'hand-written');
    } catch (error) {
      this.#warnOf(error);
      return undefined;
    }
  }

  #remember(records: RecordStore | undefined, problem: string, record: { milliseconds: number; config: Config }): void {
    try {
      records?.write(problem, stableHash(record.config), record);
    } catch (error) {
      this.#warnOf(error);
    }
  }

  #warnOf(error: unknown): void {
    if (!isToolchainFailure(error)) throw error;
    this.#kernel.builder.announcer.warnOnce(error.code, `measurements are not kept: ${error.message}`);
  }

  #measure(problem: string, launching: Launching<Config>, first: BoundLaunch): Best<Config> {
    using records = this.#records();
    const stored = records?.read(problem) ?? new Map<string, unknown>();
    const choices = pruned(this.#choices, this.#prune, { kernel: this.#kernel.name, given: launching.given });
    const before = choices.map(({ config }) => millisecondsOf(stored.get(stableHash(config))));
    const measured = before.filter((milliseconds) => milliseconds === undefined).length;
    const restore = measured === 0 ? undefined : keepContents(first);
    const summed = first.args.flatMap((argument) =>
      argument.kind === 'buffer' && this.#resetToZero.includes(argument.name) ? [argument.tensor] : [],
    );
    const times = choices.map((choice, position) => {
      const known = before[position];
      if (known !== undefined) return known;
      const silent = { ...launching, options: { ...launching.options, print: () => undefined } };
      const milliseconds = doBench(() => {
        for (const tensor of summed) tensor.zero_();
        this.#run(choice, silent);
      }, this.#bench);
      this.#remember(records, problem, { milliseconds, config: choice.config });
      return milliseconds;
    });
    restore?.();
    const best = times.indexOf(Math.min(...times));
    const choice = at(choices, best);
    const result = { config: choice.config, milliseconds: at(times, best), measured, times };
    const { name, builder } = this.#kernel;
    builder.announcer.log('autotuning', () => tuningText(name, choices, result), builder.config);
    return { choice, result };
  }
}

Object.defineProperty(Tuner.prototype, ownState, { value: true });

/** What of the machine the times depend on. */
function machineOf(builder: Builder): unknown {
  const machine = builder.machine();
  return machine.kind === 'native'
    ? [machine.isaReport.cpu, machine.isa, machine.caches, machine.threads, machine.toolchain.fingerprint]
    : 'interpreter';
}

/** A line for each configuration, the best first. */
function tuningText<Config>(
  kernel: string,
  choices: readonly Choice<Config>[],
  { milliseconds: best, measured, times }: TuningResult<Config>,
): string {
  const rows = choices
    .map(({ config }, position) => ({ config, milliseconds: at(times, position) }))
    .sort((a, b) => a.milliseconds - b.milliseconds)
    .map(
      ({ config, milliseconds }) =>
        `  ${milliseconds.toFixed(4)} ms ${(100 * (best / milliseconds)).toFixed(1)}% ${JSON.stringify(config)}`,
    );
  return [
    `${kernel}: ${String(choices.length)} configurations, ${String(measured)} of them measured now`,
    ...rows,
  ].join('\n');
}

const millisecondsOf = (record: unknown): number | undefined => {
  const { milliseconds } = (record ?? {}) as { milliseconds?: unknown };
  return typeof milliseconds === 'number' && milliseconds > 0 ? milliseconds : undefined;
};

/** Remembers what all tensors hold; the function that it returns puts it back. */
function keepContents({ args }: BoundLaunch): () => void {
  const contents = args.flatMap((argument) => {
    if (argument.kind !== 'buffer') return [];
    const elements = placeOf(argument.tensor, 'launch').storage.elements('u8');
    return [{ elements, copy: elements.slice() }];
  });
  return () => {
    for (const { elements, copy } of contents) (elements as Uint8Array).set(copy as Uint8Array);
  };
}
