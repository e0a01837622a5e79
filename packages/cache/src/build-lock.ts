// One build per key among all processes, as far as that is possible. In: where the lock lies, how to see that someone else
// has finished, and the build. Out: the result of either.
//
// The lock only saves work; which result counts is decided by an atomic rename. So nothing here is fatal: where a lock
// cannot be had, or was waited for too long, or was lost, the build goes on without one, and an event says so. A holder
// that died is noticed when its lock has not been renewed for the stale time.
import { setTimeout as sleep } from 'node:timers/promises';
import type * as properLockfile from 'proper-lockfile';
import { errorCode } from './events.ts';
import type { Report } from './events.ts';
import type { FileSystem } from './file-system.ts';

export interface LockOptions<T> {
  readonly key: string;
  /** The lock is the directory `<path>.lock`. */
  readonly path: string;
  readonly fs: FileSystem;
  readonly report: Report;
  /** A lock that was not renewed for so long belongs to a dead process. At least 2000. */
  readonly staleMilliseconds: number;
  /** How long to wait for others before building beside them. */
  readonly waitMilliseconds: number;
  /** The result, if someone has finished. */
  readonly ready: () => T | undefined;
}

type Attempt = { readonly kind: 'held' } | { readonly kind: 'taken'; readonly release: () => Promise<void> };
type AttemptNow = { readonly kind: 'held' } | { readonly kind: 'taken'; readonly release: () => void };
type LockSettings = Parameters<typeof properLockfile.lockSync>[1] & { readonly retries: number };

const firstPause = 10;
const longestPause = 100;
const fullCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

export async function withLock<T>(options: LockOptions<T>, build: () => Promise<T>): Promise<T> {
  const patience = new Patience(options.waitMilliseconds);
  for (;;) {
    const attempt = await tryLock(options);
    try {
      const finished = options.ready();
      if (finished !== undefined) return finished;
      if (attempt.kind === 'taken' || patience.isOver(options)) return await build();
    } finally {
      if (attempt.kind === 'taken') await attempt.release();
    }
    await sleep(patience.pause());
  }
}

/**
 * The same while the caller waits. The lock is not renewed meanwhile: after the stale time another process may build beside
 * this one.
 */
export function withLockNow<T>(options: LockOptions<T>, build: () => T): T {
  const patience = new Patience(options.waitMilliseconds);
  for (;;) {
    const attempt = tryLockNow(options);
    try {
      const finished = options.ready();
      if (finished !== undefined) return finished;
      if (attempt.kind === 'taken' || patience.isOver(options)) return build();
    } finally {
      if (attempt.kind === 'taken') attempt.release();
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, patience.pause());
  }
}

/**
 * Does what one process at a time is to do; undefined, and nothing done, where another is at it or no lock can be had. On a disk that is
 * full it is done without one: making room is what may be to do.
 */
export function tryAlone<T>(
  { fs, path, staleMilliseconds }: Pick<LockOptions<T>, 'fs' | 'path' | 'staleMilliseconds'>,
  action: () => T,
): T | undefined {
  const lock = `${path}.lock`;
  try {
    if (!makesLock(fs, lock) && !(breaksStale(fs, lock, staleMilliseconds) && makesLock(fs, lock))) return undefined;
  } catch (error) {
    return fullCodes.has(errorCode(error)) ? action() : undefined;
  }
  try {
    return action();
  } finally {
    releaseNow(fs, lock);
  }
}

/** How long to wait for others, in ever longer pauses. */
class Patience {
  readonly #deadline: number;
  #pause = firstPause;

  constructor(milliseconds: number) {
    this.#deadline = performance.now() + milliseconds;
  }

  pause(): number {
    const pause = this.#pause;
    this.#pause = Math.min(longestPause, pause * 1.5);
    return pause;
  }

  /** Whether to build without the lock, which is reported. */
  isOver({
    key,
    report,
    waitMilliseconds,
  }: Pick<LockOptions<unknown>, 'key' | 'report' | 'waitMilliseconds'>): boolean {
    if (performance.now() <= this.#deadline) return false;
    report(unlocked(key, `its lock was held for ${String(waitMilliseconds)} ms`));
    return true;
  }
}

const unlocked = (key: string, why: string): { kind: 'unlocked'; key: string; message: string } => ({
  kind: 'unlocked',
  key,
  message: `building ${key.slice(0, 16)} without a lock: ${why}`,
});

/** Takes the lock if it is free or stale. Where locking itself does not work, that counts as taken, and is reported. */
async function tryLock<T>(options: LockOptions<T>): Promise<Attempt> {
  // Loaded here, because those who only read never need it.
  const { lock } = (await import('proper-lockfile')).default;
  try {
    const release = await lock(options.path, lockSettings(options));
    // It may be lost meanwhile, which was reported; or it stays and becomes stale.
    return { kind: 'taken', release: () => release().catch(() => undefined) };
  } catch (error) {
    return failedAttempt(options, error) ?? { kind: 'taken', release: () => Promise.resolve() };
  }
}

/**
 * The same while the caller waits: the directory that the library makes, and that it takes for stale after the same time. The library
 * itself would take over the signals of this thread, which then ends at the next turn of the event loop: a loop that never comes to one
 * could not be interrupted any more.
 */
function tryLockNow<T>(options: LockOptions<T>): AttemptNow {
  const { fs, staleMilliseconds } = options;
  const lock = `${options.path}.lock`;
  try {
    if (!makesLock(fs, lock) && !(breaksStale(fs, lock, staleMilliseconds) && makesLock(fs, lock)))
      return { kind: 'held' };
  } catch (error) {
    tellOf(options, error);
    return { kind: 'taken', release: () => undefined };
  }
  const release = (): void => {
    releaseNow(fs, lock);
  };
  return { kind: 'taken', release };
}

function releaseNow(fs: FileSystem, lock: string): void {
  try {
    fs.rmdirSync(lock);
  } catch {
    // Another process has taken it over, or it stays and becomes stale.
  }
}

function makesLock(fs: FileSystem, lock: string): boolean {
  try {
    fs.mkdirSync(lock, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a lock that is stale, or has just been given up. */
function breaksStale(fs: FileSystem, lock: string, staleMilliseconds: number): boolean {
  try {
    if (Date.now() - fs.lstatSync(lock).mtimeMs < staleMilliseconds) return false;
    fs.rmdirSync(lock);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true;
    throw error;
  }
}

const tellOf = <T>({ key, report }: LockOptions<T>, error: unknown): void => {
  report(unlocked(key, String(error)));
};

/** Somebody has the lock; undefined, with a report, where locking itself does not work. */
function failedAttempt<T>(options: LockOptions<T>, error: unknown): { readonly kind: 'held' } | undefined {
  if (errorCode(error) === 'ELOCKED') return { kind: 'held' };
  tellOf(options, error);
  return undefined;
}

const lockSettings = <T>({ key, fs, staleMilliseconds, report }: LockOptions<T>): LockSettings => ({
  fs,
  realpath: false,
  stale: staleMilliseconds,
  update: staleMilliseconds / 4,
  retries: 0,
  onCompromised: (error: Error) => {
    report(unlocked(key, `its lock was lost: ${error.message}`));
  },
});
