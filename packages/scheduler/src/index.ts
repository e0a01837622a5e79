// The public API of @tsinductor/scheduler: re-exports only.
export { schedule } from './schedule.ts';
export type { ScheduleOptions } from './schedule.ts';
export type { Measure } from './fusion-trial.ts';
export { defaultChoices } from './choices.ts';
export type { Choices, Combination, Siblings } from './choices.ts';
export type { Candidate, Cost, Verdict } from './inline-policy.ts';
