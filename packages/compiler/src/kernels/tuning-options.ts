// What autotune() is told beside configurations: which of them are measured, and for what else. In: options and the arguments of a
// launch. Out: the choices that are left; or the coded error that says what is wrong with an option.
import { nearest } from '@tsinductor/base';
import type { LaunchArguments, Schema } from '@tsinductor/dsl';
import { isPointer } from '@tsinductor/dsl';
import type { Tensor } from '@tsinductor/tensor';
import { badTuningOption, unknownTuningOption } from './kernel-errors.ts';
import type { Kernel } from './kernel.ts';

/** Which configurations are worth measuring for a launch. */
export interface PruneOptions<S extends Schema, Config> {
  /** Gives those of the configurations that are measured. */
  readonly earlyConfigPrune?: (configs: readonly Config[], args: TuningArguments<S>) => readonly Config[];
  /** An estimate of the time that a configuration takes, in any unit. */
  readonly perfModel?: (config: Config, args: TuningArguments<S>) => number;
  /** How many of the configurations are measured, those with the least estimates; up to 1, which part of them. */
  readonly topK?: number;
}

/** The arguments of a launch, without the constants of configurations. */
type TuningArguments<S extends Schema> = Partial<LaunchArguments<S, Tensor>>;

interface TuningOptions {
  readonly pruneConfigsBy?: PruneOptions<Schema, never> | undefined;
  readonly resetToZero?: readonly string[] | undefined;
}

const known: readonly string[] = ['configs', 'key', 'bench', 'pruneConfigsBy', 'resetToZero'];
const knownPruning: readonly string[] = ['earlyConfigPrune', 'perfModel', 'topK'];

/** Options of Triton's decorator that have no counterpart. */
const foreign: readonly string[] = ['warmup', 'rep', 'useCudaGraph', 'preHook', 'postHook', 'restoreValue', 'doBench'];

/**
 * Throws UserError KERNEL_AUTOTUNE for what autotune() does not understand; what only Triton does is a warning where the setting
 * `unsafeIgnoreUnsupportedTritonAutotuneArgs` says so.
 */
export function checkTuning<S extends Schema>(kernel: Kernel<S>, options: object): void {
  const { name } = kernel;
  for (const option of Object.keys(options).filter((given) => !known.includes(given))) {
    const error = unknownTuningOption(name, option, nearest(option, known));
    const isForeign = foreign.includes(option);
    if (!isForeign || !kernel.builder.config.unsafeIgnoreUnsupportedTritonAutotuneArgs) throw error;
    kernel.builder.announcer.warnOnce(`${error.code} ${name} ${option}`, error.message);
  }
  const { pruneConfigsBy = {}, resetToZero = [] } = options as TuningOptions;
  checkPruning(name, pruneConfigsBy);
  const { schema } = kernel.definition;
  for (const buffer of resetToZero) {
    const entry = Object.hasOwn(schema, buffer) ? schema[buffer] : undefined;
    if (entry === undefined || !isPointer(entry))
      throw badTuningOption(name, `resetToZero has ${JSON.stringify(buffer)}`, 'name buffers of the schema');
  }
}

function checkPruning(kernel: string, pruning: PruneOptions<Schema, never>): void {
  const option = Object.keys(pruning).find((given) => !knownPruning.includes(given));
  if (option !== undefined)
    throw unknownTuningOption(kernel, `pruneConfigsBy.${option}`, nearest(option, knownPruning));
  const { earlyConfigPrune, perfModel, topK } = pruning;
  for (const [name, value] of Object.entries({ earlyConfigPrune, perfModel }))
    if (value !== undefined && typeof value !== 'function')
      throw badTuningOption(kernel, `pruneConfigsBy.${name} is no function`, 'give a function');
  if ((topK === undefined) !== (perfModel === undefined))
    throw badTuningOption(kernel, 'perfModel and topK were not given together', 'give both, or neither');
  if (topK !== undefined && !(topK > 0 && (topK <= 1 || Number.isInteger(topK))))
    throw badTuningOption(kernel, `pruneConfigsBy.topK is ${String(topK)}`, 'give a whole number, or a part of 1');
}

/** A choice of a tuner, as far as pruning goes. */
interface Prunable<Config> {
  readonly config: Config;
}

/** For which launch choices are pruned. */
interface Launched {
  readonly kernel: string;
  readonly given: Readonly<Record<string, unknown>>;
}

/** The choices that are measured, in their order. Throws UserError KERNEL_AUTOTUNE where none is left. */
export function pruned<S extends Schema, Config, Choice extends Prunable<Config>>(
  choices: readonly Choice[],
  pruning: PruneOptions<S, Config> | undefined,
  { kernel, given }: Launched,
): readonly Choice[] {
  if (pruning === undefined) return choices;
  const { earlyConfigPrune, perfModel, topK } = pruning;
  const args = given as TuningArguments<S>;
  const kept = new Set(
    earlyConfigPrune?.(
      choices.map(({ config }) => config),
      args,
    ) ?? choices.map(({ config }) => config),
  );
  const early = choices.filter(({ config }) => kept.has(config));
  if (early.length === 0 || early.length < kept.size)
    throw badTuningOption(
      kernel,
      `earlyConfigPrune gave ${early.length === 0 ? 'no configuration' : 'one that it was not given'}`,
      'give at least one of the configurations, as it is',
    );
  if (perfModel === undefined || topK === undefined) return early;
  const count = Math.max(1, Math.floor(topK <= 1 ? topK * early.length : topK));
  const estimated = early
    .map((choice) => ({ choice, estimate: perfModel(choice.config, args) }))
    .sort((a, b) => a.estimate - b.estimate);
  const best = new Set(estimated.slice(0, count).map(({ choice }) => choice));
  return early.filter((choice) => best.has(choice));
}
