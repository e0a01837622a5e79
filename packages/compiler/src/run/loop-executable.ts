// Running a graph without native code: its loops one after another, as generated JavaScript or by the interpreter. In: a traced
// graph. Out: an executable.
//
// `generatedExecutable` is what compiled functions run by where there is no C++ compiler: values stand where they are read, as in
// native code, so a chain of operations on elements is one loop. `interpretedExecutable` is exact and slow: the backend `aot_eager`, and
// what runs where making code has failed.
import { at, dtypeInfo } from '@tsinductor/base';
import { optimize, printGraph } from '@tsinductor/graph';
import { evaluateIndex, ProgramInterpreter } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Decision, LoopExecutor, LoopProgram } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { allocate, defaultExecutor, placedTensor, placeOf, reachOf, sendTo } from '@tsinductor/tensor/internal';
import type { Placement } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { KernelReport } from '../report.ts';
import type { TracedGraph } from '../request.ts';
import { writeBack } from './call-frame.ts';
import type { Executable } from './executable.ts';
import { sizesOfCall } from './plan.ts';

type Elements = Parameters<ProgramInterpreter['run']>[0]['buffers'] extends ReadonlyMap<BufferId, infer E> ? E : never;

interface Running {
  /** What `explain` says of it. */
  readonly runsOn: string;
  readonly placement?: Placement | undefined;
}

/** By the interpreter. */
export const interpretedExecutable = (traced: TracedGraph, running: Running): Executable =>
  executableOf(traced, { program: lowered(traced), decisions: [] }, running);

/** By generated JavaScript; what is too small to pay for it is interpreted. */
export function generatedExecutable(traced: TracedGraph, running: Running): Executable {
  const program = lowered(traced);
  const executor = defaultExecutor().loops;
  const inlined = executor?.prepare(program) ?? { program, decisions: [] };
  const executable = executableOf(traced, { ...inlined, executor }, running);
  const kernels = kernelsOf(inlined.program);
  return { ...executable, report: { ...executable.report, loopNodes: program.nodes.length, kernels } };
}

/** Each loop is a kernel of its own, named after what it writes. */
function kernelsOf({ nodes, buffers }: LoopProgram): readonly KernelReport[] {
  const names = new Map(buffers.map(({ id, name }) => [id, name]));
  return nodes.map(({ kind, outs, origins }) => {
    const ops = [...new Set(origins.map(({ op }) => op))].join(', ');
    return { name: outs.map((out) => names.get(out)).join(', '), description: `${kind} of ${ops}` };
  });
}

const lowered = ({ primitives }: TracedGraph): LoopProgram => lowerGraph(optimize(primitives));

interface Loops {
  readonly program: LoopProgram;
  readonly decisions: readonly Decision[];
  readonly executor?: LoopExecutor | undefined;
}

function executableOf(
  { graph }: TracedGraph,
  { program, decisions, executor }: Loops,
  { runsOn, placement }: Running,
): Executable {
  const declared = new Map(program.buffers.map((buffer) => [buffer.id, buffer]));
  const outputs = program.outputs.map((id) => declared.get(id)).filter((buffer) => buffer !== undefined);
  const interpreter = new ProgramInterpreter(program, executor);
  return {
    run: (inputs) => {
      const sizes = sizesOfCall(graph.sizes, inputs);
      const buffers = inputBuffers(program, inputs);
      const results = outputs.map((output) => outputOf(output, buffers, sizes));
      interpreter.run({ buffers, sizes });
      const placed = results.map((result, position) => sendTo(result, placement?.outputs[position] ?? 'cpu'));
      writeBack(graph, inputs, placed);
      return placed;
    },
    report: { runsOn, graph: printGraph(graph), loopNodes: program.nodes.length, kernels: [], decisions },
  };
}

/** Where the elements of the inputs lie. */
function inputBuffers(program: LoopProgram, inputs: readonly Tensor[]): Map<BufferId, Elements> {
  const buffers = new Map<BufferId, Elements>();
  program.inputs.forEach((id, position) => {
    const tensor = at(inputs, position);
    const { storage, layout } = placeOf(tensor, 'a compiled call');
    buffers.set(id, storage.read(tensor.dtype, layout.offset, layout.offset + reachOf(tensor)));
  });
  return buffers;
}

/** A new tensor for an output, whose memory is the buffer. */
function outputOf(
  { id, dtype, shape, strides, size }: BufferDecl,
  buffers: Map<BufferId, Elements>,
  sizes: ReadonlyMap<string, number>,
): Tensor {
  const evaluate = (index: BufferDecl['size']): number => evaluateIndex(index, { sizes });
  const storage = allocate(evaluate(size) * dtypeInfo[dtype].bytes, 'durable');
  buffers.set(id, storage.elements(dtype));
  return placedTensor(dtype, storage, { shape: shape.map(evaluate), strides: strides.map(evaluate), offset: 0 });
}
