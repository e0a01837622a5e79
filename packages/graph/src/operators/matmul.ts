// Matrix products: all of them end in `bmm`, the one contraction that lowering knows, between reshapes and permutes.
import { isFloat } from '@tsinductor/base';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { scalar, scalarNumber } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Description, Entry } from '../define.ts';
import { printShape, shapeMismatch } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { expandedShape } from '../shape.ts';
import { contract, matmul, requireRank, sameDType } from './contraction.ts';
import { einsum } from './einsum.ts';

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
  if (bias !== undefined && c.rank(weight) !== 2)
    throw shapeMismatch(`linear: the weight has shape ${printShape(c.shape(weight))}`, 'with a bias it is a matrix');
  if (c.rank(x) > 0 && c.rank(weight) > 0 && !c.sizes.same(c.size(x, -1), c.size(weight, -1)))
    throw shapeMismatch(
      `linear: the last sizes of the input ${printShape(c.shape(x))} and the weight ${printShape(c.shape(weight))} differ`,
      'the weight is [outputs, inputs]',
    );
  const result = matmul(c, x, c.rank(weight) === 1 ? weight : c.transpose(weight, 0, 1));
  if (bias === undefined) return result;
  sameDType(c, 'linear', [result, bias]);
  return c.op('add', result, bias);
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

const binary = (
  name: string,
  { names, ...description }: Partial<Description> & { names: string },
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
    {
      names: 'input other',
      doc: 'Matrix product, with vectors and broadcast batches.',
      torch: ['matmul', 'linalg.matmul'],
    },
    matmul,
  ),
  binary('mm', { names: 'input mat2', doc: 'Product of two matrices.' }, checked('mm', [2, 2])),
  binary('mv', { names: 'input vec', doc: 'Matrix times vector.' }, checked('mv', [2, 1])),
  binary('dot', { names: 'input tensor', doc: 'Sum of products of two vectors.' }, dot),
  binary('vdot', { names: 'input other', doc: 'dot.' }, dot),
  binary('inner', { names: 'input other', doc: 'Sums products over the last axes.' }, inner),
  binary(
    'outer',
    { names: 'input vec2', doc: 'All products of the elements of two vectors.', torch: ['outer', 'ger'] },
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
      mayAlias: true,
    },
    (c, a) => einsum(c, a.string('equation'), a.tensors('operands')),
  ),
];
