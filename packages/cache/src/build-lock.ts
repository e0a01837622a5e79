// One build per key among all processes, as far as that is possible. In: where the lock lies, how to see that someone else
// has finished, and the build. Out: the result of either.
//
// The lock only saves work; which result counts is decided by an atomic rename. So nothing here is fatal: where a lock
// cannot be had, or was waited for too long, or was lost, the build goes on without one, and an event says so. A holder
// that died is noticed when its lock has not been renewed for the stale time.
import { setTimeout as sleep } from 'node:timers/promises';
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

const firstPause = 10;
const longestPause = 100;

export async function withLock<T>(options: LockOptions<T>, build: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + options.waitMilliseconds;
  for (let pause = firstPause; ; pause = Math.min(longestPause, pause * 1.5)) {
    const attempt = await tryLock(options);
    const finished = options.ready();
    if (finished !== undefined) {
      if (attempt.kind === 'taken') await attempt.release();
      return finished;
    }
    if (attempt.kind === 'taken') {
      try {
        return await build();
      } finally {
        await attempt.release();
      }
    }
    if (performance.now() > deadline) {
      options.report(unlocked(options.key, `its lock was held for ${String(options.waitMilliseconds)} ms`));
      return build();
    }
    await sleep(pause);
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
    const release = await lock(options.path, {
      fs: options.fs,
      realpath: false,
      stale: options.staleMilliseconds,
      update: options.staleMilliseconds / 4,
      retries: 0,
      onCompromised: (error) => {
        options.report(unlocked(options.key, `its lock was lost: ${error.message}`));
      },
    });
    return {
      kind: 'taken',
      release: async () => {
        try {
          await release();
        } catch {
          // Lost meanwhile, which was reported; or it stays and becomes stale.
        }
      },
    };
  } catch (error) {
    if (errorCode(error) === 'ELOCKED') return { kind: 'held' };
    options.report(unlocked(options.key, String(error)));
    return { kind: 'taken', release: () => Promise.resolve() };
  }
}
