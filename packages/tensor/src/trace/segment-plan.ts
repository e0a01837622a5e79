// What a segment computes. In: its graph, the memories that tensors were recorded over, and which of them the program
// needs now. Out: the memories that become outputs, those that wait, and what has to be kept for these.
//
// A segment ends while the program runs on, so what it will need is not known. Computed are: what is needed; what
// nothing in the segment has used yet; whatever is costly (reductions, products, gathers), since it is stored anyway; and
// what an earlier segment left out and this one needed. What waits is cheap arithmetic over these. If it is needed after
// all, a later segment computes it once more, this time for good: so nothing is computed more than twice.
import { at } from '@tsinductor/base';
import { GraphBuilder, operatorFor } from '@tsinductor/graph';
import type { Graph, GraphNode, SizeEnvironment, ValueRef } from '@tsinductor/graph';
import { argumentsOf, keyOf } from './ended-segment.ts';

/** A memory that the function made, at its place in the order of making. */
export interface SegmentValue {
  readonly ref: ValueRef;
  /** Some tensor over it is not disposed. */
  readonly isAlive: boolean;
  readonly isWanted: boolean;
  /** An earlier segment left it out. */
  readonly isCarried: boolean;
}

export interface SegmentParts {
  readonly graph: Graph;
  readonly sizes: SizeEnvironment;
  readonly values: readonly SegmentValue[];
  /** Positions of placeholders whose memory changes behind the segment's back: by its own writes, or by the program. */
  readonly unsteady: ReadonlySet<number>;
  /** The function has returned. */
  readonly isLast: boolean;
}

/** Positions in `values`, and of placeholders. */
export interface SegmentChoice {
  readonly outputs: readonly number[];
  readonly waiting: readonly number[];
  readonly keptOutputs: readonly number[];
  readonly keptInputs: readonly number[];
}

export function chooseOutputs(parts: SegmentParts): SegmentChoice {
  const { values, graph, isLast } = parts;
  const used = new Set(graph.nodes.flatMap((node) => argumentsOf(node).map(keyOf)));
  const isOutput = ({ isAlive, isWanted, isCarried, ref }: SegmentValue): boolean =>
    isWanted || (isAlive && !isLast && (isCarried || !used.has(keyOf(ref)) || isCostly(parts, ref)));
  const outputs = new Set(values.flatMap((value, position) => (isOutput(value) ? [position] : [])));
  const waiting = values.flatMap(({ isAlive }, position) => (isAlive && !outputs.has(position) ? [position] : []));
  const computed = new Map([...outputs].map((position) => [keyOf(at(values, position).ref), position]));
  const steady = isLast
    ? waiting
    : waiting.filter((position) => {
        const { inputs } = madeOf(graph, at(values, position).ref, computed);
        if (![...inputs].some((input) => parts.unsteady.has(input))) return true;
        outputs.add(position);
        computed.set(keyOf(at(values, position).ref), position);
        return false;
      });
  const kept = madeOfAll(
    graph,
    steady.map((position) => at(values, position).ref),
    computed,
  );
  const ascending = (positions: Iterable<number>): number[] => [...positions].sort((a, b) => a - b);
  return {
    outputs: ascending(outputs),
    waiting: steady,
    keptOutputs: ascending(kept.outputs),
    keptInputs: ascending(kept.inputs),
  };
}

interface Ingredients {
  readonly inputs: ReadonlySet<number>;
  readonly outputs: ReadonlySet<number>;
}

const madeOf = (graph: Graph, ref: ValueRef, computed: ReadonlyMap<string, number>): Ingredients =>
  madeOfAll(graph, [ref], computed);

/** Placeholders and outputs that values are made of; inputs that bind symbolic sizes belong to every value. */
function madeOfAll(graph: Graph, refs: readonly ValueRef[], computed: ReadonlyMap<string, number>): Ingredients {
  const placeholders = new Map(
    graph.nodes.filter(({ kind }) => kind === 'placeholder').map(({ id }, position) => [id, position]),
  );
  const inputs = new Set(refs.length === 0 ? [] : graph.sizes.map(({ placeholder }) => placeholder));
  const outputs = new Set<number>();
  const seen = new Set<number>();
  const open = [...refs];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const output = computed.get(keyOf(next));
    const placeholder = placeholders.get(next.node);
    if (output !== undefined) outputs.add(output);
    else if (placeholder !== undefined) inputs.add(placeholder);
    else if (!seen.has(next.node)) {
      seen.add(next.node);
      open.push(...argumentsOf(at(graph.nodes, next.node)));
    }
  }
  return { inputs, outputs };
}

const cheapKinds: readonly string[] = ['pointwise', 'view', 'creation'];

/** Whether computing a value again would cost more than loading what it is made of. */
function isCostly({ graph, sizes }: SegmentParts, ref: ValueRef): boolean {
  const node = at(graph.nodes, ref.node);
  if (node.kind !== 'call' || cheapKinds.includes(operatorFor(node.target, node.attrs).kind)) return false;
  return primitivesOf(graph, node, sizes).some(
    (primitive) =>
      primitive.kind === 'call' && !cheapKinds.includes(operatorFor(primitive.target, primitive.attrs).kind),
  );
}

/** A call alone, in primitives. */
function primitivesOf(
  graph: Graph,
  node: GraphNode & { readonly kind: 'call' },
  sizes: SizeEnvironment,
): readonly GraphNode[] {
  const builder = new GraphBuilder({ expand: true, sizes });
  const inputs = new Map<string, ValueRef>();
  const inputFor = (ref: ValueRef): ValueRef => {
    const known = inputs.get(keyOf(ref)) ?? builder.placeholder('x', at(at(graph.nodes, ref.node).results, ref.result));
    inputs.set(keyOf(ref), known);
    return known;
  };
  const args = node.args.map((arg) => {
    if (arg === null || !('kind' in arg)) return arg === null ? arg : arg.map(inputFor);
    return arg.kind === 'value' ? inputFor(arg) : arg;
  });
  builder.callAll(node.target, args, node.attrs);
  return builder.finish().nodes;
}
