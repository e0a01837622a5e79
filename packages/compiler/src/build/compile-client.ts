// The caller's side of compiling: one coordinator thread, started when first needed, which hosts the pool.
//
// A call is synchronous: the caller posts its job and waits with Atomics.wait, so that tensor code needs no await. The
// coordinator has its own event loop, so builds run in parallel meanwhile. `submit` is the same without blocking. The
// thread is unref'd: it never keeps a process alive.
//
// A job may also be begun, and looked after whenever the caller likes: an answer is announced in the shared memory, so that a loop of
// calls in which the event loop never turns sees it. Looking costs one read of that memory.
//
// A job ends in time or is given up: the worker stops its compilers at the job's deadline, and a client that hears nothing
// shortly after, or of no heartbeat at all, throws and is `ended`: its thread is stopped, and its owner makes another. A thread
// that dies says so itself, in memory that a blocked caller sees (`coordinator-thread`).
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import type { Config } from '@tsinductor/config';
import { invariant } from '@tsinductor/base';
import { buildTimedOut, workerFailed } from '../errors.ts';
import type { Pending } from './pending.ts';
import { workerFiles } from '../worker-files.ts';
import { toError } from './workers/failure.ts';
import { sharedAnswers, sharedHeartbeat, sharedLength, sharedState, threadStates } from './workers/protocol.ts';
import type { EntryJob, Job, Request, Response, ThreadData, ThreadEnd } from './workers/protocol.ts';
import { noThreads, stopCommands } from './workers/running-threads.ts';

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
  /** In what is built: threads of this process, those of another one, or processes. */
  readonly method?: Config['workerStartMethod'];
}

export class CompileClient implements Compiling, Disposable {
  readonly #shared = new Int32Array(new SharedArrayBuffer(4 * sharedLength));
  readonly #running = noThreads();
  readonly #worker: Worker;
  readonly #blockingPort: MessagePort;
  readonly #pending = new Map<number, (response: Response) => void>();
  /** Answers through the port that nobody has asked for yet, and how many were announced when it was emptied last. */
  readonly #answers = new Map<number, Response>();
  #emptiedAt = 0;
  /** Jobs that were begun and not answered. */
  readonly #begun = new Set<number>();
  /** Told whenever an answer comes or the thread ends. */
  readonly #watchers = new Set<() => void>();
  #endsWhenDone = false;
  readonly #startPatience: number;
  #nextId = 1;
  /** After how long without a job it ends itself, in milliseconds; undefined for never. */
  #idleAfter: number | undefined;
  #idle: NodeJS.Timeout | undefined;
  #ended = false;
  /** Why the thread is no more, where it said so. */
  #reason: string | undefined;

  constructor(threads: number, options: ClientOptions = {}) {
    const { port1, port2 } = new MessageChannel();
    this.#blockingPort = port1;
    this.#startPatience = options.startPatience ?? startPatience;
    const coordinator = (options.coordinator ?? new URL('coordinator.js', workerFiles)).href;
    this.#worker = new Worker(new URL('coordinator-thread.js', workerFiles), {
      workerData: {
        port: port2,
        shared: this.#shared,
        running: this.#running,
        threads,
        method: options.method ?? 'spawn',
        coordinator,
      } satisfies ThreadData,
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
      process.off('exit', this.#stop);
      fail(this.#why());
      this.#tellWatchers();
    });
    port1.on('message', (message: Response | ThreadEnd) => {
      this.#keep(message);
      this.#tellWatchers();
    });
    this.#worker.unref();
    port1.unref();
    process.once('exit', this.#stop);
  }

  /** From now on it ends itself when it had no job for so many milliseconds; undefined for never. */
  quiesceAfter(milliseconds: number | undefined): void {
    this.#idleAfter = milliseconds;
    if (milliseconds === undefined) clearTimeout(this.#idle);
  }

  /** Has just had an answer: ends itself, if it is to, where that was the last job and no other comes. */
  #quiesce(): void {
    clearTimeout(this.#idle);
    if (this.#begun.size > 0 || this.#pending.size > 0 || this.#idleAfter === undefined) return;
    this.#idle = setTimeout(() => {
      this[Symbol.dispose]();
    }, this.#idleAfter).unref();
  }

  /** Whether it takes no more jobs. */
  get ended(): boolean {
    return this.#ended || this.#isState('ended');
  }

  #tellWatchers(): void {
    for (const look of this.#watchers) look();
  }

  #isState(state: keyof typeof threadStates): boolean {
    return Atomics.load(this.#shared, sharedState) === threadStates[state];
  }

  run(job: EntryJob): readonly string[] {
    return this.begin(job).wait().events;
  }

  /** Begins to build `job`, whose answer is there when whoever looks finds it. */
  begin(job: Job): Pending<Response> {
    const id = this.#nextId++;
    const started = performance.now();
    clearTimeout(this.#idle);
    this.#begun.add(id);
    this.#worker.postMessage({ id, job, blocking: true } satisfies Request);
    const end = started + job.deadlineMs + grace;
    return new BegunJob({
      look: () => {
        const response = this.#receive(id);
        if (response !== undefined) return response;
        if (this.ended) throw workerFailed(this.#why());
        if (performance.now() > end) throw this.#giveUp(buildTimedOut(job));
        return undefined;
      },
      wait: () => this.#await(id, job, started),
      told: (look) => this.#told(look, end),
    });
  }

  /** The answer, for which this thread waits. Throws where none will come. */
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

  /** Resolves when `isDone` says so, which is asked at every answer, when the thread ends, and when it should have. */
  async #told(isDone: () => boolean, end: number): Promise<void> {
    this.#worker.ref();
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!isDone()) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve();
      };
      const timer = setTimeout(look, end - performance.now() + 100);
      this.#watchers.add(look);
    });
    this.#unrefIdle();
  }

  async submit(job: Job): Promise<readonly string[]> {
    const id = this.#nextId++;
    clearTimeout(this.#idle);
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
    return answered(response).events;
  }

  /** The answer to one job, where it is there; the answers to others are kept for who asks for them. */
  #receive(id: number): Response | undefined {
    const announced = Atomics.load(this.#shared, sharedAnswers);
    if (announced !== this.#emptiedAt) {
      this.#emptiedAt = announced;
      for (;;) {
        const received = receiveMessageOnPort(this.#blockingPort) as { message: Response | ThreadEnd } | undefined;
        if (received === undefined) break;
        this.#keep(received.message);
      }
    }
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    return answer;
  }

  #keep(message: Response | ThreadEnd): void {
    if ('ended' in message) this.#reason ??= message.ended;
    else {
      this.#answers.set(message.id, message);
      this.#begun.delete(message.id);
      if (this.#endsWhenDone) this.endWhenDone();
      else this.#quiesce();
    }
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
    this.#unrefIdle();
    if (!this.ended) this.#quiesce();
  }

  #unrefIdle(): void {
    if (this.#pending.size === 0 && this.#watchers.size === 0) this.#worker.unref();
  }

  /** Takes no more jobs, and ends when those that were begun are done: who looks after them may go on. */
  endWhenDone(): void {
    this.#endsWhenDone = true;
    if (this.#begun.size === 0) this[Symbol.dispose]();
  }

  /** Ends at once, with whatever is still built. */
  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    this.#ended = true;
    process.off('exit', this.#stop);
    this.#stop();
  }

  readonly #stop = (): void => {
    stopCommands(this.#running, () => {
      void this.#worker.terminate();
    });
  };
}

/** How a job that was begun is looked after. */
interface Lookout {
  /** The answer, where it is there. Throws where none will come. */
  look(): Response | undefined;
  wait(): Response;
  /** Resolves when `isDone` says so, which is asked whenever something has happened. */
  told(isDone: () => boolean): Promise<void>;
}

class BegunJob implements Pending<Response> {
  readonly #lookout: Lookout;
  /** Gives the answer that came, or throws why there is none. */
  #outcome: (() => Response) | undefined;

  constructor(lookout: Lookout) {
    this.#lookout = lookout;
  }

  poll(): Response | undefined {
    return this.#look(() => this.#lookout.look())?.();
  }

  wait(): Response {
    const known = this.poll();
    if (known !== undefined) return known;
    const outcome = this.#look(() => this.#lookout.wait());
    invariant(outcome !== undefined, 'a job was waited for, and has no outcome');
    return outcome();
  }

  async settled(): Promise<void> {
    const isDone = (): boolean => this.#look(() => this.#lookout.look()) !== undefined;
    if (!isDone()) await this.#lookout.told(isDone);
  }

  #look(look: () => Response | undefined): (() => Response) | undefined {
    if (this.#outcome !== undefined) return this.#outcome;
    try {
      const response = look();
      if (response !== undefined) this.#outcome = () => answered(response);
    } catch (error) {
      this.#outcome = () => {
        throw error;
      };
    }
    return this.#outcome;
  }
}

/** Throws what went wrong. */
function answered(response: Response): Response {
  if (response.failure !== undefined) throw toError(response.failure);
  return response;
}
