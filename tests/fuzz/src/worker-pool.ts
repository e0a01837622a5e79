// Processes that check programs, kept apart from this one. In: jobs and settings. Out: a verdict for each job, whatever
// happens to the process: one that dies or says nothing for too long is replaced, the program that it ran is to blame, and
// the others are checked again. Where it died before it ran anything, the jobs are halved until one is left.
import { at, get } from '@tsinductor/base';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Settings, Verdict } from './check-programs.ts';
import type { FuzzProgram } from './program.ts';
import type { CheckRequest, WorkerMessage } from './worker.ts';

export type Job = CheckRequest['jobs'][number];

export interface Checked {
  readonly job: Job;
  readonly verdict: Verdict;
  /** Present where it failed and the job said only how to generate it, unless its process died while it was generated. */
  readonly program?: FuzzProgram;
}

/** Milliseconds without a word: only a thread that is busy with one step says nothing. */
const patience = 180_000;
/** Loaded code is never unloaded: after so many requests a process is replaced. */
const requestsPerWorker = 12;

/** What a worker process runs. */
const workerPath = fileURLToPath(new URL('./worker.js', import.meta.url));

export class Worker implements Disposable {
  readonly calls: Map<string, number> = new Map<string, number>();
  readonly refusals: Map<string, string> = new Map<string, string>();
  #child: ChildProcess | undefined;
  #requests = 0;
  readonly #path: string;

  constructor(path: string = workerPath) {
    this.#path = path;
  }

  /** Verdicts in the order of the jobs. */
  async check(jobs: readonly Job[], settings: Settings): Promise<readonly Checked[]> {
    const checked = new Map<number, Checked>();
    const drawn = new Map<number, FuzzProgram>();
    let waiting = jobs.map((_, position) => position);
    while (waiting.length > 0) {
      const asked = waiting;
      const ended = await this.#ask(
        asked.map((position) => at(jobs, position)),
        settings,
        {
          drawn: (place, program) => drawn.set(at(asked, place), program),
          finished: (place, rest) => {
            const position = at(asked, place);
            checked.set(position, { job: at(jobs, position), ...rest });
          },
        },
      );
      waiting = asked.filter((position) => !checked.has(position));
      if (ended.kind === 'done' || waiting.length === 0) break;
      const culprit = ended.running === undefined ? undefined : asked[ended.running];
      if (culprit !== undefined || waiting.length === 1) {
        const position = culprit ?? at(waiting, 0);
        const program = drawn.get(position);
        checked.set(position, {
          job: at(jobs, position),
          verdict: { status: 'failed', stage: ended.kind, detail: ended.detail },
          ...(program && { program }),
        });
        waiting = waiting.filter((each) => each !== position);
        continue;
      }
      const middle = waiting.length >> 1;
      for (const half of [waiting.slice(0, middle), waiting.slice(middle)]) {
        const results = await this.check(
          half.map((position) => at(jobs, position)),
          settings,
        );
        results.forEach((result, k) => checked.set(at(half, k), result));
      }
      waiting = [];
    }
    return jobs.map((_, position) => get(checked, position));
  }

  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #ask(jobs: readonly Job[], settings: Settings, told: Told): Promise<Ended> {
    const child = this.#open();
    return new Promise<Ended>((resolve) => {
      let running: number | undefined;
      let timer: NodeJS.Timeout | undefined;
      const end = (ended: Ended): void => {
        clearTimeout(timer);
        child.removeAllListeners();
        if (ended.kind !== 'done') this[Symbol.dispose]();
        resolve(ended);
      };
      const wait = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          end({ kind: 'hang', running, detail: `nothing was heard for ${String(patience / 1000)} s` });
        }, patience);
      };
      wait();
      child.on('exit', (code, signal) => {
        end({ kind: 'crash', running, detail: `the process ended with ${signal ?? `status ${String(code)}`}` });
      });
      child.on('message', (message: WorkerMessage) => {
        wait();
        switch (message.kind) {
          case 'alive':
            return;
          case 'drawn':
            told.drawn(message.position, message.program);
            return;
          case 'building':
            running = undefined;
            return;
          case 'starting':
            running = message.position;
            return;
          case 'finished':
            running = undefined;
            told.finished(message.position, {
              verdict: message.verdict,
              ...(message.program && { program: message.program }),
            });
            return;
          case 'done':
            for (const [name, count] of message.drawn.calls) this.calls.set(name, (this.calls.get(name) ?? 0) + count);
            for (const [name, reason] of message.drawn.refusals) this.refusals.set(name, reason);
            end({ kind: 'done' });
        }
      });
      child.send({ kind: 'check', settings, jobs } satisfies CheckRequest);
    });
  }

  #open(): ChildProcess {
    if (this.#requests >= requestsPerWorker) this[Symbol.dispose]();
    if (this.#child === undefined) {
      this.#requests = 0;
      this.#child = fork(this.#path, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' });
    }
    this.#requests += 1;
    return this.#child;
  }
}

interface Told {
  drawn(place: number, program: FuzzProgram): void;
  finished(place: number, result: Omit<Checked, 'job'>): void;
}

type Ended =
  | { readonly kind: 'done' }
  | { readonly kind: 'crash' | 'hang'; readonly running: number | undefined; readonly detail: string };
