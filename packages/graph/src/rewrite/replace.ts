// Replaces parts of a graph by other graphs. In: a graph, and for each part the calls that it consists of, what they are given, and a
// graph over the same inputs whose outputs stand for what they gave. Out: the graph with these in their place, in topological order.
import { at, get } from '@tsinductor/base';
import { valueKey } from '../argument-reader.ts';
import type { Graph, GraphNode, NodeId, NodeOrigin, ValueRef } from '../graph.ts';
import { NodeList, renameCall, renameArgs } from '../passes/rebuild.ts';
import { usedBy } from './match.ts';
import type { Match } from './match.ts';

export interface Replaced extends Pick<Match, 'inputs' | 'outputs' | 'nodes'> {
  /** Its placeholders are the inputs, in their order; it has as many outputs, of the same metas. */
  readonly by: Graph;
  /** The rule that says so. */
  readonly rule: string;
}

/** Whether a part can be taken out: nothing but its outputs is used elsewhere, and gradients see all of it the same way. */
export function standsAlone(
  { nodes, outputs }: Graph,
  { nodes: inside, outputs: kept }: Pick<Match, 'nodes' | 'outputs'>,
  users: ReadonlyMap<string, readonly NodeId[]>,
): boolean {
  const isKept = new Set(kept.map(valueKey));
  const isResult = new Set(outputs.map(valueKey));
  const [marks] = [...inside].map((id) => marksOf(at(nodes, id).origin));
  return [...inside].every((id) => {
    const { results, origin } = at(nodes, id);
    return (
      marksOf(origin) === marks &&
      results.every((_, result) => {
        const value = valueKey({ node: id, result });
        if (isKept.has(value)) return true;
        return !isResult.has(value) && (users.get(value) ?? []).every((user) => inside.has(user));
      })
    );
  });
}

const marksOf = ({ isConstant, pass, region }: NodeOrigin): string => [isConstant, pass, region].map(String).join();

/** Whether a part is given what it computes itself, or would need one of its outputs for another: then no graph can stand in its place. */
export function needsItself(
  graph: Graph,
  { nodes: inside, inputs, outputs }: Pick<Match, 'nodes' | 'inputs' | 'outputs'>,
  users: ReadonlyMap<string, readonly NodeId[]>,
): boolean {
  if (inputs.some(({ node }) => inside.has(node))) return true;
  if (outputs.length === 1) return false;
  const wanted = new Set(inputs.map(({ node }) => node));
  const last = Math.max(-1, ...wanted);
  const seen = new Set<NodeId>();
  const open = outputs.map(valueKey);
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    for (const user of users.get(value) ?? []) {
      if (wanted.has(user)) return true;
      // What stands behind the last input leads to none.
      if (user > last || inside.has(user) || seen.has(user)) continue;
      seen.add(user);
      at(graph.nodes, user).results.forEach((_, result) => open.push(valueKey({ node: user, result })));
    }
  }
  return false;
}

/** Those of the parts that can be replaced together, no two of which share a call; and the graph then. */
function replaceAll(
  graph: Graph,
  parts: readonly Replaced[],
): { readonly graph: Graph; readonly parts: readonly Replaced[] } {
  /** With those that were taken, and as many of these as go with them. */
  const taken = (before: readonly Replaced[], more: readonly Replaced[]): readonly Replaced[] => {
    const all = [...before, ...more];
    if (more.length === 0 || replaceParts(graph, all) !== undefined) return all;
    if (more.length === 1) return before;
    const half = more.length >> 1;
    return taken(taken(before, more.slice(0, half)), more.slice(half));
  };
  const chosen = taken([], apart(parts));
  return { graph: chosen.length === 0 ? graph : (replaceParts(graph, chosen) ?? graph), parts: chosen };
}

/** Of parts, those that share no call with one before them. */
function apart<Part extends Pick<Match, 'nodes'>>(parts: readonly Part[]): readonly Part[] {
  const taken = new Set<NodeId>();
  return parts.filter(({ nodes }) => {
    if ([...nodes].some((id) => taken.has(id))) return false;
    nodes.forEach((id) => taken.add(id));
    return true;
  });
}

/** The graph with `parts`, no two of which share a call, replaced; undefined where one would then need what it gives itself. */
function replaceParts(graph: Graph, parts: readonly Replaced[]): Graph | undefined {
  const list = new NodeList();
  const renamed = new Map<string, ValueRef>();
  const partOf = new Map(parts.flatMap((part) => [...part.nodes].map((id) => [id, part] as const)));
  const state = new Map<GraphNode | Replaced, 'begun' | 'done'>();
  const rename = (value: ValueRef): ValueRef => get(renamed, valueKey(value));
  const emit = (unit: GraphNode | Replaced): void => {
    if ('by' in unit) splice(unit, { list, renamed, origin: originOf(graph, unit) });
    else {
      const made = list.add(
        unit.kind === 'call'
          ? renameCall(unit, rename)
          : unit.kind === 'host'
            ? { ...unit, args: renameArgs(unit.args, rename) }
            : unit,
      );
      made.forEach((value, result) => renamed.set(valueKey({ node: unit.id, result }), value));
    }
    state.set(unit, 'done');
  };
  const unitOf = (id: NodeId): GraphNode | Replaced => partOf.get(id) ?? at(graph.nodes, id);
  const needs = (unit: GraphNode | Replaced): readonly (GraphNode | Replaced)[] =>
    ('by' in unit ? unit.inputs : usedBy(unit)).map(({ node }) => unitOf(node));
  // Placeholders stay in their order.
  const inOrder = [...graph.nodes].sort((a, b) => Number(b.kind === 'placeholder') - Number(a.kind === 'placeholder'));
  for (const { id } of inOrder) {
    const waiting = [unitOf(id)];
    for (let unit = waiting.at(-1); unit !== undefined; unit = waiting.at(-1)) {
      if (state.get(unit) === 'done') {
        waiting.pop();
        continue;
      }
      const missing = needs(unit).filter((other) => state.get(other) !== 'done');
      if (missing.some((other) => state.get(other) === 'begun')) return undefined;
      if (missing.length === 0) {
        emit(unit);
        waiting.pop();
      } else {
        state.set(unit, 'begun');
        waiting.push(...missing);
      }
    }
  }
  return { ...graph, nodes: list.nodes, outputs: graph.outputs.map(rename) };
}

/** The graph with parts replaced as `replaceAll` does, and with a note of it. As it was where there is nothing to replace. */
export function rewritten(graph: Graph, found: readonly Replaced[], { rule, reason }: Note): Graph {
  const { graph: made, parts } = replaceAll(graph, found);
  return parts.length === 0 ? graph : withNote(made, { rule, count: parts.length, reason });
}

interface Note {
  readonly rule: string;
  readonly reason: string;
}

/** The graph with what a rule has done to it. */
export const withNote = (graph: Graph, note: Note & { readonly count: number }): Graph => ({
  ...graph,
  decisions: [...(graph.decisions ?? []), { kind: 'rewritten', stage: 'graph passes', ...note }],
});

interface Splicing {
  readonly list: NodeList;
  readonly renamed: Map<string, ValueRef>;
  readonly origin: NodeOrigin;
}

/** Where the part's first output comes from: its line is what a user knows the whole by. */
function originOf({ nodes }: Graph, { outputs, rule }: Replaced): NodeOrigin {
  const { origin } = at(nodes, at(outputs, 0).node);
  return { ...origin, from: [...origin.from, rule] };
}

function splice({ by, inputs, outputs }: Replaced, { list, renamed, origin }: Splicing): void {
  const own = new Map<string, ValueRef>();
  const rename = (value: ValueRef): ValueRef => get(own, valueKey(value));
  let input = 0;
  for (const node of by.nodes) {
    if (node.kind === 'placeholder') {
      own.set(valueKey({ node: node.id, result: 0 }), get(renamed, valueKey(at(inputs, input++))));
      continue;
    }
    const placed: GraphNode = node.kind === 'call' ? renameCall(node, rename) : node;
    const from = [...origin.from, ...node.origin.from];
    list
      .add({ ...placed, origin: { ...origin, from } })
      .forEach((value, result) => own.set(valueKey({ node: node.id, result }), value));
  }
  outputs.forEach((value, position) => renamed.set(valueKey(value), rename(at(by.outputs, position))));
}
