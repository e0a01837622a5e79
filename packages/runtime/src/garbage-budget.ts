// When it is time to collect. In: how many bytes a pool has in use, as far as it knows. Out: which collection is worth its
// price before fresh memory is taken.
//
// What is in use beyond what was left after the last collection may be dead. Beside what a result costs (a memory block that the
// caches no longer hold, or fresh pages) a collection of the young generation costs little, so little garbage is allowed: so
// much that results stay in the last-level cache. Results that lived through two of those are found by a collection of
// everything alone, whose price grows with the heap of the whole program: so it may take as much again as is alive.
import type { Generation } from './collector.ts';

const mebibyte = 2 ** 20;

/** How much garbage a memory has room for, in bytes. */
export interface GarbageLimits {
  /** Garbage that is allowed before the young generation is collected: at least, for results of a size, at most. */
  readonly leastYoung: number;
  readonly youngResults: number;
  readonly mostYoung: number;
  /** Growth that is allowed before everything is collected, at least. */
  readonly leastAll: number;
}

export const hostLimits: GarbageLimits = {
  leastYoung: 4 * mebibyte,
  youngResults: 5,
  mostYoung: 64 * mebibyte,
  leastAll: 128 * mebibyte,
};

/**
 * Of a device with so many bytes. A collection of the young generation takes as long as a kernel that streams 300 MB, and no
 * block of such memory is nearer than another: results may be garbage until they fill a set part of the memory.
 */
export const deviceLimits = (bytes: number): GarbageLimits => ({
  leastYoung: bytes / 16,
  youngResults: 1,
  mostYoung: bytes / 16,
  leastAll: bytes / 8,
});

/**
 * Growth that is allowed before everything is collected, by what is alive; and so many results, because what is alive then is no
 * longer young.
 */
const allResults = 2;
const shareOfAll = 8;

/** Each block counts for at least so much: it has objects of the JavaScript heap beside its memory. */
export const leastWeight = 4096;

/** All numbers are bytes; what is in use counts what is dead and not yet found. */
export class GarbageBudget {
  readonly #limits: GarbageLimits;
  #afterYoung = 0;
  #afterAll = 0;

  constructor(limits: GarbageLimits) {
    this.#limits = limits;
  }

  /** Whether `bytes` more are too much without a collection of the young generation. */
  isYoungDue(bytes: number, inUse: number): boolean {
    const { leastYoung, youngResults, mostYoung } = this.#limits;
    const excess = inUse + bytes - this.#afterYoung;
    return excess > leastYoung && excess > Math.min(mostYoung, youngResults * bytes);
  }

  /** The same of a collection of everything. */
  isAllDue(bytes: number, inUse: number): boolean {
    const growth = Math.max(this.#limits.leastAll, this.#afterAll / shareOfAll);
    return inUse + bytes > this.#afterAll + allResults * bytes + growth;
  }

  /** What is in use now is what a collection left. */
  collected(generation: Generation, inUse: number): void {
    this.#afterYoung = inUse;
    if (generation === 'all') this.#afterAll = inUse;
  }

  /** What was in use is given back, which makes no room for garbage. */
  released(inUse: number): void {
    if (inUse < this.#afterYoung) this.#afterYoung = inUse;
    if (inUse < this.#afterAll) this.#afterAll = inUse;
  }
}
