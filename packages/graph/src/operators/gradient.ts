// Numerical derivatives by central differences, with one-sided ones at the ends, of first or second order.
import { at } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { range } from '../shape.ts';

interface Line {
  readonly dim: number;
  readonly n: number;
}

/** `count` neighbours of an axis from `start`. */
const run = (c: Composer, x: ValueRef, { dim, start, end }: { dim: number; start: number; end: number }): ValueRef =>
  c.slice(x, dim, { start, end });

const sum = (c: Composer, terms: readonly (readonly [ValueRef, ValueRef])[]): ValueRef =>
  c.fold(
    'add',
    terms.map(([weight, x]) => c.op('mul', weight, x)),
  );

/** Derivative along one axis with even spacing. */
function even(c: Composer, x: ValueRef, { dim, n, h, order }: Line & { h: number; order: number }): ValueRef {
  const point = (i: number): ValueRef => run(c, x, { dim, start: i, end: i + 1 });
  const combine = (start: number, weights: readonly number[]): ValueRef => {
    const terms = weights.map((weight, i) => c.op('mul', point(start + i), float(weight)));
    return c.op('div', c.fold('add', terms), float(h));
  };
  const middle = c.op(
    'div',
    c.op('sub', run(c, x, { dim, start: 2, end: n }), run(c, x, { dim, start: 0, end: n - 2 })),
    float(2 * h),
  );
  const first = order === 1 ? combine(0, [-1, 1]) : combine(0, [-1.5, 2, -0.5]);
  const last = order === 1 ? combine(n - 2, [-1, 1]) : combine(n - 3, [0.5, -2, 1.5]);
  return c.cat([first, middle, last], dim);
}

/** Derivative along one axis at given coordinates. */
function uneven(
  c: Composer,
  x: ValueRef,
  { dim, n, coordinates, order }: Line & { coordinates: ValueRef; order: number },
): ValueRef {
  const steps = c.along(
    c.op('sub', c.slice(coordinates, 0, { start: 1 }), c.slice(coordinates, 0, { end: n - 1 })),
    dim,
    c.rank(x),
  );
  const part = (start: number, end: number): ValueRef => run(c, x, { dim, start, end });
  const gap = (start: number, end: number): ValueRef => run(c, steps, { dim, start, end });
  const [left, right] = [gap(0, n - 2), gap(1, n - 1)];
  const both = c.op('add', left, right);
  const middle = sum(c, [
    [c.op('neg', c.op('div', right, c.op('mul', left, both))), part(0, n - 2)],
    [c.op('div', c.op('sub', right, left), c.op('mul', left, right)), part(1, n - 1)],
    [c.op('div', left, c.op('mul', right, both)), part(2, n)],
  ]);
  return c.cat([end(c, { part, gap, order, n }, 'first'), middle, end(c, { part, gap, order, n }, 'last')], dim);
}

interface Ends {
  readonly part: (start: number, end: number) => ValueRef;
  readonly gap: (start: number, end: number) => ValueRef;
  readonly order: number;
  readonly n: number;
}

/** The one-sided derivative at an end: that at the last point is the mirror image of that at the first. */
function end(c: Composer, { part, gap, order, n }: Ends, which: 'first' | 'last'): ValueRef {
  const isFirst = which === 'first';
  const point = (i: number): ValueRef => (isFirst ? part(i, i + 1) : part(n - 1 - i, n - i));
  const step = (i: number): ValueRef => (isFirst ? gap(i, i + 1) : gap(n - 2 - i, n - 1 - i));
  const [near, far] = [step(0), step(order === 1 ? 0 : 1)];
  const signed = (x: ValueRef): ValueRef => (isFirst ? x : c.op('neg', x));
  if (order === 1) return signed(c.op('div', c.op('sub', point(1), point(0)), near));
  const both = c.op('add', near, far);
  const slope = sum(c, [
    [c.op('neg', c.op('div', c.op('add', both, near), c.op('mul', near, both))), point(0)],
    [c.op('div', both, c.op('mul', near, far)), point(1)],
    [c.op('neg', c.op('div', near, c.op('mul', far, both))), point(2)],
  ]);
  return signed(slope);
}

/** The axes, and how many elements they need. */
function lines(c: Composer, a: ArgumentReader): { x: ValueRef; order: number; axes: readonly Line[] } {
  const [x, order] = [c.toFloat(a.tensor('input')), a.int('edgeOrder')];
  if (order !== 1 && order !== 2) throw argumentValue('gradient', `edgeOrder ${String(order)}`, 'use 1 or 2');
  const dims = a.dims('dim')?.map((dim) => c.dim(x, dim)) ?? range(c.rank(x));
  if (new Set(dims).size < dims.length) throw argumentValue('gradient', 'a dim appears twice', 'name each dim once');
  const axes = dims.map((dim) => ({ dim, n: c.sizes.toNumber(c.size(x, dim)) }));
  if (axes.some(({ n }) => n < order + 1))
    throw shapeMismatch('gradient along an axis with too few elements', `it needs at least ${String(order + 1)}`);
  return { x, order, axes };
}

function evenly(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const { x, order, axes } = lines(c, a);
  const given = a.attr('spacing');
  const spacing =
    given === null ? [1] : Array.isArray(given) ? (given as readonly unknown[]).map(Number) : [a.float('spacing')];
  // A list has one for each dim, a number is for all.
  if ((Array.isArray(given) || spacing.length !== 1) && spacing.length !== axes.length)
    throw argumentValue(
      'gradient',
      `${String(spacing.length)} spacings for ${String(axes.length)} dims`,
      'give one for each dim',
    );
  return axes.map((axis, i) => even(c, x, { ...axis, h: at(spacing, spacing.length === 1 ? 0 : i), order }));
}

function unevenly(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const { x, order, axes } = lines(c, a);
  const spacing = a.tensors('spacing');
  if (spacing.length !== axes.length)
    throw argumentValue(
      'gradient',
      `coordinates of ${String(spacing.length)} dims for ${String(axes.length)}`,
      'give those of each dim',
    );
  return axes.map((axis, i) => {
    const coordinates = c.cast(at(spacing, i), c.dtype(x));
    if (!c.sizes.same(c.count(coordinates), c.size(x, axis.dim)))
      throw shapeMismatch('gradient: as many coordinates as elements are needed');
    return uneven(c, x, { ...axis, coordinates, order });
  });
}

export const gradientEntries: readonly Entry[] = [
  composite(
    'gradient',
    {
      signature: 'input: tensor, *, spacing: floats = null, dim: dims = null, edgeOrder: int = 1',
      doc: 'Derivatives along dims, by differences.',
      forms: ['function'],
      results: 'list',
      overloads: ['gradientAt'],
    },
    evenly,
  ),
  composite(
    'gradientAt',
    {
      signature: 'input: tensor, *, spacing: tensors, dim: dims = null, edgeOrder: int = 1',
      doc: 'gradient at given coordinates.',
      torch: [],
      forms: [],
      results: 'list',
    },
    unevenly,
  ),
];
