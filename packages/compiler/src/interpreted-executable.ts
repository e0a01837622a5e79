// Running a graph without native code: decomposed, lowered, and interpreted loop by loop. Exact and slow: what compiled
// functions fall back to on a machine without a compiler, and the backend `aot_eager`.
import type { Graph } from '@tsinductor/graph';
import { optimize, printGraph } from '@tsinductor/graph';
import { lowerGraph } from '@tsinductor/lowering';
import { runProgram, writeInto } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { at } from '@tsinductor/base';
import type { Executable } from './executable.ts';

/** `runsOn` is what `explain` says of it. */
export function interpretedExecutable(graph: Graph, runsOn: string): Executable {
  const program = lowerGraph(optimize(graph));
  return {
    run: (inputs) => {
      const sizes = new Map<string, number>();
      for (const { name, placeholder, axis } of graph.sizes) sizes.set(name, at(at(inputs, placeholder).shape, axis));
      const outputs: Tensor[] = runProgram(program, inputs, sizes);
      for (const { placeholder, output } of graph.mutations) writeInto(at(inputs, placeholder), at(outputs, output));
      return outputs;
    },
    report: { runsOn, graph: printGraph(graph), loopNodes: program.nodes.length, kernels: [], decisions: [] },
  };
}
