// The cache that compiled functions use under these settings.
import { tmpdir } from 'node:os';
import { graphNamespace, openStore } from '@tsinductor/cache';
import type { ArtifactStore, CollectOptions } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';

/** Under what settings a command looks into the cache, and how it says what is odd. */
export interface CacheUser {
  readonly config: Config;
  readonly warn: (message: string) => void;
}

const day = 86_400_000;

/** Where compiled graphs are kept. */
export const graphRoot = ({ cacheDir, compiledFunctionsDir }: Config): string => compiledFunctionsDir ?? cacheDir;

/** Opens the store that compiled functions use. */
export const openGraphStore = ({ config, warn }: CacheUser): ArtifactStore =>
  openStore({
    root: graphRoot(config),
    namespace: graphNamespace,
    temporaryDirectory: tmpdir(),
    report: ({ message }) => {
      warn(message);
    },
  });

/** The bounds of the cache that lies at `root`. */
export const boundsOf = (
  { cacheMaxBytes, cacheMaxDays, cacheDir, autotuneCacheDir }: Config,
  root: string,
): CollectOptions => ({
  root,
  temporaryDirectory: tmpdir(),
  limits: { bytes: cacheMaxBytes, milliseconds: cacheMaxDays === null ? null : cacheMaxDays * day },
  recordRoots: [autotuneCacheDir ?? cacheDir],
});
