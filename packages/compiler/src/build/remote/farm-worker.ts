// A machine that builds for others: it takes jobs from the queue, builds them with its own compiler into its own cache, and puts the
// result, signed, where those who wait will find it.
import { openRedis, serveFarm } from '@tsinductor/cache';
import type { FarmWorker } from '@tsinductor/cache';
import { withConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import type { Voice } from '../announcer.ts';
import { farmNeedsKey } from '../../errors.ts';
import { Session } from '../../session.ts';
import { compileHere } from '../compile-here.ts';
import { decodeJob } from './farm-job.ts';
import { remoteName } from './remote-artifacts.ts';
import { redisOptions } from './remote-options.ts';

interface FarmOptions {
  readonly voice: Voice;
  /** How many jobs are built at once. */
  readonly concurrency: number;
  /** Told of each job when it is over. */
  readonly report: (key: string, failure: Error | undefined) => void;
}

/**
 * Builds for others until it is closed.
 *
 * @throws UserError REMOTE_KEY without a key of its own; a ToolchainError where there is no compiler, no server or no bullmq
 * @example
 * const worker = await startFarmWorker(config, { voice, concurrency: 2, report: () => undefined });
 * await worker.close();
 */
export async function startFarmWorker(
  config: Config,
  { voice, concurrency, report }: FarmOptions,
): Promise<FarmWorker> {
  if (config.remoteCacheKey === null) throw farmNeedsKey();
  // It asks nobody else.
  const own = withConfig(config, { fxGraphRemoteCache: false, autotuneRemoteCache: false, compileFarm: false });
  const session = new Session(own, voice);
  const level = openRedis(redisOptions(config));
  const close = (): void => {
    level.close();
    session[Symbol.dispose]();
  };
  try {
    const worker = await serveFarm(redisOptions(config), level, {
      concurrency,
      report,
      warn: ({ message }) => {
        voice.warn('REMOTE_CACHE_AWAY', message);
      },
      nameOf: remoteName,
      build: builderOf(session, own),
    });
    return {
      close: async () => {
        await worker.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Builds a job into the own cache. Throws a ToolchainError where there is no compiler. */
function builderOf(session: Session, config: Config): Parameters<typeof serveFarm>[2]['build'] {
  const { toolchain } = session.requireNative();
  const artifacts = session.artifacts();
  return async (key, bytes) => {
    const job = decodeJob(bytes, key, { toolchain, cacheRoot: artifacts.place.directory, config });
    return await artifacts.buildFor(compileHere, job);
  };
}
