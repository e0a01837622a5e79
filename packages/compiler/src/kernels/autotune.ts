// Launch constants by measurement. For each combination of key arguments, dtypes and machine every configuration is timed
// once, in any process: its record lies on disk, so that adding a configuration times only that one. While they are timed
// kernels write to their tensors; what those held is put back before the launch that was asked for.
import { tmpdir } from 'node:os';
import { at, stableHash } from '@tsinductor/base';
import { openRecords } from '@tsinductor/cache';
import type { RecordStore } from '@tsinductor/cache';
import { isConstexpr } from '@tsinductor/dsl';
import type { LaunchArguments, MetaArguments, Schema } from '@tsinductor/dsl';
import type { Tensor } from '@tsinductor/tensor';
import { placeOf } from '@tsinductor/tensor/internal';
import { bindLaunch } from './bind-arguments.ts';
import type { BoundLaunch } from './bind-arguments.ts';
import { doBench } from './do-bench.ts';
import type { BenchOptions } from './do-bench.ts';
import { badConfiguration, badKey, noConfigurations } from './kernel-errors.ts';
import type { GridLike, Kernel, LaunchOptions } from './kernel.ts';

export interface AutotuneOptions<S extends Schema, Config> {
  /** Launch constants (and `numWarps`, `numStages`) to try, the first where nothing was measured. */
  readonly configs: readonly (Config & Pick<LaunchOptions, 'numWarps' | 'numStages'>)[];
  /** Arguments on whose values the best configuration depends: sizes. */
  readonly key: readonly (keyof S & string)[];
  readonly bench?: BenchOptions;
}

/** A kernel whose configurations' constants need not be given. */
export interface TunedKernel<S extends Schema, Config> {
  readonly kernel: Kernel<S>;
  launch(grid: GridLike<S>, args: TunedArguments<S, Config>, options?: Pick<LaunchOptions, 'backend'>): void;
  /** The configuration that a launch with these arguments takes, measured if need be, with all times in milliseconds. */
  best(
    grid: GridLike<S>,
    args: TunedArguments<S, Config>,
    options?: Pick<LaunchOptions, 'backend'>,
  ): TuningResult<Config>;
}

export type TunedArguments<S extends Schema, Config> = Omit<LaunchArguments<S, Tensor>, keyof Config & string>;

export interface TuningResult<Config> {
  readonly config: Config;
  readonly milliseconds: number;
  readonly measured: number;
  readonly times: readonly number[];
}

type Plain = Readonly<Record<string, number | undefined>>;

export function autotune<S extends Schema, Config extends Partial<MetaArguments<S>>>(
  kernel: Kernel<S>,
  { configs, key, bench }: AutotuneOptions<S, Config>,
): TunedKernel<S, Config> {
  const { schema } = kernel.definition;
  if (configs.length === 0) throw noConfigurations(kernel.name);
  for (const config of configs as readonly Plain[]) {
    for (const name of Object.keys(config)) {
      const entry = schema[name];
      if (name !== 'numWarps' && name !== 'numStages' && (entry === undefined || !isConstexpr(entry)))
        throw badConfiguration(kernel.name, name);
    }
  }
  for (const name of key) if (!Object.hasOwn(schema, name)) throw badKey(kernel.name, name);
  const tuner = new Tuner(kernel, { configs, key, bench });
  type Best = TuningResult<Config>;
  return {
    kernel,
    launch: (grid, args, options = {}) => {
      tuner.launch(grid, args, options);
    },
    best: (grid, args, options = {}) => tuner.best(grid, args, options) as unknown as Best,
  };
}

interface TunerOptions {
  readonly configs: readonly Plain[];
  readonly key: readonly string[];
  readonly bench: BenchOptions | undefined;
}

class Tuner<S extends Schema> {
  readonly #kernel: Kernel<S>;
  readonly #options: TunerOptions;
  readonly #best = new Map<string, TuningResult<Plain>>();

  constructor(kernel: Kernel<S>, options: TunerOptions) {
    this.#kernel = kernel;
    this.#options = options;
  }

  launch(grid: GridLike<S>, args: object, options: LaunchOptions): void {
    const { config } = this.best(grid, args, options);
    this.#launch(grid, { args, config, options });
  }

  #launch(grid: GridLike<S>, { args, config, options }: { args: object; config: Plain; options: LaunchOptions }): void {
    const { numWarps, numStages, ...constants } = config;
    const all = { ...args, ...constants } as unknown as LaunchArguments<S, Tensor>;
    const hints = {
      ...(numWarps === undefined ? {} : { numWarps }),
      ...(numStages === undefined ? {} : { numStages }),
    };
    this.#kernel.launch(grid, all, { ...options, ...hints });
  }

  best(grid: GridLike<S>, args: object, options: LaunchOptions): TuningResult<Plain> {
    const problem = this.#problem(args, options);
    const known = this.#best.get(problem);
    if (known !== undefined) return known;
    const result = this.#measure(problem, grid, { args, options });
    this.#best.set(problem, result);
    return result;
  }

  /** What the times depend on: the kernel, the key's arguments, dtypes, the machine. */
  #problem(args: object, options: LaunchOptions): string {
    const { definition, session } = this.#kernel;
    const bound = this.#bound(args, at(this.#options.configs, 0));
    const machine = session.machine();
    const given = args as Readonly<Record<string, unknown>>;
    return stableHash({
      kernel: definition.name,
      source: definition.source.text,
      functions: Object.entries(definition.functions).map(([name, { text }]) => [name, text]),
      key: this.#options.key.map((name) => String(given[name])),
      dtypes: bound.args.map(({ dtype }) => dtype),
      backend: options.backend ?? 'any',
      machine:
        machine.kind === 'native'
          ? [machine.isaReport.cpu, machine.isa, machine.threads, machine.toolchain.fingerprint]
          : 'interpreter',
    });
  }

  #bound(args: object, config: Plain): BoundLaunch {
    const constants = Object.entries(config).filter(([name]) => name !== 'numWarps' && name !== 'numStages');
    const { name, definition } = this.#kernel;
    return bindLaunch(name, definition.schema, { ...args, ...Object.fromEntries(constants) });
  }

  #measure(
    problem: string,
    grid: GridLike<S>,
    { args, options }: { args: object; options: LaunchOptions },
  ): TuningResult<Plain> {
    const { configs, bench } = this.#options;
    const { session } = this.#kernel;
    using records: RecordStore = openRecords({
      root: session.config.cacheDir,
      temporaryDirectory: tmpdir(),
      report: ({ message }) => {
        session.warnOnce(`AUTOTUNE_CACHE ${message}`, message);
      },
    });
    const stored = records.read(problem);
    const missing = configs.filter((config) => millisecondsOf(stored.get(stableHash(config))) === undefined);
    const restore = missing.length === 0 ? undefined : keepContents(this.#bound(args, at(configs, 0)));
    const times = configs.map((config) => {
      const before = millisecondsOf(stored.get(stableHash(config)));
      if (before !== undefined) return before;
      const milliseconds = doBench(() => {
        this.#launch(grid, { args, config, options });
      }, bench);
      records.write(problem, stableHash(config), { milliseconds, config });
      return milliseconds;
    });
    restore?.();
    const best = times.indexOf(Math.min(...times));
    return { config: at(configs, best), milliseconds: at(times, best), measured: missing.length, times };
  }
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
