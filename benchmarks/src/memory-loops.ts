// What the `memory` suite runs in a process of its own: calls whose results are dropped, and the same with results that are
// disposed, in turns. In: one JSON argument. Out: one line of JSON.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { at } from '@tsinductor/base';
import { compile, memoryStats, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { median } from './statistics.ts';

export type LoopKind = 'loop' | 'promises' | 'workers';

export interface LoopRequest {
  readonly kind: LoopKind;
  /** Of a result. */
  readonly bytes: number;
  /** So many calls whose results are dropped, or as many as fit into the time. */
  readonly calls: number;
  readonly milliseconds: number;
}

export interface LoopResult {
  readonly calls: number;
  /** Microseconds a call: the medians of the rounds. */
  readonly droppedUs: number;
  readonly disposedUs: number;
  /** The median of the rounds' quotients. */
  readonly ratio: number;
  /** Bytes that the process had before the loops, and at most in them. */
  readonly residentBefore: number;
  readonly residentPeak: number;
  readonly live: number;
  readonly pooled: number;
  readonly external: number;
}

const threads = 2;
const leastRounds = 9;
const roundMs = 40;

type Way = 'dropped' | 'disposed';

/** One kind of loop over one function; `run` makes so many calls. */
class Loop {
  readonly #f = compile((x: Tensor) => x.add(1));
  readonly #x: Tensor;
  #y: Tensor;

  constructor(bytes: number) {
    this.#x = tensor(new Float32Array(bytes / Float32Array.BYTES_PER_ELEMENT));
    this.#y = this.#f(this.#x);
  }

  run(way: Way, calls: number): void {
    if (way === 'dropped') {
      for (let i = 0; i < calls; i += 1) this.#y = this.#f(this.#x);
      return;
    }
    for (let i = 0; i < calls; i += 1) {
      this.#y.dispose();
      this.#y = this.#f(this.#x);
    }
  }

  async chain(way: Way, calls: number): Promise<void> {
    let chain = Promise.resolve();
    for (let i = 0; i < calls; i += 1) chain = chain.then(() => this.run(way, 1));
    await chain;
  }
}

const microseconds = async (work: () => Promise<void> | void, calls: number): Promise<number> => {
  const begin = performance.now();
  await work();
  return ((performance.now() - begin) * 1000) / calls;
};

async function measure({ kind, bytes, calls, milliseconds }: LoopRequest): Promise<LoopResult> {
  const loop = new Loop(bytes);
  const round = async (way: Way, count: number): Promise<number> =>
    microseconds(() => (kind === 'promises' ? loop.chain(way, count) : loop.run(way, count)), count);
  const residentBefore = process.memoryUsage.rss();
  const first = await round('disposed', 3);
  const each = Math.max(2, Math.min(20_000, Math.ceil((roundMs * 1000) / first)));
  const begin = performance.now();
  const times: Record<Way, number[]> = { dropped: [], disposed: [] };
  let [made, residentPeak] = [0, residentBefore];
  const isDone = (): boolean => made >= calls || performance.now() - begin > milliseconds;
  while (!isDone() || times.dropped.length < leastRounds) {
    for (const way of ['dropped', 'disposed'] as const) times[way].push(await round(way, each));
    made += each;
    residentPeak = Math.max(residentPeak, process.memoryUsage.rss());
  }
  const { live, pooled, external } = memoryStats();
  return {
    calls: made,
    droppedUs: median(times.dropped),
    disposedUs: median(times.disposed),
    ratio: median(times.dropped.map((time, position) => time / at(times.disposed, position))),
    residentBefore,
    residentPeak,
    live,
    pooled,
    external,
  };
}

/** The same loop in several threads at once: what they hold is added up, what they take is the slowest one's. */
async function measureThreads(request: LoopRequest): Promise<LoopResult> {
  const residentBefore = process.memoryUsage.rss();
  const results = await Promise.all(Array.from({ length: threads }, () => inThread({ ...request, kind: 'loop' })));
  const sum = (of: (result: LoopResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const most = (of: (result: LoopResult) => number): number => Math.max(...results.map(of));
  return {
    calls: sum(({ calls }) => calls),
    droppedUs: most(({ droppedUs }) => droppedUs),
    disposedUs: most(({ disposedUs }) => disposedUs),
    ratio: most(({ ratio }) => ratio),
    residentBefore,
    residentPeak: most(({ residentPeak }) => residentPeak),
    live: sum(({ live }) => live),
    pooled: sum(({ pooled }) => pooled),
    external: sum(({ external }) => external),
  };
}

const inThread = (request: LoopRequest): Promise<LoopResult> =>
  new Promise((done, fail) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: request });
    worker.on('message', done);
    worker.on('error', fail);
  });

if (isMainThread) {
  const request = JSON.parse(process.argv[2] ?? '{}') as LoopRequest;
  const result = await (request.kind === 'workers' ? measureThreads(request) : measure(request));
  process.stdout.write(`${JSON.stringify(result)}\n`);
} else {
  parentPort?.postMessage(await measure(workerData as LoopRequest));
}
