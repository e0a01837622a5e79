// Times entries of a library in a process of its own, which may crash or never end. In: a job, and how long it may take. Out: milliseconds
// of each entry, or why there are none.
import { fileURLToPath } from 'node:url';
import { runCommandSync } from '@tsinductor/runtime';
import { workerFiles } from '../../worker-files.ts';
import type { TimingAnswer, TimingJob } from './timing-job.ts';

type Timed = { readonly times: TimingAnswer } | NotTimed;

interface NotTimed {
  readonly failure: string;
  /** Whether it is the code that failed, and would again. */
  readonly isOfCode: boolean;
}

export function timeEntries(job: TimingJob, seconds: number): Timed {
  const program = fileURLToPath(new URL('time-code.js', workerFiles));
  const { end, stdout } = runCommandSync([process.execPath, program], {
    input: JSON.stringify(job),
    milliseconds: seconds * 1000,
    environment: {},
  });
  switch (end.kind) {
    case 'timedOut':
      return { failure: `it took more than ${String(seconds)} s`, isOfCode: true };
    case 'signalled':
      return { failure: `it ended by ${end.signal}`, isOfCode: true };
    case 'exited':
      return end.status === 0 ? answerOf(stdout, job) : notTimed(`the process ended with status ${String(end.status)}`);
    case 'aborted':
    case 'notStarted':
      return notTimed('no process could be started to time it');
  }
}

const notTimed = (failure: string): NotTimed => ({ failure, isOfCode: false });

function answerOf(text: string, { entries }: TimingJob): Timed {
  try {
    const times: unknown = JSON.parse(text);
    const isWhole = Array.isArray(times) && times.length === entries.length;
    if (isWhole && times.every((time) => typeof time === 'number' && time > 0)) return { times: times as number[] };
  } catch {
    // What it said is cut off.
  }
  return notTimed('the process did not say how long it took');
}
