// What of a graph depends on frozen inputs alone. In: a graph of primitives, and which of its placeholders are frozen.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { PointwiseName } from '@tsinductor/ops';
import { valuesOf } from '../argument-reader.ts';
import type { Attr, Graph, GraphNode, Meta } from '../graph.ts';
import { costKindOf } from '../partition/cost-kind.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { product } from '../shape.ts';

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
    } else if (isOfSizes(node)) {
      // It is another one in a call with other sizes.
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

/** Whether a symbolic size is in the shape of what a node makes, or among its attributes. */
const isOfSizes = (node: GraphNode): boolean =>
  node.results.some(({ shape }) => shape.some(isSymbolic)) ||
  ('attrs' in node && Object.values(node.attrs).some(hasSymbol));

function hasSymbol(attr: Attr): boolean {
  if (isList(attr)) return attr.some(hasSymbol);
  return typeof attr === 'object' && attr !== null && 'size' in attr && isSymbolic(attr.size);
}

const isList = (attr: Attr): attr is readonly Attr[] => Array.isArray(attr);
const isSymbolic = ({ kind }: Index): boolean => kind !== 'int';

/** Constants, and what is made of constants: the same in every call, and known to the compiler. */
const isFixed = (node: GraphNode, fixed: ReadonlySet<number>): boolean => {
  if (node.kind === 'constant') return true;
  if (node.kind !== 'call') return false;
  const made = valuesOf(node.args);
  return made.length === 0
    ? node.target === 'full' || node.target === 'iota'
    : made.every(({ node: id }) => fixed.has(id));
};

/** Bytes of a tensor; infinite where its sizes are symbolic. */
export function bytesOf({ shape, dtype }: Pick<Meta, 'shape' | 'dtype'>): number {
  const count = product(shape);
  return count.kind === 'int' ? count.value * dtypeInfo[dtype].bytes : Number.POSITIVE_INFINITY;
}

/** Bytes of the placeholders at these positions. */
export function bytesOfInputs({ nodes }: Graph, positions: readonly number[]): number {
  const placeholders = nodes.filter(({ kind }) => kind === 'placeholder');
  return positions.reduce((sum, position) => sum + bytesOf(at(at(placeholders, position).results, 0)), 0);
}

/** An operation of this cost is better read than computed again: a power, a logarithm. */
const heavyCost = 8;

/** Nodes that views, copies and cheap operations make of placeholders and constants: a kernel computes them where it reads them. */
export function cheaplyMade({ nodes }: Graph): ReadonlySet<number> {
  const cheap = new Set<number>();
  for (const node of nodes)
    if (node.kind !== 'call' || (isCheap(node) && valuesOf(node.args).every((value) => cheap.has(value.node))))
      cheap.add(node.id);
  return cheap;
}

function isCheap(node: CallNode): boolean {
  const kind = costKindOf(node);
  if (kind === 'view' || kind === 'created') return true;
  const { target } = node;
  return kind === 'pointwise' && (isPointwise(target) ? (pointwise[target].traits.cost ?? 1) < heavyCost : true);
}

const isPointwise = (target: string): target is PointwiseName => Object.hasOwn(pointwise, target);
