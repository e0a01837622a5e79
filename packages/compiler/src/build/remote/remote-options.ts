// What the settings say of the remote cache. In: settings. Out: how to reach it, or that it is off.
import { openRedis } from '@tsinductor/cache';
import type { RedisOptions } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import { isTsInductorError } from '@tsinductor/base';

/** Whose kernels were measured: those of graphs, or hand-written ones. */
export type MeasuredKernels = 'graphs' | 'hand-written';

type Warn = (code: string, message: string) => void;

/** How the server is reached. */
export function redisOptions(config: Config): RedisOptions {
  const { redisUrl: url, redisHost: host, redisPort: port, remoteCacheTimeout: milliseconds } = config;
  const { remoteCacheKey: key, remoteCacheTrust: trust, cacheMaxDays } = config;
  const expirySeconds = cacheMaxDays === null ? null : cacheMaxDays * 86_400;
  return { url, host, port, milliseconds, key, trust, expirySeconds };
}

/** Whether graphs, or measurements, are shared at all. */
export const sharesGraphs = ({ fxGraphRemoteCache, forceDisableCaches }: Config): boolean =>
  fxGraphRemoteCache === true && !forceDisableCaches;
export const sharesMeasurements = (
  { autotuneRemoteCache, remoteGemmAutotuneCache, forceDisableCaches }: Config,
  of: MeasuredKernels,
): boolean => (autotuneRemoteCache === true || (of === 'graphs' && remoteGemmAutotuneCache)) && !forceDisableCaches;

/** Whether what the settings say of keys can be used; a warning says why not. */
export function hasKeys(options: RedisOptions, warn: Warn): boolean {
  if (options.key === null && options.trust.length === 0) {
    warn('REMOTE_KEY', 'the remote cache is not used: neither remoteCacheKey nor remoteCacheTrust names a key');
    return false;
  }
  try {
    openRedis(options).close();
    return true;
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    warn(error.code, `the remote cache is not used: ${error.message}`);
    return false;
  }
}
