// A graph that runs on a backend of the user's own: what the backend gives, with a report that says so. Arguments that the graph
// changes get those of its outputs that `mutations` names.
import { printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { twinOf } from '@tsinductor/tensor/internal';
import { writeBack } from './call-frame.ts';
import type { Executable } from './executable.ts';
import type { CustomBackend } from '../options.ts';
import type { PrepareRequest } from '../request.ts';

export function customExecutable(graph: Graph, backend: CustomBackend, { name, examples }: PrepareRequest): Executable {
  const run = backend(graph, examples);
  return {
    run: (inputs) => {
      const results = [...run(inputs)];
      writeBack(graph, inputs, results);
      // One that writes to an argument itself gives that: what stands for a new value is disposed, and the argument is the caller's.
      return results.map((result) => (inputs.includes(result) ? twinOf(result) : result));
    },
    report: {
      runsOn: `the backend given for ${name}`,
      graph: printGraph(graph),
      loopNodes: 0,
      kernels: [],
      decisions: [],
    },
  };
}
