// Attention whose scores and mask are functions of the program (Dong et al., Flex Attention, https://arxiv.org/abs/2412.05496). The
// functions are of one score; vmap makes them functions of all, so that a graph has them as loops between the two products.
import { at, isFloat } from '@tsinductor/base';
import { equal, int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { BlockMask, checkedScalar, ofAllPlaces } from './block-mask.ts';
import type { MaskMod, ScorePlace } from './block-mask.ts';
import { dispatchOne } from './dispatch.ts';
import { badArgument, describe } from './errors.ts';
import { checkOptions } from './given-options.ts';
import { located } from './location.ts';
import { processState } from './process-state.ts';
import { float } from './scalars.ts';
import { indexesOf, symbolicSizes } from './symbolic-shape.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

/** What becomes of one score: a float without dims. */
export type ScoreMod = (...score: [score: Tensor, ...place: ScorePlace]) => Tensor;

/** Options of `flexAttention`. */
export interface FlexAttentionOptions {
  /** Changes scores, before masks. */
  readonly scoreMod?: ScoreMod;
  /** Keeps keys out. A row that keeps all out is 0. */
  readonly maskMod?: MaskMod;
  /** Which blocks the mask leaves out (`createBlockMask`): compiled code does. Its own mask holds where no `maskMod` is given. */
  readonly blockMask?: BlockMask;
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
 * Raises ARGUMENT_VALUE for tensors of other dims, for functions that give anything but a score or a bool, and for a block mask of other
 * sizes; SHAPE_MISMATCH where sizes do not fit, and what `vmap` raises where functions read elements or draw random numbers.
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
    checkOptions(name, options, ['scoreMod', 'maskMod', 'blockMask', 'scale', 'enableGqa', 'returnLse']);
    checkOperands({ query, key, value });
    checkGiven(options);
    const maskMod = options.maskMod ?? options.blockMask?.maskMod;
    const { out, lse } = attention({ query, key, value }, { ...options, ...(maskMod && { maskMod }) });
    return options.returnLse === true ? [out, lse] : out;
  } catch (error) {
    throw located(error);
  }
}

const name = 'flexAttention';

function checkGiven({ blockMask, scale, ...functions }: FlexAttentionOptions): void {
  for (const what of ['scoreMod', 'maskMod'] as const)
    if (functions[what] !== undefined && typeof functions[what] !== 'function')
      throw badArgument(name, `${what} is ${describe(functions[what])}`, 'give a function over tensors');
  if (scale !== undefined && !Number.isFinite(scale))
    throw badArgument(name, `scale is ${describe(scale)}`, 'give a finite number');
  if (blockMask !== undefined && !(blockMask instanceof BlockMask))
    throw badArgument(name, `blockMask is ${describe(blockMask)}`, 'make one with createBlockMask');
}

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
function modified(scores: Tensor, { scoreMod, maskMod, blockMask }: FlexAttentionOptions): Tensor {
  if (scoreMod === undefined && maskMod === undefined) return scores;
  const ofOne = (score: Tensor, ...place: ScorePlace): Tensor => {
    const { dtype } = score;
    const changed =
      scoreMod === undefined ? score : checkedScalar(name, 'scoreMod', { made: scoreMod(score, ...place), dtype });
    if (maskMod === undefined) return changed;
    const counts = checkedScalar(name, 'maskMod', { made: maskMod(...place), dtype: 'bool' });
    return call('where', counts, changed, float(-Infinity));
  };
  const places = [0, 1, 2, 3].map((axis) => call('arange', sizeOf(scores, axis))) as ScorePlace;
  const all = ofAllPlaces(ofOne, 1)(scores, ...places);
  return blockMask === undefined ? all : call('where', inUsedBlocks(scores, blockMask), all, float(-Infinity));
}

/** A size as what operators take: a symbol of what is being recorded stays one. */
const sizeOf = ({ shape }: Tensor, axis: number): unknown => symbolicSizes(shape)?.[axis] ?? shape[axis];

/** Whether each score is in a block that counts. */
function inUsedBlocks(scores: Tensor, blockMask: BlockMask): Tensor {
  const { used, lengths, blockSize } = blockMask;
  const sizes = [...indexesOf(used.shape).slice(0, 2), ...lengths.flatMap(({ shape }) => indexesOf(shape))];
  const isSame = (one: Index, other: Index): boolean =>
    processState.recorder?.sizes.same(one, other) ?? equal(one, other);
  const fits = indexesOf(scores.shape).every(
    (size, axis) => (axis < 2 && isSame(at(sizes, axis), int(1))) || isSame(at(sizes, axis), size),
  );
  if (!fits)
    throw badArgument(
      name,
      `blockMask is of [${blockMask.shape.join(', ')}], scores are [${scores.shape.join(', ')}]`,
      'make it for these sizes, or for 1 batch and 1 head',
    );
  return blockSize.reduce((table, size, place) => {
    const spread = call('repeatInterleave', table, size, place + 2);
    return call('slice', spread, place + 2, 0, sizeOf(scores, place + 2), 1);
  }, used);
}
