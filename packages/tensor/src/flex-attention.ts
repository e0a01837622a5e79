// Attention whose scores and mask are functions of the program (Dong et al., Flex Attention, https://arxiv.org/abs/2412.05496). The
// functions are of one score; vmap makes them functions of all, so that a graph has them as loops between the two products.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { dispatchOne } from './dispatch.ts';
import { badArgument, describe } from './errors.ts';
import { checkOptions } from './given-options.ts';
import { located } from './location.ts';
import { vmap } from './mapping/vmap.ts';
import { float } from './scalars.ts';
import { indexesOf } from './symbolic-shape.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

/** Where a score is: integers (i64) without dims. */
export type ScorePlace = [batch: Tensor, head: Tensor, query: Tensor, key: Tensor];

/** What becomes of one score: a float without dims. */
export type ScoreMod = (...score: [score: Tensor, ...place: ScorePlace]) => Tensor;

/** Whether a key counts for a query: a bool without dims. */
export type MaskMod = (...place: ScorePlace) => Tensor;

/** Options of `flexAttention`. */
export interface FlexAttentionOptions {
  /** Changes scores, before masks. */
  readonly scoreMod?: ScoreMod;
  /** Keeps keys out. A row that keeps all out is 0. */
  readonly maskMod?: MaskMod;
  /** What products are multiplied by. Default: one over the root of the width. */
  readonly scale?: number;
  /** Whether the query has a multiple of the heads of key and value; neighbouring heads share them. Default: false. */
  readonly enableGqa?: boolean;
}

/** Whether the logarithm of the sum of each row's powers is a result too. Default: false. */
interface Returned<Lse extends boolean> {
  readonly returnLse: Lse;
}

/**
 * softmax(mask(scoreMod(Q K^T scale))) V. `query` is [batch, heads, rows, width], `key` [batch, heads, columns, width], `value`
 * [batch, heads, columns, any], floats of one dtype; the result is [batch, heads, rows, any]. With `returnLse` there is a second one:
 * the logarithms of the sums of powers, [batch, heads, rows] in f32 (f64 for f64), with which parts of attention can be joined. As
 * `torch.nn.attention.flex_attention`.
 *
 * ```ts
 * const slopes = exp2(arange(1, 9).neg());
 * nn.functional.flexAttention(q, k, v, {
 *   scoreMod: (score, b, h, i, j) => score.add(slopes.index([h]).mul(j.sub(i))), // ALiBi
 *   maskMod: (b, h, i, j) => i.ge(j).logicalAnd(i.sub(j).le(256)), // a causal window
 * });
 * ```
 *
 * Raises ARGUMENT_VALUE for tensors of other dims and for functions that give anything but a score or a bool, SHAPE_MISMATCH where sizes
 * do not fit, and what `vmap` raises where functions read elements or draw random numbers.
 */
export function flexAttention(
  ...given: [query: Tensor, key: Tensor, value: Tensor, options: FlexAttentionOptions & Returned<true>]
): [Tensor, Tensor];
export function flexAttention(
  ...given: [query: Tensor, key: Tensor, value: Tensor, options?: FlexAttentionOptions & Partial<Returned<false>>]
): Tensor;
export function flexAttention(
  ...[query, key, value, options = {}]: [
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options?: FlexAttentionOptions & Partial<Returned<boolean>>,
  ]
): Tensor | [Tensor, Tensor] {
  try {
    checkOptions(name, options, ['scoreMod', 'maskMod', 'scale', 'enableGqa', 'returnLse']);
    checkOperands({ query, key, value });
    for (const what of ['scoreMod', 'maskMod'] as const)
      if (options[what] !== undefined && typeof options[what] !== 'function')
        throw badArgument(name, `${what} is ${describe(options[what])}`, 'give a function over tensors');
    if (options.scale !== undefined && !Number.isFinite(options.scale))
      throw badArgument(name, `scale is ${describe(options.scale)}`, 'give a finite number');
    const { out, lse } = attention({ query, key, value }, options);
    return options.returnLse === true ? [out, lse] : out;
  } catch (error) {
    throw located(error);
  }
}

const name = 'flexAttention';

interface Operands {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

function checkOperands(operands: Operands): void {
  for (const [what, tensor] of Object.entries(operands) as [string, unknown][]) {
    if (!isTensor(tensor)) throw badArgument(name, `${what} is ${describe(tensor)}`, 'give a tensor');
    const { dtype, shape } = tensor;
    if (shape.length !== 4 || !isFloat(dtype))
      throw badArgument(
        name,
        `${what} is ${dtype} [${shape.join(', ')}]`,
        'give floats of [batch, heads, rows, width]',
      );
  }
}

const call = (operator: string, ...operands: readonly unknown[]): Tensor => dispatchOne(operator, operands);

interface Attended {
  readonly out: Tensor;
  readonly lse: Tensor;
}

function attention({ query, key, value }: Operands, options: FlexAttentionOptions): Attended {
  const { scoreMod, maskMod, scale = 1 / Math.sqrt(query.size(-1)), enableGqa = false } = options;
  const [keys, values] = enableGqa ? [forHeads(query, key), forHeads(query, value)] : [key, value];
  const products = widened(call('matmul', query, call('transpose', keys, -2, -1)));
  if (hasNoRows(key)) return withoutKeys(products, call('to', products, query.dtype), values);
  const scores = modified(call('mul', products, float(scale)), options);
  // A row without keys has the powers 0, whose sum 1 stands for. What is subtracted cancels: no gradient flows through it.
  const most = call('detach', dispatchOne('amax', [scores, -1], { keepdim: true }));
  const shift = maskMod === undefined ? most : call('where', call('eq', most, -Infinity), float(0), most);
  const shifted = call('sub', scores, shift);
  const powers = call('exp', scoreMod === undefined ? shifted : withoutTiny(shifted));
  const sum = dispatchOne('sum', [powers, -1], { keepdim: true });
  const whole = maskMod === undefined ? sum : call('where', call('eq', sum, 0), float(1), sum);
  const weights = call('mul', powers, call('reciprocal', whole));
  const out = call('matmul', call('to', weights, query.dtype), values);
  return { out, lse: call('squeeze', call('add', call('log', sum), shift), -1) };
}

function hasNoRows({ shape }: Tensor): boolean {
  const rows = indexesOf(shape)[2];
  return rows?.kind === 'int' && rows.value === 0;
}

/** As rows that a mask keeps all columns out of. */
const withoutKeys = (products: Tensor, weights: Tensor, values: Tensor): Attended => ({
  out: call('matmul', weights, values),
  lse: call('log', dispatchOne('sum', [products, -1])),
});

/**
 * What is a power of less than 1e-34 of its row's largest is 0: scores that fall with the distance come to many that are subnormal, which
 * processors multiply a hundred times slower.
 */
const withoutTiny = (x: Tensor): Tensor =>
  call('where', call('lt', x, float(x.dtype === 'f64' ? -700 : -80)), float(-Infinity), x);

const widened = (x: Tensor): Tensor => (x.dtype === 'f64' ? x : call('to', x, 'f32'));

/** Keys or values for each head of the query. */
function forHeads(query: Tensor, x: Tensor): Tensor {
  const [heads, own] = [query.size(1), x.size(1)];
  if (own === 0 || heads % own !== 0)
    throw badArgument(
      name,
      `${String(heads)} heads share those of ${String(own)}`,
      'with enableGqa the query has a multiple of heads',
    );
  return call('repeatInterleave', x, heads / own, 1);
}

/** Scores [batch, heads, rows, columns] as the functions change them. */
function modified(scores: Tensor, { scoreMod, maskMod }: FlexAttentionOptions): Tensor {
  if (scoreMod === undefined && maskMod === undefined) return scores;
  const ofOne = (score: Tensor, ...place: ScorePlace): Tensor => {
    const changed = scoreMod === undefined ? score : checked('scoreMod', scoreMod(score, ...place), score.dtype);
    if (maskMod === undefined) return changed;
    return call('where', checked('maskMod', maskMod(...place), 'bool'), changed, float(-Infinity));
  };
  const places = [0, 1, 2, 3].map((axis) => call('arange', scores.size(axis))) as ScorePlace;
  // From the innermost axis, that of columns, outward.
  const ofAll = [3, 2, 1, 0].reduce<typeof ofOne>(
    (fn, axis) => vmap(fn, { inAxes: [0, ...places.map((_, other) => (other === axis ? 0 : null))] as never }),
    ofOne,
  );
  return ofAll(scores, ...places);
}

function checked(what: string, made: unknown, dtype: DType): Tensor {
  if (!isTensor(made)) throw badArgument(name, `${what} gives ${describe(made)}`, 'give a tensor without dims');
  if (made.shape.length > 0 || made.dtype !== dtype)
    throw badArgument(name, `${what} gives ${made.dtype} [${made.shape.join(', ')}]`, `give ${dtype} without dims`);
  return made;
}
