// The collector, asked for. In: nothing. Out: a function that collects now, or none where this JavaScript engine has none to
// give.
//
// V8 collects by what it knows: the bytes of its own heap, and those of buffers when they are made. A result that reuses a
// block tells it nothing, so it would let blocks lie dead for as long as its heap is quiet. A collection of the young
// generation, where the results of a loop are, takes some 40 microseconds; a hundred where a kernel has filled the caches.
import { setImmediate } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What is collected: what was made lately, in time that what lives of it takes; or everything, in time that the whole heap takes. */
export type Generation = 'young' | 'all';

export type Collect = (generation: Generation) => void;

/** Another thread may be switching the same flag of the process off just now. */
const tries = 3;

/** V8 gives its collector to realms that are made while a flag is set. */
export function openCollector(): Collect | undefined {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const gc = collectorOfRealm();
    if (gc === undefined) continue;
    const alone = (): void => {
      gc({ type: 'minor' });
    };
    const young = isSingleThreaded ? alone : onOneThread(alone);
    return (generation) => {
      if (generation === 'young') young();
      else gc();
    };
  }
  return undefined;
}

/** Flags of a program whose collections have one thread anyway, which stays so. */
const isSingleThreaded = process.execArgv.some((flag) =>
  /^--(?:no-?parallel[-_]scavenge|single[-_]threaded(?:[-_]gc)?|predictable)$/u.test(flag),
);

/**
 * The young generation of a loop has little that is alive. To share it out, V8 wakes its other threads and waits for them: that takes longer than
 * the work, and much longer where other programs have their processors. So such collections are the calling thread's own, until
 * the event loop turns: setting the flag takes 5 microseconds, and several times that when it is not in the caches.
 */
export function onOneThread(collect: () => void, setFlag: (flag: string) => void = setFlagsFromString): () => void {
  let isShared = true;
  const share = (): void => {
    isShared = true;
    setFlag('--parallel-scavenge');
  };
  return () => {
    if (isShared) {
      isShared = false;
      setFlag('--no-parallel-scavenge');
      setImmediate(share).unref();
    }
    collect();
  };
}

type Gc = (options?: { readonly type: 'minor' }) => void;

function collectorOfRealm(): Gc | undefined {
  // Whoever runs a program with the flag wants its threads to have it too.
  const isShown = typeof globalThis.gc === 'function';
  try {
    setFlagsFromString('--expose-gc');
    const gc: unknown = runInNewContext('globalThis.gc');
    return typeof gc === 'function' ? (gc as Gc) : undefined;
  } catch {
    // No flags here: the collector comes when V8 sends it.
    return undefined;
  } finally {
    if (!isShown) hideCollector();
  }
}

function hideCollector(): void {
  try {
    setFlagsFromString('--no-expose-gc');
  } catch {
    // Then it was not shown either.
  }
}
