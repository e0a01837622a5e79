// Settings of lowering and scheduling: what is inlined, stored and fused. All of them change the generated code.

export const lowering = {
  realizeReadsThreshold: {
    type: 'int',
    default: 4,
    min: 0,
    affects: 'code',
    doc: 'A value with several users that reads more buffers than this is stored instead of recomputed.',
  },
  realizeOpcountThreshold: {
    type: 'int',
    default: 30,
    min: 0,
    affects: 'code',
    doc: 'A value with several users that takes more operations than this is stored instead of recomputed.',
  },
  realizeAccReadsThreshold: {
    type: 'int',
    default: 8,
    min: 1,
    affects: 'code',
    doc: 'A single expression that has gathered reads of more buffers than this is stored, whoever uses it.',
  },
  realizeAccReadsSizeThreshold: {
    type: 'int',
    default: null,
    nullable: true,
    min: 0,
    affects: 'code',
    doc: 'A single expression that has gathered reads of more bytes than this is stored; null for no limit.',
  },
  maxPointwiseCatInputs: {
    type: 'int',
    default: 8,
    min: 0,
    affects: 'code',
    doc: 'Largest number of tensors that one step of a concatenation selects from; a longer one is joined in parts.',
  },
  emulatePrecisionCasts: {
    type: 'bool',
    default: false,
    env: ['TORCHINDUCTOR_EMULATE_PRECISION_CASTS'],
    affects: 'code',
    doc: 'Round every f16 and bf16 intermediate of a fused kernel, so that it is bit-equal to eager execution.',
  },
  epilogueFusion: {
    type: 'bool',
    default: true,
    affects: 'code',
    doc: 'Fuse pointwise work that follows a matrix product into the product.',
  },
  maxFusionSize: {
    type: 'int',
    default: 64,
    min: 1,
    affects: 'code',
    doc: 'Largest number of nodes in one fused kernel.',
  },
} as const;
