// Settings of what is reported and kept for reading. None of them changes a result.

export const diagnostics = {
  debug: {
    type: 'bool',
    default: false,
    affects: 'diagnostics',
    doc: 'Report on stderr what each stage of the compiler decided.',
  },
  'trace.enabled': {
    type: 'bool',
    default: false,
    env: ['TORCH_COMPILE_DEBUG'],
    affects: 'diagnostics',
    doc: 'Keep a folder for each compiled graph with its graphs, loops, schedule, kernels and code.',
  },
  'trace.debugDir': {
    type: 'string',
    default: null,
    nullable: true,
    affects: 'diagnostics',
    doc: 'Where the folders of trace.enabled are made; null means a new directory among the temporary ones.',
  },
  verify: {
    type: 'bool',
    default: false,
    env: ['TSINDUCTOR_VERIFY'],
    affects: 'diagnostics',
    doc: 'Check the laws of what every stage of the compiler makes: graphs, loops, schedules, kernels. A broken one is an error that names the stage. Nothing is checked where assertIndirectIndexing is off.',
  },
  timeStages: {
    type: 'bool',
    default: false,
    env: ['TSINDUCTOR_TIME_STAGES'],
    affects: 'diagnostics',
    doc: 'Say in explain(), and in the folders of trace.enabled, how long each stage of the compiler took.',
  },
  torchLogs: {
    type: 'stringList',
    default: [],
    pattern: '^[+-]?[a-z][a-z0-9_.]*$',
    env: ['TORCH_LOGS'],
    affects: 'diagnostics',
    doc: "Logs to print on stderr, by torch's names (recompiles, guards, graph_breaks, fusion, output_code); + is more, - is less.",
  },
} as const;
