// What follows a layer output by output, as part of its weight and bias. In and out: a graph as traced.
//
//   batchNorm(conv(x, W, b), mean, var, w, s) in evaluation = conv(x, W k, (b - mean) k + s), with k = w / sqrt(var + eps)
//   layer(x, W, b) * k = layer(x, W k, b k)      layer(x, W, b) + s = layer(x, W, b + s)      for a number or a value of the outputs
//
// Sums are rounded otherwise than before. Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference" (2018), 3.2, for the first.
import { at, invariant } from '@tsinductor/base';
import { equal } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isScalar, isValue, scalarNumber } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer } from '../composer.ts';
import { frozenNodes } from '../freeze/frozen-nodes.ts';
import type { Arg, Graph, Meta, NodeId, ScalarRef, ValueRef } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { one } from '../shape.ts';
import { usersOf } from './match.ts';
import { metaIn, partGraph } from './part.ts';
import type { PartContext } from './part.ts';
import { rewritten, standsAlone } from './replace.ts';
import type { Replaced } from './replace.ts';

const isConvolution = (target: string): boolean => /^conv[123]d$/.test(target);

/** What a fold takes, by what it is to the layer: absent where there is none. */
type Roles<Value> = Readonly<
  Partial<Record<'input' | 'weight' | 'bias' | 'mean' | 'variance' | 'factor' | 'offset', Value>>
>;

interface Fold {
  readonly layer: CallNode;
  readonly node: CallNode;
  readonly values: Roles<ValueRef>;
  /** New weight and bias. */
  readonly build: (c: Composer, weight: ValueRef, values: Roles<ValueRef>) => readonly [ValueRef, ValueRef | null];
}

interface Folding {
  readonly context: PartContext;
  readonly rule: string;
  readonly reason: string;
}

/** Scales of batch norms in evaluation, in the weights of the convolutions that they follow; with `isFrozen`, where all of both are frozen. */
export function foldNorms(graph: Graph, context: PartContext, isFrozen?: (placeholder: number) => boolean): Graph {
  const frozen = isFrozen && frozenNodes(graph, isFrozen);
  const isTaken = ({ values }: Fold): boolean =>
    frozen === undefined || Object.entries(values).every(([role, { node }]) => role === 'input' || frozen.has(node));
  const foldOf = (node: CallNode): Fold | undefined => {
    const fold = normFold(graph, node);
    return fold !== undefined && isTaken(fold) ? fold : undefined;
  };
  return foldAll(graph, foldOf, {
    context,
    rule: 'conv_bn',
    reason: 'the scale of a batch norm is part of the weight',
  });
}

/** What is added to layers, or multiplies them, in their weights, where all of it is frozen. */
export function foldBinaries(graph: Graph, context: PartContext, isFrozen: (placeholder: number) => boolean): Graph {
  const frozen = frozenNodes(graph, isFrozen);
  const made = foldAll(graph, (node) => binaryFold(graph, node, ({ node: id }) => frozen.has(id)), {
    context,
    rule: 'linear_binary',
    reason: 'what follows a layer output by output is part of its weight and bias',
  });
  // What is added to a product follows the layer once the product is part of it; each time the graph is a call shorter.
  return made === graph ? graph : foldBinaries(made, context, isFrozen);
}

function foldAll(graph: Graph, foldOf: (node: CallNode) => Fold | undefined, how: Folding): Graph {
  const users = usersOf(graph);
  const parts = graph.nodes.flatMap((node) => {
    const fold = node.kind === 'call' ? foldOf(node) : undefined;
    return fold === undefined ? [] : partOf(graph, { fold, users }, how);
  });
  return rewritten(graph, parts, how);
}

function partOf(
  graph: Graph,
  { fold, users }: { fold: Fold; users: ReadonlyMap<string, readonly NodeId[]> },
  { context, rule }: Folding,
): readonly Replaced[] {
  const { layer, node, values, build } = fold;
  const nodes = new Set([layer.id, node.id]);
  const outputs = [{ kind: 'value', node: node.id, result: 0 } as const];
  if (!standsAlone(graph, { nodes, outputs }, users)) return [];
  const given = Object.entries(values);
  const inputs = given.map(([, value]) => value);
  const by = partGraph(
    graph,
    { inputs, outputs },
    {
      context,
      build: (c, standIns) => {
        const own: Roles<ValueRef> = Object.fromEntries(
          given.map(([role], position) => [role, at(standIns, position)]),
        );
        const { input, weight } = own;
        invariant(input !== undefined && weight !== undefined, 'a layer has an input and a weight');
        return [c.call(layer.target, [input, ...build(c, weight, own)], layer.attrs)];
      },
    },
  );
  return by === undefined ? [] : [{ by, inputs, outputs, nodes, rule }];
}

/** The layer of one of these operators that makes a value, if its elements are computed in their own dtype. */
function layerOf({ nodes }: Graph, arg: Arg | undefined, isLayer: (target: string) => boolean): CallNode | undefined {
  if (arg === undefined || !isValue(arg)) return undefined;
  const node = at(nodes, arg.node);
  if (node.kind !== 'call' || !isLayer(node.target)) return undefined;
  const { dtype } = at(node.results, 0);
  return dtype === 'f32' || dtype === 'f64' ? node : undefined;
}

/** Whether a weight has an axis of outputs and one of inputs, at least. */
const isMatrix = (graph: Graph, weight: Arg): weight is ValueRef => isValue(weight) && rankOf(graph, weight) > 1;

const rankOf = (graph: Graph, value: ValueRef): number => metaIn(graph, value).shape.length;

/** Those of the arguments that are values. */
function rolesOf(args: Roles<Arg | undefined>): Roles<ValueRef> {
  return Object.fromEntries(Object.entries(args).filter((entry): entry is [string, ValueRef] => isValue(entry[1])));
}

/** A vector of the outputs over a weight, whose first axis they are. */
const overWeight = (c: Composer, vector: ValueRef, weight: ValueRef): ValueRef => c.along(vector, 0, c.rank(weight));

function normFold(graph: Graph, node: CallNode): Fold | undefined {
  const layer = node.target === 'batchNorm' ? layerOf(graph, node.args[0], isConvolution) : undefined;
  if (layer === undefined || node.attrs['training'] !== false) return undefined;
  const [input, weight, bias] = layer.args;
  const [, mean, variance, factor, offset] = node.args;
  const values = rolesOf({ input, weight, bias, mean, variance, factor, offset });
  const { dtype, shape } = at(layer.results, 0);
  if (Object.values(values).some((value) => metaIn(graph, value).dtype !== dtype)) return undefined;
  // Channels are the first axis but one: of one image without a batch they are the first.
  if (values.weight === undefined || shape.length !== rankOf(graph, values.weight)) return undefined;
  return { layer, node, values, build: normFolding(Number(node.attrs['eps'])) };
}

const normFolding =
  (eps: number): Fold['build'] =>
  (c, kernels, own) => {
    invariant(own.mean !== undefined && own.variance !== undefined, 'a batch norm in evaluation has statistics');
    const inverse = c.op('rsqrt', c.op('add', own.variance, float(eps)));
    const gain = own.factor === undefined ? inverse : c.op('mul', inverse, own.factor);
    const centered = own.bias === undefined ? c.op('neg', own.mean) : c.op('sub', own.bias, own.mean);
    const scaled = c.op('mul', centered, gain);
    return [
      c.op('mul', kernels, overWeight(c, gain, kernels)),
      own.offset === undefined ? scaled : c.op('add', scaled, own.offset),
    ];
  };

function binaryFold(graph: Graph, node: CallNode, isFrozen: (value: ValueRef) => boolean): Fold | undefined {
  if (!['add', 'sub', 'mul', 'div'].includes(node.target) || node.args.length !== 2) return undefined;
  // A sum scales what is added by alpha, a quotient may be rounded.
  const isPlain = Object.values(node.attrs).every(
    (attr) => attr === null || (isScalar(attr) && scalarNumber(attr) === 1),
  );
  if (!isPlain) return undefined;
  const isLayer = (target: string): boolean => target === 'linear' || isConvolution(target);
  const isEither = node.target === 'add' || node.target === 'mul';
  for (const place of isEither ? [0, 1] : [0]) {
    const layer = layerOf(graph, node.args[place], isLayer);
    const other = node.args[1 - place] ?? null;
    const isOfOne = layer !== undefined && at(layer.results, 0).dtype === at(node.results, 0).dtype;
    const fold = !isOfOne ? undefined : foldWith(graph, { node, layer, other }, isFrozen);
    if (fold !== undefined) return fold;
  }
  return undefined;
}

function foldWith(
  graph: Graph,
  { node, layer, other }: { node: CallNode; layer: CallNode; other: Arg },
  isFrozen: (value: ValueRef) => boolean,
): Fold | undefined {
  const [input = null, weight = null, bias = null] = layer.args;
  const isFixed = (arg: Arg): boolean => arg === null || (isValue(arg) && isFrozen(arg));
  if (!isMatrix(graph, weight) || !isFixed(weight) || !isFixed(bias)) return undefined;
  const values = rolesOf({ input, weight, bias });
  if (isNumber(other)) return { layer, node, values, build: folding(node.target, () => other) };
  const [outputs = one] = metaIn(graph, weight).shape;
  if (!isValue(other) || !isFixed(other) || !isOverOutputs(metaIn(graph, other), { outputs, layer })) return undefined;
  const ofVector = (c: Composer, { factor }: Roles<ValueRef>): ValueRef => {
    invariant(factor !== undefined, 'what is folded in is given');
    return c.reshape(factor, [outputs]);
  };
  return { layer, node, values: { ...values, factor: other }, build: folding(node.target, ofVector) };
}

/** A number that leaves weights finite as a rule. */
const isNumber = (arg: Arg): arg is ScalarRef =>
  isScalar(arg ?? undefined) && Math.abs(Math.log2(Math.abs(scalarNumber(arg as ScalarRef)))) < mostBinades;

/** Numbers of a size that is usual beside weights: a larger one could make a weight infinite where the layer's result is finite. */
const mostBinades = 30;

/** Weight and bias with what follows the layer: a number, or a vector of its outputs. */
const folding =
  (target: string, givenOf: (c: Composer, values: Roles<ValueRef>) => ValueRef | ScalarRef): Fold['build'] =>
  (c, weight, values) => {
    const [given, { bias }] = [givenOf(c, values), values];
    if (target === 'add' || target === 'sub')
      return [weight, c.op(target, bias ?? c.full(float(0), [c.size(weight, 0)], c.dtype(weight)), given)];
    const factor = given.kind === 'scalar' ? given : overWeight(c, given, weight);
    return [c.op(target, weight, factor), bias === undefined ? null : c.op(target, bias, given)];
  };

/** Whether a value has one element for each output of a layer, where it is broadcast with the layer's result. */
function isOverOutputs({ shape: own, dtype }: Meta, { outputs, layer }: { outputs: Index; layer: CallNode }): boolean {
  const result = at(layer.results, 0);
  const behind = layer.target === 'linear' ? 0 : Number(layer.target.slice(4, 5));
  const axis = own.length - 1 - behind;
  if (own.length > result.shape.length || axis < 0 || dtype !== result.dtype) return false;
  return own.every((size, place) => equal(size, place === axis ? outputs : one));
}
