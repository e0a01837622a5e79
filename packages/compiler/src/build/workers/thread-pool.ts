// Builds in threads of this process: a piscina pool. In: how many. Out: what runs jobs.
import { Piscina } from 'piscina';
import type { Answer } from './process-pool.ts';
import type { Job, PoolTask } from './protocol.ts';

/** `running` is where the threads that build are noted. */
export function threadPool(threads: number, running: Int32Array): { run(job: Job): Promise<Answer> } {
  const pool = new Piscina({
    filename: new URL('./build-task.js', import.meta.url).href,
    name: 'buildTask',
    maxThreads: threads,
    // One starts at once, while the caller still generates what it will build.
    minThreads: 1,
    idleTimeout: 2000,
    execArgv: [],
  });
  return { run: (job) => pool.run({ job, running } satisfies PoolTask) as Promise<Answer> };
}
