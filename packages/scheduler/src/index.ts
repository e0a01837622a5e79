// The public API of @tsinductor/scheduler: re-exports only.
export { schedule, schedulingOf } from './schedule.ts';
export { scheduleSteps } from './steps.ts';
export type { Scheduling } from './steps.ts';
export type { ScheduleOptions } from './schedule.ts';
export type { Measure } from './fusion-trial.ts';
export { defaultChoices } from './choices.ts';
export type { Choices, Combination, Siblings } from './choices.ts';
export type { Candidate, Cost, Verdict } from './inline-policy.ts';
