// Running a graph without native code: decomposed, lowered, and interpreted loop by loop. Exact and slow: what compiled
// functions fall back to on a machine without a compiler, and the backend `aot_eager`.
import { at, dtypeInfo } from '@tsinductor/base';
import { optimize, printGraph } from '@tsinductor/graph';
import { evaluateIndex, interpretProgram } from '@tsinductor/ir';
import type { BufferDecl, BufferId, LoopProgram } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { allocate, placedTensor, placeOf, reachOf, sendTo } from '@tsinductor/tensor/internal';
import type { Placement } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { TracedGraph } from '../request.ts';
import { writeBack } from './call-frame.ts';
import type { Executable } from './executable.ts';
import { sizesOfCall } from './plan.ts';

type Elements = Parameters<typeof interpretProgram>[1]['buffers'] extends ReadonlyMap<BufferId, infer E> ? E : never;

/** `runsOn` is what `explain` says of it. */
export function interpretedExecutable(
  { graph, primitives }: TracedGraph,
  runsOn: string,
  placement?: Placement,
): Executable {
  const program = lowerGraph(optimize(primitives));
  const declared = new Map(program.buffers.map((buffer) => [buffer.id, buffer]));
  const outputs = program.outputs.map((id) => declared.get(id)).filter((buffer) => buffer !== undefined);
  return {
    run: (inputs) => {
      const sizes = sizesOfCall(graph.sizes, inputs);
      const results = interpret(program, outputs, { inputs, sizes }).map((result, position) =>
        sendTo(result, placement?.outputs[position] ?? 'cpu'),
      );
      writeBack(graph, inputs, results);
      return results;
    },
    report: { runsOn, graph: printGraph(graph), loopNodes: program.nodes.length, kernels: [], decisions: [] },
  };
}

function interpret(
  program: LoopProgram,
  outputs: readonly BufferDecl[],
  { inputs, sizes }: { inputs: readonly Tensor[]; sizes: ReadonlyMap<string, number> },
): Tensor[] {
  const buffers = new Map<BufferId, Elements>();
  program.inputs.forEach((id, position) => {
    const tensor = at(inputs, position);
    const { storage, layout } = placeOf(tensor, 'a compiled call');
    buffers.set(id, storage.read(tensor.dtype, layout.offset, layout.offset + reachOf(tensor)));
  });
  const results = outputs.map(({ id, dtype, shape, strides, size }) => {
    const evaluate = (index: BufferDecl['size']): number => evaluateIndex(index, { sizes });
    const storage = allocate(evaluate(size) * dtypeInfo[dtype].bytes, 'durable');
    buffers.set(id, storage.elements(dtype));
    return placedTensor(dtype, storage, { shape: shape.map(evaluate), strides: strides.map(evaluate), offset: 0 });
  });
  interpretProgram(program, { buffers, sizes });
  return results;
}
