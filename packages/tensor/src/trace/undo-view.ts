// Views backwards: given what a view is to become, the value of its base in which it is so. In: a primitive view, its
// base and the new value of the view. Out: the new base. One row per primitive view; elements that the view does not show
// keep their value.
import { at } from '@tsinductor/base';
import { contiguousStrides, scalar, sizeAttr, sizesAttr } from '@tsinductor/graph';
import type { Attr, Builder, ValueRef } from '@tsinductor/graph';
import { add, int, multiply, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ViewStep } from '../alias.ts';
import { brokenTrace, writeOverlap } from '../errors.ts';

interface Write {
  readonly base: ValueRef;
  readonly written: ValueRef;
}

type Undo = (builder: Builder, step: ViewStep, write: Write) => ValueRef;

const rules: Readonly<Record<string, Undo>> = {
  permute: (builder, { attrs }, { written }) => {
    const dims = attrs['dims'] as readonly number[];
    const inverse = dims.map((_, axis) => dims.indexOf(axis));
    return builder.call('permute', [written], { dims: inverse });
  },
  reshape: (builder, _, { base, written }) =>
    builder.call('reshape', [written], { shape: sizesAttr(builder.meta(base).shape) }),
  slice: undoSlice,
  expand: (builder, _, write) => {
    // Only new or unchanged axes of size 1 lead back to one element each.
    const [shape, wide] = [builder.meta(write.base).shape, builder.meta(write.written).shape];
    const lead = wide.length - shape.length;
    const isWider = wide.some((size, axis) => !builder.sizes.same(size, shape[axis - lead] ?? int(1)));
    if (isWider) throw writeOverlap('a write into an expanded tensor');
    return builder.call('reshape', [write.written], { shape: sizesAttr(shape) });
  },
  diagonal: undoByPosition,
  unfold: undoByPosition,
  asStrided: undoByPosition,
};

export function undoView(builder: Builder, step: ViewStep, write: Write): ValueRef {
  const rule = Object.hasOwn(rules, step.target) ? rules[step.target] : undefined;
  if (rule === undefined) throw brokenTrace(`no way back through the view ${step.target}`);
  return rule(builder, step, write);
}

/** Along the axis: where (i - start) is a step inside the slice, the written element, else the base's. */
function undoSlice(builder: Builder, { attrs }: ViewStep, { base, written }: Write): ValueRef {
  const { shape } = builder.meta(base);
  const [dim, step] = [attrs['dim'] as number, attrs['step'] as number];
  const [start, length] = [sizeOf(attrs['start'] ?? 0), at(builder.meta(written).shape, dim)];
  const size = at(shape, dim);
  if (builder.sizes.isZero(length)) return base;
  if (builder.sizes.same(length, size)) return written;
  const op = (target: string, x: ValueRef, y: ValueRef | number): ValueRef =>
    builder.call(target, [x, typeof y === 'number' ? scalar(y) : y], {});
  const places = builder.call('iota', [], { length: sizeAttr(size), start: 0, step: 1, dtype: { dtype: 'i64' } });
  const full = (value: Index): ValueRef => filled(builder, value);
  const from = op('sub', places, full(start));
  const slot = step === 1 ? from : builder.call('floorDivide', [from, scalar(step)], {});
  const inside = op('logicalAnd', op('ge', slot, 0), op('lt', slot, full(length)));
  const shown = step === 1 ? inside : op('logicalAnd', inside, op('eq', op('mul', slot, step), from));
  const safe = op('minimum', op('maximum', slot, 0), full(subtract(length, int(1))));
  const spread = builder.call('indexSelect', [written, safe], { dim });
  const mask = builder.call('reshape', [shown], {
    shape: shape.map((extent, axis) => (axis === dim ? sizeAttr(extent) : 1)),
  });
  return builder.call('where', [mask, spread, base], {});
}

/** A size as a 0-d tensor of i64. */
const filled = (builder: Builder, value: Index): ValueRef =>
  value.kind === 'int'
    ? builder.call('full', [scalar(value.value)], { shape: [], dtype: { dtype: 'i64' } })
    : builder.call(
        'reshape',
        [builder.call('iota', [], { length: 1, start: sizeAttr(value), step: 1, dtype: { dtype: 'i64' } })],
        { shape: [] },
      );

const sizeOf = (attr: Attr): Index =>
  typeof attr === 'object' && attr !== null && 'size' in attr ? attr.size : int(Number(attr));

/** Any other view: its elements' positions in the base, by running the view over the positions themselves. */
function undoByPosition(builder: Builder, { target, attrs }: ViewStep, { base, written }: Write): ValueRef {
  const { shape } = builder.meta(base);
  const count = shape.reduce<Index>((product, size) => multiply(product, size), int(1));
  const viewed = builder.meta(written).shape;
  const total = viewed.reduce<Index>((product, size) => multiply(product, size), int(1));
  requireDistinct(builder, { target, attrs }, viewed);
  const places = builder.call('iota', [], { length: sizeAttr(count), start: 0, step: 1, dtype: { dtype: 'i64' } });
  const shaped = builder.call('reshape', [places], { shape: sizesAttr(shape) });
  const flat = (value: ValueRef, length: Index): ValueRef =>
    builder.call('reshape', [value], { shape: [sizeAttr(length)] });
  const positions = flat(builder.call(target, [shaped], attrs), total);
  const updated = builder.call('scatter', [flat(base, count), positions, flat(written, total)], {
    dim: 0,
    mode: 'set',
  });
  return builder.call('reshape', [updated], { shape: sizesAttr(shape) });
}

/** Windows and strides may show an element twice: then a write has no meaning. */
function requireDistinct(builder: Builder, { target, attrs }: ViewStep, shape: readonly Index[]): void {
  if (
    target === 'unfold' &&
    (attrs['step'] as number) < (attrs['size'] as number) &&
    !builder.sizes.isOne(at(shape, attrs['dim'] as number))
  ) {
    throw writeOverlap('a write into overlapping windows');
  }
  if (target !== 'asStrided') return;
  const strides = (attrs['stride'] as readonly Attr[]).map((stride) => builder.sizes.hint(sizeOf(stride)));
  const sizes = shape.map((size) => builder.sizes.hint(size));
  const plain = contiguousStrides(shape);
  if (strides.every((stride, axis) => stride === builder.sizes.hint(at(plain, axis)))) return;
  const order = sizes.map((size, axis) => ({ size, stride: strides[axis] ?? 0 })).filter(({ size }) => size > 1);
  order.sort((a, b) => a.stride - b.stride);
  let covered = add(int(0), int(0));
  for (const { size, stride } of order) {
    if (stride <= builder.sizes.hint(covered)) throw writeOverlap('a write into overlapping strides');
    covered = add(covered, int((size - 1) * stride));
  }
}
