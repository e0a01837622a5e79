// A graph of primitives made ready to be interpreted. In: the graph, once; then inputs, whose sizes give the values of
// symbolic ones. Out: its outputs as new contiguous tensors. Writes to inputs are the caller's to carry out.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { optimize } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { evaluateIndex, ProgramInterpreter } from '@tsinductor/ir';
import type { BufferId, Index, LoopNode, LoopProgram } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { byteSize } from '../element-array.ts';
import type { ElementArray } from '../element-array.ts';
import { elementsOf, reach, rowMajorLayout } from '../layout.ts';
import { allocate } from '../storage.ts';
import { placedTensor, placeOf } from '../tensor.ts';
import type { LoopTier } from './loop-tier.ts';
import type { Tensor } from '../tensor.ts';

interface Output {
  readonly buffer: BufferId;
  readonly dtype: DType;
  readonly shape: readonly Index[];
}

type Sizes = ReadonlyMap<string, number>;

const noSizes: ReadonlyMap<string, number> = new Map();

export class GraphProgram {
  /** How much memory it keeps between runs, about, in elements. */
  readonly weight: number;
  readonly #sizes: Graph['sizes'];
  readonly #inputs: readonly BufferId[];
  readonly #outputs: readonly Output[];
  readonly #interpreter: ProgramInterpreter;

  /** Loops are interpreted, unless another way to run them is given. */
  constructor(graph: Graph, tier?: LoopTier) {
    const optimized = optimize(graph);
    const lowered = lowerGraph(optimized);
    const program = tier === undefined ? lowered : tier.prepare(lowered).program;
    this.weight = weightOf(program);
    this.#sizes = graph.sizes;
    this.#inputs = program.inputs;
    this.#outputs = optimized.outputs.map(({ node, result }, position) => {
      const { dtype, shape } = at(at(optimized.nodes, node).results, result);
      return { buffer: at(program.outputs, position), dtype, shape };
    });
    this.#interpreter = new ProgramInterpreter(program, tier);
  }

  run(inputs: readonly Tensor[]): readonly Tensor[] {
    const sizes: Sizes =
      this.#sizes.length === 0
        ? noSizes
        : new Map(this.#sizes.map(({ name, placeholder, axis }) => [name, at(at(inputs, placeholder).shape, axis)]));
    const buffers = new Map<BufferId, ElementArray>();
    this.#inputs.forEach((id, position) => {
      const tensor = at(inputs, position);
      const { storage, layout } = placeOf(tensor, 'an operator');
      buffers.set(id, storage.readHeld(tensor.dtype, layout.offset, reach(layout)));
    });
    const places = this.#outputs.map(({ buffer, dtype, shape }) => {
      const extents = shape.map((size) => (size.kind === 'int' ? size.value : evaluateIndex(size, { sizes })));
      const storage = allocate(byteSize(dtype, elementsOf(extents)), 'intermediate');
      buffers.set(buffer, storage.readHeld(dtype, 0, elementsOf(extents)));
      return { dtype, storage, layout: rowMajorLayout(extents) };
    });
    this.#interpreter.run({ buffers, sizes });
    return places.map(({ dtype, storage, layout }) => placedTensor(dtype, storage, layout));
  }
}

/** The interpreter keeps a chunk of up to this many values for every scalar operation. */
const chunk = 1024;

const weightOf = ({ nodes }: LoopProgram): number => nodes.reduce((weight, node) => weight + weightOfNode(node), 64);

function weightOfNode(node: LoopNode): number {
  const points = node.axes.reduce((count, { extent }) => count * (extent.kind === 'int' ? extent.value : chunk), 1);
  return operations(node) * Math.min(points, chunk);
}

function operations(node: LoopNode): number {
  switch (node.kind) {
    case 'map':
    case 'scatter':
      return node.body.nodes.length;
    case 'reduce':
    case 'scan':
      return node.step.nodes.length + node.finish.nodes.length;
    case 'contract':
    case 'sort':
      return 1;
  }
}
