// The caller's side of compiling: one coordinator thread, started when first needed, which hosts the piscina pool.
//
// A call is synchronous: the caller posts its job and waits with Atomics.wait, so that tensor code needs no await. The
// coordinator has its own event loop, so builds run in parallel meanwhile. `submit` is the same without blocking. The
// thread is unref'd: it never keeps a process alive.
//
// A job ends in time or is given up: the worker stops its compilers at the job's deadline, and a client that hears nothing
// shortly after, or of no heartbeat at all, throws and is `ended`: its thread is stopped, and its owner makes another. A thread
// that dies says so itself, in memory that a blocked caller sees (`coordinator-thread`).
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { buildTimedOut, workerFailed } from '../errors.ts';
import { workerFiles } from '../worker-files.ts';
import { toError } from './workers/failure.ts';
import { sharedAnswers, sharedHeartbeat, sharedLength, sharedState, threadStates } from './workers/protocol.ts';
import type { EntryJob, Job, Request, Response, ThreadData, ThreadEnd } from './workers/protocol.ts';

/** How long a coordinator may show no sign of life before it is given up, in milliseconds. */
const patience = 30_000;

/** How long its thread may take to come up. */
const startPatience = 10_000;

/** What a worker has beyond a job's deadline to stop its compilers and to answer, in milliseconds. */
const grace = 1500;

/** Where jobs are built. */
export interface Compiling {
  /** Builds `job`, blocking this thread until it is done; returns the cache's events. Throws what the build threw. */
  run(job: EntryJob): readonly string[];
  /** Builds `job` without blocking. */
  submit(job: EntryJob): Promise<readonly string[]>;
}

interface ClientOptions {
  /** The module that the thread runs. */
  readonly coordinator?: URL;
  /** How long the thread may take to come up, in milliseconds. */
  readonly startPatience?: number;
}

export class CompileClient implements Compiling, Disposable {
  readonly #shared = new Int32Array(new SharedArrayBuffer(4 * sharedLength));
  readonly #worker: Worker;
  readonly #blockingPort: MessagePort;
  readonly #pending = new Map<number, (response: Response) => void>();
  /** Answers to blocking jobs that nobody has waited for yet. */
  readonly #answers = new Map<number, Response>();
  readonly #startPatience: number;
  #nextId = 1;
  /** After how long without a job it ends itself, in milliseconds; undefined for never. */
  #idleAfter: number | undefined;
  #idle: NodeJS.Timeout | undefined;
  #running = 0;
  #ended = false;
  /** Why the thread is no more, where it said so. */
  #reason: string | undefined;

  constructor(threads: number, options: ClientOptions = {}) {
    const { port1, port2 } = new MessageChannel();
    this.#blockingPort = port1;
    this.#startPatience = options.startPatience ?? startPatience;
    const coordinator = (options.coordinator ?? new URL('coordinator.js', workerFiles)).href;
    this.#worker = new Worker(new URL('coordinator-thread.js', workerFiles), {
      workerData: { port: port2, shared: this.#shared, threads, coordinator } satisfies ThreadData,
      transferList: [port2],
      execArgv: [],
      stdout: false,
      stderr: false,
    });
    this.#worker.on('message', (response: Response) => {
      this.#pending.get(response.id)?.(response);
      this.#settle(response.id);
    });
    const fail = (cause: unknown): void => {
      for (const [id, finish] of this.#pending) {
        finish({ id, failure: { name: 'InternalError', code: 'COMPILE_WORKER', message: String(cause) }, events: [] });
        this.#settle(id);
      }
    };
    this.#worker.on('error', fail);
    this.#worker.on('exit', () => {
      this.#ended = true;
      fail(this.#why());
    });
    this.#worker.unref();
    port1.unref();
  }

  /** From now on it ends itself when it had no job for so many milliseconds; undefined for never. */
  quiesceAfter(milliseconds: number | undefined): void {
    this.#idleAfter = milliseconds;
    if (milliseconds === undefined) clearTimeout(this.#idle);
  }

  #began(): void {
    this.#running += 1;
    clearTimeout(this.#idle);
  }

  #endedJob(): void {
    this.#running -= 1;
    if (this.#running > 0 || this.#idleAfter === undefined) return;
    this.#idle = setTimeout(() => {
      this[Symbol.dispose]();
    }, this.#idleAfter).unref();
  }

  /** Whether it takes no more jobs. */
  get ended(): boolean {
    return this.#ended || this.#isState('ended');
  }

  #isState(state: keyof typeof threadStates): boolean {
    return Atomics.load(this.#shared, sharedState) === threadStates[state];
  }

  run(job: EntryJob): readonly string[] {
    return this.start(job)();
  }

  /** Begins to build `job`; what it gives blocks this thread until that is done, as `run` does. */
  start(job: Job): () => readonly string[] {
    const id = this.#nextId++;
    const started = performance.now();
    this.#began();
    this.#worker.postMessage({ id, job, blocking: true } satisfies Request);
    return () => {
      try {
        return eventsOf(this.#await(id, job, started));
      } finally {
        this.#endedJob();
      }
    };
  }

  #await(id: number, job: Job, started: number): Response {
    let heartbeat = Atomics.load(this.#shared, sharedHeartbeat);
    let lastSign = performance.now();
    for (;;) {
      const answers = Atomics.load(this.#shared, sharedAnswers);
      const answer = this.#receive(id);
      if (answer !== undefined) return answer;
      if (this.#isState('ended')) throw this.#giveUp(workerFailed(this.#why()));
      Atomics.wait(this.#shared, sharedAnswers, answers, 1000);
      const beat = Atomics.load(this.#shared, sharedHeartbeat);
      if (beat !== heartbeat) lastSign = performance.now();
      heartbeat = beat;
      const now = performance.now();
      if (now - started > job.deadlineMs + grace) throw this.#giveUp(buildTimedOut(job));
      if (now - lastSign > (this.#isState('starting') ? this.#startPatience : patience))
        throw this.#giveUp(workerFailed('the coordinator thread does not answer'));
    }
  }

  async submit(job: Job): Promise<readonly string[]> {
    const id = this.#nextId++;
    this.#began();
    this.#worker.ref();
    const response = await new Promise<Response>((resolve) => {
      const timer = setTimeout(() => {
        const { name, code, message } = this.#giveUp(buildTimedOut(job));
        resolve({ id, failure: { name, code, message }, events: [] });
      }, job.deadlineMs + grace);
      this.#pending.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#worker.postMessage({ id, job, blocking: false } satisfies Request);
    });
    this.#endedJob();
    return eventsOf(response);
  }

  /** The answer to one job, where it is there; the answers to others are kept for who waits for them. */
  #receive(id: number): Response | undefined {
    for (;;) {
      const received = receiveMessageOnPort(this.#blockingPort) as { message: Response | ThreadEnd } | undefined;
      if (received === undefined) break;
      const { message } = received;
      if ('ended' in message) this.#reason ??= message.ended;
      else this.#answers.set(message.id, message);
    }
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    return answer;
  }

  #why(): string {
    return `the coordinator thread ended${this.#reason === undefined ? '' : `: ${this.#reason}`}`;
  }

  /** Stops the thread, with whatever it still does; gives the reason back. */
  #giveUp<E extends Error>(reason: E): E {
    this[Symbol.dispose]();
    return reason;
  }

  #settle(id: number): void {
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker.unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    this.#ended = true;
    void this.#worker.terminate();
  }
}

function eventsOf({ failure, events }: Response): readonly string[] {
  if (failure !== undefined) throw toError(failure);
  return events;
}
