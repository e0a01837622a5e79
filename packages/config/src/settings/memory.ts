// Settings of where temporaries live, and in which order kernels run for the sake of it.

export const memory = {
  inplaceBuffers: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Let a kernel write a result over one of its inputs that nobody reads later.',
  },
  allowBufferReuse: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Let a temporary take the place of another one that is dead.',
  },
  memoryPlanning: {
    type: 'bool',
    default: false,
    env: ['TORCHINDUCTOR_MEMORY_PLANNING'],
    affects: 'code',
    doc: 'Choose the places of all temporaries together, from their sizes and lifetimes, instead of one after another.',
  },
  memoryPool: {
    type: 'choice',
    values: ['none', 'intermediates', 'outputs', 'combined'],
    default: 'intermediates',
    env: ['TORCHINDUCTOR_MEMORY_POOL'],
    affects: 'code',
    doc: 'With memoryPlanning: none only reuses places of the same size, intermediates packs temporaries into one pool, outputs lets them lie in results that are not written yet, combined does both.',
  },
  reorderForPeakMemory: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Run kernels in an order that lowers the most memory that temporaries take at a time.',
  },
  sizeThresholdForSuccBasedStrategy: {
    type: 'int',
    default: 0,
    min: 0,
    affects: 'code',
    doc: 'Where every kernel that could run next makes more bytes than this, run the one whose readers come first; 0 never.',
  },
} as const;
