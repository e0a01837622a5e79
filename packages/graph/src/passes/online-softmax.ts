// The sum of exp(x - amax(x)) over long rows, in the pass that finds the maximum: Milakov and Gimelshein, "Online normalizer
// calculation for softmax" (2018). In and out: a graph of primitives.
//
//   sum(exp(sub(x, amax(x, dims, keepdim))), dims) = sumExp(x, dims)
//
// A row that stays in a cache is walked again for little, while an exponential is computed twice for what a softmax
// divides: only rows of at least `leastBytes` gain, and where the length is symbolic nothing is known.
import { at, dtypeInfo, stableStringify } from '@tsinductor/base';
import { isValue } from '../argument-reader.ts';
import type { Arg, Graph } from '../graph.ts';
import { product } from '../shape.ts';
import { rebuild } from './rebuild.ts';
import type { CallNode, NodeList } from './rebuild.ts';

export interface OnlineSoftmax {
  /** Bytes of a row from which it is walked once for both. */
  readonly leastBytes: number;
}

export const onlineSoftmax = (graph: Graph, { leastBytes }: OnlineSoftmax): Graph =>
  rebuild(graph, (node, list) => {
    const x = normalised(node, list);
    if (x === undefined || rowBytes(node, x, list) < leastBytes) return list.add(node);
    return list.add({ ...node, target: 'sumExp', args: [x] });
  });

/** The x of a sum of exp(x - amax(x)) over the same axes. */
function normalised(sum: CallNode, list: NodeList): Arg | undefined {
  if (sum.target !== 'sum') return undefined;
  const distance = callOf(callOf(sum, 'exp', list), 'sub', list);
  const [x, peak] = distance?.args ?? [];
  if (distance === undefined || x === undefined || peak === undefined || !isValue(peak)) return undefined;
  const found = at(list.nodes, peak.node);
  const isPeak =
    found.kind === 'call' &&
    found.target === 'amax' &&
    found.attrs['keepdim'] === true &&
    stableStringify([found.args[0], found.attrs['dims']]) === stableStringify([x, sum.attrs['dims']]);
  return isPeak ? x : undefined;
}

/** What makes the only argument of `node`, if that is a call of `target`. */
function callOf(node: CallNode | undefined, target: string, list: NodeList): CallNode | undefined {
  const argument = node?.args[0];
  if (argument === undefined || !isValue(argument)) return undefined;
  const maker = at(list.nodes, argument.node);
  return maker.kind === 'call' && maker.target === target ? maker : undefined;
}

/** Bytes of what is reduced to one element; 0 where sizes are symbolic, or exponentials are rounded before they join. */
function rowBytes(node: CallNode, x: Arg, list: NodeList): number {
  if (!isValue(x)) return 0;
  const { shape, dtype } = at(at(list.nodes, x.node).results, x.result);
  if (dtypeInfo[dtype].compute !== dtype) return 0;
  const count = product((node.attrs['dims'] as readonly number[]).map((dim) => at(shape, dim)));
  return count.kind === 'int' ? count.value * dtypeInfo[dtype].bytes : 0;
}
