// Which results of a view operator share their input's memory. In: the operator's expansion into primitives over
// placeholders. Out: for each result the input it is made of, the primitive views in between, and its layout; or nothing,
// where a copy is needed (a reshape of a transposed tensor). Eager execution and tracing decide with the same code.
import { at } from '@tsinductor/base';
import { GraphBuilder, isValue, operatorFor } from '@tsinductor/graph';
import type { Attrs, Graph, Meta, Operator, SizeEnvironment, ValueRef, ViewLayout } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { BoundCall } from './bound-call.ts';

export interface ViewStep {
  readonly target: string;
  readonly attrs: Attrs;
}

export interface Alias {
  /** Position of the input that the result is a view of. */
  readonly input: number;
  readonly steps: readonly ViewStep[];
  /** Over the storage of the input; its offset counts from the input's own. */
  readonly layout: ViewLayout;
}

/** Whether results may share memory with an input: views, what says so, and subscripts, which are views unless tensors index. */
export const mayAlias = ({ kind, parameters, mayAlias: mayBeInput }: Operator): boolean =>
  kind === 'view' || mayBeInput === true || parameters.some(({ type }) => type === 'index');

/** A call's expansion into primitives, with one placeholder for each tensor, and its results as outputs. */
export function expandCall(call: BoundCall, metas: readonly Meta[], sizes?: SizeEnvironment): Graph {
  const builder = new GraphBuilder({ expand: true, ...(sizes === undefined ? {} : { sizes }) });
  metas.forEach((meta, position) => builder.placeholder(`input${position}`, meta));
  builder.output(...builder.callAll(call.operator.name, call.args, call.attrs));
  return builder.finish();
}

/** For each output of an expanded view operator, what it is a view of. */
export function findAliases(graph: Graph, sizes: SizeEnvironment): readonly (Alias | undefined)[] {
  const known = new Map<number, Alias | undefined>();
  const placeholders = graph.nodes.filter(({ kind }) => kind === 'placeholder').map(({ id }) => id);
  const aliasOf = (value: ValueRef): Alias | undefined => {
    if (value.result !== 0) return undefined;
    if (!known.has(value.node)) known.set(value.node, find(value));
    return known.get(value.node);
  };
  const find = ({ node: id }: ValueRef): Alias | undefined => {
    const node = at(graph.nodes, id);
    const { shape, strides } = at(node.results, 0);
    if (node.kind === 'placeholder')
      return { input: placeholders.indexOf(id), steps: [], layout: { shape, strides, offset: int(0) } };
    if (node.kind !== 'call') return undefined;
    const [source] = node.args;
    const operator = operatorFor(node.target, node.attrs);
    const base = isValue(source) ? aliasOf(source) : undefined;
    const layout = base && operator.view?.(base.layout, node.attrs, sizes);
    if (base === undefined || layout === undefined) return undefined;
    return { input: base.input, steps: [...base.steps, { target: node.target, attrs: node.attrs }], layout };
  };
  return graph.outputs.map(aliasOf);
}
