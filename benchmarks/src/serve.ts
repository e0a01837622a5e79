// The contender's side of the protocol, for contenders in JavaScript: reads requests from stdin, prepares one workload,
// times it, and hands out samples of its outputs. Only stdout lines that begin with `{` are answers.
import { createInterface } from 'node:readline';
import { types } from 'node:util';
import type { Failed, PrepareRequest, Prepared, Request, Times, Unsupported, Values } from './protocol.ts';
import { fillInput } from './random-input.ts';

type Elements = ArrayLike<number | bigint>;

/** A workload that is ready to run. */
export interface Runnable extends Partial<Prepared> {
  /** One whole call, as a user makes it. */
  readonly run: () => unknown;
  /** The values of an output of the last call. */
  readonly output: (index: number) => Elements | Promise<Elements>;
}

export interface Contender {
  readonly version: () => string | Promise<string>;
  /** Undefined where the contender has no such operation; a string says why it was left out. */
  readonly prepare: (request: PrepareRequest) => Promise<Runnable | string | undefined> | Runnable | string | undefined;
}

type Answer = Prepared | Unsupported | Failed | Times | Values;

/** Answers requests until stdin ends. */
export async function serve(contender: Contender): Promise<void> {
  let runnable: Runnable | undefined;
  let isTimed = false;
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request;
    let answer: Answer;
    try {
      if (request.do === 'prepare') {
        const prepared = await contender.prepare(request);
        runnable = typeof prepared === 'object' ? prepared : undefined;
        isTimed = false;
        answer = await describePrepared(contender, prepared);
      } else if (runnable === undefined) {
        answer = { error: 'nothing is prepared' };
      } else {
        const isFirst = !isTimed;
        isTimed ||= request.do === 'time';
        answer =
          request.do === 'time' ? await time(runnable, { ...request, isFirst }) : await sample(runnable, request);
      }
    } catch (error) {
      answer = { error: messageOf(error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

/** The inputs of a request, as float32 arrays. */
export const inputsOf = ({ sizes, seeds, lows, highs }: PrepareRequest): Float32Array<ArrayBuffer>[] =>
  sizes.map((size, i) => fillInput({ size, seed: seeds[i] ?? 0, low: lows[i] ?? 0, high: highs[i] ?? 1 }));

async function describePrepared(
  contender: Contender,
  prepared: Runnable | string | undefined,
): Promise<Prepared | Unsupported> {
  if (prepared === undefined) return { unsupported: 'has no such operation' };
  if (typeof prepared === 'string') return { unsupported: prepared };
  const { run, output, ...facts } = prepared;
  await run();
  await output(0);
  return { version: await contender.version(), ...facts };
}

/** Milliseconds before times count: caches are filled again. */
const warmMs = 50;

/**
 * V8 optimises what is called often, not for long. Before it has, beside a kernel that leaves nothing of it in the caches, what
 * surrounds a call takes up to 40 us: a tenth of the call for arrays in the last-level cache. So the first time that counts comes
 * after so many calls, or after so many milliseconds of them, whichever is sooner.
 */
const warmCalls = 4000;
const warmCallsMs = 1500;

/** Calls from which on what surrounds them is no matter. */
const longMs = 3;

/** How many calls of so many milliseconds take half a millisecond: the first one after a pause, with threads asleep, tells little. */
const batchOf = (ms: number): number => Math.min(100_000, Math.max(1, Math.ceil(0.5 / ms)));

/** Repeats of a batch that takes half a millisecond, or one call, until the budget is spent. */
async function time(
  { run }: Runnable,
  { budgetMs, isFirst }: { readonly budgetMs: number; readonly isFirst: boolean },
): Promise<Times> {
  const begin = performance.now();
  const first = run();
  const asynchronous = types.isPromise(first);
  if (asynchronous) await first;
  const once = Math.max(1e-5, performance.now() - begin);
  let calls = batchOf(once);
  let made = 0;
  const measure = async (): Promise<number> => {
    const start = performance.now();
    if (asynchronous) for (let i = 0; i < calls; i += 1) await run();
    else for (let i = 0; i < calls; i += 1) void run();
    made += calls;
    return (performance.now() - start) / calls;
  };
  // The first call has warmed up what takes that long. One repeat of what is longer than the budget is enough: there are
  // several rounds.
  const warm = isFirst ? warmMs : Math.min(budgetMs / 4, warmMs);
  const mayTake = isFirst && once < longMs ? warmCallsMs : 0;
  const isWarm = (): boolean => {
    const taken = performance.now() - begin - once;
    return (once >= warm || taken >= warm) && (made >= warmCalls || taken >= mayTake);
  };
  while (!isWarm()) calls = batchOf(await measure());
  return { times: await repeated(measure, { least: once > budgetMs ? 1 : 3, budgetMs }) };
}

async function repeated(
  measure: () => Promise<number>,
  { least, budgetMs }: { readonly least: number; readonly budgetMs: number },
): Promise<readonly number[]> {
  const times: number[] = [];
  const until = performance.now() + budgetMs;
  do times.push(await measure());
  while ((performance.now() < until || times.length < least) && times.length < 2000);
  return times;
}

async function sample({ output }: Runnable, request: { output: number; indices: readonly number[] }): Promise<Values> {
  const values = await output(request.output);
  return { values: request.indices.map((index) => Number(values[index])) };
}

const messageOf = (error: unknown): string =>
  types.isNativeError(error) ? error.message : typeof error === 'string' ? error : JSON.stringify(error);
