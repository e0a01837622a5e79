// The engine of graph passes: walks a graph in order and builds the next one, with every reference renamed. A pass says
// what becomes of a call; placeholders, constants, outputs, mutations and sizes are carried over here.
import { at } from '@tsinductor/base';
import { isList, isValue } from '../argument-reader.ts';
import type { Arg, Graph, GraphNode, NodeId, ValueRef } from '../graph.ts';

export type CallNode = GraphNode & { readonly kind: 'call' };

/** Collects the nodes of the next graph. */
export class NodeList {
  readonly nodes: GraphNode[] = [];

  add(node: GraphNode): readonly ValueRef[] {
    const id: NodeId = this.nodes.length;
    this.nodes.push({ ...node, id });
    return node.results.map((_, result) => ({ kind: 'value', node: id, result }));
  }
}

/** The results of a call, whose arguments are already renamed. */
type Transform = (node: CallNode, list: NodeList) => readonly ValueRef[];

export function rebuild(graph: Graph, transform: Transform): Graph {
  const list = new NodeList();
  const renamed: (readonly ValueRef[])[] = [];
  const rename = (value: ValueRef): ValueRef => at(at(renamed, value.node), value.result);
  for (const node of graph.nodes) {
    renamed.push(node.kind === 'call' ? transform(renameCall(node, rename), list) : list.add(node));
  }
  return { ...graph, nodes: list.nodes, outputs: graph.outputs.map(rename) };
}

/** The call with other references; it computes nothing again whose first call is gone. */
export function renameCall({ after, again, ...node }: CallNode, rename: (value: ValueRef) => ValueRef): CallNode {
  const first = again && rename(again);
  return {
    ...node,
    args: renameArgs(node.args, rename),
    ...(after && { after: after.map(rename) }),
    ...(first !== undefined && first.node >= 0 && { again: first }),
  };
}

export const renameArgs = (args: readonly Arg[], rename: (value: ValueRef) => ValueRef): readonly Arg[] =>
  args.map((arg) => (isList(arg) ? arg.map(rename) : isValue(arg) ? rename(arg) : arg));
