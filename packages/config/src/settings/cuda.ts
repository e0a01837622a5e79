// Settings of CUDA: which toolkit compiles, for which architecture, and which driver runs it.

export const cuda = {
  'cuda.cudaCxx': {
    type: 'string',
    default: null,
    nullable: true,
    env: ['CUDACXX'],
    affects: 'code',
    doc: 'The CUDA compiler: an nvcc, or the directory of a toolkit. null looks in cuda.home, cuda.path, PATH and cuda.installed.',
  },
  'cuda.home': {
    type: 'string',
    default: null,
    nullable: true,
    env: ['CUDA_HOME'],
    affects: 'code',
    doc: 'Directory of a CUDA toolkit that is tried after cuda.cudaCxx.',
  },
  'cuda.path': {
    type: 'string',
    default: null,
    nullable: true,
    env: ['CUDA_PATH'],
    affects: 'code',
    doc: 'Directory of a CUDA toolkit that is tried after cuda.home.',
  },
  'cuda.installed': {
    type: 'string',
    default: '/usr/local:/opt',
    affects: 'code',
    doc: 'Directories in which toolkits are looked for last, as cuda and cuda-*, the newest first; separated as in PATH.',
  },
  'cuda.arch': {
    type: 'choice',
    default: null,
    nullable: true,
    values: ['80', '90a'],
    affects: 'code',
    doc: 'Compute architecture that CUDA code is made for; null takes the one that suits the device.',
  },
  'cuda.driver': {
    type: 'string',
    default: 'libcuda.so.1',
    env: ['TSINDUCTOR_CUDA_DRIVER'],
    affects: 'runtime',
    doc: 'The library of the CUDA driver: a name that the loader finds, or a path.',
  },
} as const;
