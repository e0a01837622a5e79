// schedule: a loop program becomes groups of nodes that run as one kernel each, in order, with a place for every buffer
// and a reason for every decision. A pure function of the program and the configuration.
import type { Watch } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import type { LoopProgram, Schedule } from '@tsinductor/ir';
import type { Choices } from './choices.ts';
import { choicesOf } from './custom-passes.ts';
import type { Measure } from './fusion-trial.ts';
import { scheduleSteps } from './steps.ts';
import type { Scheduling } from './steps.ts';

interface ScheduleOptions {
  readonly config: Config;
  /** What to prefer where several schedules are legal; by default what the configuration says. */
  readonly choices?: Choices;
  /** What times schedules where `benchmarkFusion` or `benchmarkComboKernel` ask for it; without it nothing is measured. */
  readonly measure?: Measure | undefined;
  /** Who watches the steps. */
  readonly watch?: Watch | undefined;
}

export const schedule = (program: LoopProgram, options: ScheduleOptions): Schedule =>
  scheduleSteps().run(program, schedulingOf(options), options.watch);

/** The options with what the configuration says in the place of those that are not given. */
export const schedulingOf = ({ config, choices, measure }: ScheduleOptions): Scheduling => ({
  config,
  choices: choices ?? choicesOf(config),
  measure,
});
