// The graph in which late calls use kept values, and what is computed of them again. In: a joint graph, and which early calls are
// computed again. Out: the graph with copies of these, each before the first late call that needs it, and after what that call waits
// for anyway (`after`): otherwise nothing would keep a copy from running where the original does. What nobody uses any more goes.
import { at } from '@tsinductor/base';
import { valuesOf } from '../argument-reader.ts';
import type { Graph, NodeId, ValueRef } from '../graph.ts';
import { NodeList, renameCall } from '../passes/rebuild.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { removeDead } from '../passes/remove-dead.ts';
import { rootsOf } from './joint-graph.ts';
import type { JointGraph } from './joint-graph.ts';
import { costKindOf } from './cost-kind.ts';

/** Early calls of which late ones use copies. */
export interface Repeated {
  /** In order, views of what is computed again among them. */
  readonly calls: readonly CallNode[];
  /** The late call that needs each first. */
  readonly firstUse: ReadonlyMap<NodeId, NodeId>;
}

/** What is computed again where `isRepeated` says so of every value that is needed. */
export function repeatedCalls(joint: JointGraph, isRepeated: (id: NodeId) => boolean): Repeated {
  const { graph, late } = joint;
  const firstUse = new Map<NodeId, NodeId>();
  const roots = rootsOf(joint);
  for (const user of late) {
    const open = argsOf(graph, user).filter((id) => !late.has(id));
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const node = at(graph.nodes, id);
      if (node.kind !== 'call' || firstUse.has(id)) continue;
      if (!isRepeated(at(roots, id))) continue;
      firstUse.set(id, user);
      open.push(...argsOf(graph, id));
    }
  }
  const calls = graph.nodes.filter((node): node is CallNode => node.kind === 'call' && firstUse.has(node.id));
  return { calls, firstUse };
}

const argsOf = ({ nodes }: Graph, id: NodeId): NodeId[] => {
  const node = at(nodes, id);
  return node.kind === 'call' ? valuesOf(node.args).map((value) => value.node) : [];
};

/** The graph with copies of these calls for the late ones. */
export function withRepeated({ graph, late }: JointGraph, { calls, firstUse }: Repeated): Graph {
  const before = new Map<NodeId, CallNode[]>();
  for (const call of calls) {
    const user = firstUse.get(call.id) ?? -1;
    before.set(user, [...(before.get(user) ?? []), call]);
  }
  const list = new NodeList();
  const originals = new Map<NodeId, readonly ValueRef[]>();
  const copies = new Map<NodeId, readonly ValueRef[]>();
  const original = ({ node, result }: ValueRef): ValueRef => at(originals.get(node) ?? [], result);
  const copied = (value: ValueRef): ValueRef => {
    const copy = copies.get(value.node);
    return copy === undefined ? original(value) : at(copy, value.result);
  };
  /** The last late value that was made. */
  let latest: readonly ValueRef[] = [];
  for (const node of graph.nodes) {
    if (node.kind !== 'call' || !late.has(node.id)) {
      originals.set(node.id, list.add(node.kind === 'call' ? renameCall(node, original) : node));
      continue;
    }
    const needed = valuesOf(node.args).filter((value) => late.has(value.node));
    const waits = needed.length > 0 ? needed.map(original) : latest;
    for (const call of before.get(node.id) ?? []) {
      const first = original({ kind: 'value', node: call.id, result: 0 });
      copies.set(call.id, list.add(copyOf(call, { rename: copied, original: first, waits })));
    }
    const made = list.add(renameCall(node, copied));
    originals.set(node.id, made);
    if (hasLoops(node)) latest = made.slice(0, 1);
  }
  return removeDead({ ...graph, nodes: list.nodes, outputs: graph.outputs.map(original) });
}

const hasLoops = (node: CallNode): boolean => costKindOf(node) !== 'view' && costKindOf(node) !== 'created';

interface Copying {
  readonly rename: (value: ValueRef) => ValueRef;
  /** What the call gave the first time. */
  readonly original: ValueRef;
  readonly waits: readonly ValueRef[];
}

/** The call as a copy; what only the backward pass needs is the first of its kind there. */
function copyOf(call: CallNode, { rename, original, waits }: Copying): CallNode {
  const copied = renameCall(call, rename);
  if (costKindOf(call) === 'view') return copied;
  const again = call.origin.pass === 'residual' ? {} : { again: original };
  return { ...copied, ...again, ...(waits.length > 0 && { after: waits }) };
}
