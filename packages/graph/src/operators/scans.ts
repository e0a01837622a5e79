// Running sums and products, and differences of neighbours.
import { isFloat } from '@tsinductor/base';
import { subtract } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dimOutOfRange, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { one } from '../shape.ts';
import { requested } from './reductions.ts';

const scan = (name: 'cumsum' | 'cumprod', what: string): Entry =>
  composite(
    name,
    {
      signature: 'input: tensor, dim: int, *, dtype: dtype = null',
      doc: `The running ${what}; of integers in i64.`,
      inPlace: true,
    },
    (c, a) => {
      const given = requested(c, a);
      const x = isFloat(c.dtype(given)) || a.dtype() !== undefined ? given : c.cast(given, 'i64');
      const dim = c.dim(x, a.int('dim'));
      if (c.rank(x) === 0) return c.call('clone', [x]);
      return c.cast(c.call(name, [c.widen(x)], { dim }), c.dtype(x));
    },
  );

/** Neighbours subtracted, n times. */
function diff(c: Composer, a: ArgumentReader): ValueRef {
  const [input, n] = [a.tensor('input'), a.int('n')];
  if (c.rank(input) === 0) throw shapeMismatch('diff of a 0-d tensor', 'it has no dims');
  if (n < 0) throw argumentValue('diff', `n is ${String(n)}`, 'it is not negative');
  const dim = c.dim(input, a.int('dim'));
  if (n === 0) return c.call('clone', [input]);
  const parts = [a.optionalTensor('prepend'), input, a.optionalTensor('append')].filter((x) => x !== undefined);
  let result = parts.length === 1 ? input : c.call('cat', [parts], { dim });
  for (let i = 0; i < n; i += 1) {
    if (c.sizes.isZero(c.size(result, dim))) return result;
    const [later, earlier] = [
      c.slice(result, dim, { start: 1 }),
      c.slice(result, dim, { end: subtract(c.size(result, dim), one) }),
    ];
    result = c.op(c.dtype(result) === 'bool' ? 'logicalXor' : 'sub', later, earlier);
  }
  return result;
}

interface Trapezoids {
  readonly areas: ValueRef;
  readonly dim: number;
}

/** Areas between neighbouring points, spaced by `x` or evenly by `dx`. */
function trapezoids(c: Composer, a: ArgumentReader): Trapezoids | undefined {
  const [y, x] = [a.tensor('y'), a.optionalTensor('x')];
  if (c.rank(y) === 0) throw dimOutOfRange(a.int('dim'), 0);
  const dim = c.dim(y, a.int('dim'));
  const neighbours = (v: ValueRef, axis: number): readonly [ValueRef, ValueRef] => [
    c.slice(v, axis, { start: 1 }),
    c.slice(v, axis, { end: subtract(c.size(v, axis), one) }),
  ];
  if (c.sizes.isZero(c.size(y, dim))) return undefined;
  const heights = c.op('add', ...neighbours(y, dim));
  if (x === undefined) return { areas: c.op('mul', heights, float(a.float('dx') / 2)), dim };
  const points = c.rank(x) === 1 ? c.along(x, dim, c.rank(y)) : x;
  const widths = c.op('sub', ...neighbours(points, c.rank(points) - c.rank(y) + dim));
  return { areas: c.op('div', c.op('mul', widths, heights), float(2)), dim };
}

function trapezoid(c: Composer, a: ArgumentReader): ValueRef {
  const found = trapezoids(c, a);
  if (found === undefined)
    return c.full(
      0,
      c.shape(a.tensor('y')).filter((_, axis) => axis !== c.dim(a.tensor('y'), a.int('dim'))),
      c.dtype(a.tensor('y')),
    );
  return c.reduce('sum', found.areas, [found.dim]);
}

/** The running maximum or minimum, and its last position. */
const runningExtreme = (name: 'cummax' | 'cummin'): Entry => {
  const which = name.slice(3);
  return composite(
    name,
    { signature: 'input: tensor, dim: int', doc: `The running ${which}imum, and where it is.`, results: 2 },
    (c, a) => {
      const x = a.tensor('input');
      const dim = c.dim(x, a.int('dim'));
      if (c.rank(x) === 0) return [c.call('clone', [x]), c.full(0, [], 'i64')];
      const ranked = c.dtype(x) === 'bool' ? c.cast(x, 'u8') : x;
      return [c.call(`cuma${which}`, [x], { dim }), c.call(`cumarg${which}`, [ranked], { dim })];
    },
  );
};

const POINTS = 'y: tensor, x: tensor? = null, *, dx: scalar = 1, dim: int = -1';

export const scanEntries: readonly Entry[] = [
  scan('cumsum', 'sum'),
  scan('cumprod', 'product'),
  runningExtreme('cummax'),
  runningExtreme('cummin'),
  composite(
    'logcumsumexp',
    { signature: 'input: tensor, dim: int', doc: 'log of the running sum of exp.', accepts: floats },
    (c, a) => {
      const x = a.tensor('input');
      const dim = c.dim(x, a.int('dim'));
      return c.rank(x) === 0 ? c.call('clone', [x]) : c.cast(c.call('cumlogsumexp', [c.widen(x)], { dim }), c.dtype(x));
    },
  ),
  composite(
    'diff',
    {
      signature: 'input: tensor, n: int = 1, dim: int = -1, prepend: tensor? = null, append: tensor? = null',
      doc: 'Differences of neighbours, n times.',
    },
    diff,
  ),
  composite(
    'trapezoid',
    {
      signature: POINTS,
      doc: 'The integral by the trapezoidal rule.',
      torch: ['trapezoid', 'trapz'],
      forms: ['function'],
    },
    trapezoid,
  ),
  composite(
    'cumulativeTrapezoid',
    { signature: POINTS, doc: 'The running integral by the trapezoidal rule.', forms: ['function'] },
    (c, a) => {
      const found = trapezoids(c, a);
      return found === undefined
        ? c.toFloat(a.tensor('y'))
        : c.call('cumsum', [found.areas], { dim: found.dim, dtype: null });
    },
  ),
];
