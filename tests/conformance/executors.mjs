// What runs the graphs of cases. An executor takes a batch of jobs ({ graph, inputs }) and gives for each a function that
// runs it, or the error that preparing it threw.
import { GraphProgram, LoopTier } from '@tsinductor/tensor/internal';
import { difference } from './compare.mjs';

/** The loop interpreter: the definition of every operator. */
function interpreter() {
  return {
    batch: 1,
    prepare: (jobs) => jobs.map(({ graph, inputs }) => ({ run: () => new GraphProgram(graph).run(inputs) })),
    close: () => undefined,
  };
}

/** Generated JavaScript, as eager mode runs it, for loops of any size: its bits must be those of the interpreter. */
function javascript() {
  const tier = new LoopTier({ leastPoints: 0 });
  const run = (graph, inputs) => {
    const wanted = new GraphProgram(graph).run(inputs);
    const found = new GraphProgram(graph, tier).run(inputs);
    wanted.forEach((tensor, position) => {
      const index = differentElement(tensor.toTypedArray(), found[position].toTypedArray());
      if (index !== undefined) throw new Error(`output ${position}[${index}] is not what the interpreter gives`);
    });
    return found;
  };
  return {
    batch: 1,
    prepare: (jobs) => jobs.map(({ graph, inputs }) => ({ run: () => run(graph, inputs) })),
    close: () => undefined,
  };
}

/** The first element with other bits; any NaN is like any other. */
function differentElement(wanted, found) {
  for (let index = 0; index < wanted.length; index += 1) if (!Object.is(wanted[index], found[index])) return index;
  return undefined;
}

/** Compiled C++: a batch of graphs is compiled together. Nothing here falls back to the interpreter. */
async function cpp() {
  const { cppBackend } = await import('@tsinductor/compiler');
  return compiled(cppBackend);
}

/** CUDA kernels, run on the host by the emulation of CUDA, in both orders of threads. */
async function cudaEmulated() {
  const { emulatedCudaBackend } = await import('@tsinductor/compiler');
  return compiled(emulatedCudaBackend('sm_80'));
}

/** CUDA kernels on the first device of this machine. */
async function cuda() {
  const { compileCudaGraphs } = await import('@tsinductor/compiler');
  return batched(compileCudaGraphs);
}

async function compiled(backend) {
  const { compileGraphs, defaultSession } = await import('@tsinductor/compiler');
  return batched((graphs) => compileGraphs(graphs, defaultSession(), backend));
}

async function batched(compile) {
  const { reset } = await import('@tsinductor/compiler');
  return {
    batch: 96,
    prepare: async (jobs) => {
      const compiled = await compile(jobs.map(({ graph }) => graph));
      return compiled.map((outcome, position) =>
        outcome.kind === 'failed'
          ? { error: outcome.error }
          : { run: () => outcome.executable.run(jobs[position].inputs) },
      );
    },
    /** For segments of cases that are no single graph. */
    compile,
    close: () => reset(),
  };
}

/**
 * Compiled C++, once for every candidate that max-autotune has for the kernels of a graph. For each job a list of runs, of which
 * each throws where its results are not what the interpreter gives.
 */
export async function cppCandidates() {
  const { compileCandidates, reset } = await import('@tsinductor/compiler');
  const compared = (executable, { graph, inputs, tolerance }) => {
    // First, as a call may write to its inputs: the state of random numbers.
    const wanted = new GraphProgram(graph).run(inputs);
    const outputs = executable.run(inputs);
    wanted.forEach((tensor, position) => {
      const why = difference(outputs[position], tensor, tolerance);
      if (why !== undefined) throw new Error(`output ${position} beside the interpreter: ${why}`);
    });
    return outputs;
  };
  const runOf = (outcome, job) =>
    outcome.kind === 'failed' ? { error: outcome.error } : { run: () => compared(outcome.executable, job) };
  return {
    batch: 16,
    prepare: async (jobs) => {
      const compiled = await compileCandidates(jobs.map(({ graph }) => graph));
      return compiled.map((candidates, position) => candidates.map((one) => runOf(one, jobs[position])));
    },
    close: () => reset(),
  };
}

export const backends = { interpreter, javascript, cpp, 'cuda-emulated': cudaEmulated, cuda };
