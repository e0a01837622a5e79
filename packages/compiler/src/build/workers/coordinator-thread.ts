// What the coordinator thread runs first: it takes note of the thread's end before anything that could fail is loaded. The
// caller may be blocked in Atomics.wait, where it hears no event, so the end is written to the shared memory, and the reason
// goes through the caller's port.
import process from 'node:process';
import { workerData } from 'node:worker_threads';
import { sharedAnswers, sharedState, threadStates } from './protocol.ts';
import type { ThreadData, ThreadEnd } from './protocol.ts';

const { port, shared, coordinator } = workerData as ThreadData;

const tell = (end: ThreadEnd): void => {
  port.postMessage(end);
};
process.on('uncaughtExceptionMonitor', (error) => {
  tell({ ended: String(error) });
});
process.on('exit', (status) => {
  tell({ ended: `it exited with status ${String(status)}` });
  Atomics.store(shared, sharedState, threadStates.ended);
  Atomics.add(shared, sharedAnswers, 1);
  Atomics.notify(shared, sharedAnswers);
});

await import(coordinator);
Atomics.store(shared, sharedState, threadStates.up);
