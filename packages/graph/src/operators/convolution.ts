// Convolutions: windows of the input times the weight, by one batched matrix product with a batch for each group; where a group
// has one or two outputs, as a sum over the places of a window.
import { at, isFloat } from '@tsinductor/base';
import { floorDivide, int, multiply } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { size } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { one, product, range, zero } from '../shape.ts';
import { requireEqual, sameDType } from './contraction.ts';
import { batched, perAxis, reach, requirePositive, windows } from './windows.ts';
import type { Window } from './windows.ts';

interface Convolution {
  readonly weight: ValueRef;
  readonly axes: readonly Window[];
  readonly groups: number;
}

/** x [N, C, ...] with weight [O, C / groups, ...] to [N, O, ...]. */
function convolve(c: Composer, x: ValueRef, how: Convolution): ValueRef {
  const { weight, axes, groups } = how;
  const [channels, outputs] = [c.sizes.toNumber(c.size(x, 1)), c.sizes.toNumber(c.size(weight, 0))];
  const inner = c.sizes.toNumber(c.size(weight, 1));
  if (groups < 1 || channels !== inner * groups || outputs % groups !== 0) {
    throw shapeMismatch(
      `input of ${printShape(c.shape(x))} and weight of ${printShape(c.shape(weight))} in ${String(groups)} groups`,
      'input channels are weight.shape[1] * groups, output channels a multiple of groups',
    );
  }
  const terms = axes.reduce((count, { kernel }) => count * kernel, inner);
  const isThin = outputs / groups <= FEW_OUTPUTS && terms > 0 && terms <= MOST_TERMS && isFloat(c.dtype(x));
  return isThin ? sumOfTaps(c, x, how) : productOfWindows(c, x, how);
}

/** Up to so many outputs of a group, and terms of each, adding up shifted images is faster than a product of matrices. */
const FEW_OUTPUTS = 2;
const MOST_TERMS = 64;

/** As a sum over channels and places of the window, element by element: depthwise convolutions, and those of one channel. */
function sumOfTaps(c: Composer, x: ValueRef, { weight, axes, groups }: Convolution): ValueRef {
  const n = axes.length;
  const open = windows(c, c.widen(x), { axes });
  const [batch, outputs, inner] = [c.size(x, 0), c.size(weight, 0), c.size(weight, 1)];
  const places = c.shape(open).slice(2, 2 + n);
  const kernel = c.shape(open).slice(2 + n);
  // Of each tap: [N, g, 1, places] times [1, g, O/g, 1]
  const images = c.reshape(open, [batch, size(groups), one, inner, ...places, ...kernel]);
  const each = floorDivide(outputs, int(groups));
  const taps = c.reshape(tapByTap(c, c.widen(weight)), [
    one,
    size(groups),
    each,
    inner,
    ...places.map(() => one),
    ...kernel,
  ]);
  const extents = [c.sizes.toNumber(inner), ...axes.map(({ kernel: extent }) => extent)];
  const dims = [3, ...range(4 + 2 * n, 4 + n)];
  const terms = pointsOf(extents).map((point) => {
    const at = (x: ValueRef): ValueRef =>
      dims.toReversed().reduce((all, dim, i) => c.select(all, dim, point[dims.length - 1 - i] ?? 0), x);
    return c.op('mul', at(images), at(taps));
  });
  return c.reshape(c.fold('add', terms), [batch, outputs, ...places]);
}

/** The same weight, in memory tap by tap: where channels lie side by side, so do what they are multiplied by. */
function tapByTap(c: Composer, weight: ValueRef): ValueRef {
  const rank = c.rank(weight);
  const turned = c.permute(weight, [...range(rank, 1), 0]);
  const copied = c.pad(
    turned,
    c.shape(turned).map(() => [zero, zero]),
  );
  return c.permute(copied, [rank - 1, ...range(rank - 1)]);
}

/** All points of a box, in row-major order. */
const pointsOf = (extents: readonly number[]): readonly (readonly number[])[] =>
  extents.reduce<readonly (readonly number[])[]>(
    (points, extent) => points.flatMap((point) => range(extent).map((index) => [...point, index])),
    [[]],
  );

/** As one batched product of windows with the weight, with a batch for each group; windows lie with their channels last. */
function productOfWindows(c: Composer, x: ValueRef, { weight, axes, groups }: Convolution): ValueRef {
  const n = axes.length;
  const [batch, outputs, inner] = [c.size(x, 0), c.size(weight, 0), c.size(weight, 1)];
  const open = windows(c, channelsLast(c, x, axes), { axes, first: 1 });
  const places = c.shape(open).slice(1, 1 + n);
  const kernel = c.shape(open).slice(2 + n);
  // [N, places, g, C/g, kernel] to [g, N places, kernel C/g]
  const split = c.reshape(open, [batch, ...places, size(groups), inner, ...kernel]);
  const order = [1 + n, 0, ...range(1 + n, 1), ...range(3 + 2 * n, 3 + n), 2 + n];
  const depth = multiply(inner, product(kernel));
  const rows = c.reshape(c.permute(split, order), [size(groups), multiply(batch, product(places)), depth]);
  // [g, O/g, C/g, kernel] to [g, kernel C/g, O/g]
  const each = floorDivide(outputs, int(groups));
  const grouped = c.reshape(weight, [size(groups), each, inner, ...kernel]);
  const columns = c.reshape(c.permute(grouped, [0, ...range(3 + n, 3), 2, 1]), [size(groups), depth, each]);
  const result = c.reshape(c.bmm(rows, columns), [size(groups), batch, ...places, each]);
  return c.reshape(c.permute(result, [1, 0, 2 + n, ...range(2 + n, 2)]), [batch, outputs, ...places]);
}

/** [N, C, ...] as [N, ..., C]: in memory too, where windows overlap and no padding copies it. */
function channelsLast(c: Composer, x: ValueRef, axes: readonly Window[]): ValueRef {
  const turned = c.permute(x, [0, ...range(c.rank(x), 2), 1]);
  const isPadded = axes.some(({ before, after }) => before !== 0 || after !== 0);
  const overlap = axes.some(({ kernel }) => kernel > 1);
  // A pad of nothing is a copy.
  return overlap && !isPadded
    ? c.pad(
        turned,
        c.shape(turned).map(() => [zero, zero]),
      )
    : turned;
}

/** Padding before and after each axis: a number, one for each axis, or 'same' or 'valid'. */
function paddings(
  a: ArgumentReader,
  { kernel, dilation, stride }: { kernel: readonly number[]; dilation: readonly number[]; stride: readonly number[] },
): readonly (readonly [number, number])[] {
  const padding = a.attr('padding');
  if (padding === 'valid') return kernel.map(() => [0, 0]);
  if (padding !== 'same') {
    const items = perAxis(a, 'padding', kernel.length);
    if (items.some((item) => item < 0))
      throw argumentValue(a.operator.name, `padding ${items.join(', ')}`, 'use padding of 0 or more');
    return items.map((item) => [item, item]);
  }
  if (stride.some((step) => step !== 1))
    throw argumentValue(a.operator.name, "padding 'same' with strides", 'use stride 1');
  return kernel.map((width, axis) => {
    const total = (width - 1) * at(dilation, axis);
    return [Math.floor(total / 2), total - Math.floor(total / 2)];
  });
}

function withBias(c: Composer, x: ValueRef, bias: ValueRef | undefined): ValueRef {
  if (bias === undefined) return x;
  requireEqual(c, 'the bias of a convolution', [[c.size(bias, 0), c.size(x, 1)]]);
  return c.op('add', x, c.along(bias, 1, c.rank(x)));
}

function checkWeight(c: Composer, a: ArgumentReader, n: number): readonly number[] {
  const [x, weight] = [a.tensor('input'), a.tensor('weight')];
  const bias = a.optionalTensor('bias');
  sameDType(c, a.operator.name, bias === undefined ? [x, weight] : [x, weight, bias]);
  if (c.rank(weight) > 0 && c.sizes.isZero(c.size(weight, 0)))
    throw shapeMismatch(`${a.operator.name}: the weight has no channels`, 'its first size must be positive');
  if (c.rank(weight) !== n + 2)
    throw shapeMismatch(
      `${a.operator.name}: the weight has shape ${printShape(c.shape(weight))}`,
      `it must have ${String(n + 2)} dims`,
    );
  if (bias !== undefined && c.rank(bias) !== 1)
    throw shapeMismatch(`${a.operator.name}: the bias is ${printShape(c.shape(bias))}`, 'it is a vector');
  requirePositive(a, ['stride', 'dilation', 'groups']);
  return c
    .shape(weight)
    .slice(2)
    .map((width) => c.sizes.toNumber(width));
}

function convolution(c: Composer, a: ArgumentReader, n: number): ValueRef {
  const kernel = checkWeight(c, a, n);
  const [stride, dilation] = [perAxis(a, 'stride', n), perAxis(a, 'dilation', n)];
  const padding = paddings(a, { kernel, dilation, stride });
  const axes = kernel.map((width, i): Window => {
    const [before, after] = at(padding, i);
    return { kernel: width, stride: at(stride, i), dilation: at(dilation, i), before, after };
  });
  const how = { weight: a.tensor('weight'), axes, groups: a.int('groups') };
  const body = (x: ValueRef): readonly ValueRef[] => {
    const wide = c.cast(convolve(c, x, how), c.dtype(x));
    return [withBias(c, wide, a.optionalTensor('bias'))];
  };
  return at(batched(c, a.tensor('input'), { rank: n + 2, body }), 0);
}

/** n elements with step - 1 zeros between neighbours, for the last axes. */
function spaced(c: Composer, x: ValueRef, steps: readonly number[]): ValueRef {
  const lead = c.rank(x) - steps.length;
  return steps.reduce((all, step, i) => {
    if (step === 1) return all;
    const dim = lead + i;
    const gaps = c.unsqueeze(all, dim + 1);
    const wide = c.pad(
      gaps,
      range(c.rank(gaps)).map((axis) => [zero, axis === dim + 1 ? size(step - 1) : zero] as const),
    );
    const joined = c.reshape(wide, c.shape(all).with(dim, multiply(c.size(all, dim), size(step))));
    return c.slice(joined, dim, { end: Math.max((c.sizes.toNumber(c.size(all, dim)) - 1) * step + 1, 0) });
  }, x);
}

/** [C, O / groups, ...] to [O, C / groups, ...], turned around: what the transposed map convolves with. */
function turnedWeight(c: Composer, weight: ValueRef, groups: number): ValueRef {
  const [channels, outputs, ...kernel] = c.shape(weight);
  const spatial = range(c.rank(weight), 2);
  const split = c.reshape(c.flip(weight, spatial), [
    size(groups),
    floorDivide(channels ?? one, int(groups)),
    outputs ?? one,
    ...kernel,
  ]);
  const turned = c.permute(split, [0, 2, 1, ...spatial.map((axis) => axis + 1)]);
  return c.reshape(turned, [
    multiply(size(groups), outputs ?? one),
    floorDivide(channels ?? one, int(groups)),
    ...kernel,
  ]);
}

function transposedConvolution(c: Composer, a: ArgumentReader, n: number): ValueRef {
  const kernel = checkWeight(c, a, n);
  const [stride, dilation] = [perAxis(a, 'stride', n), perAxis(a, 'dilation', n)];
  const [padding, extra] = [perAxis(a, 'padding', n), perAxis(a, 'outputPadding', n)];
  if (extra.some((item, i) => item >= Math.max(at(stride, i), at(dilation, i))))
    throw argumentValue(a.operator.name, 'outputPadding is not smaller than stride or dilation', 'use less');
  const groups = a.int('groups');
  const axes = kernel.map((width, i): Window => {
    const edge = reach({ kernel: width, dilation: at(dilation, i) }) - 1 - at(padding, i);
    return { kernel: width, stride: 1, dilation: at(dilation, i), before: edge, after: edge + at(extra, i) };
  });
  const body = (x: ValueRef): readonly ValueRef[] => {
    const result = convolve(c, spaced(c, x, stride), {
      weight: turnedWeight(c, a.tensor('weight'), groups),
      axes,
      groups,
    });
    return [withBias(c, result, a.optionalTensor('bias'))];
  };
  return at(batched(c, a.tensor('input'), { rank: n + 2, body }), 0);
}

/** Windows as columns: [N, C, H, W] to [N, C kernel, places]. */
function columns(c: Composer, a: ArgumentReader): ValueRef {
  const [kernel, dilation, padding, stride] = ['kernelSize', 'dilation', 'padding', 'stride'].map((name) =>
    perAxis(a, name, 2),
  );
  requirePositive(a, ['kernelSize', 'dilation', 'stride']);
  const axes = range(2).map((i): Window => {
    const edge = padding?.[i] ?? 0;
    return {
      kernel: kernel?.[i] ?? 1,
      stride: stride?.[i] ?? 1,
      dilation: dilation?.[i] ?? 1,
      before: edge,
      after: edge,
    };
  });
  const body = (x: ValueRef): readonly ValueRef[] => {
    const open = windows(c, x, { axes });
    const [batch = one, channels = one, h = one, w = one, kh = one, kw = one] = c.shape(open);
    return [c.reshape(c.permute(open, [0, 1, 4, 5, 2, 3]), [batch, product([channels, kh, kw]), multiply(h, w)])];
  };
  return at(batched(c, a.tensor('input'), { rank: 4, body }), 0);
}

const COMMON = 'input: tensor, weight: tensor, bias: tensor? = null, stride: ints = 1';

const forDims = (n: number): readonly Entry[] => [
  composite(
    `conv${String(n)}d`,
    {
      signature: `${COMMON}, padding: ints | 'same' | 'valid' = 0, dilation: ints = 1, groups: int = 1`,
      doc: `Convolution over ${String(n)} dims.`,
      torch: [`nn.functional.conv${String(n)}d`, `conv${String(n)}d`],
    },
    (c, a) => convolution(c, a, n),
  ),
  composite(
    `convTranspose${String(n)}d`,
    {
      signature: `${COMMON}, padding: ints = 0, outputPadding: ints = 0, groups: int = 1, dilation: ints = 1`,
      doc: `Transposed convolution over ${String(n)} dims.`,
      torch: [`nn.functional.conv_transpose${String(n)}d`, `conv_transpose${String(n)}d`],
    },
    (c, a) => transposedConvolution(c, a, n),
  ),
];

export const convolutionEntries: readonly Entry[] = [
  ...[1, 2, 3].flatMap(forDims),
  composite(
    'unfoldWindows',
    {
      signature: 'input: tensor, kernelSize: ints, dilation: ints = 1, padding: ints = 0, stride: ints = 1',
      doc: 'Windows of images as columns (im2col).',
      torch: 'nn.functional.unfold',
      forms: ['function'],
    },
    columns,
  ),
];
