// The public API of @tsinductor/scheduler: re-exports only.
export { chainedRowsOf } from './chained-product.ts';
export { inlineValues, schedule, schedulingOf } from './schedule.ts';
export { scheduleSteps, type Chains } from './steps.ts';
export { formOfSchedules } from './forms.ts';
export { mayTimeProducts, timesEpilogues } from './fusion-trial.ts';
export type { Measure, Timed } from './fusion-trial.ts';
