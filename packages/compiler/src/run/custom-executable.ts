// A graph that runs on a backend of the user's own: what the backend gives, with a report that says so.
import { printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import type { Executable } from './executable.ts';
import type { CustomBackend } from '../options.ts';
import type { PrepareRequest } from '../request.ts';

export function customExecutable(graph: Graph, backend: CustomBackend, { name, examples }: PrepareRequest): Executable {
  const run = backend(graph, examples);
  return {
    run: (inputs) => run(inputs),
    report: {
      runsOn: `the backend given for ${name}`,
      graph: printGraph(graph),
      loopNodes: 0,
      kernels: [],
      decisions: [],
    },
  };
}
