// Replacements: what a program computes in one way, computed in another, said by two functions over tensors. As PyTorch's
// `register_replacement` (torch/_inductor/pattern_matcher.py).
import type { DType } from '@tsinductor/base';
import { isDType } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { badReplacement } from '../errors.ts';
import type { GraphPass } from './graph-pass.ts';
import { checkRule, Rewriter } from './rewriter.ts';

/** What arguments of a pattern are: tensors, and numbers that stand for any number. */
export type PatternArguments = readonly (Tensor | number)[];

/** An example of a tensor, and of a number. */
type Like<Argument> = Argument extends number ? number : { readonly shape: readonly number[]; readonly dtype?: DType };

type OverTensors<Args extends PatternArguments> = (...given: Args) => Tensor | readonly Tensor[];

export interface ReplacementOptions<Args extends PatternArguments> {
  /** Examples of the arguments, with which both functions are tried when the rule is made. */
  readonly like: { readonly [Position in keyof Args]: Like<Args[Position]> };
  /** What is looked for. It uses all of its arguments, and numbers as they are. */
  readonly search: OverTensors<Args>;
  /** What is computed in its place: as many results, of the same shapes, dtypes and strides. */
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
 * be used by nothing else. Calls are compared by operator and attributes, operands of commutative ones in both orders. Tensors of any
 * rank and dtype are found for which `search` comes to the same calls; a place for which `replace` throws or gives something else than
 * `search` stays as it is, and `explain` says so.
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
 * @throws UserError REPLACEMENT_INVALID for other options than these; where a function closes over tensors, writes to its arguments or
 * gives something else than tensors that it has computed; where `search` does not use an argument; and where `replace` gives something
 * else than `search` for the examples.
 */
export function replacement<Args extends PatternArguments>(
  name: string,
  options: ReplacementOptions<Args>,
): Replacement {
  // Its functions are called with what `like` says that they take, so that their own types may be forgotten.
  const made: Replacement = { name, rule: options as unknown as ReplacementOptions<PatternArguments> };
  checkOptions(made);
  checkRule(made); // a mistake is one where the rule is made
  return made;
}

function checkOptions({ name, rule }: { readonly name: unknown; readonly rule: unknown }): void {
  if (typeof name !== 'string' || !/^[\w -]{1,64}$/.test(name))
    throw badReplacement('', 'its name is not 1 to 64 letters, digits, spaces and hyphens');
  const options: Readonly<Partial<Record<string, unknown>>> =
    typeof rule === 'object' && rule !== null ? { ...rule } : {};
  const unknown = Object.keys(options).find((key) => !['like', 'search', 'replace', 'where'].includes(key));
  if (unknown !== undefined) throw badReplacement(name, `it has no option ${unknown}`);
  for (const key of ['search', 'replace'])
    if (typeof options[key] !== 'function') throw badReplacement(name, `${key} is no function`);
  if (options['where'] !== undefined && typeof options['where'] !== 'function')
    throw badReplacement(name, 'where is no function');
  const { like } = options;
  if (!Array.isArray(like) || like.length === 0) throw badReplacement(name, 'like is no list of examples');
  (like as readonly unknown[]).forEach((example, position) => {
    if (!isExample(example))
      throw badReplacement(name, `like[${String(position)}] is neither { shape, dtype } nor a number`);
  });
}

function isExample(example: unknown): boolean {
  if (typeof example === 'number') return true;
  if (typeof example !== 'object' || example === null) return false;
  const { shape, dtype = 'f32' } = example as { shape?: unknown; dtype?: unknown };
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size) && (size as number) >= 0);
  return isShape && typeof dtype === 'string' && isDType(dtype);
}

/**
 * A pass for the settings `preGradCustomPass`, `postGradCustomPrePass` and `postGradCustomPostPass` that applies replacements, in
 * their order, to every place that they are found at. `key` stands for them in cache keys: give another one when they change.
 *
 * Under `preGradCustomPass` graphs have the operators that the program calls, and a rule is found where the program is written like
 * it; under the others they are in primitives, and a rule is found where what is computed comes to the same. Where sizes are symbolic a
 * place stays as it is if a function would ask something of them that is not so of all sizes.
 *
 * @throws UserError REPLACEMENT_INVALID for what is no list of replacements
 */
export function graphPass(key: string, replacements: readonly Replacement[]): GraphPass {
  if (typeof key !== 'string') throw badReplacement('', 'the key of a pass is a text');
  if (!isRules(replacements)) throw badReplacement('', 'a pass is made of a list of what replacement() gives');
  const rules: readonly Replacement[] = [...replacements];
  return {
    key: `replacements ${key}: ${rules.map(({ name }) => name).join(', ')}`,
    run: (graph, context) =>
      context.usesPatterns ? rules.reduce((so, one) => new Rewriter(one, context).run(so), graph) : graph,
  };
}

const isRules = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && 'rule' in one);
