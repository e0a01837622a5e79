// What is taken apart to be put together again, dropped. In and out: a graph as traced.
//
//   cat(split(x, ..., dim), dim) = x      stack(unbind(x, dim), dim) = x      chunk as split
import { at, stableStringify } from '@tsinductor/base';
import { isList, isValue } from '../argument-reader.ts';
import type { Arg, Graph, ValueRef } from '../graph.ts';
import { operatorFor } from '../operator-table.ts';
import { rebuild } from '../passes/rebuild.ts';
import type { CallNode, NodeList } from '../passes/rebuild.ts';
import { contiguousStrides } from '../shape.ts';
import { withNote } from './replace.ts';

/** What puts together what a view of several results has taken apart, by rule. */
export const roundTrips: Readonly<Record<string, string>> = { split_cat: 'cat', unbind_stack: 'stack' };

/** `rule` is one of `roundTrips`; there are at least `least` pieces. */
export function dropRoundTrips(graph: Graph, rule: string, least: number): Graph {
  const together = roundTrips[rule];
  let count = 0;
  const made = rebuild(graph, (node, list) => {
    const whole = node.target === together ? wholeOf(node, list, least) : undefined;
    if (whole === undefined) return list.add(node);
    count += 1;
    return [whole];
  });
  return count === 0 ? graph : withNote(made, { rule, count, reason: 'it was taken apart to be put together again' });
}

/** What all the pieces are of, in their order; it has to lie as what is made of them. */
function wholeOf({ args, attrs, results }: CallNode, { nodes }: NodeList, least: number): ValueRef | undefined {
  const pieces: Arg = args[0] ?? null;
  if (!isList(pieces) || pieces.length < least) return undefined;
  const maker = at(nodes, at(pieces, 0).node);
  if (
    maker.kind !== 'call' ||
    operatorFor(maker.target, maker.attrs).views === undefined ||
    maker.results.length !== pieces.length
  )
    return undefined;
  const areAll = pieces.every(({ node, result }, place) => node === maker.id && result === place);
  const [whole] = maker.args;
  if (!areAll || whole === undefined || !isValue(whole)) return undefined;
  const meta = at(at(nodes, whole.node).results, whole.result);
  const dimOf = (dim: unknown, rank: number): number => (Number(dim) + rank) % rank;
  const rank = meta.shape.length;
  const isSame = dimOf(attrs['dim'], rank) === dimOf(maker.attrs['dim'], rank);
  const liesSo =
    stableStringify(meta) === stableStringify({ ...at(results, 0), strides: contiguousStrides(meta.shape) });
  return isSame && liesSo ? whole : undefined;
}
