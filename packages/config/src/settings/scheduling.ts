// Settings of the scheduler: what shares a kernel, in which order loops run, what kernels are called.

export const scheduling = {
  aggressiveFusion: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Let independent pointwise results of equal shape share a loop, though they read nothing in common.',
  },
  scoreFusionMemoryThreshold: {
    type: 'int',
    default: 10,
    min: 0,
    affects: 'code',
    doc: 'Bytes that two independent kernels of equal loops must read in common to become one; 0 joins those that share a scalar.',
  },
  maxFusionBufferGroupPairwiseAttempts: {
    type: 'int',
    default: 64,
    min: 1,
    affects: 'code',
    doc: 'How many later readers of a buffer each of its readers is paired with, so that much-used buffers stay cheap to schedule.',
  },
  maxFusionUniqueIoBuffers: {
    type: 'int',
    default: null,
    nullable: true,
    min: 1,
    affects: 'code',
    doc: 'Most buffers that a fused kernel may read and write; null for no limit.',
  },
  comboKernels: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Put independent small groups into one kernel, whatever they compute; those that compute the same share one anyway.',
  },
  comboKernelAllowMixedSizes: {
    type: 'int',
    default: 1,
    min: 0,
    max: 2,
    affects: 'code',
    doc: 'Whether groups of different sizes may share a combined kernel: 0 never, 1 those that compute the same, 2 all.',
  },
  comboKernelMaxNumArgs: {
    type: 'int',
    default: 250,
    min: 1,
    affects: 'code',
    doc: 'Most buffers that a combined kernel takes; a larger combination is divided.',
  },
  pickLoopOrders: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Choose the order of loops by the strides of what a kernel reads and writes; otherwise it is that of its results.',
  },
  loopOrderingAfterFusion: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Reorder the loops of a kernel where that lets it share those of another.',
  },
  loopIndexInversionInFusion: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Split and merge the loops of a kernel, inverting its index expressions, where that lets it share those of another.',
  },
  kernelNameMaxOps: {
    type: 'int',
    default: 10,
    min: 1,
    affects: 'code',
    doc: 'Most operators that the name of a kernel lists.',
  },
  dce: {
    type: 'bool',
    default: false,
    affects: 'code',
    doc: 'Drop loops whose results nobody reads before fusion.',
  },
} as const;
