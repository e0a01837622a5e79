// Resizing: each axis is a weighted sum of taps, gathered by indices that are computed from positions. Half types are
// computed in f32 and rounded once; positions are computed in the dtype of the arithmetic, as PyTorch does.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float, size } from '../composer.ts';
import { composite, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, printShape, shapeMismatch, unsupported } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { range } from '../shape.ts';

/** One axis to resize. */
interface Resize {
  readonly dim: number;
  readonly from: number;
  readonly to: number;
  /** Input elements for each output element. */
  readonly scale: number;
  readonly alignCorners: boolean;
}

/** A tap: which elements of the axis (a vector of indices), and their weights (a vector; absent: 1). */
interface Tap {
  readonly index: ValueRef;
  readonly weight?: ValueRef;
}

/** The places in the input of the elements of the output. */
function places(c: Composer, { to, scale, alignCorners }: Resize, dtype: DType): ValueRef {
  const index = c.iota(size(to), dtype);
  if (alignCorners) return c.op('mul', index, float(scale));
  return c.op('sub', c.op('mul', c.op('add', index, float(0.5)), float(scale)), float(0.5));
}

const clipped = (c: Composer, index: ValueRef, from: number): ValueRef =>
  c.op('minimum', c.op('maximum', c.cast(index, 'i64'), 0), from - 1);

function nearestTaps(c: Composer, axis: Resize): readonly Tap[] {
  return [
    { index: clipped(c, c.op('floor', c.op('mul', c.iota(size(axis.to), 'f32'), float(axis.scale))), axis.from) },
  ];
}

function linearTaps(c: Composer, axis: Resize, dtype: DType): readonly Tap[] {
  const place = c.op('maximum', places(c, axis, dtype), float(0));
  const low = c.op('floor', place);
  const weight = c.op('sub', place, low);
  return [
    { index: clipped(c, low, axis.from), weight: c.op('sub', float(1), weight) },
    { index: clipped(c, c.op('add', low, float(1)), axis.from), weight },
  ];
}

const CUBIC = -0.75;

/** ((a x + b) x + c) x + d. */
function polynomial(c: Composer, x: ValueRef, [first = 0, ...rest]: readonly number[]): ValueRef {
  const [second = 0, ...others] = rest;
  const start = c.op('add', c.op('mul', x, float(first)), float(second));
  return others.reduce((all, coefficient) => c.op('add', c.op('mul', all, x), float(coefficient)), start);
}

function cubicTaps(c: Composer, axis: Resize, dtype: DType): readonly Tap[] {
  const place = places(c, axis, dtype);
  const low = c.op('floor', place);
  return cubicWeights(c, c.op('sub', place, low)).map((weight, i) => ({
    index: clipped(c, c.op('add', low, float(i - 1)), axis.from),
    weight,
  }));
}

/** The four weights of cubic convolution at a fraction. */
export function cubicWeights(c: Composer, fraction: ValueRef): readonly ValueRef[] {
  const near = (x: ValueRef): ValueRef => polynomial(c, x, [CUBIC + 2, -(CUBIC + 3), 0, 1]);
  const far = (x: ValueRef): ValueRef => polynomial(c, x, [CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC]);
  const rest = c.op('sub', float(1), fraction);
  return [far(c.op('add', fraction, float(1))), near(fraction), near(rest), far(c.op('add', rest, float(1)))];
}

const TAPS: Readonly<Record<string, (c: Composer, axis: Resize, dtype: DType) => readonly Tap[]>> = {
  nearest: nearestTaps,
  linear: linearTaps,
  cubic: cubicTaps,
};

function resized(c: Composer, x: ValueRef, { axes, kind }: { axes: readonly Resize[]; kind: string }): ValueRef {
  const taps = TAPS[kind] ?? nearestTaps;
  return axes.reduce((all, axis) => {
    if (axis.from === axis.to && axis.scale === 1) return all;
    const parts = taps(c, axis, isFloat(c.dtype(x)) ? c.dtype(x) : 'f32').map(({ index, weight }) => {
      const elements = c.indexSelect(all, axis.dim, index);
      return weight === undefined ? elements : c.op('mul', elements, c.along(weight, axis.dim, c.rank(x)));
    });
    return c.fold('add', parts);
  }, x);
}

/** Sizes of the output, and input elements for each of its elements. */
function resizes(
  c: Composer,
  a: ArgumentReader,
  { x, alignCorners }: { x: ValueRef; alignCorners: boolean },
): readonly Resize[] {
  const n = c.rank(x) - 2;
  if (n < 1)
    throw shapeMismatch(
      `${a.operator.name} of ${printShape(c.shape(x))}`,
      'it needs a batch, channels and at least one more dim',
    );
  if (
    c
      .shape(x)
      .slice(1)
      .some((extent) => c.sizes.isZero(extent))
  )
    throw shapeMismatch(`${a.operator.name} of ${printShape(c.shape(x))}`, 'only the batch may be empty');
  const given = a.dims('size');
  const factors = factorsOf(a, n);
  if ((given === undefined) === (factors === undefined))
    throw argumentValue(a.operator.name, 'size and scaleFactor', 'give one of them');
  if ((Array.isArray(a.attr('size')) && given?.length !== n) || (factors ?? []).some((f) => !Number.isFinite(f)))
    throw argumentValue(a.operator.name, 'size or scaleFactor', `give one, or one for each of ${String(n)} axes`);
  return range(n).map((i) => {
    const from = c.sizes.toNumber(c.size(x, i + 2));
    const factor = factors?.[i] ?? 1;
    const to = given === undefined ? Math.floor(from * factor) : (given[given.length === 1 ? 0 : i] ?? from);
    if (to < 1) throw argumentValue(a.operator.name, `a size of ${String(to)}`, 'sizes are positive');
    const scale = alignCorners
      ? to > 1
        ? (from - 1) / (to - 1)
        : 0
      : given === undefined && a.attr('recomputeScaleFactor') !== true
        ? 1 / factor
        : from / to;
    return { dim: i + 2, from, to, scale, alignCorners };
  });
}

function factorsOf(a: ArgumentReader, n: number): readonly number[] | undefined {
  const attr = a.attr('scaleFactor');
  if (attr === null) return undefined;
  const items = Array.isArray(attr) ? (attr as readonly unknown[]).map(Number) : [a.float('scaleFactor')];
  if (items.length !== 1 && items.length !== n)
    throw argumentValue(a.operator.name, `${String(items.length)} scale factors`, `give ${String(n)} of them`);
  return items.length === 1 ? range(n).map(() => items[0] ?? 1) : items;
}

/** What each mode does along an axis, and for how many axes it is. */
const MODES: Readonly<Record<string, { readonly kind: string; readonly axes?: number }>> = {
  nearest: { kind: 'nearest' },
  linear: { kind: 'linear', axes: 1 },
  bilinear: { kind: 'linear', axes: 2 },
  trilinear: { kind: 'linear', axes: 3 },
  bicubic: { kind: 'cubic', axes: 2 },
};

function interpolate(
  c: Composer,
  a: ArgumentReader,
  { mode, alignCorners }: { mode: string; alignCorners: boolean },
): ValueRef {
  const input = a.tensor('input');
  const axes = resizes(c, a, { x: input, alignCorners });
  if (mode === 'area')
    return c.call(`adaptiveAvgPool${String(axes.length)}d`, [input], { outputSize: axes.map(({ to }) => to) });
  const found = MODES[mode];
  if (found === undefined)
    throw argumentValue(a.operator.name, `mode ${mode}`, `use ${Object.keys(MODES).join(', ')} or area`);
  const { kind, axes: wanted = axes.length } = found;
  if (wanted !== axes.length)
    throw shapeMismatch(
      `${a.operator.name}: ${mode} of ${printShape(c.shape(input))}`,
      `${mode} is for ${String(wanted + 2)} dims`,
    );
  if (a.attr('antialias') === true)
    throw unsupported(`${a.operator.name} with antialias`, 'resize in two steps: avgPool2d first, then interpolate');
  if (kind === 'nearest') return resized(c, input, { axes, kind });
  return c.cast(resized(c, c.widen(input), { axes, kind }), c.dtype(input));
}

const SIZES = 'input: tensor, size: dims = null, scaleFactor: floats = null';

export const interpolationEntries: readonly Entry[] = [
  composite(
    'interpolate',
    {
      signature: `${SIZES}, mode: ${oneOf([...Object.keys(MODES), 'area'])} = 'nearest', alignCorners: bool? = null, recomputeScaleFactor: bool? = null, antialias: bool = false`,
      doc: 'Resizes the axes after batch and channels.',
      torch: 'nn.functional.interpolate',
    },
    (c, a) => {
      const mode = a.string('mode');
      if (a.optionalBool('alignCorners') !== undefined && (mode === 'nearest' || mode === 'area'))
        throw argumentValue('interpolate', `alignCorners with mode ${mode}`, 'it is for the linear and cubic modes');
      return interpolate(c, a, { mode, alignCorners: a.optionalBool('alignCorners') ?? false });
    },
  ),
  composite(
    'upsampleNearest',
    { signature: SIZES, doc: 'interpolate by nearest elements.', torch: 'nn.functional.upsample_nearest' },
    (c, a) => interpolate(c, a, { mode: 'nearest', alignCorners: false }),
  ),
  composite(
    'upsampleBilinear',
    { signature: SIZES, doc: 'interpolate bilinearly, corners aligned.', torch: 'nn.functional.upsample_bilinear' },
    (c, a) => interpolate(c, a, { mode: 'bilinear', alignCorners: true }),
  ),
];
