// Pools: reductions of windows. Averages divide by how many elements of the input (or of its padding) a window covers.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int, product } from '@tsinductor/ir';
import { scalar } from '../argument-reader.ts';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float, size } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, dtypeUnsupported, printShape, shapeMismatch } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { one, range, sameShape } from '../shape.ts';
import { batched, perAxis, reach, requirePositive, windows } from './windows.ts';
import type { Window } from './windows.ts';

/** A window axis with the size of what it slides over, and the number of places. */
interface Place extends Window {
  readonly extent: number;
  readonly places: number;
  readonly padding: number;
}

/** The number of places; in ceil mode a last window may begin inside the input or its left padding only. */
function placesOf({
  extent,
  padding,
  stride,
  span,
  isCeil,
}: {
  extent: number;
  padding: number;
  stride: number;
  span: number;
  isCeil: boolean;
}): number {
  const room = extent + 2 * padding - span;
  const count = (isCeil ? Math.ceil(room / stride) : Math.floor(room / stride)) + 1;
  return isCeil && (count - 1) * stride >= extent + padding ? count - 1 : count;
}

function places(c: Composer, a: ArgumentReader, { x, n }: { x: ValueRef; n: number }): readonly Place[] {
  requirePositive(a, ['kernelSize', 'dilation']);
  const kernel = perAxis(a, 'kernelSize', n);
  const given = a.dims('stride');
  const stride = given === undefined || given.length === 0 ? kernel : perAxis(a, 'stride', n);
  if (stride.some((step) => step < 1))
    throw argumentValue(a.operator.name, `stride ${stride.join(', ')}`, 'use positive strides');
  const dilation = a.attr('dilation') === null ? kernel.map(() => 1) : perAxis(a, 'dilation', n);
  const padding = perAxis(a, 'padding', n);
  if (padding.some((pad, i) => pad < 0 || pad > at(kernel, i) / 2))
    throw argumentValue(
      a.operator.name,
      `padding ${padding.join(', ')} for a kernel of ${kernel.join(', ')}`,
      'pad by at most half the kernel',
    );
  return kernel.map((width, i): Place => {
    const [extent, span] = [
      c.sizes.toNumber(c.size(x, c.rank(x) - n + i)),
      reach({ kernel: width, dilation: at(dilation, i) }),
    ];
    const [step, pad] = [at(stride, i), at(padding, i)];
    const count = placesOf({ extent, padding: pad, stride: step, span, isCeil: a.bool('ceilMode') });
    if (count < 1)
      throw shapeMismatch(
        `${a.operator.name} of ${printShape(c.shape(x))}: no window fits`,
        'use a smaller kernel, or padding',
      );
    return {
      kernel: width,
      stride: step,
      dilation: at(dilation, i),
      extent,
      padding: pad,
      places: count,
      before: pad,
      after: (count - 1) * step + span - extent - pad,
    };
  });
}

/** What is pooled are numbers, and elements everywhere but in the batch. */
function requirePoolable(c: Composer, a: ArgumentReader, x: ValueRef): void {
  if (c.dtype(x) === 'bool') throw dtypeUnsupported(a.operator.name, 'bool', 'cast the tensor to u8');
  if (
    c
      .shape(x)
      .slice(1)
      .some((extent) => c.sizes.isZero(extent))
  )
    throw shapeMismatch(`${a.operator.name} of ${printShape(c.shape(x))}`, 'only the batch may be empty');
}

const lastAxes = (c: Composer, x: ValueRef, n: number): readonly number[] => range(c.rank(x), c.rank(x) - n);

/** Where in the input (flat over the pooled axes) the windows' element `position` lies. */
function flatPositions(c: Composer, position: ValueRef, axes: readonly Place[]): ValueRef {
  let rest = position;
  let stride = 1;
  const parts: ValueRef[] = [];
  const lead = c.rank(position) - axes.length;
  for (let i = axes.length - 1; i >= 0; i -= 1) {
    const axis = at(axes, i);
    const within = c.op('remainder', rest, axis.kernel);
    const start = c.along(
      c.iota(size(axis.places), 'i64', { start: -axis.padding, step: axis.stride }),
      lead + i,
      c.rank(position),
    );
    const place = c.op('add', start, c.op('mul', within, axis.dilation));
    // Where nothing in a window is above its padding, the padding comes first: the first element that is none stands for it.
    const inside = axis.padding === 0 ? place : c.op('maximum', place, c.op('remainder', start, axis.dilation));
    parts.push(c.op('mul', inside, stride));
    rest = c.op('divFloor', rest, axis.kernel);
    stride *= axis.extent;
  }
  return c.fold('add', parts);
}

/** The least value of a dtype, which is no maximum beside another one. */
function lowest(dtype: DType): ScalarRef {
  if (isFloat(dtype)) return float(-Infinity);
  const { bytes, signed } = dtypeInfo[dtype];
  return scalar(signed ? -(2 ** (8 * bytes - 1)) : 0);
}

/** Where along some axes, flat, the maxima are: the first of equal ones, but the last NaN, as pools of PyTorch have it. */
function maximumAt(c: Composer, x: ValueRef, dims: readonly number[]): ValueRef {
  const first = c.reduce('argmax', x, dims);
  if (!isFloat(c.dtype(x))) return first;
  const shape = c.shape(x).map((extent, axis) => (dims.includes(axis) ? extent : one));
  const places = c.reshape(c.iota(product(shape)), shape);
  const lastNan = c.reduce('amax', c.where(c.op('isnan', x), places, -1), dims);
  return c.where(c.op('ge', lastNan, 0), lastNan, first);
}

/** The maxima of windows, and where they are. */
function maxPool(c: Composer, a: ArgumentReader, n: number): readonly ValueRef[] {
  const body = (x: ValueRef): readonly ValueRef[] => {
    requirePoolable(c, a, x);
    const axes = places(c, a, { x, n });
    const open = windows(c, x, { axes, value: lowest(c.dtype(x)) });
    const dims = lastAxes(c, open, n);
    return [c.reduce('amax', open, dims), flatPositions(c, maximumAt(c, open, dims), axes)];
  };
  return batched(c, a.tensor('input'), { rank: n + 2, body });
}

/** How many elements each window covers: of the input, or of its padding too. */
function coverage(c: Composer, axes: readonly Place[], withPadding: boolean): ValueRef | undefined {
  const isWhole = axes.every(
    ({ before, after, padding }) => (before === 0 || withPadding) && after <= (withPadding ? padding : 0),
  );
  if (isWhole) return undefined;
  const counts = axes.map((axis, i) => {
    const own = withPadding ? { ...axis, before: 0, after: axis.after - axis.padding } : axis;
    const ones = c.full(1, [size(withPadding ? axis.extent + 2 * axis.padding : axis.extent)], 'i64');
    return c.along(c.reduce('sum', windows(c, ones, { axes: [own] }), [1]), i, axes.length);
  });
  return c.fold('mul', counts);
}

function averagePool(c: Composer, a: ArgumentReader, n: number): ValueRef {
  const override = n === 1 ? undefined : a.optionalInt('divisorOverride');
  if (override === 0) throw argumentValue(a.operator.name, 'divisorOverride is 0', 'use another divisor');
  const body = (input: ValueRef): readonly ValueRef[] => {
    requirePoolable(c, a, input);
    const axes = places(c, a, { x: input, n });
    const x = c.widen(input);
    const open = windows(c, x, { axes });
    const total = c.cast(c.reduce('sum', open, lastAxes(c, open, n)), c.dtype(x));
    const whole = axes.reduce((all, { kernel }) => all * kernel, 1);
    const divisor = override ?? coverage(c, axes, a.bool('countIncludePad')) ?? whole;
    const by = typeof divisor === 'number' ? c.full(divisor, [], c.dtype(x)) : c.cast(divisor, c.dtype(x));
    return [c.cast(c.op(isFloat(c.dtype(x)) ? 'div' : 'divTrunc', total, by), c.dtype(input))];
  };
  return at(batched(c, a.tensor('input'), { rank: n + 2, body }), 0);
}

/** The sizes that are asked for; null keeps the input's. */
function outputSizes(c: Composer, a: ArgumentReader, { x, n }: { x: ValueRef; n: number }): readonly number[] {
  const given = a.attr('outputSize');
  const items = Array.isArray(given) ? (given as readonly unknown[]) : [given];
  const all = items.length === 1 ? range(n).map(() => items[0]) : items;
  if (all.length !== n)
    throw argumentValue(
      a.operator.name,
      `${String(all.length)} sizes for ${String(n)} dims`,
      'give one size or one for each dim',
    );
  return all.map((item, i) => (typeof item === 'number' ? item : c.sizes.toNumber(c.size(x, c.rank(x) - n + i))));
}

/** Elements of an axis grouped as adaptive pools do: [.., out, width], and which of them count. */
function adaptiveGroups(
  c: Composer,
  x: ValueRef,
  { dim, out }: { dim: number; out: number },
): { value: ValueRef; counts: ValueRef | undefined; index: ValueRef } {
  const n = c.sizes.toNumber(c.size(x, dim));
  const bounds = range(out).map((i) => [Math.floor((i * n) / out), Math.ceil(((i + 1) * n) / out)] as const);
  const width = Math.max(...bounds.map(([start, end]) => end - start), 0);
  const place = c.unsqueeze(c.iota(size(out)), 1);
  const start = c.op('divFloor', c.op('mul', place, n), out);
  const end = c.op('divFloor', c.op('add', c.op('mul', c.op('add', place, 1), n), out - 1), out);
  const wanted = c.op('add', start, c.iota(size(width)));
  const index = c.op('minimum', wanted, n - 1);
  const picked = c.indexSelect(x, dim, c.flatten(index));
  const value = c.reshape(picked, [...c.shape(x).slice(0, dim), size(out), size(width), ...c.shape(x).slice(dim + 1)]);
  return { value, index, counts: n % out === 0 ? undefined : c.op('lt', wanted, end) };
}

/** A [out, width] tensor where the groups of an axis stand. */
const spread = (c: Composer, groups: ValueRef, { dim, rank }: { dim: number; rank: number }): ValueRef =>
  c.reshape(
    groups,
    range(rank).map((axis) => (axis === dim || axis === dim + 1 ? c.size(groups, axis - dim) : one)),
  );

function adaptiveAverage(c: Composer, a: ArgumentReader, n: number): ValueRef {
  const body = (input: ValueRef): readonly ValueRef[] => {
    requirePoolable(c, a, input);
    const sizes = outputSizes(c, a, { x: input, n });
    const result = sizes.reduce((x, out, i) => {
      const dim = c.rank(input) - n + i;
      if (out === 0) return c.full(0, c.shape(x).with(dim, int(0)), c.dtype(x));
      const { value, counts } = adaptiveGroups(c, x, { dim, out });
      if (counts === undefined)
        return c.op('div', c.reduce('sum', value, [dim + 1]), c.sizeOperand(c.size(value, dim + 1), c.dtype(x)));
      const kept = c.where(spread(c, counts, { dim, rank: c.rank(value) }), value, c.full(0, [], c.dtype(x)));
      const covered = c.cast(c.reduce('sum', counts, [1]), c.dtype(x));
      return c.op('div', c.reduce('sum', kept, [dim + 1]), c.along(covered, dim, c.rank(x)));
    }, c.widen(input));
    return [c.cast(result, c.dtype(input))];
  };
  return at(batched(c, a.tensor('input'), { rank: n + 2, body }), 0);
}

/** Maxima of adaptive groups, axis by axis from the last; the flat index of each maximum goes along. */
function adaptiveMax(c: Composer, a: ArgumentReader, n: number): readonly ValueRef[] {
  const body = (input: ValueRef): readonly ValueRef[] => {
    requirePoolable(c, a, input);
    const sizes = outputSizes(c, a, { x: input, n });
    const spatial = c.shape(input).slice(c.rank(input) - n);
    let [value, index] = [input, c.expand(c.reshape(c.iota(product(spatial)), spatial), c.shape(input))];
    for (let i = n - 1; i >= 0; i -= 1) {
      const [dim, out] = [c.rank(input) - n + i, at(sizes, i)];
      const groups = adaptiveGroups(c, value, { dim, out });
      const indices = adaptiveGroups(c, index, { dim, out }).value;
      const held =
        groups.counts === undefined
          ? groups.value
          : c.where(
              spread(c, groups.counts, { dim, rank: c.rank(groups.value) }),
              groups.value,
              lowest(c.dtype(groups.value)),
            );
      const best = c.unsqueeze(maximumAt(c, held, [dim + 1]), dim + 1);
      [value, index] = [c.reduce('amax', held, [dim + 1]), c.squeeze(c.gather(indices, dim + 1, best), dim + 1)];
    }
    return [value, index];
  };
  return batched(c, a.tensor('input'), { rank: n + 2, body });
}

function requireUnpoolable(c: Composer, a: ArgumentReader, n: number): void {
  const [x, index] = [a.tensor('input'), a.tensor('indices')];
  requirePositive(a, ['kernelSize', 'stride']);
  if (c.dtype(index) !== 'i64')
    throw dtypeMismatch(a.operator.name, `the indices are ${c.dtype(index)}, they must be i64`);
  if (c.rank(x) !== n + 1 && c.rank(x) !== n + 2)
    throw shapeMismatch(
      `${a.operator.name} of ${printShape(c.shape(x))}`,
      `it must have ${String(n + 1)} or ${String(n + 2)} dims`,
    );
  if (
    c
      .shape(x)
      .slice(-n - 1)
      .some((extent) => c.sizes.isZero(extent))
  )
    throw shapeMismatch(`${a.operator.name} of ${printShape(c.shape(x))}`, 'only the batch may be empty');
  if (!sameShape(c.sizes, c.shape(x), c.shape(index)))
    throw shapeMismatch(
      `${a.operator.name}: the indices are ${printShape(c.shape(index))}, the tensor ${printShape(c.shape(x))}`,
    );
}

/** Puts values back where a max pool found them. */
function unpool(c: Composer, a: ArgumentReader, n: number): ValueRef {
  const [x, index] = [a.tensor('input'), a.tensor('indices')];
  requireUnpoolable(c, a, n);
  const lead = c.shape(x).slice(0, c.rank(x) - n);
  const kernel = perAxis(a, 'kernelSize', n);
  const stride = a.attr('stride') === null ? kernel : perAxis(a, 'stride', n);
  const padding = perAxis(a, 'padding', n);
  const usual = range(n).map(
    (i) => (c.sizes.toNumber(c.size(x, lead.length + i)) - 1) * at(stride, i) + at(kernel, i) - 2 * at(padding, i),
  );
  const asked = a.dims('outputSize')?.slice(-n);
  // Within one stride of the usual size, which is where a pool of these arguments leads back from.
  const isNear = (extent: number, i: number): boolean => Math.abs(extent - at(usual, i)) < at(stride, i);
  if (asked !== undefined && (asked.length !== n || !asked.every(isNear)))
    throw argumentValue(a.operator.name, `outputSize ${asked.join(', ')}`, `use sizes near ${usual.join(', ')}`);
  const spatial = (asked ?? usual).map(size);
  const blank = c.full(0, [...lead, product(spatial)], c.dtype(x));
  const flat = (v: ValueRef): ValueRef => c.reshape(v, [...lead, product(c.shape(v).slice(lead.length))]);
  return c.reshape(c.scatter(blank, lead.length, { index: flat(index), source: flat(x), mode: 'set' }), [
    ...lead,
    ...spatial,
  ]);
}

const MAX =
  'input: tensor, kernelSize: ints, stride: ints? = null, padding: ints = 0, dilation: ints = 1, ceilMode: bool = false';
const AVERAGE =
  'input: tensor, kernelSize: ints, stride: ints? = null, padding: ints = 0, ceilMode: bool = false, countIncludePad: bool = true';

/** A pool that also gives indices where `returnIndices` asks for them. */
function withIndices(
  name: string,
  { signature, doc, torch }: { signature: string; doc: string; torch: string },
  body: (c: Composer, a: ArgumentReader) => readonly ValueRef[],
): readonly Entry[] {
  return [
    composite(
      name,
      {
        signature: `${signature}, returnIndices: false = false`,
        doc,
        torch: `nn.functional.${torch}`,
        overloads: [`${name}WithIndices`],
      },
      (c, a) => body(c, a)[0] ?? a.tensor('input'),
    ),
    composite(
      `${name}WithIndices`,
      {
        signature: `${signature}, returnIndices: true = true`,
        doc: `${name}, with the indices of the maxima.`,
        torch: [],
        forms: ['function'],
        results: 2,
      },
      body,
    ),
  ];
}

const forDims = (n: number): readonly Entry[] => [
  ...withIndices(
    `maxPool${String(n)}d`,
    { signature: MAX, doc: `Maxima of windows over ${String(n)} dims.`, torch: `max_pool${String(n)}d` },
    (c, a) => maxPool(c, a, n),
  ),
  ...withIndices(
    `adaptiveMaxPool${String(n)}d`,
    {
      signature: 'input: tensor, outputSize: any',
      doc: 'Maxima of as many windows as asked for.',
      torch: `adaptive_max_pool${String(n)}d`,
    },
    (c, a) => adaptiveMax(c, a, n),
  ),
  composite(
    `avgPool${String(n)}d`,
    {
      signature: n === 1 ? AVERAGE : `${AVERAGE}, divisorOverride: int? = null`,
      doc: `Means of windows over ${String(n)} dims.`,
      torch: `nn.functional.avg_pool${String(n)}d`,
    },
    (c, a) => averagePool(c, a, n),
  ),
  composite(
    `adaptiveAvgPool${String(n)}d`,
    {
      signature: 'input: tensor, outputSize: any',
      doc: 'Means of as many windows as asked for.',
      torch: `nn.functional.adaptive_avg_pool${String(n)}d`,
    },
    (c, a) => adaptiveAverage(c, a, n),
  ),
  composite(
    `maxUnpool${String(n)}d`,
    {
      signature:
        'input: tensor, indices: tensor, kernelSize: ints, stride: ints? = null, padding: ints = 0, outputSize: ints? = null',
      doc: 'Values back where a max pool found them.',
      torch: `nn.functional.max_unpool${String(n)}d`,
    },
    (c, a) => unpool(c, a, n),
  ),
];

export const poolingEntries: readonly Entry[] = [1, 2, 3].flatMap(forDims);
