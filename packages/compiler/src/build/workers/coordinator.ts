// The coordinator thread: takes build jobs, runs them in a pool of threads or processes, posts answers. The caller may be blocked in
// Atomics.wait meanwhile, so a blocking answer goes through its own port, followed by a notification; and a heartbeat
// shows that this thread lives.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '@tsinductor/base';
import { describeFailure } from './failure.ts';
import { sharedAnswers, sharedHeartbeat } from './protocol.ts';
import { ProcessPool } from './process-pool.ts';
import type { Request, Response, ThreadData } from './protocol.ts';
import { threadPool } from './thread-pool.ts';

const { port, shared, running, threads, method } = workerData as ThreadData;
const parent = parentPort;
invariant(parent !== null, 'the coordinator runs in a worker thread');

const program = new URL('./build-process.js', import.meta.url);
const pools = {
  spawn: () => threadPool(threads, running),
  subprocess: () => new ProcessPool({ program, processes: 1, jobsEach: Infinity, threadsEach: threads }),
  fork: () => new ProcessPool({ program, processes: threads, jobsEach: 1, threadsEach: 0 }),
};
const pool = pools[method]();

setInterval(() => {
  Atomics.add(shared, sharedHeartbeat, 1);
}, 250);

parent.on('message', (request: Request) => {
  void answer(request);
});

async function answer({ id, job, blocking }: Request): Promise<void> {
  let response: Response;
  try {
    response = { id, ...(await pool.run(job)) };
  } catch (error) {
    response = { id, failure: describeFailure(error), events: [] };
  }
  if (!blocking) {
    parent?.postMessage(response);
    return;
  }
  port.postMessage(response);
  Atomics.add(shared, sharedAnswers, 1);
  Atomics.notify(shared, sharedAnswers);
}
