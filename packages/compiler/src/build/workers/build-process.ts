// The program of a process that builds for another one (`process-pool.ts`): jobs come over its channel and answers go back. Its argument
// is how many threads it has for them; with none it builds in its own. It ends with the channel.
import process from 'node:process';
import { buildTask } from './build-task.ts';
import { describeFailure } from './failure.ts';
import type { Job, Response } from './protocol.ts';
import { noThreads, stopCommands } from './running-threads.ts';
import { threadPool } from './thread-pool.ts';

const threads = Number(process.argv[2]);
const running = noThreads();
const run =
  threads === 0
    ? (job: Job): ReturnType<typeof buildTask> => buildTask({ job, running })
    : (
        (pool): ((job: Job) => ReturnType<typeof buildTask>) =>
        (job) =>
          pool.run(job)
      )(threadPool(threads, running));

process.on('disconnect', () => {
  stopCommands(running, () => undefined);
  process.exit();
});

process.on('message', ({ id, job }: { readonly id: number; readonly job: Job }) => {
  void answer(id, job);
});

async function answer(id: number, job: Job): Promise<void> {
  let response: Response;
  try {
    response = { id, ...(await run(job)) };
  } catch (error) {
    response = { id, failure: describeFailure(error), events: [] };
  }
  process.send?.(response);
}
