// Small dense linear algebra by elimination with partial pivoting, one step for each row, on batches of matrices. The
// steps are written out in the graph, so that the size must be known and is limited.
import { int } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float, size } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { dtypeUnsupported, printShape, shapeMismatch, unsupported } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { broadcastShapes, range, sameShape } from '../shape.ts';

/** The largest matrix whose elimination is written out. */
const LARGEST = 64;

/** The side of square matrices of f32 or f64. */
function sideOf(c: Composer, operator: string, x: ValueRef): number {
  const dtype = c.dtype(x);
  if (dtype !== 'f32' && dtype !== 'f64') throw dtypeUnsupported(operator, dtype, ['f32', 'f64']);
  if (c.rank(x) < 2 || !c.sizes.same(c.size(x, -1), c.size(x, -2)))
    throw shapeMismatch(`${operator} of ${printShape(c.shape(x))}`, 'give square matrices');
  const n = c.sizes.toNumber(c.size(x, -1));
  if (n > LARGEST) throw unsupported(`${operator} of matrices larger than ${String(LARGEST)}`, 'use smaller blocks');
  return n;
}

const row = (c: Composer, x: ValueRef, k: number): ValueRef => c.slice(x, c.rank(x) - 2, { start: k, end: k + 1 });
const column = (c: Composer, x: ValueRef, k: number): ValueRef => c.slice(x, c.rank(x) - 1, { start: k, end: k + 1 });
/** 0, 1, 2 ... down the rows. */
const rowNumbers = (c: Composer, n: number): ValueRef => c.unsqueeze(c.iota(size(n)), 1);

interface Pivoted {
  readonly matrix: ValueRef;
  /** Whether rows were exchanged: [.., 1, 1]. */
  readonly swapped: ValueRef;
}

/** Exchanges row k with the one below it (or itself) whose element k is the largest. */
function pivot(c: Composer, x: ValueRef, k: number): Pivoted {
  const n = c.sizes.toNumber(c.size(x, -2));
  const below = c.slice(column(c, x, k), c.rank(x) - 2, { start: k });
  const place = c.op('add', c.reduce('argmax', c.op('abs', below), { dims: [c.rank(x) - 2], keepdim: true }), k);
  const rows = rowNumbers(c, n);
  const order = c.where(c.op('eq', rows, k), place, c.where(c.op('eq', rows, place), c.full(k, [], 'i64'), rows));
  return { matrix: c.gather(x, c.rank(x) - 2, c.expand(order, c.shape(x))), swapped: c.op('ne', place, k) };
}

/** Upper triangular matrices with the determinants of x but for `sign`. */
function eliminated(c: Composer, x: ValueRef, n: number): { matrix: ValueRef; sign: ValueRef } {
  let sign = c.full(float(1), [...c.shape(x).slice(0, -2), int(1), int(1)], c.dtype(x));
  let matrix = x;
  for (let k = 0; k < n; k += 1) {
    const step = pivot(c, matrix, k);
    sign = c.where(step.swapped, c.op('neg', sign), sign);
    const lead = row(c, step.matrix, k);
    const by = column(c, lead, k);
    const isUsed = c.op('logicalAnd', c.op('gt', rowNumbers(c, n), k), c.op('ne', by, float(0)));
    const factor = c.where(isUsed, c.op('div', column(c, step.matrix, k), by), c.full(float(0), [], c.dtype(x)));
    matrix = c.op('sub', step.matrix, c.op('mul', factor, lead));
  }
  return { matrix, sign: c.squeeze(sign, c.rank(sign) - 2, c.rank(sign) - 1) };
}

interface Determinant {
  readonly sign: ValueRef;
  readonly diagonal: ValueRef;
}

function triangular(c: Composer, a: ArgumentReader, name: string): Determinant {
  const x = a.tensor(name);
  const { matrix, sign } = eliminated(c, x, sideOf(c, a.operator.name, x));
  return { sign, diagonal: c.call('diagonal', [matrix], { offset: 0, dim1: c.rank(x) - 2, dim2: c.rank(x) - 1 }) };
}

const overLast = (c: Composer, target: string, x: ValueRef): ValueRef => c.reduce(target, x, [c.rank(x) - 1]);

function determinant(c: Composer, a: ArgumentReader): ValueRef {
  const { sign, diagonal } = triangular(c, a, 'A');
  return c.op('mul', sign, overLast(c, 'prod', diagonal));
}

function logDeterminant(c: Composer, a: ArgumentReader, name: string): readonly [ValueRef, ValueRef] {
  const { sign, diagonal } = triangular(c, a, name);
  return [
    c.op('mul', sign, overLast(c, 'prod', c.op('sign', diagonal))),
    overLast(c, 'sum', c.op('log', c.op('abs', diagonal))),
  ];
}

const singular = {
  what: 'the matrix is singular, as a pivot is 0',
  remedy: 'give an invertible matrix, or add a little to its diagonal',
};

/** The inverse of x times b, by elimination of both together. */
function solved(c: Composer, x: ValueRef, b: ValueRef): ValueRef {
  const n = c.sizes.toNumber(c.size(x, -1));
  const batch = broadcastShapes(c.sizes, [c.shape(x).slice(0, -2), c.shape(b).slice(0, -2)]);
  const wide = (v: ValueRef): ValueRef => c.expand(v, [...batch, ...c.shape(v).slice(-2)]);
  const last = batch.length + 1;
  let both = c.cat([wide(x), wide(b)], last);
  for (let k = 0; k < n; k += 1) {
    const { matrix } = pivot(c, both, k);
    const by = column(c, row(c, matrix, k), k);
    const lead = c.op('div', row(c, matrix, k), c.require(by, c.op('ne', by, float(0)), singular));
    const isLead = c.op('eq', rowNumbers(c, n), k);
    both = c.where(isLead, lead, c.op('sub', matrix, c.op('mul', column(c, matrix, k), lead)));
  }
  return c.slice(both, last, { start: n });
}

export function inverse(c: Composer, operator: string, x: ValueRef): ValueRef {
  const n = sideOf(c, operator, x);
  const identity = c.cast(c.op('eq', rowNumbers(c, n), c.iota(size(n))), c.dtype(x));
  return n === 0 ? x : solved(c, x, c.expand(identity, c.shape(x)));
}

function solve(c: Composer, a: ArgumentReader): ValueRef {
  const [x, b, left] = [a.tensor('A'), a.tensor('B'), a.bool('left')];
  sideOf(c, 'solve', x);
  const isVector =
    c.rank(b) === 1 || (c.rank(b) === c.rank(x) - 1 && sameShape(c.sizes, c.shape(b), c.shape(x).slice(0, -1)));
  const columns = isVector ? c.unsqueeze(b, c.rank(b)) : b;
  if (c.rank(columns) < 2 || !c.sizes.same(c.size(columns, left || isVector ? -2 : -1), c.size(x, -1)))
    throw shapeMismatch(`solve of ${printShape(c.shape(x))} and ${printShape(c.shape(b))}`, 'the sizes must fit');
  const flipped = (v: ValueRef): ValueRef => (left || isVector ? v : c.transpose(v, -2, -1));
  const result = flipped(solved(c, left ? x : c.transpose(x, -2, -1), flipped(columns)));
  return isVector ? c.squeeze(result, c.rank(result) - 1) : result;
}

function solveTriangular(c: Composer, a: ArgumentReader): ValueRef {
  const [given, right, left] = [a.tensor('A'), a.tensor('B'), a.bool('left')];
  const n = sideOf(c, 'solveTriangular', given);
  const flipped = (v: ValueRef): ValueRef => (left ? v : c.transpose(v, -2, -1));
  const isUpper = a.bool('upper') === left;
  const [x, b] = [flipped(given), flipped(right)];
  const batch = broadcastShapes(c.sizes, [c.shape(x).slice(0, -2), c.shape(b).slice(0, -2)]);
  let rest = c.expand(b, [...batch, ...c.shape(b).slice(-2)]);
  const rows: ValueRef[] = [];
  for (const k of isUpper ? range(n).reverse() : range(n)) {
    const own = row(c, rest, k);
    const value = a.bool('unitriangular') ? own : c.op('div', own, column(c, row(c, x, k), k));
    rows.push(value);
    rest = c.op('sub', rest, c.op('mul', column(c, x, k), value));
  }
  if (n === 0) return right;
  return flipped(c.cat(isUpper ? rows.reverse() : rows, batch.length));
}

const indefinite = {
  what: 'the matrix is not positive definite',
  remedy: 'give one that is, or add a little to its diagonal',
};

/** Lower triangular factors of symmetric positive definite matrices. */
function cholesky(c: Composer, a: ArgumentReader, name: string): ValueRef {
  const given = c.call('symmetricMatrix', [a.tensor(name)]);
  const n = sideOf(c, 'cholesky', given);
  // Only one triangle is read.
  const x = a.bool('upper') ? c.transpose(given, -2, -1) : given;
  const zero = c.full(float(0), [], c.dtype(x));
  const columns: ValueRef[] = [];
  let rest = x;
  for (let k = 0; k < n; k += 1) {
    const own = column(c, rest, k);
    const minor = row(c, own, k);
    const root = c.op('sqrt', c.require(minor, c.op('gt', minor, float(0)), indefinite));
    const factor = c.where(c.op('ge', rowNumbers(c, n), k), c.op('div', own, root), zero);
    columns.push(factor);
    rest = c.op('sub', rest, c.op('mul', factor, c.transpose(factor, -2, -1)));
  }
  if (columns.length === 0) return given;
  const lower = c.cat(columns, c.rank(x) - 1);
  return a.bool('upper') ? c.transpose(lower, -2, -1) : lower;
}

const linalg = (name: string): { torch: string; forms: readonly ['function'] } => ({
  torch: `linalg.${name}`,
  forms: ['function'],
});

export const linearAlgebraEntries: readonly Entry[] = [
  composite('det', { signature: 'A: tensor', doc: 'Determinants.', torch: ['linalg.det', 'det'] }, determinant),
  composite(
    'slogdet',
    {
      signature: 'A: tensor',
      doc: 'Signs of determinants, and logarithms of their magnitudes.',
      torch: ['linalg.slogdet', 'slogdet'],
      results: 2,
    },
    (c, a) => logDeterminant(c, a, 'A'),
  ),
  composite(
    'logdet',
    { signature: 'input: tensor', doc: 'Logarithms of determinants; NaN of negative ones.' },
    (c, a) => {
      const [sign, magnitude] = logDeterminant(c, a, 'input');
      return c.where(c.op('lt', sign, 0), c.full(float(NaN), [], c.dtype(magnitude)), magnitude);
    },
  ),
  composite('inv', { signature: 'A: tensor', doc: 'Inverses.', torch: ['linalg.inv', 'inverse'] }, (c, a) =>
    inverse(c, 'inv', a.tensor('A')),
  ),
  composite(
    'solve',
    { signature: 'A: tensor, B: tensor, *, left: bool = true', doc: 'X with A X = B, or X A = B.', ...linalg('solve') },
    solve,
  ),
  composite(
    'solveTriangular',
    {
      signature: 'A: tensor, B: tensor, *, upper: bool, left: bool = true, unitriangular: bool = false',
      doc: 'solve for triangular matrices.',
      ...linalg('solve_triangular'),
    },
    solveTriangular,
  ),
  composite(
    'linalgCholesky',
    { signature: 'A: tensor, *, upper: bool = false', doc: 'Triangular factors.', ...linalg('cholesky') },
    (c, a) => cholesky(c, a, 'A'),
  ),
  composite('cholesky', { signature: 'input: tensor, upper: bool = false', doc: 'Triangular factors.' }, (c, a) =>
    cholesky(c, a, 'input'),
  ),
];
