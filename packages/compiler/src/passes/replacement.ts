// Replacements: what a program computes in one way, computed in another, said by two functions over tensors. As PyTorch's
// `register_replacement` (torch/_inductor/pattern_matcher.py).
//
// The function that is looked for is traced with examples first, which gives its shape as a graph: where that is found, whatever the sizes,
// it is traced again with the metas of what was found, and must be the same to the last attribute. So a pattern may compute with the
// shapes of its arguments, and no match is a guess.
import { at, isTsInductorError, stableStringify } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import {
  apart,
  contiguousMeta,
  decompose,
  Matcher,
  replaceParts,
  SizeEnvironment,
  standsAlone,
  usersOf,
  withNote,
} from '@tsinductor/graph';
import type { Graph, Match, Meta, NodeId, Pattern, Replaced, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { traceOver } from '@tsinductor/tensor/internal';
import { badReplacement } from '../errors.ts';
import type { GraphPass, PassContext } from './graph-pass.ts';

/** What arguments of a pattern are: tensors, and numbers that stand for any number. */
export type PatternArguments = readonly (Tensor | number)[];

/** An example of a tensor, of which rank and dtype count, and of a number. */
type Like<Argument> = Argument extends number ? number : { readonly shape: readonly number[]; readonly dtype?: DType };

type OverTensors<Args extends PatternArguments> = (...given: Args) => Tensor | readonly Tensor[];

export interface ReplacementOptions<Args extends PatternArguments> {
  /** Examples of the arguments. */
  readonly like: { readonly [Position in keyof Args]: Like<Args[Position]> };
  /** What is looked for. It uses all of its arguments, and numbers as they are. */
  readonly search: OverTensors<Args>;
  /** What is computed in its place: results of the same shapes and dtypes. */
  readonly replace: OverTensors<Args>;
  /** Whether a match counts, by shapes, dtypes and numbers of what was found. */
  readonly where?: (...given: Args) => boolean;
}

/** A rule of a `graphPass`. */
export interface Replacement {
  readonly name: string;
  /** @internal */
  readonly rule: ReplacementOptions<PatternArguments>;
}

/**
 * A rule for `graphPass`: wherever a graph computes what `search` does, it computes what `replace` does. Values in between must
 * be used by nothing else. Calls are compared by operator and attributes, operands of commutative ones in both orders.
 *
 * ```ts
 * const fast = replacement('quick gelu', {
 *   like: [{ shape: [2, 2] }, 1.702],
 *   search: (x: Tensor, slope: number) => x.mul(x.mul(slope).sigmoid()),
 *   replace: (x) => nn.functional.gelu(x),
 * });
 * const f = compile(model, { options: { preGradCustomPass: graphPass('gelus', [fast]) } });
 * ```
 *
 * @throws UserError REPLACEMENT_INVALID where a function closes over tensors, writes to its arguments or gives something else than
 * tensors that it has computed, or where `search` does not use an argument.
 */
export function replacement<Args extends PatternArguments>(
  name: string,
  options: ReplacementOptions<Args>,
): Replacement {
  if (typeof name !== 'string' || !/^[\w -]{1,64}$/.test(name))
    throw badReplacement('', 'its name is not 1 to 64 letters, digits, spaces and hyphens');
  const made: Replacement = { name, rule: options as unknown as ReplacementOptions<PatternArguments> };
  patternOf(made); // a mistake is one where the rule is made
  return made;
}

/** Numbers that stand for those of a pattern while it is traced with examples: no program has them. */
const standInOf = (position: number): number => 0.738_190_4 + position * 0.001_953_7;

const exampleMeta = ({ shape, dtype = 'f32' }: { shape: readonly number[]; dtype?: DType }): Meta =>
  contiguousMeta(
    shape.map((size) => int(size)),
    dtype,
  );

interface Given {
  readonly metas: readonly Meta[];
  readonly numbers: readonly number[];
  readonly sizes: SizeEnvironment;
}

/** A function of the rule as a graph, over tensors of these metas and these numbers. */
function tracedAs(which: 'search' | 'replace', { name, rule }: Replacement, given: Given): Graph {
  const { metas, numbers, sizes } = given;
  const { graph, captures, isPure } = traceOver(
    (tensors) => rule[which](...argumentsOf(rule.like, tensors, numbers)),
    { metas, sizes },
    (result) => tensorsOf(name, which, result),
  );
  if (captures > 0)
    throw badReplacement(name, `${which} closes over tensors: pass them, or make them of numbers within it`);
  if (!isPure) throw badReplacement(name, `${which} writes to its arguments, or calls what no graph can say`);
  return graph;
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
  // What is computed lies in order, whatever was transposed last.
  return which === 'search' ? list : list.map((tensor) => tensor.contiguous());
}

function patternOf({ name, rule }: Replacement): Pattern {
  const tensors = rule.like.filter((example) => typeof example !== 'number');
  const numbers = rule.like.filter((example) => typeof example === 'number').map((_, position) => standInOf(position));
  const given = { metas: tensors.map(exampleMeta), numbers, sizes: new SizeEnvironment() };
  const graph = tracedAs('search', { name, rule }, given);
  const used = usersOf(graph);
  graph.nodes.forEach(({ kind, id }, position) => {
    if (kind === 'placeholder' && !used.has(`${String(id)}.0`))
      throw badReplacement(name, `search does not use its tensor ${String(position)}`);
  });
  if (graph.outputs.some(({ node }) => at(graph.nodes, node).kind !== 'call'))
    throw badReplacement(name, 'search gives what it did not compute');
  const text = stableStringify(graph.nodes.map((node) => (node.kind === 'call' ? [node.args, node.attrs] : null)));
  const lost = numbers.findIndex((number) => !text.includes(String(number)));
  if (lost >= 0) throw badReplacement(name, `search does not use its number ${String(lost)} as it is`);
  return { graph, numbers, isLoose: true };
}

/** A rule at work on graphs of one form: as they are traced, or in primitives. */
class RuleAtWork {
  readonly #own: Replacement;
  readonly #context: PassContext;
  readonly #loose: Pattern;
  /** What the functions come to for metas and numbers, as these repeat from layer to layer. */
  readonly #known = new Map<string, Exact | undefined>();

  constructor(own: Replacement, context: PassContext) {
    this.#own = own;
    this.#context = context;
    const pattern = patternOf(own);
    this.#loose = { ...pattern, graph: this.#inForm(pattern.graph, new SizeEnvironment()) };
  }

  run(graph: Graph): Graph {
    const users = usersOf(graph);
    const matcher = new Matcher(graph, users);
    const found = [...graph.nodes].reverse().flatMap(({ id }) => this.#at({ graph, matcher, users }, id));
    const parts = apart(found);
    const replaced = parts.length === 0 ? undefined : replaceParts(graph, parts);
    if (replaced === undefined) return graph;
    return withNote(replaced, { rule: this.#own.name, count: parts.length, reason: 'a replacement of the program' });
  }

  #at(
    { graph, matcher, users }: { graph: Graph; matcher: Matcher; users: ReadonlyMap<string, readonly NodeId[]> },
    root: NodeId,
  ): readonly Replaced[] {
    const metaOf = ({ node, result }: ValueRef): Meta => at(at(graph.nodes, node).results, result);
    for (const candidate of matcher.matchesAt(this.#loose, root)) {
      const exact = this.#exactly(candidate, candidate.inputs.map(metaOf));
      if (exact === undefined) continue;
      for (const match of matcher.matchesAt(exact.pattern, root)) {
        if (!sameValues(match, candidate) || !standsAlone(graph, match, users)) continue;
        const fits = match.outputs.every((value, place) => sameMeta(metaOf(value), outputMeta(exact.by, place)));
        if (!fits)
          throw badReplacement(
            this.#own.name,
            `replace gives results of other shapes, dtypes or strides than search: ${printed(exact.by)}`,
          );
        return [
          { by: exact.by, rule: this.#own.name, inputs: match.inputs, outputs: match.outputs, nodes: match.nodes },
        ];
      }
    }
    return [];
  }

  /** Both functions over what was found; undefined where they refuse it, or would ask of sizes what nobody guards. */
  #exactly({ numbers }: Match, metas: readonly Meta[]): Exact | undefined {
    const key = stableStringify([metas, numbers]);
    if (!this.#known.has(key)) this.#known.set(key, this.#made(metas, numbers));
    return this.#known.get(key);
  }

  #made(metas: readonly Meta[], numbers: readonly number[]): Exact | undefined {
    const sizes = this.#context.sizes();
    const given = { metas, numbers, sizes };
    const search = this.#searched(given);
    if (search === undefined || !this.#isWanted(given)) return undefined;
    const by = this.#inForm(tracedAs('replace', this.#own, given), sizes);
    if (sizes.guardCount > 0) return undefined;
    return { pattern: { graph: search, numbers: [], isLoose: false }, by };
  }

  #searched(given: Given): Graph | undefined {
    try {
      return this.#inForm(tracedAs('search', this.#own, given), given.sizes);
    } catch (error) {
      // What was found has sizes or dtypes that the pattern is not for.
      if (isTsInductorError(error)) return undefined;
      throw error;
    }
  }

  #isWanted({ metas, numbers, sizes }: Given): boolean {
    const { where, like } = this.#own.rule;
    if (where === undefined) return true;
    const ask = (tensors: readonly Tensor[]): boolean => where(...argumentsOf(like, tensors, numbers));
    return traceOver(ask, { metas, sizes }, () => []).result;
  }

  #inForm(graph: Graph, sizes: SizeEnvironment): Graph {
    return this.#context.form === 'traced' ? graph : decompose(graph, sizes);
  }
}

interface Exact {
  readonly pattern: Pattern;
  readonly by: Graph;
}

const sameValues = (a: Match, b: Match): boolean => stableStringify(a.inputs) === stableStringify(b.inputs);
const sameMeta = (a: Meta, b: Meta): boolean => stableStringify(a) === stableStringify(b);
const outputMeta = ({ nodes, outputs }: Graph, place: number): Meta => {
  const { node, result } = at(outputs, place);
  return at(at(nodes, node).results, result);
};
const printed = (graph: Graph): string => {
  const { dtype, shape } = outputMeta(graph, 0);
  return `${dtype} [${shape.map((size) => (size.kind === 'int' ? String(size.value) : '?')).join(', ')}]`;
};

/**
 * A pass for the settings `preGradCustomPass`, `postGradCustomPrePass` and `postGradCustomPostPass` that applies replacements, in
 * their order, to every place that they are found at. `key` stands for them in cache keys: give another one when they change.
 *
 * Under `preGradCustomPass` graphs have the operators that the program calls, and a rule is found where the program is written like
 * it; under the others they are in primitives, and a rule is found where what is computed comes to the same.
 */
export const graphPass = (key: string, replacements: readonly Replacement[]): GraphPass => ({
  key: `replacements ${key}: ${replacements.map(({ name }) => name).join(', ')}`,
  run: (graph, context) =>
    context.usesPatterns ? replacements.reduce((so, one) => new RuleAtWork(one, context).run(so), graph) : graph,
});
