// Attention in terms of matrix products and softmax (Vaswani et al., https://arxiv.org/abs/1706.03762): where it is compiled, the
// scheduler finds the two products and what lies between them.
import { floorDivide } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, printShape, shapeMismatch, unsupported } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import type { Performance } from '../performer.ts';
import { one, product } from '../shape.ts';
import { matmul } from './contraction.ts';

const name = 'scaledDotProductAttention';

/** `drop`: what becomes of the weights before they multiply the values. */
function attention(c: Composer, a: ArgumentReader, drop: (weights: ValueRef) => ValueRef): ValueRef {
  const query = a.tensor('query');
  const [key, value] = ['key', 'value'].map((operand) => forHeads(c, a, operand)) as [ValueRef, ValueRef];
  const scale = a.optionalFloat('scale') ?? 1 / Math.sqrt(c.sizes.toNumber(c.size(query, -1)));
  const wide = c.widen(matmul(c, query, c.transpose(key, -2, -1)));
  const scores = masked(c, a, c.op('mul', wide, float(scale)));
  return matmul(c, drop(c.cast(c.call('softmax', [scores], { dim: -1 }), c.dtype(query))), value);
}

/** Keys or values for each head of the query: with `enableGqa`, neighbouring heads share them (https://arxiv.org/abs/2305.13245). */
function forHeads(c: Composer, a: ArgumentReader, operand: string): ValueRef {
  const [query, x] = [a.tensor('query'), a.tensor(operand)];
  if (!a.bool('enableGqa')) return x;
  if (c.rank(query) < 3 || c.rank(x) < 3)
    throw shapeMismatch(
      `${name}: the query is ${printShape(c.shape(query))}, the ${operand} ${printShape(c.shape(x))}`,
      'with enableGqa they are [..., heads, rows, width]',
    );
  const [heads, shared] = [c.size(query, -3), c.size(x, -3)];
  const each = c.sizes.isZero(shared) ? one : floorDivide(heads, shared);
  if (!c.sizes.same(product([each, shared]), heads))
    throw shapeMismatch(
      `${name}: the query is ${printShape(c.shape(query))}, the ${operand} ${printShape(c.shape(x))}`,
      `with enableGqa the query has a multiple of the heads that the ${operand} has`,
    );
  const [lead, matrix] = [c.shape(x).slice(0, -3), c.shape(x).slice(-2)];
  return c.reshape(c.expand(c.unsqueeze(x, -3), [...lead, shared, each, ...matrix]), [...lead, heads, ...matrix]);
}

function masked(c: Composer, a: ArgumentReader, scores: ValueRef): ValueRef {
  const mask = a.optionalTensor('attnMask');
  if (a.bool('isCausal')) {
    const [rows, columns] = [c.iota(c.size(scores, -2)), c.iota(c.size(scores, -1))];
    return c.where(c.op('ge', c.unsqueeze(rows, 1), columns), scores, float(-Infinity));
  }
  if (mask === undefined) return scores;
  return c.dtype(mask) === 'bool' ? c.where(mask, scores, float(-Infinity)) : c.op('add', scores, mask);
}

/** Weights that are dropped at random, the others scaled up; undefined where none are. */
const withDropout: Performance<ValueRef | undefined> = (c, a, performer) => {
  const p = probability(a);
  if (p === 0 || p === 1) return undefined;
  return attention(c, a, (weights) => {
    const isKept = c.op('ge', performer.uniform(c.shape(weights)), float(p));
    const number = (value: number): ValueRef => c.full(float(value), [], c.dtype(weights));
    return c.op('mul', weights, c.where(isKept, number(1 / (1 - p)), number(0)));
  });
};

function probability(a: ArgumentReader): number {
  const p = a.float('dropoutP');
  if (!(p >= 0 && p <= 1)) throw argumentValue(name, `dropoutP is ${String(p)}`, 'it is a probability');
  return p;
}

export const attentionEntries: readonly Entry[] = [
  composite(
    name,
    {
      signature:
        'query: tensor, key: tensor, value: tensor, attnMask: tensor? = null, dropoutP: float = 0.0, isCausal: bool = false, *, scale: float? = null, enableGqa: bool = false',
      doc: 'softmax(Q K^T / sqrt(E)) V; with enableGqa heads share keys and values.',
      torch: 'nn.functional.scaled_dot_product_attention',
      accepts: floats,
      draws: withDropout,
    },
    (c, a) => {
      const keep = 1 - probability(a);
      if (keep > 0 && keep < 1) throw unsupported(`${name} with a random mask`, 'use dropoutP 0');
      return attention(c, a, (weights) =>
        keep === 1 ? weights : c.op('mul', weights, c.full(0, [], c.dtype(weights))),
      );
    },
  ),
];
