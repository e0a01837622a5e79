// What of a graph depends on frozen inputs alone. In: a graph of primitives, and which of its placeholders are frozen.
import { valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode } from '../graph.ts';

/** For each node that is made of frozen placeholders alone, and of at least one: the positions of these, ascending. */
export function frozenNodes(
  { nodes }: Graph,
  isFrozen: (placeholder: number) => boolean,
): ReadonlyMap<number, readonly number[]> {
  const sources = new Map<number, readonly number[]>();
  const fixed = new Set<number>();
  let placeholder = -1;
  for (const node of nodes) {
    if (node.kind === 'placeholder') {
      placeholder += 1;
      if (isFrozen(placeholder)) sources.set(node.id, [placeholder]);
    } else if (isFixed(node, fixed)) {
      fixed.add(node.id);
    } else if (node.kind === 'call') {
      const made = valuesOf(node.args);
      if (made.every((value) => sources.has(value.node) || fixed.has(value.node)))
        sources.set(node.id, joined(made.map((value) => sources.get(value.node) ?? [])));
    }
  }
  return sources;
}

const joined = (lists: readonly (readonly number[])[]): readonly number[] =>
  [...new Set(lists.flat())].sort((a, b) => a - b);

/** Constants, and what is made of constants: the same in every call, and known to the compiler. */
const isFixed = (node: GraphNode, fixed: ReadonlySet<number>): boolean => {
  if (node.kind === 'constant') return true;
  if (node.kind !== 'call') return false;
  const made = valuesOf(node.args);
  return made.length === 0
    ? node.target === 'full' || node.target === 'iota'
    : made.every(({ node: id }) => fixed.has(id));
};
