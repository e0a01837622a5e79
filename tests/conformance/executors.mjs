// What runs the graphs of cases. An executor takes a batch of jobs ({ graph, inputs }) and gives for each a function that
// runs it, or the error that preparing it threw.
import { EagerExecutor } from '../../packages/tensor/dist/index.js';

/** The loop interpreter: the definition of every operator. */
function interpreter() {
  const executor = new EagerExecutor();
  return { batch: 1, prepare: (jobs) => jobs.map(({ graph, inputs }) => ({ run: () => executor.runGraph(graph, inputs) })), close: () => undefined };
}

/** Compiled C++: a batch of graphs is compiled together. */
async function cpp() {
  const { compileGraphs, closeCompiler } = await import('../../packages/compiler/dist/index.js');
  return {
    batch: 64,
    prepare: async (jobs) => {
      const compiled = await compileGraphs(jobs.map(({ graph }) => graph));
      return compiled.map((executable, position) =>
        executable instanceof Error || typeof executable.run !== 'function'
          ? { error: executable }
          : { run: () => executable.run(jobs[position].inputs) },
      );
    },
    close: () => closeCompiler?.(),
  };
}

export const backends = { interpreter, cpp };
