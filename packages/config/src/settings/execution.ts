// Settings of compiled functions: when they are compiled again, what they check, what happens where compiling fails.

export const execution = {
  sizeAsserts: {
    type: 'bool',
    default: true,
    env: ['TORCHINDUCTOR_SIZE_ASSERTS'],
    affects: 'runtime',
    doc: 'Check sizes and strides of the buffers that a compiled graph is given before it runs.',
  },
  implicitFallbacks: {
    type: 'bool',
    default: true,
    affects: 'runtime',
    doc: 'Run ops without a lowering by their own functions, between kernels; otherwise compiling them is an error.',
  },
  suppressErrors: {
    type: 'bool',
    default: null,
    nullable: true,
    env: ['TORCHDYNAMO_SUPPRESS_ERRORS'],
    affects: 'runtime',
    doc: 'What happens where compiling fails: the lower tier runs the graph, with a warning (true), it is an error (false), or the former where the C++ compiler of this machine failed, and the latter otherwise (null).',
  },
  compileTimeout: {
    type: 'int',
    default: 600,
    min: 1,
    max: 86_400,
    affects: 'runtime',
    doc: 'Seconds that building one graph may take in all, compilers, locks and queues included, before it is an error.',
  },
  background: {
    type: 'bool',
    default: false,
    env: ['TSINDUCTOR_BACKGROUND'],
    affects: 'runtime',
    doc: 'Let no call of a compiled function wait for a compiler: a lower tier answers until worker threads have built the native code. A build that fails is a warning there, and an error where it is waited for (warmup), unless suppressErrors is on.',
  },
  dynamic: {
    type: 'bool',
    default: null,
    nullable: true,
    affects: 'runtime',
    doc: 'Make sizes symbolic: always (true), never (false), or those axes that were seen with two sizes (null).',
  },
  verifyCaptures: {
    type: 'bool',
    default: true,
    computed: 'isDevelopment',
    affects: 'runtime',
    doc: 'At a sample of calls, look whether variables that a function closes over, and that can change, are what they were when it was traced; a difference is an error that names the variable. On unless NODE_ENV is production.',
  },
  recompileLimit: {
    type: 'int',
    default: 8,
    min: 1,
    affects: 'runtime',
    doc: 'How many forms of one function (of one method, per object) are compiled; calls that fit none of them run eagerly from then on, with a warning.',
  },
  accumulatedRecompileLimit: {
    type: 'int',
    default: 256,
    min: 1,
    affects: 'runtime',
    doc: 'The same limit over all forms of one function or method, whatever object it was called on.',
  },
} as const;
