// Building in the thread that asks: what else builds, where worker threads are not to be had, or not worth their start.
import type { Compiling } from './compile-client.ts';
import { build, buildNow } from './workers/build-task.ts';

export const compileHere: Compiling = {
  run: (job) => {
    const events: string[] = [];
    buildNow(job, events);
    return events;
  },
  submit: async (job) => {
    const events: string[] = [];
    await build(job, events);
    return events;
  },
};
