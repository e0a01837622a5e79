// What the machine can do, measured beside each workload by `peers/native/limits.cpp`: bandwidth with the workload's own
// number of streams and bytes, peak arithmetic, and rates of transcendental functions within 4 ULP.
import { Child } from './child.ts';
import type { Command } from './child.ts';
import { bytesOf } from './workload.ts';
import type { TranscendentalName, Work } from './workload.ts';

/** One measurement of everything that bounds a workload. Each number is the best over thread counts. */
export interface LimitSample {
  /** GB/s with ordinary and with non-temporal stores. */
  readonly ordinary: number;
  readonly streaming: number;
  /** GFLOP/s of float32 multiply-adds. */
  readonly peak: number;
  /** Million evaluations per second. */
  readonly rates: Readonly<Record<TranscendentalName, number>>;
}

type Cores = Pick<LimitSample, 'peak' | 'rates'>;

const betterCores = (a: Cores | undefined, b: Cores): Cores => ({
  peak: Math.max(a?.peak ?? 0, b.peak),
  rates: {
    exp: Math.max(a?.rates.exp ?? 0, b.rates.exp),
    sigmoid: Math.max(a?.rates.sigmoid ?? 0, b.rates.sigmoid),
    erf: Math.max(a?.rates.erf ?? 0, b.rates.erf),
  },
});

export class LimitProbe implements Disposable {
  readonly #child: Child;
  readonly #threads: number;
  #cores: Cores | undefined;

  constructor(command: Command, threads: number) {
    this.#child = new Child('limits', command);
    this.#threads = threads;
  }

  /** Measures for about half a second. Bandwidth is that of now; what the cores can do is the best seen so far. */
  async measure(work: Work): Promise<LimitSample> {
    const { reads, writes, streamBytes } = work;
    const request = {
      do: 'limits',
      reads,
      writes,
      streamBytes: Math.max(streamBytes, 1 << 16),
      threads: this.#threads,
    };
    const sample = (await this.#child.ask(request, 60)) as LimitSample;
    this.#cores = betterCores(this.#cores, sample);
    return { ...sample, ...this.#cores };
  }

  [Symbol.dispose](): void {
    this.#child[Symbol.dispose]();
  }
}

export interface RowLimit {
  readonly ms: number;
  readonly boundBy: 'memory' | 'arithmetic';
  readonly gbps: number;
  readonly peakGflops: number;
}

/**
 * The least time for some work: memory or arithmetic, whichever is longer. Company on the machine only ever makes a
 * sample smaller, so the largest one counts.
 */
export function limitOf(work: Work, samples: readonly LimitSample[]): RowLimit {
  const best = (of: (sample: LimitSample) => number): number => Math.max(...samples.map(of));
  const gbps = best(({ ordinary, streaming }) => Math.max(ordinary, streaming));
  const peakGflops = best(({ peak }) => peak);
  const memoryMs = bytesOf(work) / gbps / 1e6;
  const functions = Object.entries(work.transcendentals ?? {}) as [TranscendentalName, number][];
  const functionMs = functions.map(([name, count]) => count / best(({ rates }) => rates[name]) / 1e3);
  const arithmeticMs = (work.flops ?? 0) / peakGflops / 1e6 + functionMs.reduce((sum, ms) => sum + ms, 0);
  return {
    ms: Math.max(memoryMs, arithmeticMs),
    boundBy: memoryMs >= arithmeticMs ? 'memory' : 'arithmetic',
    gbps,
    peakGflops,
  };
}
