// schedule: a loop program becomes groups of nodes that run as one kernel each, in order, with a place for every buffer
// and a reason for every decision. A pure function of the program and the configuration.
import type { Watch } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import type { Decision, LoopProgram, Schedule } from '@tsinductor/ir';
import type { Choices } from './choices.ts';
import { choicesOf } from './custom-passes.ts';
import type { Measure } from './fusion-trial.ts';
import { inlineSteps, scheduleSteps } from './steps.ts';
import type { Chains, Scheduling } from './steps.ts';

interface ScheduleOptions {
  readonly config: Config;
  /** What to prefer where several schedules are legal; by default what the configuration says. */
  readonly choices?: Choices;
  /** What times schedules where `benchmarkFusion` or `benchmarkComboKernel` ask for it; without it nothing is measured. */
  readonly measure?: Measure | undefined;
  /** Which two products and the loops over rows between them the target has one kernel for; it has none, if absent. */
  readonly chains?: Chains;
  /** Whether who runs the program lays results over the inputs that they replace, where the plan says so; else that is never planned. */
  readonly updates?: boolean;
  /** Who watches the steps. */
  readonly watch?: Watch | undefined;
}

export const schedule = (program: LoopProgram, options: ScheduleOptions): Schedule =>
  scheduleSteps().run(program, schedulingOf(options), options.watch);

/**
 * The program with values computed where they are read, for those who run it node by node: a chain of operations on elements is
 * one node, and what nobody stores any more is declared no more.
 */
export function inlineValues(
  program: LoopProgram,
  options: Pick<ScheduleOptions, 'config'>,
): { readonly program: LoopProgram; readonly decisions: readonly Decision[] } {
  const { nodes, decisions } = inlineSteps().run(program, schedulingOf(options));
  const stored = new Set(nodes.flatMap(({ outs }) => outs));
  const buffers = program.buffers.filter(({ id, role }) => role !== 'temporary' || stored.has(id));
  return { program: { ...program, buffers, nodes }, decisions };
}

/** The options with what the configuration says in the place of those that are not given. */
export const schedulingOf = ({
  config,
  choices,
  measure,
  chains = false,
  updates = false,
}: ScheduleOptions): Scheduling => ({
  config,
  choices: choices ?? choicesOf(config),
  measure,
  chains,
  updates,
});
