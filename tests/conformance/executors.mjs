// What runs the graphs of cases. An executor takes a batch of jobs ({ graph, inputs }) and gives for each a function that
// runs it, or the error that preparing it threw.
import { GraphProgram } from '@tsinductor/tensor';

/** The loop interpreter: the definition of every operator. */
function interpreter() {
  return {
    batch: 1,
    prepare: (jobs) => jobs.map(({ graph, inputs }) => ({ run: () => new GraphProgram(graph).run(inputs) })),
    close: () => undefined,
  };
}

/** Compiled C++: a batch of graphs is compiled together. Nothing here falls back to the interpreter. */
async function cpp() {
  const { compileGraphs, reset } = await import('@tsinductor/compiler');
  return {
    batch: 96,
    prepare: async (jobs) => {
      const compiled = await compileGraphs(jobs.map(({ graph }) => graph));
      return compiled.map((outcome, position) =>
        outcome.kind === 'failed'
          ? { error: outcome.error }
          : { run: () => outcome.executable.run(jobs[position].inputs) },
      );
    },
    close: () => reset(),
  };
}

export const backends = { interpreter, cpp };
