// What is known of the time of a graph's kernels. In: the clocks that its entry winds, what each kernel moves and computes, and
// the limits of the machine. Out: a timing for each kernel, and measures on the performance timeline where they are wanted.
//
// The first run of a graph meets memory that nobody has touched and code that nobody has read. So it is not counted: the entry
// is run again for a while, which changes nothing, as it writes to its outputs and its workspace only.
import { at } from '@tsinductor/base';
import { clockBytes, clockFields } from '@tsinductor/ir';
import type { ClockField } from '@tsinductor/ir';
import type { Storage } from '@tsinductor/tensor/internal';
import type { Sizes } from '../run/call-sizes.ts';
import type { MachineLimits, Traffic } from './machine-limits.ts';

/** What a call of a kernel moves, must move at least, and computes. */
export interface KernelCost {
  readonly readBytes: (sizes: Sizes) => number;
  readonly writtenBytes: (sizes: Sizes) => number;
  readonly leastBytes: (sizes: Sizes) => number;
  readonly operations: (sizes: Sizes) => number;
}

interface ProfiledKernel {
  readonly name: string;
  /** Undefined where a group of nodes is several kernels. */
  readonly cost: KernelCost | undefined;
}

/** What one call of a kernel took and did, on the average of all that were clocked. */
export interface KernelTiming {
  readonly kernel: string;
  readonly calls: number;
  readonly milliseconds: number;
  /** What it moved, and computed; undefined where that is not counted. */
  readonly bytes?: number;
  readonly operations?: number;
  /** How long the machine takes at best for the least possible bytes and for the operations, whichever takes longer. */
  readonly limit?: { readonly milliseconds: number; readonly boundBy: 'memory' | 'arithmetic' };
}

interface ProfileOptions {
  /** One for each clock, in their order. */
  readonly kernels: readonly ProfiledKernel[];
  /** Memory of the clocks. */
  readonly clocks: Storage;
  readonly limits: () => MachineLimits;
  /** Is told the timings once, when the first call has run; the graph runs no more than it is called, if absent. */
  readonly announce?: (timings: readonly KernelTiming[]) => void;
  /** Whether every run of a kernel becomes a measure of the performance timeline. */
  readonly measures: boolean;
}

/** Most runs that follow the first one, and how many milliseconds they may take. */
const warmRuns = 20;
const warmMilliseconds = 100;

type Totals = Record<keyof KernelCost, number> & {
  /** How often the kernel had run when this was counted. */
  runs: number;
};

/**
 * What the clock of generated code, in nanoseconds, shows when the timeline shows 0. One is read between two readings of the other: of
 * several times that of which these lie next to each other, since a thread may lose its CPU in between.
 */
function timelineOrigin(): number {
  let best = { gap: Infinity, origin: 0 };
  for (let turn = 0; turn < 5; turn += 1) {
    const before = performance.now();
    const clock = Number(process.hrtime.bigint());
    const gap = performance.now() - before;
    if (gap < best.gap) best = { gap, origin: clock - 1e6 * (before + gap / 2) };
  }
  return best.origin;
}

export class KernelProfile {
  readonly #options: ProfileOptions;
  readonly #clocks: BigInt64Array;
  #totals: readonly Totals[];
  #announced = false;
  /** What the clocks of generated code show when the timeline shows 0. */
  readonly #origin: number = timelineOrigin();

  constructor(options: ProfileOptions) {
    this.#options = options;
    const { buffer, byteOffset } = options.clocks;
    this.#clocks = new BigInt64Array(buffer, byteOffset, options.kernels.length * clockFields.length);
    this.#totals = this.#cleared();
  }

  /** Where generated code finds the clocks. */
  get address(): number {
    return this.#options.clocks.address;
  }

  /** Runs the entry by `call`, which gives its status. */
  run(call: () => number, sizes: Sizes): number {
    const status = call();
    if (status !== 0) return status;
    if (this.#announced || this.#options.announce === undefined) {
      this.#count(sizes);
      return status;
    }
    this.#announced = true;
    this.#totals = this.#cleared();
    const end = performance.now() + warmMilliseconds;
    for (let runs = 0; runs < warmRuns && (runs === 0 || performance.now() < end); runs += 1) {
      if (call() === 0) this.#count(sizes);
    }
    this.#options.announce(this.timings());
    return status;
  }

  /** Of every kernel that ran. */
  timings(): readonly KernelTiming[] {
    return this.#options.kernels.flatMap(({ name, cost }, kernel) => {
      const calls = this.#read(kernel, 'runs');
      if (calls === 0) return [];
      const milliseconds = this.#read(kernel, 'total') / calls / 1e6;
      const counted = cost === undefined ? {} : this.#rateOf(at(this.#totals, kernel), calls);
      return [{ kernel: name, calls, milliseconds, ...counted }];
    });
  }

  #rateOf(totals: Totals, calls: number): Pick<KernelTiming, 'bytes' | 'operations' | 'limit'> {
    const limits = this.#options.limits();
    const [read, written] = [totals.readBytes / calls, totals.writtenBytes / calls];
    const [least, operations] = [totals.leastBytes / calls, totals.operations / calls];
    const memory = (1000 * least) / limits.bandwidth(trafficOf(read, written));
    const arithmetic = (1000 * operations) / limits.operations();
    const boundBy = memory >= arithmetic ? 'memory' : 'arithmetic';
    return { bytes: read + written, operations, limit: { milliseconds: Math.max(memory, arithmetic), boundBy } };
  }

  #count(sizes: Sizes): void {
    this.#options.kernels.forEach(({ name, cost }, kernel) => {
      const totals = at(this.#totals, kernel);
      const runs = this.#read(kernel, 'runs');
      // A kernel for other sizes did not run.
      if (runs === totals.runs) return;
      totals.runs = runs;
      if (cost !== undefined) for (const key of costKeys) totals[key] += cost[key](sizes);
      if (!this.#options.measures) return;
      const start = (this.#read(kernel, 'started') - this.#origin) / 1e6;
      performance.measure(name, { start, duration: this.#read(kernel, 'last') / 1e6 });
    });
  }

  #read(kernel: number, field: ClockField): number {
    return Number(at(this.#clocks, kernel * clockFields.length + clockFields.indexOf(field)));
  }

  #cleared(): readonly Totals[] {
    this.#clocks.fill(0n);
    return this.#options.kernels.map(() => ({ runs: 0, readBytes: 0, writtenBytes: 0, leastBytes: 0, operations: 0 }));
  }
}

const costKeys = ['readBytes', 'writtenBytes', 'leastBytes', 'operations'] as const;

/** Bytes of the clocks of so many kernels. */
export const clocksBytes = (kernels: number): number => Math.max(1, kernels) * clockBytes;

/** The pass over memory that is most like a kernel's: one that writes little only reads. */
function trafficOf(read: number, written: number): Traffic {
  const bytes = read + written;
  if (written * 16 < bytes) return { reads: 1, writes: 0, bytes };
  return { reads: Math.min(3, Math.max(1, Math.round(read / written))), writes: 1, bytes };
}
