// The public API of @tsinductor/scheduler: re-exports only.
export { schedule } from './schedule.ts';
export type { ScheduleOptions } from './schedule.ts';
