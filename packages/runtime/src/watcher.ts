// Who tells which objects are unreachable, so that the memory behind them is used again. In: objects, each with a number.
// Out: the numbers of those that the collector found.
//
// With the native bridge they are known inside the collection, and told when `settle` or `collect` is called: so a loop that
// never returns to the event loop has its memory back, and nobody's memory changes hands at any other time. Without the bridge,
// or on a Node whose finalizers wait for the event loop, they are told between two tasks.
import type { Bridge } from './bridge.ts';
import { openCollector } from './collector.ts';
import type { Collect, Generation } from './collector.ts';

export interface WatchListener {
  /** Nothing that was watched under `id` is reachable. */
  found(id: number): void;
  /** Everything is about to be looked at: what is held for convenience had better be let go. */
  collecting(): void;
}

export interface Watcher {
  /** Tells `id` (a whole number of at most 32 bits) to who listens, some time after `target` became unreachable. */
  watch(target: object, id: number): void;
  /** From now on `listener` is told, and nobody else. */
  listen(listener: WatchListener): void;
  /** Tells of what earlier collections found. */
  settle(): void;
  /** Collects, and tells of what was found. Returns whether there is any use in it here. */
  collect(generation: Generation): boolean;
}

type Watches = Pick<Bridge, 'watch' | 'forEachFound'>;

export const createWatcher = (bridge: Watches | undefined): Watcher =>
  bridge === undefined ? new TaskWatcher() : new NativeWatcher(bridge);

class TaskWatcher implements Watcher {
  #listener: WatchListener | undefined;
  readonly #registry = new FinalizationRegistry<number>((id) => {
    this.#listener?.found(id);
  });

  watch(target: object, id: number): void {
    this.#registry.register(target, id);
  }

  listen(listener: WatchListener): void {
    this.#listener = listener;
  }

  settle(): void {
    // The registry tells by itself.
  }

  collect(): boolean {
    return false;
  }
}

/** Not the id of anything that is watched for its memory. */
const probeId = -1;
/** More than one, because the last may still be in a register or on the stack. */
const probes = 8;

class NativeWatcher implements Watcher {
  readonly #bridge: Watches;
  #listener: WatchListener | undefined;
  /** The collector, once it was asked for; null where collecting frees nothing at once. */
  #collector: Collect | null | undefined;
  #probesFound = 0;
  readonly #tell = (id: number): void => {
    if (id === probeId) this.#probesFound += 1;
    else this.#listener?.found(id);
  };

  constructor(bridge: Watches) {
    this.#bridge = bridge;
  }

  watch(target: object, id: number): void {
    this.#bridge.watch(target, id);
  }

  listen(listener: WatchListener): void {
    this.#listener = listener;
  }

  settle(): void {
    this.#bridge.forEachFound(this.#tell);
  }

  collect(generation: Generation): boolean {
    if (this.#collector === undefined) this.#collector = this.#openCollector();
    if (this.#collector === null) return false;
    this.#listener?.collecting();
    this.#collector(generation);
    this.settle();
    return true;
  }

  /** Whether finalizers run inside a collection is seen by trying. */
  #openCollector(): Collect | null {
    const collector = openCollector();
    if (collector === undefined) return null;
    this.#dropProbes();
    collector('young');
    this.settle();
    return this.#probesFound > 0 ? collector : null;
  }

  #dropProbes(): void {
    for (let made = 0; made < probes; made += 1) this.watch({}, probeId);
  }
}
