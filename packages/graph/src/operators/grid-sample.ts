// Sampling of images at given places: nearest, bilinear or bicubic, with a rule for places outside.
import { at } from '@tsinductor/base';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, floats, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { one, product, range } from '../shape.ts';
import { cubicWeights } from './interpolation.ts';

type Padding = 'zeros' | 'border' | 'reflection';

interface Sampling {
  readonly x: ValueRef;
  readonly padding: Padding;
  readonly alignCorners: boolean;
}

const held = (c: Composer, place: ValueRef, extent: number): ValueRef =>
  c.op('minimum', c.op('maximum', place, float(0)), float(extent - 1));

/** -1 to 1 in the grid is the image: from centre to centre of its corner pixels, or from edge to edge. */
function unnormalised(
  c: Composer,
  place: ValueRef,
  { extent, alignCorners }: { extent: number; alignCorners: boolean },
): ValueRef {
  const unit = c.op('add', place, float(1));
  if (alignCorners) return c.op('mul', unit, float((extent - 1) / 2));
  return c.op('div', c.op('sub', c.op('mul', unit, float(extent)), float(1)), float(2));
}

/** Places folded back into [low, low + span]. */
function folded(c: Composer, place: ValueRef, { low, span }: { low: number; span: number }): ValueRef {
  if (span === 0) return c.op('mul', place, float(0));
  const distance = c.op('abs', c.op('sub', place, float(low)));
  const rest = c.op('fmod', distance, float(span));
  const turns = c.op('floor', c.op('div', distance, float(span)));
  const isEven = c.op('eq', c.op('fmod', turns, float(2)), float(0));
  return c.where(isEven, c.op('add', rest, float(low)), c.op('add', c.op('sub', float(span), rest), float(low)));
}

/** The place that is read instead of one outside. */
function inside(
  c: Composer,
  place: ValueRef,
  { extent, padding, alignCorners }: { extent: number; padding: Padding; alignCorners: boolean },
): ValueRef {
  if (padding === 'zeros') return place;
  if (padding === 'border') return held(c, place, extent);
  const limits = alignCorners ? { low: 0, span: extent - 1 } : { low: -0.5, span: extent };
  return held(c, folded(c, place, limits), extent);
}

/** Pixels [N, C, places] at whole places; zero outside. One place vector for each spatial axis, [N, places]. */
function pixels(c: Composer, x: ValueRef, places: readonly ValueRef[]): ValueRef {
  const extents = c
    .shape(x)
    .slice(2)
    .map((extent) => c.sizes.toNumber(extent));
  const within = places.map((place, i) =>
    c.op('logicalAnd', c.op('ge', place, float(0)), c.op('lt', place, float(at(extents, i)))),
  );
  const indices = places.map((place, i) =>
    c.cast(held(c, c.where(at(within, i), place, float(0)), at(extents, i)), 'i64'),
  );
  const flat = indices.reduce((all, index, i) => c.op('add', c.op('mul', all, at(extents, i)), index));
  const [batch = one, channels = one] = c.shape(x);
  const index = c.expand(c.unsqueeze(flat, 1), [batch, channels, c.size(flat, 1)]);
  const found = c.gather(c.reshape(x, [batch, channels, product(c.shape(x).slice(2))]), 2, index);
  return c.where(c.unsqueeze(c.fold('logicalAnd', within), 1), found, c.full(float(0), [], c.dtype(x)));
}

interface Tap {
  readonly place: ValueRef;
  readonly weight: ValueRef;
}

/** Sums pixels over all combinations of taps, one list for each axis. */
function combined(c: Composer, x: ValueRef, taps: readonly (readonly Tap[])[]): ValueRef {
  const all = taps.reduce<readonly (readonly Tap[])[]>(
    (before, axis) => before.flatMap((chosen) => axis.map((tap) => [...chosen, tap])),
    [[]],
  );
  const parts = all.map((chosen) => {
    const weight = c.fold(
      'mul',
      chosen.map((tap) => tap.weight),
    );
    return c.op(
      'mul',
      pixels(
        c,
        x,
        chosen.map(({ place }) => place),
      ),
      c.unsqueeze(weight, 1),
    );
  });
  return c.fold('add', parts);
}

function linearTaps(c: Composer, place: ValueRef): readonly Tap[] {
  const low = c.op('floor', place);
  const weight = c.op('sub', place, low);
  return [
    { place: low, weight: c.op('sub', float(1), weight) },
    { place: c.op('add', low, float(1)), weight },
  ];
}

function sampled(
  c: Composer,
  { x, padding, alignCorners }: Sampling,
  { places, mode }: { places: readonly ValueRef[]; mode: string },
): ValueRef {
  const extents = c
    .shape(x)
    .slice(2)
    .map((extent) => c.sizes.toNumber(extent));
  const rule = (i: number): { extent: number; padding: Padding; alignCorners: boolean } => ({
    extent: at(extents, i),
    padding,
    alignCorners,
  });
  const raw = places.map((place, i) => unnormalised(c, place, rule(i)));
  if (mode === 'bicubic') {
    const taps = raw.map((place, i) => {
      const low = c.op('floor', place);
      return cubicWeights(c, c.op('sub', place, low)).map((weight, k) => ({
        place: inside(c, c.op('add', low, float(k - 1)), rule(i)),
        weight,
      }));
    });
    return combined(c, x, taps);
  }
  const bounded = raw.map((place, i) => inside(c, place, rule(i)));
  return mode === 'nearest'
    ? pixels(
        c,
        x,
        bounded.map((place) => c.op('round', place)),
      )
    : combined(
        c,
        x,
        bounded.map((place) => linearTaps(c, place)),
      );
}

const MODES = ['bilinear', 'nearest', 'bicubic'];
const PADDINGS: readonly Padding[] = ['zeros', 'border', 'reflection'];

/** How many axes the grid names: 2 or 3. */
function spatialAxes(c: Composer, input: ValueRef, grid: ValueRef): number {
  const n = c.rank(input) - 2;
  const fits = (n === 2 || n === 3) && c.rank(grid) === n + 2 && c.sizes.toNumber(c.size(grid, -1)) === n;
  if (fits) return n;
  throw shapeMismatch(
    `gridSample of ${printShape(c.shape(input))} at ${printShape(c.shape(grid))}`,
    'give [N, C, H, W] and [N, h, w, 2], or one more dim',
  );
}

function gridSample(c: Composer, a: ArgumentReader): ValueRef {
  const [input, grid, mode] = [a.tensor('input'), a.tensor('grid'), a.string('mode')];
  const padding = PADDINGS.find((name) => name === a.string('paddingMode'));
  if (padding === undefined)
    throw argumentValue('gridSample', `paddingMode ${a.string('paddingMode')}`, `use ${PADDINGS.join(', ')}`);
  if (c.dtype(input) !== c.dtype(grid))
    throw dtypeMismatch('gridSample', `the tensors are ${c.dtype(input)} and ${c.dtype(grid)}`);
  const n = spatialAxes(c, input, grid);
  if (!MODES.includes(mode) || (mode === 'bicubic' && n > 2))
    throw argumentValue('gridSample', `mode ${mode}`, 'use bilinear, nearest or, for images, bicubic');
  const output = c.shape(grid).slice(1, -1);
  const places = range(n).map((i) =>
    c.reshape(c.select(c.widen(grid), n + 1, n - 1 - i), [c.size(grid, 0), product(output)]),
  );
  const x = c.widen(input);
  const flat = sampled(c, { x, padding, alignCorners: a.optionalBool('alignCorners') ?? false }, { places, mode });
  return c.cast(c.reshape(flat, [c.size(input, 0), c.size(input, 1), ...output]), c.dtype(input));
}

export const gridSampleEntries: readonly Entry[] = [
  composite(
    'gridSample',
    {
      signature: `input: tensor, grid: tensor, mode: ${oneOf(MODES)} = 'bilinear', paddingMode: ${oneOf(PADDINGS)} = 'zeros', alignCorners: bool? = null`,
      doc: 'Pixels at the places of a grid.',
      torch: 'nn.functional.grid_sample',
      accepts: floats,
    },
    gridSample,
  ),
];
