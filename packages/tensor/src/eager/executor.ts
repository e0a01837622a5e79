// Eager execution: an operator on tensors that exist. The call becomes a graph of one operator, which is expanded,
// optimised, lowered and interpreted; views only make a new layout. So eager results are what the loop interpreter says,
// and need no compiler.
//
// Plans are memoised by operator, attributes and metas of the arguments: a repeated call only interprets.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { decompose, optimize, SizeEnvironment } from '@tsinductor/graph';
import type { Graph, Meta } from '@tsinductor/graph';
import { int, ProgramInterpreter } from '@tsinductor/ir';
import type { BufferId } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { LRUCache } from 'lru-cache';
import { expandCall, findAliases, mayAlias } from '../alias.ts';
import type { BoundCall } from '../bound-call.ts';
import { byteSize } from '../element-array.ts';
import type { ElementArray } from '../element-array.ts';
import { elementsOf, rowMajorLayout } from '../layout.ts';
import type { Layout } from '../layout.ts';
import { allocate } from '../storage.ts';
import { placedTensor, placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';

/** How one result comes about. */
type PlannedResult =
  | { readonly kind: 'view'; readonly input: number; readonly layout: Layout }
  | { readonly kind: 'computed'; readonly output: number };

interface Plan {
  readonly results: readonly PlannedResult[];
  /** Fills the computed results; undefined where all are views. */
  readonly program: Prepared | undefined;
  readonly computed: readonly { readonly buffer: BufferId; readonly dtype: DType; readonly shape: readonly number[] }[];
}

interface Prepared {
  readonly inputs: readonly BufferId[];
  readonly interpreter: ProgramInterpreter;
}

const noSizes: ReadonlyMap<string, number> = new Map();

export class EagerExecutor {
  readonly #plans: LRUCache<string, Plan>;

  constructor(options: { readonly maximumPlans?: number } = {}) {
    this.#plans = new LRUCache({ max: options.maximumPlans ?? 2048 });
  }

  run(call: BoundCall): readonly Tensor[] {
    const key = keyOf(call);
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = makePlan(call);
      this.#plans.set(key, plan);
    }
    return execute(plan, call.tensors);
  }

  /** Runs a graph of primitives and composites on its inputs: what `compile` with an eager backend does. */
  runGraph(graph: Graph, inputs: readonly Tensor[]): readonly Tensor[] {
    return execute(planComputed(decompose(graph)), inputs);
  }
}

function keyOf({ operator, args, attrs, tensors }: BoundCall): string {
  let key = `${operator.name} ${JSON.stringify(args)} ${JSON.stringify(attrs)}`;
  for (const { dtype, shape, strides } of tensors) key += ` ${dtype}[${shape.join()}][${strides.join()}]`;
  return key;
}

export const metaOf = ({ dtype, shape, strides }: Tensor): Meta => ({
  dtype,
  shape: shape.map(int),
  strides: strides.map(int),
});

function makePlan(call: BoundCall): Plan {
  const sizes = new SizeEnvironment();
  const graph = expandCall(call, call.tensors.map(metaOf), sizes);
  const aliases = mayAlias(call.operator) ? findAliases(graph, sizes) : [];
  const computed: number[] = [];
  const results = graph.outputs.map((_, position): PlannedResult => {
    const alias = aliases[position];
    if (alias !== undefined) return { kind: 'view', input: alias.input, layout: numericLayout(alias.layout) };
    return { kind: 'computed', output: computed.push(position) - 1 };
  });
  if (computed.length === 0) return { results, program: undefined, computed: [] };
  const wanted = { ...graph, outputs: computed.map((position) => at(graph.outputs, position)) };
  return { ...planComputed(wanted), results };
}

function planComputed(graph: Graph): Plan {
  const optimized = optimize(graph);
  const program = lowerGraph(optimized);
  const computed = optimized.outputs.map(({ node, result }, position) => {
    const { dtype, shape } = at(at(optimized.nodes, node).results, result);
    return { buffer: at(program.outputs, position), dtype, shape: numbers(shape) };
  });
  const prepared = { inputs: program.inputs, interpreter: new ProgramInterpreter(program) };
  return { program: prepared, computed, results: computed.map((_, output) => ({ kind: 'computed', output })) };
}

const numbers = (sizes: Meta['shape']): readonly number[] => {
  const environment = new SizeEnvironment();
  return sizes.map((size) => environment.hint(size));
};

const numericLayout = ({
  shape,
  strides,
  offset,
}: {
  shape: Meta['shape'];
  strides: Meta['shape'];
  offset: Meta['shape'][number];
}): Layout => ({
  shape: numbers(shape),
  strides: numbers(strides),
  offset: at(numbers([offset]), 0),
});

function execute({ results, program, computed }: Plan, tensors: readonly Tensor[]): readonly Tensor[] {
  const made = program === undefined ? [] : interpret(program, computed, tensors);
  return results.map((result) => {
    if (result.kind === 'computed') return at(made, result.output);
    const input = at(tensors, result.input);
    const { storage, layout } = placeOf(input, 'a view');
    const { shape, strides, offset } = result.layout;
    return placedTensor(input.dtype, storage, { shape, strides, offset: layout.offset + offset });
  });
}

function interpret(
  { inputs, interpreter }: Prepared,
  computed: Plan['computed'],
  tensors: readonly Tensor[],
): readonly Tensor[] {
  const buffers = new Map<BufferId, ElementArray>();
  inputs.forEach((id, position) => {
    const tensor = at(tensors, position);
    const { storage, layout } = placeOf(tensor, 'an operator');
    buffers.set(id, storage.elements(tensor.dtype, layout.offset));
  });
  const results = computed.map(({ buffer, dtype, shape }) => {
    const storage = allocate(byteSize(dtype, elementsOf(shape)), 'intermediate');
    buffers.set(buffer, storage.elements(dtype));
    return placedTensor(dtype, storage, rowMajorLayout(shape));
  });
  interpreter.run({ buffers, sizes: noSizes });
  return results;
}
