// Work that one process of a machine does and all others wait for, under a lock in a directory of ours. In: what to do, and how to see
// that another process has done it. Out: the result of either. As with builds, the lock only saves work: where it cannot be had, or
// was held for too long, the work is done beside others, and an event says so.
import { join } from 'node:path';
import { withLock, withLockNow } from './build-lock.ts';
import type { LockOptions } from './build-lock.ts';
import type { Report } from './events.ts';
import { nodeFileSystem } from './file-system.ts';

interface SharedWork<T> {
  readonly directory: string;
  /** Letters, digits and dashes: what the work is called among all processes. */
  readonly name: string;
  /** What another process has made, if it has. */
  readonly known: () => T | undefined;
  /** How long to wait for others. */
  readonly waitMilliseconds: number;
  readonly report: Report;
}

/** The result of work that does not block; the lock is renewed meanwhile. */
export const alone = <T>(work: SharedWork<T>, make: () => Promise<T>): Promise<T> => withLock(lockOf(work, 5000), make);

/** The result of work that this thread waits for; the lock is not renewed meanwhile. */
export const aloneNow = <T>(work: SharedWork<T>, make: () => T): T => withLockNow(lockOf(work, 10_000), make);

const lockOf = <T>({ directory, name, known, ...more }: SharedWork<T>, staleMilliseconds: number): LockOptions<T> => ({
  ...more,
  key: name,
  path: join(directory, `.lock-${name}`),
  fs: nodeFileSystem(),
  staleMilliseconds,
  ready: known,
});
