// What is being made beside this thread. Who needs it looks whether it is there (at the start of a call, in a loop in which the event
// loop never turns), waits for it while this thread is blocked, or beside other tasks.

import { invariant } from '@tsinductor/base';

export interface Pending<T> {
  /** What was made, once it is there; undefined before. Throws what making it threw. */
  poll(): T | undefined;
  /** The same when it is there, which this thread waits for. */
  wait(): T;
  /** Resolves when `poll` gives something or throws. Keeps the process alive until then. */
  settled(): Promise<void>;
}

/**
 * What `made` becomes in the thread that asks for it, when it is first asked for after it was there. Where that or making it
 * throws, `recover` says what it is instead.
 */
export function then<T, U>(
  made: Pending<T>,
  become: (value: T) => U,
  recover: (error: unknown) => U = rethrown,
): Pending<U> {
  let outcome: (() => U) | undefined;
  const look = (of: () => T | undefined): U | undefined => {
    if (outcome !== undefined) return outcome();
    try {
      const value = of();
      if (value === undefined) return undefined;
      const result = become(value);
      outcome = () => result;
    } catch (error) {
      outcome = once(() => recover(error));
    }
    return outcome();
  };
  return {
    poll: () => look(() => made.poll()),
    wait: () => {
      const result = look(() => made.wait());
      invariant(result !== undefined, 'what was waited for is not there');
      return result;
    },
    settled: () => made.settled(),
  };
}

/** As a function, for what has to throw later. */
export function rethrown(error: unknown): never {
  throw error;
}

/** What `make` gives or throws, the first time and ever after. */
function once<U>(make: () => U): () => U {
  try {
    const result = make();
    return () => result;
  } catch (error) {
    return () => rethrown(error);
  }
}

/** What is there already. */
export const done = <T>(value: T): Pending<T> => ({
  poll: () => value,
  wait: () => value,
  settled: () => Promise.resolve(),
});

/** What could not even be begun. */
export const failed = (error: unknown): Pending<never> => ({
  poll: () => rethrown(error),
  wait: () => rethrown(error),
  settled: () => Promise.resolve(),
});
