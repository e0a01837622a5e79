// The key of a segment: equal keys are run by the same code. In: everything that decides what a segment computes, but for
// the values of its inputs and for symbolic sizes. Out: one line of text, made without hashing, as it is made at every call.
import type { GraphNode, SizeGuard } from '@tsinductor/graph';
import { printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { SegmentParts, SegmentValue } from './segment-plan.ts';

export function segmentKey({ graph, sizes, values, unsteady, isLast }: SegmentParts, written: string): string {
  const nodes = graph.nodes.map(nodeText).join(';');
  const guards = sizes.guards().map(guardText).join(';');
  return `${nodes}|${guards}|${values.map(valueText).join(' ')}|${[...unsteady].join()}|${written}|${isLast ? 'last' : ''}`;
}

function nodeText(node: GraphNode): string {
  switch (node.kind) {
    case 'placeholder':
      return (
        node.results.map(({ dtype, shape, strides }) => `${dtype}[${sizesText(shape)}][${sizesText(strides)}]`)[0] ?? ''
      );
    case 'constant':
      return `constant ${node.data} ${JSON.stringify(node.results)}`;
    case 'call':
    case 'host':
      return `${node.target} ${JSON.stringify(node.args)} ${JSON.stringify(node.attrs)}`;
  }
}

const sizesText = (sizes: readonly Index[]): string => sizes.map(sizeText).join();

/** The range of a symbol as well: code may rely on it. */
const sizeText = (size: Index): string | number =>
  size.kind === 'int' ? size.value : `${printIndex(size)}${size.kind === 'size' ? `:${size.min}:${size.max}` : ''}`;

const guardText = ({ left, relation, right }: SizeGuard): string =>
  `${printIndex(left)}${relation}${printIndex(right)}`;

const valueText = ({ ref: { node, result }, isAlive, isWanted, isCarried }: SegmentValue): string =>
  `${node}.${result}${isAlive ? 'a' : ''}${isWanted ? 'w' : ''}${isCarried ? 'c' : ''}`;
