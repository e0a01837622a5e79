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
    doc: 'Keep a folder for each compilation with its graphs, loops, schedule and code.',
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
