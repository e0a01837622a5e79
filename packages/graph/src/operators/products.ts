// Products of several tensors or axes, in terms of matmul and contraction of axes.
import { at } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { composite, numbers } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { one, product, range } from '../shape.ts';
import { contract, matmul, requireEqual, requireRank } from './contraction.ts';
import { inverse } from './linear-algebra.ts';

/** A contraction in which an axis of size 1 stands for all of the other's: that one is summed first. */
function contractSummed(
  c: Composer,
  { x, y }: { x: ValueRef; y: ValueRef },
  [left, right]: readonly [readonly number[], readonly number[]],
): ValueRef {
  const uneven = (
    own: ValueRef,
    [mine, its]: readonly [readonly number[], readonly number[]],
    other: ValueRef,
  ): number[] =>
    mine.filter(
      (dim, i) => i < its.length && c.sizes.isOne(c.size(other, at(its, i))) && !c.sizes.isOne(c.size(own, dim)),
    );
  const summed = (v: ValueRef, dims: number[]): ValueRef =>
    dims.length === 0 ? v : c.cast(c.reduce('sum', v, { dims, keepdim: true }), c.dtype(v));
  const [fromX, fromY] = [uneven(x, [left, right], y), uneven(y, [right, left], x)];
  return contract(c, { x: summed(x, fromX), y: summed(y, fromY) }, [left, right]);
}

const isIntegers = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((item) => Number.isInteger(item));

function tensordot(c: Composer, a: ArgumentReader): ValueRef {
  const [x, y, dims] = [a.tensor('input'), a.tensor('other'), a.attr('dims')];
  if (typeof dims === 'number') {
    if (dims < 0 || dims > Math.min(c.rank(x), c.rank(y)))
      throw argumentValue('tensordot', `dims ${String(dims)}`, 'use at most the smaller rank');
    return contractSummed(c, { x, y }, [range(c.rank(x), c.rank(x) - dims), range(dims)]);
  }
  const [left, right] = Array.isArray(dims) && dims.length === 2 ? (dims as readonly unknown[]) : [];
  if (!isIntegers(left) || !isIntegers(right))
    throw argumentValue(
      'tensordot',
      'dims that are no two lists',
      'give a number, or the dims of each tensor: [[1], [0]]',
    );
  return contractSummed(c, { x, y }, [left, right]);
}

function kron(c: Composer, a: ArgumentReader): ValueRef {
  const rank = Math.max(c.rank(a.tensor('input')), c.rank(a.tensor('other')));
  const [x, y] = [c.lead(a.tensor('input'), rank), c.lead(a.tensor('other'), rank)];
  const spread = (v: ValueRef, place: 0 | 1): ValueRef =>
    c.reshape(
      v,
      c.shape(v).flatMap((size) => (place === 0 ? [size, one] : [one, size])),
    );
  const all = c.op('mul', spread(x, 0), spread(y, 1));
  return c.reshape(
    all,
    range(rank).map((axis) => product([c.size(x, axis), c.size(y, axis)])),
  );
}

/** input1[b, i] * weight[o, i, j] * input2[b, j], summed over i and j. */
function bilinear(c: Composer, a: ArgumentReader): ValueRef {
  const [x, y, weight, bias] = [a.tensor('input1'), a.tensor('input2'), a.tensor('weight'), a.optionalTensor('bias')];
  requireRank(c, 'bilinear', [[weight, 3]]);
  if (c.rank(x) === 0 || c.rank(y) === 0) throw shapeMismatch('bilinear of a 0-d tensor', 'give vectors or batches');
  requireEqual(c, 'bilinear', [
    [c.size(x, -1), c.size(weight, 1)],
    [c.size(y, -1), c.size(weight, 2)],
  ]);
  const lead = c.shape(x).slice(0, -1);
  const rows = product(lead);
  const [left, right] = [c.reshape(x, [rows, c.size(x, -1)]), c.reshape(y, [rows, c.size(y, -1)])];
  const half = contract(c, { x: left, y: weight }, [[1], [1]]);
  const flat = c.reshape(matmul(c, half, c.unsqueeze(right, -1)), [...lead, c.size(weight, 0)]);
  return bias === undefined ? flat : c.op('add', flat, bias);
}

/** Products from the left, after choosing the cheaper of the two orders for three matrices. */
function multiDot(c: Composer, a: ArgumentReader): ValueRef {
  const all = a.tensors('tensors');
  if (all.length < 2) throw argumentValue('multiDot', 'fewer than two tensors', 'give at least two');
  const [first, last] = [at(all, 0), at(all, all.length - 1)];
  const matrices = all.map((x, i) =>
    c.rank(x) === 1 && i === 0 ? c.unsqueeze(x, 0) : c.rank(x) === 1 && i === all.length - 1 ? c.unsqueeze(x, 1) : x,
  );
  requireRank(
    c,
    'multiDot',
    matrices.map((x) => [x, 2] as const),
  );
  const result = chain(c, matrices);
  return c.squeeze(result, ...(c.rank(first) === 1 ? [0] : []), ...(c.rank(last) === 1 ? [1] : []));
}

/** The product of a chain in the order with the fewest multiplications (by the sizes' hints). */
function chain(c: Composer, matrices: readonly ValueRef[]): ValueRef {
  if (matrices.length === 1) return at(matrices, 0);
  const sides = [c.sizes.hint(c.size(at(matrices, 0), 0)), ...matrices.map((x) => c.sizes.hint(c.size(x, 1)))];
  const split = bestSplit(sides);
  return matmul(c, chain(c, matrices.slice(0, split)), chain(c, matrices.slice(split)));
}

/** Where the last product of an optimal chain stands, by the classical dynamic programme. */
function bestSplit(sides: readonly number[]): number {
  const n = sides.length - 1;
  const cost = range(n).map(() => new Array<number>(n).fill(0));
  let best = 1;
  for (let width = 2; width <= n; width += 1) {
    for (let i = 0; i + width <= n; i += 1) {
      const costs = range(width - 1).map(
        (s) =>
          at(at(cost, i), i + s) +
          at(at(cost, i + s + 1), i + width - 1) +
          at(sides, i) * at(sides, i + s + 1) * at(sides, i + width),
      );
      const least = Math.min(...costs);
      at(cost, i)[i + width - 1] = least;
      if (width === n) best = costs.indexOf(least) + 1;
    }
  }
  return best;
}

function matrixPower(c: Composer, x: ValueRef, n: number): ValueRef {
  if (n < 0) return matrixPower(c, inverse(c, 'matrixPower', x), -n);
  if (n === 0)
    return c.expand(
      c.call('eye', [], { n: c.sizes.toNumber(c.size(x, -1)), dtype: { dtype: c.dtype(x) } }),
      c.shape(x),
    );
  if (n === 1) return x;
  const half = matrixPower(c, x, Math.floor(n / 2));
  const square = matmul(c, half, half);
  return n % 2 === 0 ? square : matmul(c, square, x);
}

export const productEntries: readonly Entry[] = [
  composite(
    'tensordot',
    { signature: 'input: tensor, other: tensor, dims: any = 2', doc: 'Contracts axes of two tensors.' },
    tensordot,
  ),
  composite('kron', { signature: 'input: tensor, other: tensor', doc: 'Kronecker product.' }, kron),
  composite(
    'bilinear',
    {
      signature: 'input1: tensor, input2: tensor, weight: tensor, bias: tensor? = null',
      doc: 'A bilinear map of two tensors.',
      torch: 'nn.functional.bilinear',
    },
    bilinear,
  ),
  composite(
    'multiDot',
    {
      signature: 'tensors: tensors',
      doc: 'Product of a chain of matrices in the cheapest order.',
      torch: 'linalg.multi_dot',
      forms: ['function'],
    },
    multiDot,
  ),
  composite(
    'matrixPower',
    {
      signature: 'input: tensor, n: int',
      doc: 'A power of square matrices.',
      torch: ['linalg.matrix_power', 'matrix_power'],
      accepts: numbers,
    },
    (c, a) => matrixPower(c, a.tensor('input'), a.int('n')),
  ),
];
