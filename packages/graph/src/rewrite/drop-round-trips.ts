// What is taken apart to be put together again, dropped. In and out: a graph as traced, or one of primitives.
//
//   cat(split(x, ..., dim), dim) = x      stack(unbind(x, dim), dim) = x      chunk as split
//
// In primitives:  cat of all slices of x along its first axis, whatever their shapes are, along the first axis = reshape(x)
import { at, stableStringify } from '@tsinductor/base';
import { isList, isValue } from '../argument-reader.ts';
import type { Arg, Graph, ValueRef } from '../graph.ts';
import { operatorFor } from '../operator-table.ts';
import { rebuild } from '../passes/rebuild.ts';
import type { CallNode, NodeList } from '../passes/rebuild.ts';
import { contiguousStrides, sizeAttr, sizesAttr } from '../shape.ts';
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

/** The same of primitives, as it is where calls that follow each other are batched. */
export const joinPieces = (graph: Graph): Graph =>
  rebuild(graph, (node, list) => {
    const whole = node.target === 'cat' && node.attrs['dim'] === 0 ? sliced(node, list) : undefined;
    if (whole === undefined) return list.add(node);
    const { shape } = at(node.results, 0);
    return list.add({ ...node, target: 'reshape', args: [whole], attrs: { shape: sizesAttr(shape) } });
  });

/** What the pieces are all slices of, one behind another, if it lies in order. */
function sliced({ args }: CallNode, { nodes }: NodeList): ValueRef | undefined {
  const pieces: Arg = args[0] ?? null;
  const slices = isList(pieces) ? pieces.map((piece) => throughReshapes(piece, nodes)) : [];
  const whole = slices[0]?.args[0];
  if (whole === undefined || !isValue(whole)) return undefined;
  const { shape, strides } = at(at(nodes, whole.node).results, whole.result);
  const ends = slices.map((slice) => slice?.attrs['end']);
  const areAll = slices.every((slice, place) => {
    const { dim, start, step } = slice?.attrs ?? {};
    return (
      stableStringify([slice?.args, dim, start, step]) ===
      stableStringify([[whole], 0, place === 0 ? 0 : ends[place - 1], 1])
    );
  });
  const isAll = areAll && stableStringify(ends.at(-1)) === stableStringify(sizeAttr(at(shape, 0)));
  return isAll && stableStringify(strides) === stableStringify(contiguousStrides(shape)) ? whole : undefined;
}

/** The slice that a value is, in another shape at most. */
function throughReshapes(value: ValueRef, nodes: NodeList['nodes']): CallNode | undefined {
  const maker = at(nodes, value.node);
  if (maker.kind !== 'call') return undefined;
  const [from] = maker.args;
  if (maker.target === 'reshape' && from !== undefined && isValue(from)) return throughReshapes(from, nodes);
  return maker.target === 'slice' ? maker : undefined;
}
