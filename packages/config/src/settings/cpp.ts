// Settings of generated C++.

export const cpp = {
  'cpp.threads': {
    type: 'int',
    default: -1,
    min: -1,
    max: 1024,
    affects: 'code',
    doc: 'Threads that a compiled graph uses; -1 means one per usable core.',
  },
  'cpp.simdlen': {
    type: 'int',
    default: null,
    nullable: true,
    min: 1,
    max: 512,
    affects: 'code',
    doc: 'Vector width in bits: 512, 256 or 128 allow at most that width, 1 means scalar code, null the widest that runs.',
  },
  'cpp.cxx': {
    type: 'stringList',
    default: [],
    env: ['CXX'],
    affects: 'code',
    doc: 'C++ compilers to try first, in order; after them those that are usually there (g++, clang++, c++).',
  },
  'cpp.searchPath': {
    type: 'string',
    default: '/usr/bin:/bin',
    env: ['PATH'],
    affects: 'runtime',
    doc: 'Directories in which compilers named without a path are looked for, separated as in PATH.',
  },
  'cpp.maxHorizontalFusionSize': {
    type: 'int',
    default: 16,
    min: 1,
    env: ['TORCHINDUCTOR_CPP_MAX_HORIZONTAL_FUSION_SIZE'],
    affects: 'code',
    doc: 'Most nodes of a kernel that is joined only because its parts read the same or have the same loops.',
  },
  'cpp.minChunkSize': {
    type: 'int',
    default: 512,
    min: 1,
    env: ['TORCHINDUCTOR_CPP_MIN_CHUNK_SIZE'],
    affects: 'code',
    doc: 'Least work worth a thread, in elements of ordinary cost; smaller loops stay on the calling thread.',
  },
} as const;
