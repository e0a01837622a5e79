// Builds in processes beside this one, where the setting `workerStartMethod` asks for them: a compiler that takes its process with it
// then takes nobody else's. In: jobs. Out: their answers. A process that ends fails the jobs that it had, and the next job starts
// another one.
//
// A process ends with the channel to it: when this thread is stopped, and when the whole process is killed. Its compilers end with it, as
// each has a watcher.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { workerFailed } from '../../errors.ts';
import { describeFailure } from './failure.ts';
import type { Job, Response } from './protocol.ts';

export type Answer = Omit<Response, 'id'>;

interface ProcessPoolOptions {
  /** The program of a process. */
  readonly program: URL;
  /** How many processes there are at most. */
  readonly processes: number;
  /** How many jobs one has at a time. */
  readonly jobsEach: number;
  /** How many threads one has to build in; 0 for its own alone. */
  readonly threadsEach: number;
}

/** How long a process other than the first stays without a job, in milliseconds. */
const idleMilliseconds = 2000;

interface Worker {
  readonly child: ChildProcess;
  readonly jobs: Map<number, (answer: Answer) => void>;
  idle: NodeJS.Timeout | undefined;
}

/** A job that waits for a process. */
interface Waiting {
  readonly job: Job;
  readonly done: (answer: Answer) => void;
}

export class ProcessPool {
  readonly #options: ProcessPoolOptions;
  readonly #workers = new Set<Worker>();
  readonly #waiting: Waiting[] = [];
  #nextId = 1;

  constructor(options: ProcessPoolOptions) {
    this.#options = options;
    // One starts at once, while the caller still generates what it will build.
    this.#start();
  }

  run(job: Job): Promise<Answer> {
    return new Promise((done) => {
      this.#waiting.push({ job, done });
      this.#dispatch();
    });
  }

  #dispatch(): void {
    const { processes, jobsEach } = this.#options;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const free = [...this.#workers].find(({ jobs }) => jobs.size < jobsEach);
      const worker = free ?? (this.#workers.size < processes ? this.#start() : undefined);
      if (worker === undefined) return;
      this.#waiting.shift();
      this.#give(worker, next);
    }
  }

  #give(worker: Worker, { job, done }: Waiting): void {
    const id = this.#nextId++;
    clearTimeout(worker.idle);
    worker.jobs.set(id, done);
    worker.child.send({ id, job }, (error) => {
      if (error !== null) this.#lose(worker, error);
    });
  }

  #start(): Worker {
    const { program, threadsEach } = this.#options;
    const child = fork(fileURLToPath(program), [String(threadsEach)], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const worker: Worker = { child, jobs: new Map(), idle: undefined };
    this.#workers.add(worker);
    child.on('message', ({ id, ...answer }: Response) => {
      worker.jobs.get(id)?.(answer);
      worker.jobs.delete(id);
      this.#dispatch();
      if (worker.jobs.size === 0 && this.#workers.size > 1)
        worker.idle = setTimeout(() => {
          this.#workers.delete(worker);
          child.disconnect();
        }, idleMilliseconds).unref();
    });
    child.on('error', (error) => {
      this.#lose(worker, error);
    });
    child.on('exit', (status, signal) => {
      this.#lose(worker, `a compile process ended with ${signal ?? `status ${String(status)}`}`);
    });
    return worker;
  }

  /** A process is no more: so are its jobs. */
  #lose(worker: Worker, cause: unknown): void {
    if (!this.#workers.delete(worker)) return;
    clearTimeout(worker.idle);
    for (const done of worker.jobs.values()) done({ events: [], failure: describeFailure(workerFailed(cause)) });
    worker.jobs.clear();
    this.#dispatch();
  }
}
