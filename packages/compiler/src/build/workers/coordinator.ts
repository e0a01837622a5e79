// The coordinator thread: takes build jobs, runs them in a piscina pool, posts answers. The caller may be blocked in
// Atomics.wait meanwhile, so a blocking answer goes through its own port, followed by a notification; and a heartbeat
// shows that this thread lives.
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '@tsinductor/base';
import { Piscina } from 'piscina';
import { describeFailure } from './failure.ts';
import { sharedAnswers, sharedHeartbeat } from './protocol.ts';
import type { PoolTask, Request, Response, ThreadData } from './protocol.ts';

const { port, shared, running, threads } = workerData as ThreadData;
const parent = parentPort;
invariant(parent !== null, 'the coordinator runs in a worker thread');

const pool = new Piscina({
  filename: new URL('./build-task.js', import.meta.url).href,
  name: 'buildTask',
  maxThreads: threads,
  // One starts at once, while the caller still generates what it will build.
  minThreads: 1,
  idleTimeout: 2000,
  execArgv: [],
});

setInterval(() => {
  Atomics.add(shared, sharedHeartbeat, 1);
}, 250);

parent.on('message', (request: Request) => {
  void answer(request);
});

async function answer({ id, job, blocking }: Request): Promise<void> {
  let response: Response;
  try {
    response = { id, ...((await pool.run({ job, running } satisfies PoolTask)) as Omit<Response, 'id'>) };
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
