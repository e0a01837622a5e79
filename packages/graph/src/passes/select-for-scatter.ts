// A scatter of one element per row into a constant, as a choice at every element. In and out: a graph of primitives.
//
//   scatter(full(c), index, source), index of size 1 along dim   =   where(iota along dim == index, source, c)
//
// What is written is then part of whatever loop reads it: the gradient of a cross entropy, and encodings by one-hot rows, are one pass
// over memory instead of a fill, the scatter, and a pass that reads what they made. The index is looked up among the coordinates, so that
// one out of range is the error that the scatter makes of it. A scatter into anything else stays one, as it may be made in place.
import { at } from '@tsinductor/base';
import { equal, rangeOf } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isScalar, isValue } from '../argument-reader.ts';
import { Composer } from '../composer.ts';
import type { Graph, Meta, ScalarRef, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { metaIn } from '../rewrite/part.ts';
import { rewritten } from '../rewrite/replace.ts';
import type { Replaced } from '../rewrite/replace.ts';
import { one } from '../shape.ts';
import type { CallNode } from './rebuild.ts';
import { removeDead } from './remove-dead.ts';

const rule = 'select-for-scatter';

export function selectForScatter(graph: Graph): Graph {
  const parts = graph.nodes.flatMap((node) => (node.kind === 'call' ? partOf(graph, node) : []));
  const made = rewritten(graph, parts, { rule, reason: 'a choice at each element is part of the loop that reads it' });
  return made === graph ? graph : removeDead(made);
}

function partOf(graph: Graph, node: CallNode): readonly Replaced[] {
  const [base, index, source] = node.args;
  const mode = node.attrs['mode'];
  if (node.target !== 'scatter' || !isValue(base) || !isValue(index) || !isValue(source)) return [];
  const value = filling(graph, base);
  if (value === undefined || (mode !== 'set' && mode !== 'add')) return [];
  const metas = { whole: at(node.results, 0), index: metaIn(graph, index), source: metaIn(graph, source) };
  const by = chosen(metas, { node, value, mode });
  const outputs = [{ kind: 'value', node: node.id, result: 0 } as const];
  return by === undefined ? [] : [{ by, inputs: [index, source], outputs, nodes: new Set([node.id]), rule }];
}

/** The number that a value is everywhere, if it is made so. */
function filling({ nodes }: Graph, base: ValueRef): ScalarRef | undefined {
  const node = at(nodes, base.node);
  const [value = null] = node.kind === 'call' && node.target === 'full' ? node.args : [];
  return isScalar(value ?? undefined) ? (value as ScalarRef) : undefined;
}

interface Metas {
  readonly whole: Meta;
  readonly index: Meta;
  readonly source: Meta;
}

interface Scatter {
  readonly node: CallNode;
  readonly value: ScalarRef;
  readonly mode: 'set' | 'add';
}

/** The choice, over the index and the source; undefined where rows have more than one element written, or not all rows have one. */
function chosen({ whole, index, source }: Metas, { node, value, mode }: Scatter): Graph | undefined {
  const builder = new GraphBuilder({ expand: true });
  const c = new Composer(builder);
  const dim = node.attrs['dim'] as number;
  const { shape, dtype } = whole;
  const isColumn = ({ shape: own }: Meta): boolean =>
    own.length === shape.length && own.every((size, axis) => equal(size, axis === dim ? one : at(shape, axis)));
  if (shape.length === 0 || !isColumn(index) || !isColumn(source) || !shape.every(isSeveral)) return undefined;
  const [places, values] = [builder.placeholder('index', index), builder.placeholder('source', source)];
  const coordinates = c.along(c.iota(at(shape, dim)), dim, shape.length);
  const lookedUp = c.gather(c.expand(coordinates, shape), dim, places);
  const rest = c.full(value, [], dtype);
  const written = mode === 'add' ? c.op('add', rest, values) : values;
  builder.output(c.expand(c.where(c.op('eq', coordinates, lookedUp), written, rest), shape));
  return builder.finish();
}

/** A size of which nothing has to be asked when it is broadcast. */
const isSeveral = (size: Index): boolean => size.kind === 'int' || (rangeOf(size).min ?? 0) > 1;
