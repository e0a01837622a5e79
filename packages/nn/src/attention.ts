// Attention of several heads (https://arxiv.org/abs/1706.03762), with PyTorch's parameters: one weight for query, key and value where
// these are as wide as the result, else one for each.
import { cat, full, nn, zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badInput } from './errors.ts';
import { xavierNormal_, xavierUniform_, zeros_ } from './init.ts';
import { Linear } from './linear.ts';
import { Module } from './module.ts';
import { checkDivides, checkProbability, checkSizes, readOptions } from './options.ts';
import { blank } from './parameter.ts';
import type { Placement } from './parameter.ts';

const { functional } = nn;

export interface MultiheadAttentionOptions extends Placement {
  /** How likely weights are dropped in training. */
  readonly dropout?: number;
  readonly bias?: boolean;
  /** Whether there is one more key and value, which are learnt. */
  readonly addBiasKv?: boolean;
  /** Whether there is one more key and value of zeros. */
  readonly addZeroAttn?: boolean;
  /** Widths of keys and values; as wide as the result, if absent. */
  readonly kdim?: number | null;
  readonly vdim?: number | null;
  /** Whether the batch comes before the length; it comes after it, unless `true` is given. */
  readonly batchFirst?: boolean;
}

export interface AttentionMasks {
  /** [batch, keys]: `true` keeps a key out of all rows of its sample; numbers are added. */
  readonly keyPaddingMask?: Tensor | null;
  /** [rows, keys] or [batch · heads, rows, keys]: `true` keeps a key out of a row; numbers are added. */
  readonly attnMask?: Tensor | null;
  /** Whether keys behind a row are kept out of it, besides what masks keep out. */
  readonly isCausal?: boolean;
  /** Whether the weights are a result too, which takes memory for all of them. */
  readonly needWeights?: boolean;
  /** Whether they are given as the mean over heads. */
  readonly averageAttnWeights?: boolean;
}

interface Projections {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

export class MultiheadAttention extends Module {
  readonly inProjWeight: Tensor | null;
  readonly qProjWeight: Tensor | null;
  readonly kProjWeight: Tensor | null;
  readonly vProjWeight: Tensor | null;
  readonly inProjBias: Tensor | null;
  readonly biasK: Tensor | null;
  readonly biasV: Tensor | null;
  readonly outProj: Linear;
  readonly width: number;
  readonly heads: number;
  readonly dropout: number;
  readonly batchFirst: boolean;
  readonly addZeroAttn: boolean;

  constructor(width: number, heads: number, given: MultiheadAttentionOptions = {}) {
    super();
    const layer = 'MultiheadAttention';
    const { dropout, bias, addBiasKv, addZeroAttn, kdim, vdim, batchFirst, ...placement } =
      readOptions<MultiheadAttentionOptions>(layer, attentionDefaults, given);
    checkSizes(layer, { width, heads });
    checkDivides(layer, ['width', width], ['heads', heads]);
    checkProbability(layer, 'dropout', dropout);
    const { whole, parts } = inputWeights([width, kdim ?? width, vdim ?? width], placement);
    this.inProjWeight = whole;
    [this.qProjWeight, this.kProjWeight, this.vProjWeight] = parts;
    this.inProjBias = bias ? blank([3 * width], placement) : null;
    const row = (): Tensor | null => (addBiasKv ? xavierNormal_(blank([1, 1, width], placement)) : null);
    [this.biasK, this.biasV] = [row(), row()];
    this.outProj = new Linear(width, width, { bias, ...placement });
    if (this.outProj.bias !== null) zeros_(this.outProj.bias);
    [this.width, this.heads, this.dropout] = [width, heads, dropout];
    [this.batchFirst, this.addZeroAttn] = [batchFirst, addZeroAttn];
  }

  /**
   * Rows of `query` as means of values, by how well keys answer to them: [rows, batch, width], with `batchFirst` [batch, rows, width],
   * or [rows, width]; and the weights [batch, rows, keys], or `null` without `needWeights`.
   */
  forward(
    ...[query, key, value, masks = {}]: [query: Tensor, key: Tensor, value: Tensor, masks?: AttentionMasks]
  ): [Tensor, Tensor | null] {
    if (query.shape.length === 2) {
      const keyPaddingMask = masks.keyPaddingMask?.unsqueeze(0) ?? null;
      const given = { query: query.unsqueeze(0), key: key.unsqueeze(0), value: value.unsqueeze(0) };
      const [made, weights] = attend(this, given, { ...masks, keyPaddingMask });
      return [made.squeeze(0), weights?.squeeze(0) ?? null];
    }
    if (query.shape.length !== 3)
      throw badInput('MultiheadAttention', `the query has ${String(query.shape.length)} dims`, 'give 2 or 3 dims');
    const inFront = (x: Tensor): Tensor => (this.batchFirst ? x : x.transpose(0, 1));
    // What is one tensor stays one: then it is one product with all three weights.
    const first = inFront(query);
    const second = key === query ? first : inFront(key);
    const third = value === key ? second : inFront(value);
    const [made, weights] = attend(this, { query: first, key: second, value: third }, masks);
    return [inFront(made), weights];
  }
}

/** One weight for query, key and value where they are equally wide, else one for each. */
function inputWeights(
  [width, keys, values]: readonly [number, number, number],
  placement: Placement,
): { readonly whole: Tensor | null; readonly parts: readonly [Tensor, Tensor, Tensor] | readonly [null, null, null] } {
  const weight = (rows: number, inputs: number): Tensor => xavierUniform_(blank([rows, inputs], placement));
  return keys === width && values === width
    ? { whole: weight(3 * width, width), parts: [null, null, null] }
    : { whole: null, parts: [weight(width, width), weight(width, keys), weight(width, values)] };
}

const attentionDefaults: Required<MultiheadAttentionOptions> = {
  dropout: 0,
  bias: true,
  addBiasKv: false,
  addZeroAttn: false,
  kdim: null,
  vdim: null,
  batchFirst: false,
  dtype: 'f32',
  device: 'cpu',
};

/** The batch comes first. */
function attend(module: MultiheadAttention, given: Projections, masks: AttentionMasks): [Tensor, Tensor | null] {
  const { heads, width } = module;
  const projected = extended(module, projections(module, given));
  const inHeads = (x: Tensor): Tensor => x.unflatten(-1, [heads, width / heads]).transpose(1, 2);
  const [query, key, value] = [inHeads(projected.query), inHeads(projected.key), inHeads(projected.value)];
  const all = { ...noMasks, ...masks };
  const more = keysBehind(module);
  const isPlain = all.attnMask === null && all.keyPaddingMask === null && more === 0;
  const attnMask = isPlain ? null : maskOf(all, { query, key, more });
  const told = { ...all, attnMask, isCausal: all.isCausal && isPlain };
  const [made, weights] = weighted(module, { query, key, value }, told);
  return [module.outProj.forward(made.transpose(1, 2).flatten(-2)), weights];
}

const noMasks: Required<AttentionMasks> = {
  keyPaddingMask: null,
  attnMask: null,
  isCausal: false,
  needWeights: true,
  averageAttnWeights: true,
};

/**
 * Means of values [batch, heads, keys, width] by weights, which are a result where they are asked for. A mask of numbers, or none and
 * whether later keys are hidden.
 */
function weighted(
  module: MultiheadAttention,
  given: Projections,
  { attnMask, isCausal, needWeights, averageAttnWeights }: Required<AttentionMasks>,
): [Tensor, Tensor | null] {
  const { query, key, value } = given;
  const p = module.training ? module.dropout : 0;
  if (!needWeights && p === 0) return [query.scaledDotProductAttention(key, value, { attnMask, isCausal }), null];
  const weights = weightsBy(given, isCausal ? causalMask(query, key.size(-2)) : attnMask);
  const made = (p === 0 ? weights : functional.dropout(weights, p, true)).matmul(value);
  if (!needWeights) return [made, null];
  return [made, averageAttnWeights ? weights.mean(1) : weights];
}

function weightsBy({ query, key }: Projections, mask: Tensor | null): Tensor {
  const scores = query.mul(1 / Math.sqrt(query.size(-1))).matmul(key.transpose(-1, -2));
  return (mask === null ? scores : scores.add(mask)).softmax(-1);
}

function projections(module: MultiheadAttention, { query, key, value }: Projections): Projections {
  const { inProjWeight, qProjWeight, kProjWeight, vProjWeight, inProjBias, width } = module;
  const part = (whole: Tensor | null, position: number): Tensor | null =>
    whole === null ? null : whole.narrow(0, position * width, width);
  const projected = (x: Tensor, own: Tensor | null, position: number): Tensor => {
    const weight = own ?? part(inProjWeight, position);
    if (weight === null) throw badInput('MultiheadAttention', 'a weight is gone', 'leave the parameters in place');
    return functional.linear(x, weight, part(inProjBias, position));
  };
  if (inProjWeight !== null && query === key && key === value) {
    const all = functional.linear(query, inProjWeight, inProjBias);
    const at = (position: number): Tensor => all.narrow(-1, position * width, width);
    return { query: at(0), key: at(1), value: at(2) };
  }
  return {
    query: projected(query, qProjWeight, 0),
    key: projected(key, kProjWeight, 1),
    value: projected(value, vProjWeight, 2),
  };
}

/** With the keys and values that are learnt or zeros behind the others. */
function extended({ biasK, biasV, addZeroAttn }: MultiheadAttention, { query, key, value }: Projections): Projections {
  const [batch = 1] = key.shape;
  const behind = (x: Tensor, own: Tensor | null): Tensor => {
    const learnt = own === null ? [] : [own.expand(batch, 1, x.size(-1))];
    const empty = addZeroAttn ? [zeros([batch, 1, x.size(-1)], { dtype: x.dtype }).to(x.device)] : [];
    return learnt.length + empty.length === 0 ? x : cat([x, ...learnt, ...empty], { dim: 1 });
  };
  return { query, key: behind(key, biasK), value: behind(value, biasV) };
}

/** Keys behind those that are given. */
const keysBehind = ({ biasK, addZeroAttn }: MultiheadAttention): number =>
  (biasK === null ? 0 : 1) + Number(addZeroAttn);

interface Scored {
  /** [batch, heads, rows, width], and [batch, heads, keys, width]. */
  readonly query: Tensor;
  readonly key: Tensor;
  /** Keys behind those that were given: no mask keeps them out. */
  readonly more: number;
}

/** All masks as numbers that are added to scores [batch, heads, rows, keys]; none, if there are none. */
function maskOf(
  { attnMask, keyPaddingMask, isCausal }: Required<AttentionMasks>,
  { query, key, more }: Scored,
): Tensor | null {
  const added = (mask: Tensor): Tensor => {
    const numbers =
      mask.dtype === 'bool' ? zeros([1], { dtype: query.dtype }).to(query.device).maskedFill(mask, -Infinity) : mask;
    return more === 0 ? numbers : functional.pad(numbers, [0, more]);
  };
  const perHead = (mask: Tensor): Tensor =>
    mask.shape.length === 3 ? mask.unflatten(0, [query.size(0), query.size(1)]) : mask;
  const all = [
    ...(attnMask === null ? [] : [perHead(added(attnMask))]),
    ...(keyPaddingMask === null ? [] : [added(keyPaddingMask).unsqueeze(1).unsqueeze(1)]),
    ...(isCausal ? [added(causalMask(query, key.size(-2) - more))] : []),
  ];
  return all.length === 0 ? null : all.reduce((sum, mask) => sum.add(mask));
}

/** -Infinity for keys behind a row, 0 for others: [rows, keys]. */
const causalMask = (query: Tensor, keys: number): Tensor =>
  full([query.size(-2), keys], -Infinity, { dtype: query.dtype })
    .to(query.device)
    .triu(1);
