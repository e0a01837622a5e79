// The views that lowering knows: each says where its elements lie over those of its input. Canonical attributes have
// dims counted from 0 and sizes without -1.
import { at } from '@tsinductor/base';
import { add, floorDivide, int, multiply, printIndex, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import { view } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, duplicateDim, layoutUnknown, shapeMismatch, printShape } from '../errors.ts';
import type { ViewLayout } from '../graph.ts';
import type { Builder } from '../operator.ts';
import {
  contiguousStrides,
  counted,
  expandedShape,
  normalizeDim,
  normalizeDims,
  one,
  product,
  reshapedShape,
  reshapedStrides,
  sameShape,
  sizeAttr,
  sizesAttr,
  stepCount,
  zero,
} from '../shape.ts';
import type { Shape } from '../shape.ts';
import type { SizeEnvironment } from '../size-environment.ts';

const rankOf = (builder: Builder, a: ArgumentReader): number => builder.meta(a.tensor('input')).shape.length;
const shapeOf = (builder: Builder, a: ArgumentReader): Shape => builder.meta(a.tensor('input')).shape;

const permute = view(
  'permute',
  { signature: 'input: tensor, ...dims: ints', doc: 'The axes in another order.' },
  {
    canonical: (builder, a) => {
      const rank = rankOf(builder, a);
      const dims = a.ints('dims');
      if (dims.length !== rank)
        throw shapeMismatch(`permute of rank ${String(rank)} by ${String(dims.length)} dims`, 'name every dim once');
      return { args: a.args, attrs: { dims: normalizeDims(dims, rank) } };
    },
    layout: ({ shape, strides, offset }, a) => {
      const dims = a.ints('dims');
      return { shape: dims.map((dim) => at(shape, dim)), strides: dims.map((dim) => at(strides, dim)), offset };
    },
  },
);

const expandPrimitive = view(
  'expand',
  { signature: 'input: tensor, shape: sizes', doc: 'Repeats axes of size 1 without copying.' },
  {
    levels: ['primitive'],
    layout: ({ shape, strides, offset }, a, sizes) => {
      const target = expandedShape(sizes, shape, a.sizes('shape'));
      const lead = target.length - shape.length;
      const stretched = (axis: number): boolean =>
        axis < lead || (sizes.isOne(at(shape, axis - lead)) && !sizes.isOne(at(target, axis)));
      return {
        shape: target,
        strides: target.map((_, axis) => (stretched(axis) ? zero : at(strides, axis - lead))),
        offset,
      };
    },
  },
);

const reshape = view(
  'reshape',
  {
    signature: 'input: tensor, ...shape: sizes',
    doc: 'The same elements in row-major order in another shape; one size may be -1.',
  },
  {
    canonical: (builder, a) => ({
      args: a.args,
      attrs: { shape: sizesAttr(reshapedShape(builder.sizes, shapeOf(builder, a), a.sizes('shape'))) },
    }),
    layout: (base, a, sizes) => {
      const shape = reshapedShape(sizes, base.shape, a.sizes('shape'));
      const strides = reshapedStrides(sizes, base, shape);
      return strides && { shape, strides, offset: base.offset };
    },
    shape: (base, a, sizes) => reshapedShape(sizes, base.shape, a.sizes('shape')),
  },
);

/** A bound of a slice in [0, size]: negative ones count from the end, those outside are moved in. */
function sliceBound(sizes: SizeEnvironment, bound: Index | undefined, size: Index): Index {
  if (bound === undefined) return size;
  const wrapped = bound.kind === 'int' && bound.value < 0 ? add(size, bound) : bound;
  if (!sizes.atMost(zero, wrapped)) return zero;
  return sizes.atMost(wrapped, size) ? wrapped : size;
}

const slice = view(
  'slice',
  {
    signature: 'input: tensor, dim: int = 0, start: size = null, end: size = null, step: int = 1',
    doc: 'Every step-th index of one axis, from start to before end.',
  },
  {
    canonical: (builder, a) => {
      const { sizes } = builder;
      const rank = rankOf(builder, a);
      if (rank === 0) throw argumentValue('slice', 'the tensor has no dims', 'use unsqueeze(0) first');
      const dim = normalizeDim(a.int('dim'), rank);
      const extent = at(shapeOf(builder, a), dim);
      const step = a.int('step');
      if (step < 1) throw argumentValue('slice', `step ${String(step)} must be positive`, 'use flip to reverse');
      const start = a.attr('start') === null ? zero : sliceBound(sizes, a.size('start'), extent);
      const end = sliceBound(sizes, a.attr('end') === null ? undefined : a.size('end'), extent);
      const last = sizes.atMost(start, end) ? end : start;
      return { args: a.args, attrs: { dim, start: sizeAttr(start), end: sizeAttr(last), step } };
    },
    layout: ({ shape, strides, offset }, a) => {
      const dim = a.int('dim');
      const [start, step, stride] = [a.size('start'), a.int('step'), at(strides, dim)];
      return {
        shape: shape.with(dim, stepCount(start, a.size('end'), step)),
        strides: strides.with(dim, multiply(stride, int(step))),
        offset: add(offset, multiply(start, stride)),
      };
    },
  },
);

function diagonalLayout({ shape, strides, offset }: ViewLayout, a: ArgumentReader, sizes: SizeEnvironment): ViewLayout {
  const [shift, dim1, dim2] = [a.int('offset'), a.int('dim1'), a.int('dim2')];
  const rows = subtract(at(shape, dim1), int(Math.max(-shift, 0)));
  const columns = subtract(at(shape, dim2), int(Math.max(shift, 0)));
  const shorter = sizes.atMost(rows, columns) ? rows : columns;
  const length = sizes.atMost(shorter, zero) ? zero : shorter;
  const first = shift >= 0 ? multiply(at(strides, dim2), int(shift)) : multiply(at(strides, dim1), int(-shift));
  const rest = (items: Shape): Shape => items.filter((_, axis) => axis !== dim1 && axis !== dim2);
  return {
    shape: [...rest(shape), length],
    strides: [...rest(strides), add(at(strides, dim1), at(strides, dim2))],
    offset: length === zero ? offset : add(offset, first),
  };
}

const diagonal = view(
  'diagonal',
  {
    signature: 'input: tensor, offset: int = 0, dim1: int = 0, dim2: int = 1',
    doc: 'The diagonals of two axes, as a new last axis.',
  },
  {
    canonical: (builder, a) => {
      const rank = rankOf(builder, a);
      const [dim1, dim2] = [normalizeDim(a.int('dim1'), rank), normalizeDim(a.int('dim2'), rank)];
      if (dim1 === dim2) throw duplicateDim(dim1);
      return { args: a.args, attrs: { offset: a.int('offset'), dim1, dim2 } };
    },
    layout: diagonalLayout,
  },
);

const unfoldPrimitive = view(
  'unfold',
  {
    signature: 'input: tensor, dim: int, size: int, step: int',
    doc: 'Windows of `size` along an axis, as a new last axis.',
  },
  {
    levels: ['primitive'],
    layout: ({ shape, strides, offset }, a, sizes) => {
      const [dim, size, step] = [a.int('dim'), a.int('size'), a.int('step')];
      if (size < 0 || step < 1)
        throw argumentValue(
          'unfold',
          `size ${String(size)} and step ${String(step)}`,
          'size is not negative, step is positive',
        );
      const extent = shape[dim] ?? one;
      if (!sizes.atMost(int(size), extent))
        throw shapeMismatch(`unfold: size ${String(size)} of an axis of ${printIndex(extent)}`, 'use a smaller size');
      if (shape.length === 0) return { shape: [int(size)], strides: [one], offset };
      const stride = at(strides, dim);
      const windows = add(floorDivide(subtract(extent, int(size)), int(step)), one);
      return {
        shape: [...shape.with(dim, windows), int(size)],
        strides: [...strides.with(dim, multiply(stride, int(step))), stride],
        offset,
      };
    },
  },
);

/** The places of a layout lie among the elements of a tensor of `shape`, as far as the sizes are known. */
export function requireInside(
  sizes: SizeEnvironment,
  operator: string,
  { shape, size, stride, offset }: Record<'shape' | 'size' | 'stride', Shape> & { readonly offset: Index },
): void {
  if (size.length !== stride.length)
    throw argumentValue(operator, 'size and stride have different lengths', 'give a stride for every size');
  if (size.some((extent) => extent.kind === 'int' && extent.value < 0))
    throw argumentValue(operator, `the size ${printShape(size)}`, 'sizes are 0 or more');
  if (size.some((extent) => sizes.isZero(extent))) return;
  const last = size.reduce((sum, extent, axis) => add(sum, multiply(subtract(extent, one), at(stride, axis))), offset);
  const count = product(shape);
  if ([...stride, offset].some((each) => !sizes.atMost(zero, each)) || sizes.atMost(count, last))
    throw argumentValue(
      operator,
      `size ${printShape(size)} by ${printShape(stride)} from ${printIndex(offset)} leaves the ${printIndex(count)} elements`,
      'stay inside the tensor',
    );
}

const asStrided = view(
  'asStrided',
  {
    signature: 'input: tensor, size: sizes, stride: sizes, storageOffset: size = null',
    doc: "Any layout over the tensor's storage.",
  },
  {
    canonical: (builder, a) => {
      const { shape, strides } = builder.meta(a.tensor('input'));
      const [size, stride] = [a.sizes('size'), a.sizes('stride')];
      const plain = contiguousStrides(shape);
      const dense =
        shape.some((extent) => builder.sizes.isZero(extent)) ||
        shape.every(
          (extent, axis) => builder.sizes.isOne(extent) || builder.sizes.same(at(strides, axis), at(plain, axis)),
        );
      if (!dense && !sameShape(builder.sizes, strides, plain)) throw layoutUnknown('asStrided', strides);
      const offset = a.attr('storageOffset') === null ? zero : a.size('storageOffset');
      requireInside(builder.sizes, 'asStrided', { shape, size, stride, offset });
      return {
        args: a.args,
        attrs: { size: sizesAttr(size), stride: sizesAttr(stride), storageOffset: a.attr('storageOffset') ?? 0 },
      };
    },
    layout: (base, a) => ({
      shape: counted(a.sizes('size')),
      strides: a.sizes('stride'),
      offset: a.attr('storageOffset') === null ? base.offset : a.size('storageOffset'),
    }),
  },
);

export const viewPrimitives: readonly Entry[] = [
  permute,
  expandPrimitive,
  reshape,
  slice,
  diagonal,
  unfoldPrimitive,
  asStrided,
];
