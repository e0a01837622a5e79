// Settings of the artifact cache and of building: none of them changes what code is generated.

export const caching = {
  cacheDir: {
    type: 'string',
    default: '<user cache directory>/tsinductor',
    computed: 'cacheDirectory',
    env: ['TORCHINDUCTOR_CACHE_DIR'],
    affects: 'runtime',
    doc: 'Directory of compiled artifacts. It is created on demand, readable by its owner only.',
  },
  fxGraphCache: {
    type: 'bool',
    default: true,
    forceEnv: ['TORCHINDUCTOR_FX_GRAPH_CACHE'],
    aliasEnv: ['EASYDEL_CACHE_COMPILES'],
    defaultEnv: ['TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT'],
    affects: 'runtime',
    doc: 'Keep compiled graphs on disk, so that a second process starts without compiling.',
  },
  forceDisableCaches: {
    type: 'bool',
    default: false,
    env: ['TORCHINDUCTOR_FORCE_DISABLE_CACHES'],
    affects: 'runtime',
    doc: 'Use no compiler cache at all, whatever the other cache settings say.',
  },
  compileThreads: {
    type: 'int',
    default: 2,
    computed: 'usableCores',
    min: 1,
    max: 256,
    env: ['TORCHINDUCTOR_COMPILE_THREADS'],
    aliasEnv: ['NUM_BUILDERS'],
    affects: 'runtime',
    doc: 'How many compiler processes run at once; by default one per usable core, 32 at most.',
  },
} as const;
