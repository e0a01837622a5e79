// Where a pattern is found in a graph. A pattern is a graph: its placeholders stand for any value, its calls for calls of the same
// operators, and what it computes with numbers for those. In: a graph as traced or in primitives, and a pattern in the same form.
// Out: matches, each with the value that every placeholder stands for.
//
// Operands of operators that commute are tried in both orders, so a place may match in several ways: they come one by one, and whoever
// asks takes the first that holds.
import { at, get, stableStringify } from '@tsinductor/base';
import { isPointwise, pointwise } from '@tsinductor/ops';
import { isAttrList, isList, isScalar, isValue, scalarNumber, valueKey, valuesOf } from '../argument-reader.ts';
import type { Arg, Attr, Graph, GraphNode, NodeId, ScalarRef, ValueRef } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';

/** Every output is a call's, and every placeholder and every number is used. */
export interface Pattern {
  readonly graph: Graph;
  /** Numbers that stand for any number. */
  readonly numbers: readonly number[];
  /** Whether attributes and other numbers may differ: of a pattern that was made for other shapes, which has to be made anew. */
  readonly isLoose: boolean;
}

export interface Match {
  /** What the pattern's placeholders stand for, in their order. */
  readonly inputs: readonly ValueRef[];
  /** What its numbers stand for. */
  readonly numbers: readonly number[];
  /** What its outputs stand for. */
  readonly outputs: readonly ValueRef[];
  /** The calls that it consists of. */
  readonly nodes: ReadonlySet<NodeId>;
}

/** What parts of a pattern stand for so far: values by placeholder, calls by call, numbers by number. */
interface Bound {
  readonly values: ReadonlyMap<NodeId, ValueRef>;
  readonly nodes: ReadonlyMap<NodeId, NodeId>;
  readonly numbers: ReadonlyMap<number, number>;
}

const nothing: Bound = { values: new Map(), nodes: new Map(), numbers: new Map() };

/** Whether its operands may change places: the table of pointwise ops says so, unless one of them is scaled first. */
const isCommutative = ({ target, args, attrs }: CallNode): boolean =>
  isPointwise(target) &&
  pointwise[target].traits.commutative === true &&
  args.length === 2 &&
  Object.values(attrs).every((attr) => attr === null || (isScalar(attr) && scalarNumber(attr) === 1));

/**
 * How many calls are compared for one place at most: patterns of many commutative calls and several results stand at a place in very many
 * ways, and a place where none of so many holds is taken for none.
 */
const mostComparisons = 4000;

/** The users of every value of a graph, in order. */
export function usersOf({ nodes }: Graph): ReadonlyMap<string, readonly NodeId[]> {
  const users = new Map<string, NodeId[]>();
  for (const node of nodes) {
    for (const value of new Set(usedBy(node).map(valueKey))) {
      const known = users.get(value);
      if (known === undefined) users.set(value, [node.id]);
      else known.push(node.id);
    }
  }
  return users;
}

/** Every value that a node mentions. */
export const usedBy = (node: GraphNode): readonly ValueRef[] =>
  node.kind === 'call'
    ? [...valuesOf(node.args), ...(node.after ?? []), ...(node.again === undefined ? [] : [node.again])]
    : node.kind === 'host'
      ? valuesOf(node.args)
      : [];

/** Finds a pattern's matches in one graph. */
export class Matcher {
  readonly #graph: Graph;
  readonly #users: ReadonlyMap<string, readonly NodeId[]>;
  #comparisons = 0;

  constructor(graph: Graph, users: ReadonlyMap<string, readonly NodeId[]> = usersOf(graph)) {
    this.#graph = graph;
    this.#users = users;
  }

  /** Matches whose first output is a value of the node `root`. */
  *matchesAt(pattern: Pattern, root: NodeId): Iterable<Match> {
    this.#comparisons = 0;
    const first = at(pattern.graph.outputs, 0);
    const placeholders = pattern.graph.nodes.filter(({ kind }) => kind === 'placeholder');
    for (const start of this.#value(pattern, { wanted: first, found: { ...first, node: root } }, nothing)) {
      for (const bound of this.#otherOutputs(pattern, { position: 1, root }, start)) {
        const numbers = pattern.numbers.flatMap((number) => bound.numbers.get(number) ?? []);
        const inputs = placeholders.flatMap(({ id }) => bound.values.get(id) ?? []);
        if (numbers.length < pattern.numbers.length || inputs.length < placeholders.length) continue;
        yield {
          inputs,
          numbers,
          outputs: pattern.graph.outputs.map((value) => ({ ...value, node: get(bound.nodes, value.node) })),
          nodes: new Set(bound.nodes.values()),
        };
      }
    }
  }

  /** The outputs from `position` on: each is reached already, or somewhere above what is. */
  *#otherOutputs(
    pattern: Pattern,
    { position, root }: { readonly position: number; readonly root: NodeId },
    bound: Bound,
  ): Iterable<Bound> {
    const wanted = pattern.graph.outputs[position];
    const next = { position: position + 1, root };
    if (wanted === undefined) yield bound;
    else if (bound.nodes.has(wanted.node)) yield* this.#otherOutputs(pattern, next, bound);
    else
      for (const node of this.#above(bound, { depth: pattern.graph.nodes.length, root }))
        for (const more of this.#value(pattern, { wanted, found: { ...wanted, node } }, bound))
          yield* this.#otherOutputs(pattern, next, more);
  }

  /** Calls that use what is bound, and their users, as far up as a pattern reaches: those that stand near the root, the nearest first. */
  #above({ values }: Bound, { depth, root }: { readonly depth: number; readonly root: NodeId }): readonly NodeId[] {
    const found = new Set<NodeId>();
    let level: readonly string[] = [...values.values()].map(valueKey);
    for (let step = 0; step < depth && level.length > 0; step += 1) {
      const users = level
        .flatMap((value) => nearest(this.#users.get(value) ?? [], root))
        .filter((node) => !found.has(node));
      users.forEach((node) => found.add(node));
      level = users.flatMap((node) =>
        at(this.#graph.nodes, node).results.map((_, result) => valueKey({ node, result })),
      );
    }
    return [...found].sort((a, b) => Math.abs(a - root) - Math.abs(b - root));
  }

  *#value(
    pattern: Pattern,
    { wanted, found }: { readonly wanted: ValueRef; readonly found: ValueRef },
    bound: Bound,
  ): Iterable<Bound> {
    const [here, there] = [at(pattern.graph.nodes, wanted.node), at(this.#graph.nodes, found.node)];
    switch (here.kind) {
      case 'placeholder': {
        const known = bound.values.get(here.id);
        if (known === undefined) yield { ...bound, values: new Map(bound.values).set(here.id, found) };
        else if (valueKey(known) === valueKey(found)) yield bound;
        return;
      }
      case 'constant':
        if (there.kind === 'constant' && there.data === here.data && sameResults(here, there)) yield bound;
        return;
      case 'call':
        if (there.kind === 'call' && wanted.result === found.result) yield* this.#call(pattern, { here, there }, bound);
        return;
      case 'host':
        return;
    }
  }

  *#call(
    pattern: Pattern,
    { here, there }: { readonly here: CallNode; readonly there: CallNode },
    bound: Bound,
  ): Iterable<Bound> {
    const known = bound.nodes.get(here.id);
    if (known !== undefined) {
      if (known === there.id) yield bound;
      return;
    }
    this.#comparisons += 1;
    if (this.#comparisons > mostComparisons) return;
    if (here.target !== there.target || here.args.length !== there.args.length) return;
    if ([...bound.nodes.values()].includes(there.id)) return;
    const attrs = withAttrs(pattern, { here, there }, bound);
    if (attrs === undefined) return;
    const next = { ...attrs, nodes: new Map(attrs.nodes).set(here.id, there.id) };
    yield* this.#args(pattern, { wanted: here.args, found: there.args }, next);
    if (isCommutative(here) && isCommutative(there))
      yield* this.#args(pattern, { wanted: here.args, found: [...there.args].reverse() }, next);
  }

  *#args(
    pattern: Pattern,
    { wanted, found }: { readonly wanted: readonly Arg[]; readonly found: readonly Arg[] },
    bound: Bound,
  ): Iterable<Bound> {
    const [first, ...rest] = wanted;
    const [given, ...others] = found;
    if (first === undefined || given === undefined) {
      if (wanted.length === found.length) yield bound;
      return;
    }
    for (const next of this.#arg(pattern, { wanted: first, found: given }, bound))
      yield* this.#args(pattern, { wanted: rest, found: others }, next);
  }

  *#arg(
    pattern: Pattern,
    { wanted, found }: { readonly wanted: Arg; readonly found: Arg },
    bound: Bound,
  ): Iterable<Bound> {
    if (isList(wanted)) {
      if (isList(found)) yield* this.#args(pattern, { wanted, found }, bound);
    } else if (isValue(wanted)) {
      if (isValue(found)) yield* this.#value(pattern, { wanted, found }, bound);
    } else {
      const next = isList(found) || isValue(found) ? undefined : withAttr(pattern, { wanted, found }, bound);
      if (next !== undefined) yield next;
    }
  }
}

/** How many users of one value are looked at. */
const nearUsers = 32;

/** Of ascending nodes those that stand on either side of `root`. */
function nearest(nodes: readonly NodeId[], root: NodeId): readonly NodeId[] {
  if (nodes.length <= nearUsers) return nodes;
  let [low, high] = [0, nodes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(nodes, middle) < root) low = middle + 1;
    else high = middle;
  }
  const first = Math.min(Math.max(low - nearUsers / 2, 0), nodes.length - nearUsers);
  return nodes.slice(first, first + nearUsers);
}

const sameResults = (a: GraphNode, b: GraphNode): boolean =>
  stableStringify(a.results.map(({ shape, dtype }) => [shape, dtype])) ===
  stableStringify(b.results.map(({ shape, dtype }) => [shape, dtype]));

interface Calls {
  readonly here: CallNode;
  readonly there: CallNode;
}

function withAttrs(pattern: Pattern, { here, there }: Calls, bound: Bound): Bound | undefined {
  const names = Object.keys(here.attrs);
  if (names.length !== Object.keys(there.attrs).length) return undefined;
  return names.reduce<Bound | undefined>((so, name) => {
    const found = there.attrs[name];
    if (so === undefined || found === undefined) return undefined;
    return withAttr(pattern, { wanted: here.attrs[name] ?? null, found }, so);
  }, bound);
}

/** What is bound once a plain argument or attribute has been compared; undefined: it differs. */
function withAttr(
  pattern: Pattern,
  { wanted, found }: { readonly wanted: Attr; readonly found: Attr },
  bound: Bound,
): Bound | undefined {
  const number = numberOf(wanted);
  if (number !== undefined && pattern.numbers.includes(number)) {
    const given = numberOf(found);
    const known = bound.numbers.get(number);
    if (given === undefined || (known !== undefined && !Object.is(known, given))) return undefined;
    return { ...bound, numbers: new Map(bound.numbers).set(number, given) };
  }
  if (isAttrList(wanted) && isAttrList(found) && wanted.length === found.length)
    return wanted.reduce<Bound | undefined>(
      (so, item, place) => so && withAttr(pattern, { wanted: item, found: at(found, place) }, so),
      bound,
    );
  return pattern.isLoose || stableStringify(wanted) === stableStringify(found) ? bound : undefined;
}

const numberOf = (attr: Attr | ScalarRef): number | undefined =>
  typeof attr === 'number' ? attr : isScalar(attr) && attr.category !== 'bool' ? scalarNumber(attr) : undefined;
