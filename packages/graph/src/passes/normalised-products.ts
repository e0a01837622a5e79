// Sums of products with a normalised row, in the pass that finds its norm: the backward of a layer or RMS norm, written out.
// In and out: a graph of primitives.
//
//   r = rsqrt(sum(c c) / n + eps)
//   sum(g c r, dims) = r sum(g c, dims)
//
// So both sums walk the rows at once, as PyTorch's own backward of a layer norm does, where the left side waits for r.
//
// Taking factors out of sums is not right in general: x / amax(x) is there so that nothing overflows. Here r is at most
// 1 / sqrt(eps), and c r at most sqrt(n): products overflow without r only where g and c are both beyond 1e19, whose squares are no
// floats; and bits are lost to underflow only in terms that are less than 2^-126 / sqrt(eps).
import { at, dtypeInfo, stableStringify } from '@tsinductor/base';
import { isScalar, isValue } from '../argument-reader.ts';
import type { Arg, Graph, Meta, ValueRef } from '../graph.ts';
import { argumentCall, callOf, rebuild } from './rebuild.ts';
import type { CallNode, NodeList } from './rebuild.ts';
import { removeDead } from './remove-dead.ts';

/** The least eps that bounds a reciprocal root well enough. */
const leastEpsilon = 1e-12;
/** Products of more factors than this are left as they are. */
const mostFactors = 8;

interface Factor {
  readonly op: 'mul' | 'div';
  readonly value: ValueRef;
}

export function normalisedProducts(graph: Graph): Graph {
  const hasRoots = graph.nodes.some(
    (node) => node.kind === 'call' && (node.target === 'rsqrt' || node.target === 'sqrt'),
  );
  return hasRoots ? removeDead(rebuild(graph, (node, list) => hoisted(node, list) ?? list.add(node))) : graph;
}

/** The results of a sum of products with a normalised row, made without its norm. */

function hoisted(sum: CallNode, list: NodeList): readonly ValueRef[] | undefined {
  const [summed] = sum.args;
  const whole = at(sum.results, 0);
  if (sum.target !== 'sum' || sum.attrs['keepdim'] !== true || summed === undefined || !isValue(summed))
    return undefined;
  if (dtypeInfo[whole.dtype].compute !== whole.dtype) return undefined;
  const meta = metaOf(summed, list);
  const factors = factorsOf(summed, list) ?? [];
  for (const norm of factors) {
    const row = normalisedBy(norm, sum, list);
    const c = factors.find(({ op, value }) => op === 'mul' && isSame(value, row));
    if (c === undefined || factors.some((other) => other !== norm && isSame(other.value, norm.value))) continue;
    if (stableStringify(metaOf(c.value, list).shape) !== stableStringify(meta.shape)) continue;
    const others = factors.filter((factor) => factor !== c && factor !== norm);
    const rest = others.reduce(
      (product, { op, value }) => make(list, sum, { op, args: [product, value], meta }),
      c.value,
    );
    const [total] = list.add({ ...sum, args: [rest] });
    return total === undefined ? undefined : [make(list, sum, { op: norm.op, args: [total, norm.value], meta: whole })];
  }
  return undefined;
}

interface Call {
  readonly op: string;
  readonly args: readonly Arg[];
  readonly meta: Meta;
}

/** A call that stands for a part of `node`. */
function make(list: NodeList, node: CallNode, { op, args, meta }: Call): ValueRef {
  const results = list.add({ ...node, target: op, args, attrs: {}, results: [meta] });
  return at(results, 0);
}

/** What is multiplied, and divided by, to make a value; undefined where that is too much. */
function factorsOf(value: ValueRef, list: NodeList, op: Factor['op'] = 'mul'): readonly Factor[] | undefined {
  const maker = op === 'mul' ? (callOf(value, 'mul', list) ?? callOf(value, 'div', list)) : undefined;
  const operands = maker?.args.filter(isValue) ?? [];
  if (maker === undefined || operands.length < 2) return [{ op, value }];
  const second = maker.target === 'div' ? 'div' : 'mul';
  const [left, right] = [factorsOf(at(operands, 0), list), factorsOf(at(operands, 1), list, second)];
  if (left === undefined || right === undefined || left.length + right.length > mostFactors) return undefined;
  return [...left, ...right];
}

/** The c that a factor normalises along the axes of `sum`: r = 1 / sqrt(sum(c c) / n + eps), or that root, divided by. */
function normalisedBy({ op, value }: Factor, sum: CallNode, list: NodeList): ValueRef | undefined {
  const shifted = argumentCall(rootOf(op, value, list), 'add', list);
  if (shifted === undefined || !isAtLeast(shifted.args[1], leastEpsilon)) return undefined;
  const mean = argumentCall(shifted, 'div', list) ?? argumentCall(shifted, 'mul', list);
  const isScaled = mean !== undefined && isAtLeast(mean.args[1], Number.MIN_VALUE);
  const squares = argumentCall(isScaled ? mean : shifted, 'sum', list);
  const isAlong =
    squares?.attrs['keepdim'] === true && stableStringify(squares.attrs['dims']) === stableStringify(sum.attrs['dims']);
  return isAlong ? squared(squares, list) : undefined;
}

/** The root in 1 / sqrt(x) as it is multiplied with, or in sqrt(x) as it is divided by. */
function rootOf(op: Factor['op'], value: ValueRef, list: NodeList): CallNode | undefined {
  if (op === 'div') return callOf(value, 'sqrt', list);
  return callOf(value, 'rsqrt', list) ?? argumentCall(callOf(value, 'reciprocal', list), 'sqrt', list);
}

/** The c of a sum of c c. */
function squared(squares: CallNode, list: NodeList): ValueRef | undefined {
  const square = argumentCall(squares, 'square', list);
  const power = argumentCall(squares, 'pow', list);
  const product = argumentCall(squares, 'mul', list);
  const [c, other] = (square ?? power ?? product)?.args ?? [];
  if (!isValue(c)) return undefined;
  const isSquare = product === undefined ? power === undefined || isTwo(other) : isSame(c, other);
  return isSquare ? c : undefined;
}

const isTwo = (arg: Arg | undefined): boolean => isScalar(arg) && arg.value === 2;
const isAtLeast = (arg: Arg | undefined, least: number): boolean =>
  isScalar(arg) && typeof arg.value === 'number' && arg.value >= least;

const isSame = (a: ValueRef, b: Arg | undefined): boolean => isValue(b) && a.node === b.node && a.result === b.result;

const metaOf = ({ node, result }: ValueRef, list: NodeList): Meta => at(at(list.nodes, node).results, result);
