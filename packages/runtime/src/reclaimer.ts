// Gets memory back that nobody holds, in time. In: a watcher, and what a pool has in use and is asked for. It collects when that
// is due, or never where collecting frees nothing at once.
import { GarbageBudget, hostLimits } from './garbage-budget.ts';
import type { GarbageLimits } from './garbage-budget.ts';
import type { Watcher } from './watcher.ts';

export class Reclaimer {
  readonly #watcher: Watcher;
  readonly #budget: GarbageBudget;
  #canCollect = true;

  constructor(watcher: Watcher, limits: GarbageLimits = hostLimits) {
    this.#watcher = watcher;
    this.#budget = new GarbageBudget(limits);
  }

  /** Before `bytes` are taken beside what is in use: finds what nobody holds, should it be time to look. */
  makeRoom(bytes: number, inUse: () => number): void {
    if (!this.#canCollect || !this.#budget.isYoungDue(bytes, inUse())) return;
    this.#canCollect = this.#watcher.collect('young');
    if (!this.#canCollect) return;
    this.#budget.collected('young', inUse());
    if (!this.#budget.isAllDue(bytes, inUse())) return;
    this.#watcher.collect('all');
    this.#budget.collected('all', inUse());
  }

  /** Finds all that nobody holds, because there is no more memory; whether there is any use in asking again. */
  makeAllRoom(inUse: () => number): boolean {
    if (!this.#canCollect) return false;
    this.#canCollect = this.#watcher.collect('all');
    if (this.#canCollect) this.#budget.collected('all', inUse());
    return this.#canCollect;
  }

  /** Hears of what earlier collections found. */
  settle(): void {
    this.#watcher.settle();
  }

  /** Somebody gave memory back; so much is in use. */
  released(inUse: number): void {
    this.#budget.released(inUse);
  }
}
