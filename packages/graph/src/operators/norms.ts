// Vector and matrix norms, distances, normalize. Half types are computed in f32 and rounded once.
import { isFloat } from '@tsinductor/base';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import { isScalar, scalarNumber } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer, Over } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeUnsupported, shapeMismatch, unsupported } from '../errors.ts';
import type { Attr, ValueRef } from '../graph.ts';
import { ascending, normalizeDims, range } from '../shape.ts';
import { requireEqual } from './contraction.ts';
import { requireElements } from './reductions.ts';

/** The p-norm over dims of a wide tensor. */
export function pNorm(c: Composer, x: ValueRef, { p, dims, keepdim }: Over & { readonly p: number }): ValueRef {
  const magnitude = c.op('abs', x);
  if (p < 0) requireElements(c, 'norm', { x, dims });
  if (Math.abs(p) === Infinity) {
    const isEmpty = dims.some((dim) => c.sizes.isZero(c.size(x, dim)));
    return c.reduce(isEmpty ? 'sum' : p > 0 ? 'amax' : 'amin', magnitude, { dims, keepdim });
  }
  if (p === 0) return c.cast(c.reduce('sum', c.op('ne', x, 0), { dims, keepdim }), c.dtype(x));
  if (p === 1) return c.reduce('sum', magnitude, { dims, keepdim });
  if (p === 2) return c.op('sqrt', c.reduce('sum', c.op('mul', x, x), { dims, keepdim }));
  return c.op('pow', c.reduce('sum', c.op('pow', magnitude, float(p)), { dims, keepdim }), float(1 / p));
}

/** An order: a number, 'inf', or a name. */
function orderOf(attr: Attr): number | string | undefined {
  if (attr === null) return undefined;
  if (isScalar(attr)) return scalarNumber(attr);
  if (typeof attr === 'string')
    return (
      ({ inf: Infinity, Infinity, '-inf': -Infinity, '-Infinity': -Infinity } as Record<string, number>)[attr] ?? attr
    );
  if (typeof attr === 'number') return attr;
  throw argumentValue('norm', 'the order is neither a number nor a name', "use a number, 'fro' or 'nuc'");
}

function inWide(c: Composer, a: ArgumentReader, compute: (x: ValueRef) => ValueRef): ValueRef {
  const input = a.tensor('input');
  const dtype = a.dtype() ?? c.dtype(input);
  if (!isFloat(dtype)) throw dtypeUnsupported(a.operator.name, dtype, floats);
  return c.cast(compute(c.widen(c.cast(input, dtype))), dtype);
}

function vectorNorm(c: Composer, a: ArgumentReader): ValueRef {
  const order = orderOf(a.attr('ord')) ?? 2;
  if (typeof order === 'string') throw argumentValue('vectorNorm', `order ${order}`, 'use a number');
  const over = { dims: c.dims(a.tensor('input'), a.dims('dim')), keepdim: a.bool('keepdim') };
  return inWide(c, a, (x) => strictNorm(c, x, { p: order, ...over }));
}

/** The p-norm as `linalg` has it: there is no largest magnitude of nothing. */
function strictNorm(c: Composer, x: ValueRef, over: Over & { readonly p: number }): ValueRef {
  if (over.p === Infinity) requireElements(c, 'norm', { x, dims: over.dims });
  return pNorm(c, x, over);
}

function matrixNorm(
  c: Composer,
  x: ValueRef,
  { order, dims, keepdim }: Over & { readonly order: number | string },
): ValueRef {
  const [rows = 0, columns = 1] = dims;
  if (dims.length !== 2) throw argumentValue('matrixNorm', 'dim must name two dims', 'as in dim: [-2, -1]');
  if (order === 'fro') return pNorm(c, x, { p: 2, dims, keepdim });
  if (typeof order === 'string' || Math.abs(order) === 2)
    throw unsupported(`matrix norm ${String(order)}`, 'it needs singular values; use fro, 1, -1, inf or -inf');
  if (Math.abs(order) !== 1 && Math.abs(order) !== Infinity)
    throw argumentValue('matrixNorm', `order ${String(order)}`, 'use fro, 1, -1, inf or -inf');
  const [summed, kept] = Math.abs(order) === 1 ? [rows, columns] : [columns, rows];
  requireElements(c, 'matrixNorm', { x, dims: [kept] });
  const extreme = c.reduce(
    order > 0 ? 'amax' : 'amin',
    c.reduce('sum', c.op('abs', x), { dims: [summed], keepdim: true }),
    { dims: [kept], keepdim: true },
  );
  return keepdim ? extreme : c.squeeze(extreme, ...dims);
}

const overOf = (c: Composer, a: ArgumentReader): Over & { given: readonly number[] | undefined } => {
  const given = a.dims('dim');
  return { dims: c.dims(a.tensor('input'), given), keepdim: a.bool('keepdim'), given };
};

function norm(c: Composer, a: ArgumentReader): ValueRef {
  const order = orderOf(a.attr('p'));
  const over = overOf(c, a);
  if (order === 'nuc') throw unsupported('the nuclear norm', 'it needs singular values');
  return inWide(c, a, (x) => pNorm(c, x, { p: typeof order === 'number' ? order : 2, ...over }));
}

/** A norm of all elements, of vectors or of matrices, by how many dims there are. */
function linalgNorm(c: Composer, a: ArgumentReader): ValueRef {
  const order = orderOf(a.attr('ord'));
  const over = overOf(c, a);
  const rank = over.given?.length ?? c.rank(a.tensor('input'));
  if (order !== undefined && rank > 2)
    throw shapeMismatch('norm with an order of more than 2 dims', 'name one or two dims');
  if (typeof order === 'string' && rank !== 2)
    throw shapeMismatch(`norm ${order} over ${String(rank)} dims`, 'it is one of matrices: name two dims');
  const given =
    over.given === undefined ? range(c.rank(a.tensor('input'))) : normalizeDims(over.given, c.rank(a.tensor('input')));
  const isMatrix = order !== undefined && rank === 2;
  return inWide(c, a, (x) =>
    isMatrix
      ? matrixNorm(c, x, { order, ...over, dims: given })
      : strictNorm(c, x, { p: typeof order === 'number' ? order : 2, ...over }),
  );
}

function normalize(c: Composer, a: ArgumentReader): ValueRef {
  const input = a.tensor('input');
  const x = c.widen(input);
  const length = pNorm(c, x, { p: a.float('p'), dims: ascending(c.dims(x, a.ints('dim'))), keepdim: true });
  return c.cast(c.op('div', x, c.op('maximum', length, float(a.float('eps')))), c.dtype(input));
}

function cosineSimilarity(c: Composer, a: ArgumentReader): ValueRef {
  const [first, second] = [a.tensor('x1'), a.tensor('x2')];
  const together = promoteTypes(c.dtype(first), c.dtype(second));
  if (!isFloat(together)) throw dtypeUnsupported('cosineSimilarity', together, floats);
  const [x, y] = [c.widen(c.cast(first, together)), c.widen(c.cast(second, together))];
  const dot = c.op('mul', x, y);
  const dims = [c.dim(dot, a.int('dim'))];
  const [wideX, wideY] = [c.expand(x, c.shape(dot)), c.expand(y, c.shape(dot))];
  const squares = [wideX, wideY].map((v) =>
    c.op('maximum', c.op('sqrt', c.reduce('sum', c.op('mul', v, v), dims)), float(a.float('eps'))),
  );
  return c.cast(c.op('div', c.reduce('sum', dot, dims), c.fold('mul', squares)), together);
}

function pairwiseDistance(c: Composer, a: ArgumentReader): ValueRef {
  const difference = c.op('add', c.op('sub', a.tensor('x1'), a.tensor('x2')), float(a.float('eps')));
  const result = pNorm(c, c.widen(difference), {
    p: a.float('p'),
    dims: [c.dim(difference, -1)],
    keepdim: a.bool('keepdim'),
  });
  return c.cast(result, c.dtype(difference));
}

function cdist(c: Composer, a: ArgumentReader): ValueRef {
  const [x, y] = [a.tensor('x1'), a.tensor('x2')];
  if (c.rank(x) < 2 || c.rank(y) < 2) throw shapeMismatch('cdist of a vector', 'give matrices of rows');
  requireEqual(c, 'cdist', [[c.size(x, -1), c.size(y, -1)]]);
  if (a.float('p') < 0) throw argumentValue('cdist', `p is ${String(a.float('p'))}`, 'it is not negative');
  const difference = c.op('sub', c.unsqueeze(x, -2), c.unsqueeze(y, -3));
  return pNorm(c, difference, { p: a.float('p'), dims: [c.dim(difference, -1)], keepdim: false });
}

/** Slices along `dim` whose norm is above `maxnorm` are scaled down to it. */
function renorm(c: Composer, a: ArgumentReader): ValueRef {
  const [input, p, limit] = [a.tensor('input'), a.float('p'), a.float('maxnorm')];
  if (p <= 0 || limit < 0)
    throw argumentValue(
      'renorm',
      `p ${String(p)} and maxnorm ${String(limit)}`,
      'p is positive, maxnorm is not negative',
    );
  if (c.rank(input) < 2) throw shapeMismatch('renorm of a tensor with fewer than 2 dims', 'give a matrix');
  const dim = c.dim(input, a.int('dim'));
  const x = c.widen(input);
  const length = pNorm(c, x, { p, dims: range(c.rank(x)).filter((axis) => axis !== dim), keepdim: true });
  const scale = c.where(
    c.op('gt', length, float(limit)),
    c.op('div', float(limit), c.op('add', length, float(1e-7))),
    float(1),
  );
  return c.cast(c.op('mul', x, scale), c.dtype(input));
}

const NORM = 'dim: dims = null, keepdim: bool = false';

export const normEntries: readonly Entry[] = [
  composite(
    'norm',
    {
      signature: `input: tensor, p: float | 'fro' | 'nuc' = 'fro', ${NORM}, dtype: dtype = null`,
      doc: 'The p-norm of the elements.',
    },
    norm,
  ),
  composite(
    'vectorNorm',
    {
      signature: `input: tensor, ord: float = 2, ${NORM}, *, dtype: dtype = null`,
      doc: 'The p-norm over dims.',
      torch: 'linalg.vector_norm',
      forms: ['function'],
    },
    vectorNorm,
  ),
  composite(
    'matrixNorm',
    {
      signature: `input: tensor, ord: float | 'fro' | 'nuc' = 'fro', ${NORM}, *, dtype: dtype = null`,
      doc: 'A norm of matrices.',
      torch: 'linalg.matrix_norm',
      forms: ['function'],
    },
    (c, a) => {
      const dims = normalizeDims(a.dims('dim') ?? [-2, -1], c.rank(a.tensor('input')));
      return inWide(c, a, (x) =>
        matrixNorm(c, x, { order: orderOf(a.attr('ord')) ?? 'fro', dims, keepdim: a.bool('keepdim') }),
      );
    },
  ),
  composite(
    'linalgNorm',
    {
      signature: `input: tensor, ord: float | 'fro' | 'nuc' = null, ${NORM}, *, dtype: dtype = null`,
      doc: 'A vector or matrix norm, by the number of dims.',
      torch: 'linalg.norm',
      forms: ['function'],
    },
    linalgNorm,
  ),
  composite(
    'dist',
    { signature: 'input: tensor, other: tensor, p: float = 2', doc: 'The p-norm of the difference.', accepts: floats },
    (c, a) => {
      const difference = c.op('sub', a.tensor('input'), a.tensor('other'));
      return c.cast(
        pNorm(c, c.widen(difference), { p: a.float('p'), dims: range(c.rank(difference)), keepdim: false }),
        c.dtype(difference),
      );
    },
  ),
  composite(
    'normalize',
    {
      signature: 'input: tensor, p: float = 2.0, dim: dims = 1, eps: float = 1e-12',
      doc: 'Scales slices to norm 1.',
      torch: 'nn.functional.normalize',
      accepts: floats,
    },
    normalize,
  ),
  composite(
    'cosineSimilarity',
    {
      signature: 'x1: tensor, x2: tensor, dim: int = 1, eps: float = 1e-8',
      doc: 'The cosine of the angle between slices.',
      torch: ['nn.functional.cosine_similarity', 'cosine_similarity'],
    },
    cosineSimilarity,
  ),
  composite(
    'pairwiseDistance',
    {
      signature: 'x1: tensor, x2: tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = false',
      doc: 'Distances of rows.',
      torch: ['nn.functional.pairwise_distance', 'pairwise_distance'],
    },
    pairwiseDistance,
  ),
  composite(
    'cdist',
    {
      signature:
        "x1: tensor, x2: tensor, p: float = 2.0, computeMode: 'use_mm_for_euclid_dist_if_necessary' | 'use_mm_for_euclid_dist' | 'donot_use_mm_for_euclid_dist' = 'use_mm_for_euclid_dist_if_necessary'",
      doc: 'Distances of all pairs of rows.',
      forms: ['function'],
      accepts: floats,
    },
    cdist,
  ),
  composite(
    'renorm',
    {
      signature: 'input: tensor, p: float, dim: int, maxnorm: float',
      doc: 'Scales slices down to a largest norm.',
      inPlace: true,
      accepts: floats,
    },
    renorm,
  ),
];
