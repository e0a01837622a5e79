// What native code of a graph is made for, and by which clocks: the machine, its settings, and what they ask to be timed.
import type { Config } from '@tsinductor/config';
import type { Schedule } from '@tsinductor/ir';
import { timesEpilogues } from '@tsinductor/scheduler';
import type { Measure } from '@tsinductor/scheduler';
import { timesPaddings } from '../passes/pad-products.ts';
import { isClocked } from '../profile/open-profile.ts';
import type { Builder } from './builder.ts';
import type { NativeMachine } from './machine.ts';
import type { CppContext } from './pipeline.ts';
import { targetOf } from './stage-options.ts';
import { timePlans } from './tuning/time-plans.ts';
import { tuneGroups, tunesGroups } from './tuning/tune-groups.ts';
import type { Tuning } from './tuning/tune-groups.ts';

const tuningOf = (builder: Builder, machine: NativeMachine, config: Config): Tuning => ({
  builder,
  machine,
  config,
  target: targetOf(machine, config),
});

/** The clock that the settings ask for, where there is a machine to run on. */
export function clockOf(builder: Builder, config: Config): Measure | undefined {
  const { benchmarkFusion, benchmarkComboKernel } = config;
  const isAsked = benchmarkFusion || benchmarkComboKernel || timesEpilogues(config) || timesPaddings(config);
  if (!isAsked) return undefined;
  const machine = builder.machine(config);
  return machine.kind === 'native'
    ? (plans, mayRun) => timePlans(plans, { ...tuningOf(builder, machine, config), mayRun })
    : undefined;
}

/** What native code is made for on this machine, and by which clock. */
export function cppContextOf(builder: Builder, machine: NativeMachine, config: Config): CppContext {
  const tuning = tuningOf(builder, machine, config);
  const tune = tunesGroups(config) ? (plan: Schedule): Schedule => tuneGroups(plan, tuning) : undefined;
  const target = { ...tuning.target, clocks: isClocked(config) };
  return { config, target, measure: clockOf(builder, config), tune };
}
