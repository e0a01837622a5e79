// The products that others are made of: checks of operands, PyTorch's matmul, contraction of named axes. All end in `bmm`,
// the one contraction that lowering knows, between reshapes and permutes.
import { at } from '@tsinductor/base';
import { printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Composer } from '../composer.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { broadcastShapes, one, product, range } from '../shape.ts';
import type { Shape } from '../shape.ts';

export function sameDType(c: Composer, operator: string, values: readonly ValueRef[]): void {
  const first = c.dtype(at(values, 0));
  const other = values.find((value) => c.dtype(value) !== first);
  if (other !== undefined) throw dtypeMismatch(operator, `the operands are ${first} and ${c.dtype(other)}`);
}

export function requireRank(c: Composer, operator: string, ranks: readonly (readonly [ValueRef, number])[]): void {
  for (const [x, rank] of ranks) {
    if (c.rank(x) !== rank)
      throw shapeMismatch(
        `${operator}: an operand has shape ${printShape(c.shape(x))}`,
        `it must have rank ${String(rank)}`,
      );
  }
}

export function requireEqual(c: Composer, operator: string, pairs: readonly (readonly [Index, Index])[]): void {
  for (const [left, right] of pairs) {
    if (!c.sizes.same(left, right))
      throw shapeMismatch(
        `${operator}: sizes ${printIndex(left)} and ${printIndex(right)} must be equal`,
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
      `matmul of ${printShape(c.shape(x))} and ${printShape(c.shape(y))}: the inner sizes are ${printIndex(k)} and ${printIndex(c.size(right, -2))}`,
      'the last axis of the first must equal the second to last of the second',
    );
  }
  const [leftBatch, rightBatch] = [c.shape(left).slice(0, -2), c.shape(right).slice(0, -2)];
  const batch = broadcastShapes(c.sizes, [leftBatch, rightBatch]);
  const product3 =
    rightBatch.length === 0 && c.rank(left) > 2 ? foldedProduct(c, left, right) : batchProduct(c, [left, right], batch);
  const shape = [...batch, ...(c.rank(x) === 1 ? [] : [m]), ...(c.rank(y) === 1 ? [] : [n])];
  return c.reshape(product3, shape);
}

/** A batch of rows times one matrix is one product of taller matrices. */
function foldedProduct(c: Composer, left: ValueRef, right: ValueRef): ValueRef {
  const rows = product(c.shape(left).slice(0, -1));
  return c.bmm(c.reshape(left, [one, rows, c.size(left, -1)]), c.unsqueeze(right, 0));
}

const batchProduct = (c: Composer, [left, right]: readonly [ValueRef, ValueRef], batch: Shape): ValueRef => {
  const flat = (x: ValueRef): ValueRef => {
    const matrix = c.shape(x).slice(-2);
    return c.reshape(c.expand(x, [...batch, ...matrix]), [product(batch), ...matrix]);
  };
  return c.bmm(flat(left), flat(right));
};

/** Contracts the named axes of x with those of y. */
export function contract(
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
