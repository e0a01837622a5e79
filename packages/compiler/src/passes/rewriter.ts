// Applies a replacement. In: a graph as traced or in primitives. Out: the graph in which what was looked for is replaced.
//
// The function that is looked for is traced with examples first, which gives its shape as a graph: where that is found, whatever the sizes,
// it is traced again with the metas of what was found, and must be the same to the last attribute. So a pattern may compute with the
// shapes of its arguments, and no match is a guess.
import { at, isTsInductorError, stableStringify } from '@tsinductor/base';
import {
  contiguousMeta,
  contiguousStrides,
  decompose,
  Matcher,
  metaIn,
  needsItself,
  optimize,
  rewritten,
  sameOutputs,
  SizeEnvironment,
  standsAlone,
  usersOf,
  withNote,
} from '@tsinductor/graph';
import type { Graph, Match, Meta, NodeId, Pattern, Replaced } from '@tsinductor/graph';
import { int, printIndex } from '@tsinductor/ir';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { traceOver } from '@tsinductor/tensor/internal';
import { messageOf } from '../build/announcer.ts';
import { badReplacement } from '../errors.ts';
import type { PassContext } from './graph-pass.ts';
import type { Replacement } from './replacement.ts';

type Form = PassContext['form'];

interface Given {
  readonly metas: readonly Meta[];
  readonly numbers: readonly number[];
  readonly sizes: SizeEnvironment;
}

/** Numbers that stand for those of a pattern while it is traced with examples: no program has them. */
const standInOf = (position: number): number => 0.738_190_4 + position * 0.001_953_7;

function examplesOf({ rule: { like } }: Replacement): Given {
  const tensors = like.filter((example) => typeof example !== 'number');
  const metas = tensors.map(({ shape, dtype = 'f32' }) =>
    contiguousMeta(
      shape.map((size) => int(size)),
      dtype,
    ),
  );
  const numbers = like.filter((example) => typeof example === 'number').map((_, position) => standInOf(position));
  return { metas, numbers, sizes: new SizeEnvironment() };
}

/** Throws UserError REPLACEMENT_INVALID for a rule that is wrong whatever it is applied to. */
export function checkRule(rule: Replacement): void {
  const given = examplesOf(rule);
  const search = tracedAs('search', rule, given);
  const replace = tracedAs('replace', rule, { ...given, like: search });
  const used = usersOf(search);
  search.nodes.forEach(({ kind, id }, position) => {
    if (kind === 'placeholder' && !used.has(`${String(id)}.0`))
      throw badReplacement(rule.name, `search does not use its tensor ${String(position)}`);
  });
  if (search.outputs.some(({ node }) => at(search.nodes, node).kind !== 'call'))
    throw badReplacement(rule.name, 'search gives what it did not compute');
  loosePattern(rule, search, given.numbers);
  if (!sameOutputs(search, search.outputs, replace))
    throw badReplacement(
      rule.name,
      `replace gives ${printed(replace)}, and search ${printed(search)}: shapes, dtypes and strides are to be the same`,
    );
}

/** The pattern of a rule for any metas, of which its own graph is a match. Throws UserError REPLACEMENT_INVALID. */
function loosePattern({ name }: Replacement, graph: Graph, numbers: readonly number[]): Pattern {
  const pattern = { graph, numbers, isLoose: true };
  const isWhole = graph.outputs.every(({ node }) => at(graph.nodes, node).kind === 'call');
  const [itself] = isWhole ? new Matcher(graph).matchesAt(pattern, at(graph.outputs, 0).node) : [];
  if (itself === undefined)
    throw badReplacement(
      name,
      'search does not use its arguments as they are: numbers that it computes with stand for nothing',
    );
  return pattern;
}

/** A function of the rule as a graph, over tensors of these metas and these numbers; the results of `replace` lie as those of `like`. */
function tracedAs(
  which: 'search' | 'replace',
  { name, rule }: Replacement,
  { metas, numbers, sizes, like }: Given & { readonly like?: Graph },
): Graph {
  const { graph, captures, isPure } = traceOver(
    (tensors) => called(name, which, () => rule[which](...argumentsOf(rule.like, tensors, numbers))),
    { metas, sizes },
    (result) =>
      tensorsOf(name, which, result).map((tensor, place) => (liesInOrder(like, place) ? tensor.contiguous() : tensor)),
  );
  if (captures > 0)
    throw badReplacement(name, `${which} closes over tensors: pass them, or make them of numbers within it`);
  if (!isPure) throw badReplacement(name, `${which} writes to its arguments, or calls what no graph can say`);
  return graph;
}

/** What a function of the program gives; what is no error of ours is told with the rule that it is of. */
function called<T>(name: string, which: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (isTsInductorError(error)) throw error;
    throw badReplacement(name, `${which} fails: ${messageOf(error)}`, error);
  }
}

/** Whether an output of a graph is contiguous. */
function liesInOrder(graph: Graph | undefined, place: number): boolean {
  const value = graph?.outputs[place];
  if (graph === undefined || value === undefined) return false;
  const { shape, strides } = metaIn(graph, value);
  return stableStringify(strides) === stableStringify(contiguousStrides(shape));
}

/** Tensors and numbers in the order in which the pattern takes them. */
function argumentsOf(
  like: readonly unknown[],
  tensors: readonly Tensor[],
  numbers: readonly number[],
): (Tensor | number)[] {
  let [tensor, number] = [0, 0];
  return like.map((example) => (typeof example === 'number' ? at(numbers, number++) : at(tensors, tensor++)));
}

function tensorsOf(name: string, which: string, result: unknown): readonly Tensor[] {
  const list = Array.isArray(result) ? (result as readonly unknown[]) : [result];
  if (list.length === 0 || !list.every(isTensor))
    throw badReplacement(name, `${which} gives something else than tensors`);
  return list;
}

/** Applies a rule to graphs of one form. */
export class Rewriter {
  readonly #own: Replacement;
  readonly #context: PassContext;
  readonly #loose: Pattern;
  /** What the functions come to for metas and numbers, as these repeat from layer to layer. */
  readonly #known = new Map<string, Exact | undefined>();
  /** Why places that were found stay as they are. */
  readonly #refusals = new Set<string>();

  constructor(own: Replacement, context: PassContext) {
    this.#own = own;
    this.#context = context;
    const given = examplesOf(own);
    const search = tracedAs('search', own, given);
    this.#loose = loosePattern(own, inForm(context.form, search, given.sizes), given.numbers);
  }

  run(graph: Graph): Graph {
    const users = usersOf(graph);
    const place = { graph, users, matcher: new Matcher(graph, users), taken: new Set<NodeId>() };
    const found = [...graph.nodes].reverse().flatMap(({ id }) => this.#at(place, id));
    const { name: rule } = this.#own;
    const made = rewritten(graph, found, { rule, reason: 'a replacement of the program' });
    return [...this.#refusals].reduce((so, reason) => withNote(so, { rule, count: 0, reason }), made);
  }

  /** What is to be replaced at a node, of calls that are not taken yet: the first match that holds. */
  #at(place: Place, root: NodeId): readonly Replaced[] {
    const { graph, matcher, taken, users } = place;
    for (const candidate of matcher.matchesAt(this.#loose, root)) {
      if ([...candidate.nodes].some((node) => taken.has(node))) continue;
      if (!standsAlone(graph, candidate, users) || needsItself(graph, candidate, users)) continue;
      const exact = this.#exactly(
        candidate,
        candidate.inputs.map((value) => metaIn(graph, value)),
      );
      const match = exact && this.#held(place, { candidate, exact, root });
      if (exact === undefined || match === undefined) continue;
      match.nodes.forEach((node) => taken.add(node));
      return [{ ...match, by: exact.by, rule: this.#own.name }];
    }
    return [];
  }

  /** The match of the exact pattern with the values of a candidate. */
  #held(
    { graph, users }: Place,
    { candidate, exact, root }: { readonly candidate: Match; readonly exact: Exact; readonly root: NodeId },
  ): Match | undefined {
    for (const match of new Matcher(graph, users).matchesAt(exact.pattern, root)) {
      if (stableStringify([match.inputs, match.outputs]) !== stableStringify([candidate.inputs, candidate.outputs]))
        continue;
      if (sameOutputs(graph, match.outputs, exact.by)) return match;
    }
    return undefined;
  }

  /** Both functions over what was found; undefined where they refuse it, or would ask of sizes what nobody guards. */
  #exactly({ numbers }: Match, metas: readonly Meta[]): Exact | undefined {
    const key = stableStringify([metas, numbers.map((number) => (Object.is(number, -0) ? '-0' : String(number)))]);
    if (!this.#known.has(key)) this.#known.set(key, this.#made(metas, numbers));
    return this.#known.get(key);
  }

  #made(metas: readonly Meta[], numbers: readonly number[]): Exact | undefined {
    const sizes = this.#context.sizes();
    const given = { metas, numbers, sizes };
    const search = this.#traced('search', given);
    if (search === undefined || !this.#isWanted(given)) return undefined;
    const replace = this.#traced('replace', { ...given, like: search });
    if (replace === undefined || sizes.guardCount > 0) return undefined;
    if (!sameOutputs(search, search.outputs, replace)) {
      this.#refusals.add(`replace gives ${printed(replace)} for what search gives ${printed(search)}`);
      return undefined;
    }
    const { form } = this.#context;
    const pattern = { graph: inForm(form, search, sizes), numbers: [], isLoose: false };
    const by = form === 'traced' ? replace : decompose(replace, sizes);
    return sizes.guardCount > 0 ? undefined : { pattern, by };
  }

  /** Undefined where what was found has sizes or dtypes that the function is not for. */
  #traced(which: 'search' | 'replace', given: Given & { readonly like?: Graph }): Graph | undefined {
    try {
      return tracedAs(which, this.#own, given);
    } catch (error) {
      if (!isTsInductorError(error) || error.code === 'REPLACEMENT_INVALID') throw error;
      if (which === 'replace') this.#refusals.add(`replace refuses it: ${error.message}`);
      return undefined;
    }
  }

  #isWanted({ metas, numbers, sizes }: Given): boolean {
    const { name, rule } = this.#own;
    const { where, like } = rule;
    if (where === undefined) return true;
    const ask = (tensors: readonly Tensor[]): unknown =>
      called(name, 'where', () => where(...argumentsOf(like, tensors, numbers)));
    const { result } = traceOver(ask, { metas, sizes }, () => []);
    if (typeof result !== 'boolean') throw badReplacement(name, 'where gives something else than true or false');
    return result;
  }
}

/** The graph in which a rule is looked for. */
interface Place {
  readonly graph: Graph;
  readonly users: ReadonlyMap<string, readonly NodeId[]>;
  readonly matcher: Matcher;
  /** Calls that are replaced already. */
  readonly taken: Set<NodeId>;
}

interface Exact {
  readonly pattern: Pattern;
  readonly by: Graph;
}

/** A pattern as the graphs are in which it is looked for. */
function inForm(form: Form, graph: Graph, sizes: SizeEnvironment): Graph {
  if (form === 'traced') return graph;
  const primitives = decompose(graph, sizes);
  return form === 'primitives' ? primitives : optimize(primitives);
}

const printed = (graph: Graph): string =>
  graph.outputs
    .map((value) => metaIn(graph, value))
    .map(({ dtype, shape }) => `${dtype} [${shape.map((size) => printIndex(size)).join(', ')}]`)
    .join(' and ');
