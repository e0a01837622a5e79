// How long one workload may be waited for: for an idle machine before a measurement, and for another try after one that had
// company. A busy machine would otherwise cost that wait for every contender, round and try; what is used up is not spent
// again, and from then on everything is measured at once, once.
import { waitForQuiet } from './quiet.ts';

/** Waits of one workload add up to this many single ones. */
const waitsPerWorkload = 8;

export class Patience {
  readonly #perWaitMs: number;
  #leftMs: number;

  constructor(perWaitMs: number) {
    this.#perWaitMs = perWaitMs;
    this.#leftMs = perWaitMs * waitsPerWorkload;
  }

  get isLeft(): boolean {
    return this.#leftMs > 0;
  }

  /** Waits until the machine is idle, within what is left. */
  async waitForQuiet(): Promise<void> {
    await this.spend(() => waitForQuiet(Math.min(this.#perWaitMs, this.#leftMs)));
  }

  /** Runs `work` and takes its time from what is left: for tries that are made again. */
  async spend<T>(work: () => Promise<T>): Promise<T> {
    const begin = performance.now();
    try {
      return await work();
    } finally {
      this.#leftMs -= performance.now() - begin;
    }
  }
}
