// What the machine can do, measured beside each workload by `peers/native/limits.cpp`: bandwidth with the workload's own
// number of streams and bytes, peak arithmetic, and rates of functions that cost more.
import { Child } from './child.ts';
import type { Command } from './child.ts';
import { limitsOutdated } from './errors.ts';
import { bytesOf } from './workload.ts';
import type { FunctionName, Work } from './workload.ts';

/** One measurement of everything that bounds a workload. Each number is the best over thread counts. */
export interface LimitSample {
  /** GB/s with ordinary stores, with non-temporal ones, and with lines that are prefetched some time before they are read or written. */
  readonly ordinary: number;
  readonly streaming: number;
  readonly asked: number;
  /** GFLOP/s of float32 multiply-adds. */
  readonly peak: number;
  /** Million evaluations per second, of the functions that were asked for. */
  readonly rates: Rates;
}

type Rates = Readonly<Partial<Record<FunctionName, number>>>;
export class LimitProbe implements Disposable {
  readonly #child: Child;
  readonly #threads: number;

  constructor(command: Command, threads: number) {
    this.#child = new Child('limits', command);
    this.#threads = threads;
  }

  /** Measures what bounds `work` now, for some hundredths of a second. */
  async measure(work: Work): Promise<LimitSample> {
    const { reads, writes, streamBytes } = work;
    const request = {
      do: 'limits',
      reads,
      writes,
      streamBytes: Math.max(streamBytes, 1 << 16),
      threads: this.#threads,
      functions: Object.keys(work.functions ?? {}).join(' '),
    };
    const sample = (await this.#child.ask(request, 60)) as LimitSample;
    const { ordinary, streaming, asked, peak } = sample;
    if (![ordinary, streaming, asked, peak].every(Number.isFinite)) throw limitsOutdated();
    return sample;
  }

  [Symbol.dispose](): void {
    this.#child[Symbol.dispose]();
  }
}

export interface RowLimit {
  /** The least time beside our own measurements: that of the middle round. */
  readonly ms: number;
  /** The same with the bandwidth of ordinary and non-temporal stores alone, which prefetched lines may pass. */
  readonly plainMs: number;
  /** Both of each round, by its number, and the least of the former: what the machine could do at its best. */
  readonly roundsMs: readonly number[];
  readonly roundsPlainMs: readonly number[];
  readonly bestMs: number;
  readonly boundBy: 'memory' | 'arithmetic';
  readonly gbps: number;
  readonly peakGflops: number;
}

/** The least time for some work at some moment. */
type Limit = Omit<RowLimit, 'roundsMs' | 'roundsPlainMs' | 'bestMs'>;

/**
 * The limit of a workload from the samples of its rounds. Virtual machines have states that last for seconds or less, between which
 * bandwidth and, where two CPUs are one core for a while, arithmetic change by half: a time is held against what the machine did in
 * its own round, and the row tells the middle one.
 */
export function limitOverRounds(work: Work, samples: readonly (readonly LimitSample[])[]): RowLimit | undefined {
  const rounds = samples.map((round) => limitOf(work, round));
  const sorted = rounds.toSorted((left, right) => left.ms - right.ms);
  const [best] = sorted;
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (best === undefined || middle === undefined) return undefined;
  const [roundsMs, roundsPlainMs] = [rounds.map(({ ms }) => ms), rounds.map(({ plainMs }) => plainMs)];
  return { ...middle, roundsMs, roundsPlainMs, bestMs: best.ms };
}

/**
 * The least time for some work: memory or arithmetic, whichever is longer. Company on the machine only ever makes a
 * sample smaller, so the largest one counts. Divisions have a unit of their own, beside which all else goes on.
 */
export function limitOf(work: Work, samples: readonly LimitSample[]): Limit {
  const best = (of: (sample: LimitSample) => number): number => Math.max(...samples.map(of));
  const plain = best(({ ordinary, streaming }) => Math.max(ordinary, streaming));
  const gbps = Math.max(
    plain,
    best(({ asked }) => asked),
  );
  const peakGflops = best(({ peak }) => peak);
  const memoryMs = bytesOf(work) / gbps / 1e6;
  const functions = Object.entries(work.functions ?? {}) as [FunctionName, number][];
  // A function whose rate nobody measures on this device is not held against it.
  const msOf = (some: (name: FunctionName) => boolean): number =>
    functions
      .filter(([name]) => some(name))
      .reduce((sum, [name, count]) => sum + count / best(({ rates }) => rates[name] ?? Infinity) / 1e3, 0);
  const divisionMs = msOf((name) => name === 'divide');
  const otherMs = (work.flops ?? 0) / peakGflops / 1e6 + msOf((name) => name !== 'divide');
  const arithmeticMs = Math.max(divisionMs, otherMs);
  return {
    ms: Math.max(memoryMs, arithmeticMs),
    plainMs: Math.max(bytesOf(work) / plain / 1e6, arithmeticMs),
    boundBy: memoryMs >= arithmeticMs ? 'memory' : 'arithmetic',
    gbps,
    peakGflops,
  };
}
