// Settings of profiling: what is timed while compiled graphs run, and who is told.

export const profiling = {
  profileBandwidth: {
    type: 'bool',
    default: false,
    env: ['TORCHINDUCTOR_PROFILE'],
    envText: 'anyIsTrue',
    affects: 'code',
    doc: 'Time every kernel of compiled graphs: a row for each, with what it moves and how near the limits of the machine, is printed when a graph first runs, and is in explain().',
  },
  profileBandwidthRegex: {
    type: 'string',
    default: null,
    nullable: true,
    syntax: 'regularExpression',
    env: ['TORCHINDUCTOR_PROFILE'],
    envText: 'oneIsNull',
    affects: 'diagnostics',
    doc: 'Kernels whose names match it are reported; null (in the variable: 1) reports all.',
  },
  profileBandwidthOutput: {
    type: 'string',
    default: null,
    nullable: true,
    env: ['TORCHINDUCTOR_PROFILE_OUTPUT'],
    affects: 'diagnostics',
    doc: 'File to which the rows that are printed are added.',
  },
  profilerMarkWrapperCall: {
    type: 'bool',
    default: false,
    affects: 'diagnostics',
    doc: 'Make a measure of the performance timeline for each call of a compiled graph, named after it.',
  },
  'cpp.enableKernelProfile': {
    type: 'bool',
    default: false,
    env: ['TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE'],
    affects: 'code',
    doc: 'Make a measure of the performance timeline for each call of a kernel, named after it.',
  },
} as const;
