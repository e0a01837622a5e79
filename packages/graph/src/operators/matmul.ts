// Matrix products: all of them end in `bmm`, the one contraction that lowering knows, between reshapes and permutes.
import { at, isFloat } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { scalar, scalarNumber } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Description, Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch, unsupported } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { broadcastShapes, expandedShape, one, product, range } from '../shape.ts';
import type { Shape } from '../shape.ts';
import { einsum } from './einsum.ts';

function sameDType(c: Composer, operator: string, values: readonly ValueRef[]): void {
  const first = c.dtype(at(values, 0));
  const other = values.find((value) => c.dtype(value) !== first);
  if (other !== undefined) throw dtypeMismatch(operator, `the operands are ${first} and ${c.dtype(other)}`);
}

function requireRank(c: Composer, operator: string, ranks: readonly (readonly [ValueRef, number])[]): void {
  for (const [x, rank] of ranks) {
    if (c.rank(x) !== rank)
      throw shapeMismatch(
        `${operator}: an operand has shape ${printShape(c.shape(x))}`,
        `it must have rank ${String(rank)}`,
      );
  }
}

function requireEqual(c: Composer, operator: string, pairs: readonly (readonly [Index, Index])[]): void {
  for (const [left, right] of pairs) {
    if (!c.sizes.same(left, right))
      throw shapeMismatch(
        `${operator}: sizes ${printShape([left])} and ${printShape([right])} must be equal`,
        'check which dims are contracted',
      );
  }
}

/** PyTorch's matmul: vectors, matrices and batches of any rank. */
export function matmul(c: Composer, x: ValueRef, y: ValueRef): ValueRef {
  if (c.rank(x) === 0 || c.rank(y) === 0) throw shapeMismatch('matmul of a 0-d tensor', 'use mul');
  sameDType(c, 'matmul', [x, y]);
  const left = c.rank(x) === 1 ? c.unsqueeze(x, 0) : x;
  const right = c.rank(y) === 1 ? c.unsqueeze(y, 1) : y;
  const [m, k, n] = [c.size(left, -2), c.size(left, -1), c.size(right, -1)];
  if (!c.sizes.same(k, c.size(right, -2))) {
    throw shapeMismatch(
      `matmul of ${printShape(c.shape(x))} and ${printShape(c.shape(y))}: the inner sizes are ${printShape([k])} and ${printShape([c.size(right, -2)])}`,
      'the last axis of the first must equal the second to last of the second',
    );
  }
  const [leftBatch, rightBatch] = [c.shape(left).slice(0, -2), c.shape(right).slice(0, -2)];
  const batch = broadcastShapes(c.sizes, [leftBatch, rightBatch]);
  const product3 =
    rightBatch.length === 0 && c.rank(left) > 2 ? foldedProduct(c, left, right) : batchProduct(c, left, right, batch);
  const shape = [...batch, ...(c.rank(x) === 1 ? [] : [m]), ...(c.rank(y) === 1 ? [] : [n])];
  return c.reshape(product3, shape);
}

/** A batch of rows times one matrix is one product of taller matrices. */
function foldedProduct(c: Composer, left: ValueRef, right: ValueRef): ValueRef {
  const rows = product(c.shape(left).slice(0, -1));
  return c.bmm(c.reshape(left, [one, rows, c.size(left, -1)]), c.unsqueeze(right, 0));
}

const batchProduct = (c: Composer, left: ValueRef, right: ValueRef, batch: Shape): ValueRef => {
  const flat = (x: ValueRef): ValueRef => {
    const matrix = c.shape(x).slice(-2);
    return c.reshape(c.expand(x, [...batch, ...matrix]), [product(batch), ...matrix]);
  };
  return c.bmm(flat(left), flat(right));
};

const checked =
  (name: string, ranks: readonly [number, number]): ((c: Composer, x: ValueRef, y: ValueRef) => ValueRef) =>
  (c, x, y) => {
    requireRank(c, name, [
      [x, ranks[0]],
      [y, ranks[1]],
    ]);
    return matmul(c, x, y);
  };

/** A factor in the arithmetic of x: integers truncate it, as PyTorch does. */
const factorFor = (c: Composer, x: ValueRef, by: ScalarRef): ScalarRef =>
  isFloat(c.dtype(x)) || by.category === 'bool' ? by : scalar(Math.trunc(scalarNumber(by)));

/** beta * input + alpha * product. A beta of 0 ignores the input, NaN included. */
function scaledSum(c: Composer, a: ArgumentReader, result: ValueRef): ValueRef {
  const input = a.tensor('input');
  sameDType(c, a.operator.name, [input, result]);
  const [alpha, beta] = [a.scalar('alpha'), a.scalar('beta')];
  const scale = (x: ValueRef, by: ScalarRef): ValueRef => {
    const factor = factorFor(c, x, by);
    return scalarNumber(factor) === 1 ? x : c.op('mul', x, factor);
  };
  const scaled = scale(c.widen(result), alpha);
  const target = expandedShape(c.sizes, c.shape(input), c.shape(result));
  if (scalarNumber(factorFor(c, input, beta)) === 0) return c.cast(scaled, c.dtype(result));
  return c.cast(c.op('add', c.expand(scale(c.widen(input), beta), target), scaled), c.dtype(result));
}

const scaled = (
  name: string,
  [first, second]: readonly [string, string],
  compute: (c: Composer, x: ValueRef, y: ValueRef) => ValueRef,
): Entry =>
  composite(
    name,
    {
      signature: `input: tensor, ${first}: tensor, ${second}: tensor, *, beta: scalar = 1, alpha: scalar = 1`,
      doc: `beta * input + alpha * (${first} times ${second}).`,
      inPlace: true,
    },
    (c, a) => scaledSum(c, a, compute(c, a.tensor(first), a.tensor(second))),
  );

function outer(c: Composer, x: ValueRef, y: ValueRef): ValueRef {
  requireRank(c, 'outer', [
    [x, 1],
    [y, 1],
  ]);
  return c.op('mul', c.unsqueeze(x, 1), c.unsqueeze(y, 0));
}

function linear(c: Composer, a: ArgumentReader): ValueRef {
  const [x, weight, bias] = [a.tensor('input'), a.tensor('weight'), a.optionalTensor('bias')];
  const result = matmul(c, x, c.rank(weight) === 1 ? weight : c.transpose(weight, 0, 1));
  if (bias === undefined) return result;
  sameDType(c, 'linear', [result, bias]);
  return c.op('add', result, bias);
}

/** Contracts the named axes of x with those of y. */
function contract(
  c: Composer,
  { x, y }: { x: ValueRef; y: ValueRef },
  dims: readonly [readonly number[], readonly number[]],
): ValueRef {
  const [left, right] = [dims[0].map((dim) => c.dim(x, dim)), dims[1].map((dim) => c.dim(y, dim))];
  if (left.length !== right.length)
    throw argumentValue('tensordot', 'different numbers of dims', 'name as many dims of each');
  sameDType(c, 'tensordot', [x, y]);
  requireEqual(
    c,
    'tensordot',
    left.map((dim, i) => [c.size(x, dim), c.size(y, at(right, i))] as const),
  );
  const free = (v: ValueRef, bound: readonly number[]): number[] =>
    range(c.rank(v)).filter((axis) => !bound.includes(axis));
  const [rows, columns] = [free(x, left), free(y, right)];
  const [rowShape, columnShape] = [rows.map((axis) => c.size(x, axis)), columns.map((axis) => c.size(y, axis))];
  const inner = product(left.map((dim) => c.size(x, dim)));
  const a = c.reshape(c.permute(x, [...rows, ...left]), [one, product(rowShape), inner]);
  const b = c.reshape(c.permute(y, [...right, ...columns]), [one, inner, product(columnShape)]);
  return c.reshape(c.bmm(a, b), [...rowShape, ...columnShape]);
}

function tensordot(c: Composer, a: ArgumentReader): ValueRef {
  const [x, y, dims] = [a.tensor('input'), a.tensor('other'), a.attr('dims')];
  if (typeof dims === 'number') {
    if (dims < 0 || dims > Math.min(c.rank(x), c.rank(y)))
      throw argumentValue('tensordot', `dims ${String(dims)}`, 'use at most the smaller rank');
    return contract(c, { x, y }, [range(c.rank(x), c.rank(x) - dims), range(dims)]);
  }
  const [left, right] = dims as readonly [readonly number[], readonly number[]];
  return contract(c, { x, y }, [left, right]);
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

function dot(c: Composer, x: ValueRef, y: ValueRef): ValueRef {
  requireRank(c, 'dot', [
    [x, 1],
    [y, 1],
  ]);
  return matmul(c, x, y);
}

function inner(c: Composer, x: ValueRef, y: ValueRef): ValueRef {
  if (c.rank(x) === 0 || c.rank(y) === 0) return c.op('mul', x, y);
  return contract(c, { x, y }, [[-1], [-1]]);
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
  if (n < 0) throw unsupported(`matrixPower by ${String(n)}`, 'invert the matrix first');
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

function attention(c: Composer, a: ArgumentReader): ValueRef {
  const [query, key, value, mask] = [
    a.tensor('query'),
    a.tensor('key'),
    a.tensor('value'),
    a.optionalTensor('attnMask'),
  ];
  if (a.float('dropoutP') !== 0)
    throw argumentValue('scaledDotProductAttention', 'dropoutP is not 0', 'apply dropout to the result');
  const scale = a.optionalFloat('scale') ?? 1 / Math.sqrt(c.sizes.toNumber(c.size(query, -1)));
  const wide = c.widen(matmul(c, query, c.transpose(key, -2, -1)));
  const scores = c.op('mul', wide, float(scale));
  return matmul(
    c,
    c.cast(c.call('softmax', [masked(c, scores, { mask, causal: a.bool('isCausal') })], { dim: -1 }), c.dtype(query)),
    value,
  );
}

function masked(
  c: Composer,
  scores: ValueRef,
  { mask, causal }: { mask: ValueRef | undefined; causal: boolean },
): ValueRef {
  if (causal) {
    const [rows, columns] = [c.iota(c.size(scores, -2)), c.iota(c.size(scores, -1))];
    return c.where(c.op('ge', c.unsqueeze(rows, 1), columns), scores, float(-Infinity));
  }
  if (mask === undefined) return scores;
  return c.dtype(mask) === 'bool' ? c.where(mask, scores, float(-Infinity)) : c.op('add', scores, mask);
}

const binary = (
  name: string,
  names: string,
  description: Partial<Description>,
  compute: (c: Composer, x: ValueRef, y: ValueRef) => ValueRef,
): Entry => {
  const [first = 'input', second = 'other'] = names.split(' ');
  return composite(
    name,
    { signature: `${first}: tensor, ${second}: tensor`, doc: 'A product.', ...description },
    (c, a) => compute(c, a.tensor(first), a.tensor(second)),
  );
};

export const matmulEntries: readonly Entry[] = [
  binary(
    'matmul',
    'input other',
    { doc: 'Matrix product, with vectors and broadcast batches.', torch: ['matmul', 'linalg.matmul'] },
    matmul,
  ),
  binary('mm', 'input mat2', { doc: 'Product of two matrices.' }, checked('mm', [2, 2])),
  binary('mv', 'input vec', { doc: 'Matrix times vector.' }, checked('mv', [2, 1])),
  binary('dot', 'input tensor', { doc: 'Sum of products of two vectors.' }, dot),
  binary('vdot', 'input other', { doc: 'dot.' }, dot),
  binary('inner', 'input other', { doc: 'Sums products over the last axes.' }, inner),
  binary(
    'outer',
    'input vec2',
    { doc: 'All products of the elements of two vectors.', torch: ['outer', 'ger'] },
    outer,
  ),
  composite(
    'vecdot',
    {
      signature: 'x: tensor, y: tensor, *, dim: int = -1',
      doc: 'Sums products along a dim.',
      torch: 'linalg.vecdot',
      accepts: floats,
    },
    (c, a) => {
      const products = c.op('mul', c.widen(a.tensor('x')), c.widen(a.tensor('y')));
      return c.cast(
        c.reduce('sum', products, [c.dim(products, a.int('dim'))]),
        promoteTypes(c.dtype(a.tensor('x')), c.dtype(a.tensor('y'))),
      );
    },
  ),
  composite(
    'linear',
    {
      signature: 'input: tensor, weight: tensor, bias: tensor? = null',
      doc: 'x times the transposed weight, plus bias.',
      torch: 'nn.functional.linear',
    },
    linear,
  ),
  scaled('addmm', ['mat1', 'mat2'], checked('addmm', [2, 2])),
  scaled('addmv', ['mat', 'vec'], checked('addmv', [2, 1])),
  scaled('baddbmm', ['batch1', 'batch2'], checked('baddbmm', [3, 3])),
  scaled('addbmm', ['batch1', 'batch2'], (c, x, y) => {
    requireRank(c, 'addbmm', [
      [x, 3],
      [y, 3],
    ]);
    return contract(c, { x, y }, [
      [0, 2],
      [0, 1],
    ]);
  }),
  scaled('addr', ['vec1', 'vec2'], outer),
  composite(
    'einsum',
    {
      signature: 'equation: string, ...operands: tensors',
      doc: "Sums of products by Einstein's convention.",
      forms: ['function'],
    },
    (c, a) => einsum(c, a.string('equation'), a.tensors('operands')),
  ),
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
      accepts: floats,
    },
    (c, a) => matrixPower(c, a.tensor('input'), a.int('n')),
  ),
  composite(
    'scaledDotProductAttention',
    {
      signature:
        'query: tensor, key: tensor, value: tensor, attnMask: tensor? = null, dropoutP: float = 0.0, isCausal: bool = false, *, scale: float? = null',
      doc: 'softmax(Q K^T / sqrt(E)) V.',
      torch: 'nn.functional.scaled_dot_product_attention',
      accepts: floats,
    },
    attention,
  ),
];
