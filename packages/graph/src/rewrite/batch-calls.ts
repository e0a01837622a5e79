// Equal calls that do not depend on each other, as one call over all of them: PyTorch's batch fusions
// (torch/_inductor/fx_passes/group_batch_fusion.py). In and out: a graph as traced, or one of primitives.
//
// Calls are taken together where they stand at the same depth of the graph, counted in calls from its inputs: no two such calls
// depend on each other, and neither do the groups of them.
import { at, stableStringify } from '@tsinductor/base';
import { add, equal, int, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isValue, valueKey, valuesOf } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import type { Graph, NodeId, ValueRef } from '../graph.ts';
import { cancelViews } from '../passes/cancel-views.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { removeDead } from '../passes/remove-dead.ts';
import { one, product } from '../shape.ts';
import { joinPieces } from './drop-round-trips.ts';
import { usedBy } from './match.ts';
import { metaIn, partGraph } from './part.ts';
import type { PartContext } from './part.ts';
import { rewritten } from './replace.ts';
import type { Replaced } from './replace.ts';

interface Batching {
  readonly target: string;
  /** Equal for calls that can be one; undefined: the call stays. */
  readonly key: (graph: Graph, call: CallNode) => string | undefined;
  /** One call's results each. `calls` have their arguments among the part's inputs. */
  readonly together: (c: Composer, calls: readonly CallNode[]) => readonly ValueRef[];
}

const metasOf = (graph: Graph, { args, attrs }: CallNode): string =>
  stableStringify([
    args.map((arg) => (isValue(arg) ? [metaIn(graph, arg).shape, metaIn(graph, arg).dtype] : arg)),
    attrs,
  ]);

/** Only what has tensors of axes can be stacked by these: the first argument, and no number among the others. */
const overTensors = (graph: Graph, call: CallNode): string | undefined => {
  const [first] = call.args;
  const isSo = first !== undefined && isValue(first) && metaIn(graph, first).shape.length > 0;
  return isSo && call.args.every((arg) => arg === null || isValue(arg)) ? metasOf(graph, call) : undefined;
};

const argument = (call: CallNode, position: number): ValueRef | undefined => {
  const arg = call.args[position];
  return arg !== undefined && isValue(arg) ? arg : undefined;
};

const column = (calls: readonly CallNode[], position: number): readonly ValueRef[] =>
  calls.flatMap((call) => argument(call, position) ?? []);

const stacked = (c: Composer, values: readonly ValueRef[]): ValueRef => c.call('stack', [values], { dim: 0 });
const unbound = (c: Composer, value: ValueRef): readonly ValueRef[] => c.callAll('unbind', [value], { dim: 0 });

/** [calls, ...] with axes of size 1 between the first and the others, so that it goes with a value of `rank` axes per call. */
function besideRows(c: Composer, value: ValueRef, rank: number): ValueRef {
  const [calls = one, ...own] = c.shape(value);
  return c.reshape(value, [calls, ...new Array<Index>(rank - own.length).fill(one), ...own]);
}

/** Whether a layer is a product and a vector that is added to its rows: a weight may be a vector, and a bias of more axes. */
function isPlain(graph: Graph, call: CallNode): boolean {
  const [weight, bias] = [argument(call, 1), argument(call, 2)];
  const [outputs, ...others] = weight === undefined ? [] : metaIn(graph, weight).shape;
  if (outputs === undefined || others.length !== 1) return false;
  if (bias === undefined) return true;
  const { shape } = metaIn(graph, bias);
  return shape.length === 1 && equal(at(shape, 0), outputs);
}

const linear: Batching = {
  target: 'linear',
  key: (graph, call) => (isPlain(graph, call) ? overTensors(graph, call) : undefined),
  together: (c, calls) => {
    const [inputs, weights] = [stacked(c, column(calls, 0)), stacked(c, column(calls, 1))];
    const [count = one, ...shape] = c.shape(inputs);
    const [width, outputs] = [at(shape, shape.length - 1), at(c.shape(weights), 1)];
    const rows = c.reshape(inputs, [count, product(shape.slice(0, -1)), width]);
    const products = c.call('bmm', [rows, c.call('transpose', [weights], { dim0: 1, dim1: 2 })]);
    const biases = column(calls, 2);
    const sums = biases.length === 0 ? products : c.op('add', products, besideRows(c, stacked(c, biases), 2));
    return unbound(c, c.reshape(sums, [count, ...shape.slice(0, -1), outputs]));
  },
};

/** Layers over the same tensor: one layer, whose outputs are those of all. */
const linearLhs: Batching = {
  target: 'linear',
  key: (graph, call) => {
    const [x, weight] = [argument(call, 0), argument(call, 1)];
    if (x === undefined || weight === undefined || !isPlain(graph, call)) return undefined;
    return stableStringify([valueKey(x), metaIn(graph, weight).dtype, argument(call, 2) === undefined]);
  },
  together: (c, calls) => {
    const [x = at(column(calls, 0), 0)] = column(calls, 0);
    const [weights, biases] = [column(calls, 1), column(calls, 2)];
    const bias = biases.length === 0 ? null : c.cat(biases, 0);
    const whole = c.call('linear', [x, c.cat(weights, 0), bias]);
    const dim = c.rank(whole) - 1;
    let start: Index = int(0);
    return weights.map((weight) => {
      const end = add(start, c.size(weight, 0));
      const part = c.call('contiguous', [c.slice(whole, dim, { start, end })]);
      start = end;
      return part;
    });
  },
};

const layerNorm: Batching = {
  target: 'layerNorm',
  key: overTensors,
  together: (c, calls) => {
    const inputs = stacked(c, column(calls, 0));
    const rank = c.rank(inputs) - 1;
    const { attrs } = at(calls, 0);
    const normal = c.call('layerNorm', [inputs, null, null], attrs);
    const [weights, biases] = [column(calls, 1), column(calls, 2)];
    const scaled = weights.length === 0 ? normal : c.op('mul', normal, besideRows(c, stacked(c, weights), rank));
    const shifted = biases.length === 0 ? scaled : c.op('add', scaled, besideRows(c, stacked(c, biases), rank));
    return unbound(c, shifted);
  },
};

const pointwise = (target: string): Batching => ({
  target,
  key: overTensors,
  together: (c, calls) => unbound(c, c.call(target, [stacked(c, column(calls, 0))], at(calls, 0).attrs)),
});

const areOne = (values: readonly ValueRef[]): boolean => new Set(values.map(valueKey)).size === 1;

/** A primitive at each element: operands that differ from call to call are stacked, what all of them read and numbers stay as they are. */
const elementwise = (target: string): Batching => ({
  target,
  key: metasOf,
  together: (c, calls) => {
    const { args, attrs, results } = at(calls, 0);
    const rank = at(results, 0).shape.length;
    const operands = args.map((arg, position) => {
      const values = column(calls, position);
      return values.length === 0 || areOne(values) ? arg : besideRows(c, stacked(c, values), rank);
    });
    const whole = c.call(target, operands, attrs);
    return c.rank(whole) === rank ? calls.map(() => whole) : unbound(c, whole);
  },
});

/** Products as one of a larger batch. */
const products: Batching = {
  target: 'bmm',
  key: metasOf,
  together: (c, calls) => {
    const joined = (position: number): ValueRef => {
      const values = column(calls, position);
      const [batch = one, ...matrix] = c.shape(at(values, 0));
      return areOne(values) && equal(batch, one)
        ? c.expand(at(values, 0), [int(calls.length), ...matrix])
        : c.cat(values, 0);
    };
    const whole = c.bmm(joined(0), joined(1));
    const batch = at(at(at(calls, 0).results, 0).shape, 0);
    return calls.map((_, place) =>
      c.slice(whole, 0, { start: multiply(batch, int(place)), end: multiply(batch, int(place + 1)) }),
    );
  },
};

/** Those of graphs of primitives. */
const lateBatchings: Readonly<Record<string, Batching>> = {
  batch_linear_post_grad: products,
  batch_aten_tanh: elementwise('tanh'),
  batch_aten_sigmoid: elementwise('sigmoid'),
  batch_aten_relu: elementwise('relu'),
  batch_aten_add: elementwise('add'),
  batch_aten_sub: elementwise('sub'),
  batch_aten_mul: elementwise('mul'),
  batch_aten_div: elementwise('div'),
};

export const batchings: Readonly<Record<string, Batching>> = {
  batch_linear: linear,
  batch_linear_lhs: linearLhs,
  batch_layernorm: layerNorm,
  batch_tanh: pointwise('tanh'),
  batch_relu: pointwise('relu'),
  batch_sigmoid: pointwise('sigmoid'),
};

/** `rule` is one of `batchings`, or `lateBatchings` for primitives; a group has at least `least` calls. */
export function batchCalls(
  graph: Graph,
  rule: string,
  { least, context }: { least: number; context: PartContext },
): Graph {
  const batching = (context.form === 'traced' ? batchings : lateBatchings)[rule];
  if (batching === undefined) return graph;
  const depths = depthsOf(graph);
  const groups = new Map<string, CallNode[]>();
  for (const node of graph.nodes) {
    if (node.kind !== 'call' || node.target !== batching.target) continue;
    // What is computed again has its time and its place.
    if (node.again !== undefined || node.after !== undefined) continue;
    const key = batching.key(graph, node);
    if (key === undefined) continue;
    const { isConstant, pass, region } = node.origin;
    const place = `${String(depths[node.id])} ${[isConstant, pass, region].map(String).join()} ${key}`;
    groups.set(place, [...(groups.get(place) ?? []), node]);
  }
  const parts = [...groups.values()].flatMap((calls) =>
    calls.length < least ? [] : partOf(graph, calls, { batching, context, rule }),
  );
  const made = rewritten(graph, parts, { rule, reason: 'equal calls are one over all of them' });
  // Where calls that follow each other are batched, all of what the first gives is what the next takes.
  return made === graph || context.form === 'traced' ? made : removeDead(cancelViews(joinPieces(made)));
}

/** How many calls there are at most on a way from an input to a node. */
function depthsOf(graph: Graph): readonly number[] {
  const depths: number[] = [];
  for (const node of graph.nodes)
    depths.push(usedBy(node).reduce((depth, value) => Math.max(depth, at(depths, value.node) + 1), 0));
  return depths;
}

function partOf(
  graph: Graph,
  calls: readonly CallNode[],
  { batching, context, rule }: { batching: Batching; context: PartContext; rule: string },
): readonly Replaced[] {
  const inputs = [
    ...new Map(calls.flatMap(({ args }) => valuesOf(args)).map((value) => [valueKey(value), value])).values(),
  ];
  const outputs = calls.map(({ id }): ValueRef => ({ kind: 'value', node: id, result: 0 }));
  const by = partGraph(
    graph,
    { inputs, outputs },
    {
      context,
      build: (c, standIns) => {
        const own = new Map(inputs.map((value, position) => [valueKey(value), at(standIns, position)]));
        const over = calls.map((call) => ({
          ...call,
          args: call.args.map((arg) => (isValue(arg) ? (own.get(valueKey(arg)) ?? arg) : arg)),
        }));
        return batching.together(c, over).map((value) => c.call('contiguous', [value]));
      },
    },
  );
  if (by === undefined) return [];
  return [{ by, inputs, outputs, rule, nodes: new Set<NodeId>(calls.map(({ id }) => id)) }];
}
