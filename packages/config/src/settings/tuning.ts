// Settings of tuning by measurement: `autotune()` of hand-written kernels.

export const tuning = {
  autotuneLocalCache: {
    type: 'bool',
    default: true,
    affects: 'runtime',
    doc: 'Keep what autotune() measured on disk, so that other processes need not measure it; otherwise each process measures.',
  },
  autotuneCacheDir: {
    type: 'string',
    default: null,
    nullable: true,
    env: ['CACHE_DIR', 'EJKERNEL_PERSISTENT_CACHE_DIR'],
    affects: 'runtime',
    doc: 'Directory of what autotune() measured; null is cacheDir. One that cannot be written to costs a warning, and is kept in memory.',
  },
  globalCacheDir: {
    type: 'string',
    default: null,
    nullable: true,
    affects: 'runtime',
    doc: 'Directory of what autotune() measured elsewhere, for a whole site: it is read before the own one, and never written to.',
  },
  flushAutotuneCache: {
    type: 'bool',
    default: false,
    env: ['FLUSH_PROFILE_CACHE'],
    affects: 'runtime',
    doc: 'Forget everything that autotune() measured before, once, when something is tuned first. Compiled code stays.',
  },
  unsafeIgnoreUnsupportedTritonAutotuneArgs: {
    type: 'bool',
    default: false,
    affects: 'runtime',
    doc: "Accept options of autotune() that only Triton's has, with a warning; otherwise they are an error.",
  },
} as const;
