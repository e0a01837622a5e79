// The remote cache for a thread that waits: compiling is synchronous, and a server is not. In: names and bytes. Out: what the server has,
// or nothing; a failure is a warning with its code, and the server is left alone for a while.
//
// A thread of its own speaks with the server. What is asked for is waited for as long as the settings say; what is written is not, unless
// they say so, but when the process ends.
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { placeOf } from '@tsinductor/cache';
import type { RedisOptions } from '@tsinductor/cache';
import { workerFiles } from '../../worker-files.ts';
import { remoteAnswers, remoteLength, remoteWrites } from '../workers/remote-protocol.ts';
import type { RemoteQuestion, RemoteRequest, RemoteResponse, RemoteThreadData } from '../workers/remote-protocol.ts';

interface RemoteCacheOptions extends RedisOptions {
  /** Whether a write is not waited for. */
  readonly writesBehind: boolean;
  readonly warn: (code: string, message: string) => void;
}

/** How long a server that failed is not asked, in milliseconds. */
const rest = 30_000;

/** What the thread may take to come up, once, in milliseconds. */
const startPatience = 3000;

/** How much may wait to be written. */
const mostWrites = 64;

/** What a call may take beyond the server's time, until the thread has said so. */
const grace = 200;

interface Running {
  readonly worker: Worker;
  readonly port: MessagePort;
}

export class RemoteCache implements Disposable {
  readonly #options: RemoteCacheOptions;
  readonly #shared = new Int32Array(new SharedArrayBuffer(4 * remoteLength));
  #running: Running | undefined;
  /** Not asked before this time, by `performance.now`. */
  #restsUntil = 0;
  #nextId = 1;

  constructor(options: RemoteCacheOptions) {
    this.#options = options;
  }

  /** What is kept under a name and is signed as it should be; undefined where there is nothing, or no server. Waits for it. */
  get(name: string): Uint8Array | undefined {
    return this.#ask({ kind: 'get', name }, this.#options.milliseconds)?.bytes;
  }

  /** The same of what another machine may be making: it is waited for, for so long. Undefined where this one is to make it. */
  getOrClaim(name: string, milliseconds: number): Uint8Array | undefined {
    return this.#ask({ kind: 'claim', name, milliseconds }, milliseconds + 4 * this.#options.milliseconds)?.bytes;
  }

  /** The same of what a worker may build, as `job` says. */
  build(
    name: string,
    request: { readonly key: string; readonly job: Uint8Array; readonly milliseconds: number },
  ): Uint8Array | undefined {
    const longest = request.milliseconds + 8 * this.#options.milliseconds;
    return this.#ask({ kind: 'build', name, ...request }, longest)?.bytes;
  }

  /** Keeps bytes under a name, if there is a server. */
  set(name: string, bytes: Uint8Array): void {
    if (this.#options.key === null) return;
    this.#ask({ kind: 'set', name, bytes }, this.#options.writesBehind ? undefined : this.#options.milliseconds);
  }

  /** Waits for what is not written yet, as long as one call may take. */
  flush(): void {
    const end = performance.now() + this.#options.milliseconds;
    for (;;) {
      const waiting = Atomics.load(this.#shared, remoteWrites);
      const left = end - performance.now();
      if (waiting <= 0 || left <= 0 || this.#running === undefined) return;
      Atomics.wait(this.#shared, remoteWrites, waiting, left);
    }
  }

  /** Waits so long for the answer; not at all without `milliseconds`. */
  #ask(request: RemoteQuestion, milliseconds: number | undefined): RemoteResponse | undefined {
    if (performance.now() < this.#restsUntil) return undefined;
    const isNew = this.#running === undefined;
    const running = (this.#running ??= this.#start());
    if (running === undefined) return undefined;
    this.#hear(running.port, undefined);
    if (request.kind === 'set') {
      if (Atomics.load(this.#shared, remoteWrites) >= mostWrites) {
        this.#fail(slow, 'too much waits to be written');
        return undefined;
      }
      Atomics.add(this.#shared, remoteWrites, 1);
    }
    const id = this.#nextId++;
    running.port.postMessage({ ...request, id } satisfies RemoteRequest);
    if (milliseconds === undefined) return undefined;
    return this.#await(running.port, id, milliseconds + grace + (isNew ? startPatience : 0));
  }

  #await(port: MessagePort, id: number, milliseconds: number): RemoteResponse | undefined {
    const end = performance.now() + milliseconds;
    for (;;) {
      const answers = Atomics.load(this.#shared, remoteAnswers);
      const answer = this.#hear(port, id);
      if (answer !== undefined) return answer.failure === undefined ? answer : undefined;
      const left = end - performance.now();
      if (left <= 0) {
        this.#fail(slow, 'the thread that speaks with it does not answer');
        return undefined;
      }
      Atomics.wait(this.#shared, remoteAnswers, answers, left);
    }
  }

  /** The answer to one request, if it is there. Of others, failures are told: nobody waits for them. */
  #hear(port: MessagePort, id: number | undefined): RemoteResponse | undefined {
    for (;;) {
      const received = receiveMessageOnPort(port) as { message: RemoteResponse } | undefined;
      if (received === undefined) return undefined;
      const { message } = received;
      if (message.failure !== undefined) this.#fail(message.failure.code, message.failure.message);
      if (message.warning !== undefined) this.#options.warn(message.warning.code, message.warning.message);
      if (message.id === id) return message;
    }
  }

  #start(): Running | undefined {
    const { writesBehind: _, warn: _warn, ...options } = this.#options;
    const { port1, port2 } = new MessageChannel();
    try {
      const worker = new Worker(new URL('remote-thread.js', workerFiles), {
        workerData: { port: port2, shared: this.#shared, options } satisfies RemoteThreadData,
        transferList: [port2],
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: 256 },
      });
      worker.on('error', (error: Error) => {
        this.#running = undefined;
        this.#fail(slow, String(error));
      });
      worker.unref();
      port1.unref();
      process.once('exit', this.#atExit);
      return { worker, port: port1 };
    } catch (error) {
      this.#fail(slow, String(error));
      return undefined;
    }
  }

  /** What the server has done is told once for each kind; after what it does not do in time, or says wrongly, it is left alone. */
  #fail(code: string, reason: string): void {
    // A value that is not believed says nothing of the next one.
    if (code !== 'REMOTE_CACHE_UNTRUSTED') this.#restsUntil = performance.now() + rest;
    const place = placeOf(this.#options);
    this.#options.warn(
      code,
      reason.includes(place) || code !== slow ? reason : `the remote cache at ${place} is not used: ${reason}`,
    );
  }

  readonly #atExit = (): void => {
    this.flush();
  };

  /** Waits for what is not written yet, and ends the thread. */
  [Symbol.dispose](): void {
    process.off('exit', this.#atExit);
    this.flush();
    this.#running?.port.close();
    void this.#running?.worker.terminate();
    this.#running = undefined;
  }
}

/** The code of a server that is away, or slow, or full. */
const slow = 'REMOTE_CACHE_AWAY';
