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
  comprehensivePadding: {
    type: 'bool',
    default: true,
    env: ['TORCHINDUCTOR_COMPREHENSIVE_PADDING'],
    affects: 'code',
    doc: 'Give temporaries that kernels pass on rows that begin at multiples of paddingAlignmentBytes; on CPUs see disablePaddingCpu.',
  },
  disablePaddingCpu: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Keep the rows of tensors on the CPU dense, whatever comprehensivePadding says.',
  },
  paddingAlignmentBytes: {
    type: 'int',
    default: 128,
    min: 1,
    max: 65_536,
    affects: 'code',
    doc: 'Bytes of which the distance between padded rows is a multiple.',
  },
  paddingStrideThreshold: {
    type: 'int',
    default: 1024,
    min: 0,
    affects: 'code',
    doc: 'Rows that are at most so many elements apart are never padded.',
  },
  padDynamicShapes: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Pad rows of symbolic length as well, to a length that is rounded up at each call.',
  },
  padOutputs: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Pad results as well: what a compiled function returns then has other strides than eager execution gives.',
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
