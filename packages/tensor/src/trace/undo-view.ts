// Views backwards: given what a view is to become, the value of its base in which it is so. In: a primitive view, its
// base and the new value of the view. Out: the new base. One row per primitive view; elements that the view does not show
// keep their value. A view may show an element several times (expanded, overlapping windows): what is written through it is
// one value everywhere then, or the way back is refused before.
import { at } from '@tsinductor/base';
import { contiguousStrides, operatorFor, scalar, sizeAttr, sizesAttr } from '@tsinductor/graph';
import type { Attr, Builder, SizeEnvironment, ValueRef, ViewLayout } from '@tsinductor/graph';
import { add, int, multiply, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ViewStep } from '../alias.ts';
import { brokenTrace } from '../errors.ts';
import { overlapsItself } from '../layout.ts';
import type { Writing } from '../recorder.ts';
import type { TracedView } from './traced-memory.ts';

interface Write {
  readonly base: ValueRef;
  readonly written: ValueRef;
}

interface Rule {
  readonly undo: (builder: Builder, step: ViewStep, write: Write) => ValueRef;
  /** Whether it shows every element of its base. */
  readonly isOnto: boolean;
}

const rules: Readonly<Record<string, Rule>> = {
  permute: { undo: undoPermute, isOnto: true },
  reshape: {
    undo: (builder, _, { base, written }) =>
      builder.call('reshape', [written], { shape: sizesAttr(builder.meta(base).shape) }),
    isOnto: true,
  },
  slice: { undo: undoSlice, isOnto: false },
  expand: { undo: undoExpand, isOnto: true },
  diagonal: { undo: undoByPosition, isOnto: false },
  unfold: { undo: undoByPosition, isOnto: false },
  asStrided: { undo: undoByPosition, isOnto: false },
};

function ruleFor({ target }: ViewStep): Rule {
  const rule = Object.hasOwn(rules, target) ? rules[target] : undefined;
  if (rule === undefined) throw brokenTrace(`no way back through the view ${target}`);
  return rule;
}

export const undoView = (builder: Builder, step: ViewStep, write: Write): ValueRef =>
  ruleFor(step).undo(builder, step, write);

/** Whether every element of the memory is in the view. */
export const showsAll = ({ steps }: Pick<TracedView, 'steps'>): boolean => steps.every((step) => ruleFor(step).isOnto);

/** Whether several elements of a layout are one memory. */
export const repeatsElements = (
  { shape, strides }: Pick<ViewLayout, 'shape' | 'strides'>,
  sizes: SizeEnvironment,
): boolean =>
  overlapsItself({
    shape: shape.map((size) => sizes.hint(size)),
    strides: strides.map((stride) => sizes.hint(stride)),
  });

/**
 * Whether the memory's value after a write to the view is what `undoView` makes of it. It is not where the memory, or a
 * view on the way, shows elements several times, and a write reaches them in some of these places: all must get one value.
 */
export function isUndone(builder: Builder, { memory, steps }: TracedView, { isUniform }: Writing): boolean {
  const { sizes } = builder;
  const { shape } = builder.meta(memory.current);
  const strides = memory.placeholder === undefined ? contiguousStrides(shape) : memory.meta.strides;
  let layout: ViewLayout | undefined = { shape, strides, offset: int(0) };
  let repeats = repeatsElements(layout, sizes);
  for (const step of steps) {
    if (repeats && !ruleFor(step).isOnto) return false;
    layout = layout && operatorFor(step.target, step.attrs).view?.(layout, step.attrs, sizes);
    repeats ||= layout === undefined || repeatsElements(layout, sizes);
  }
  return !repeats || isUniform === true;
}

function undoPermute(builder: Builder, { attrs }: ViewStep, { written }: Write): ValueRef {
  const dims = attrs['dims'] as readonly number[];
  const inverse = dims.map((_, axis) => dims.indexOf(axis));
  return builder.call('permute', [written], { dims: inverse });
}

/** Elements that were repeated are all the same: the first of them stands for all. */
function undoExpand(builder: Builder, _: ViewStep, { base, written }: Write): ValueRef {
  const [shape, wide] = [builder.meta(base).shape, builder.meta(written).shape];
  const lead = wide.length - shape.length;
  const first = wide.reduce(
    (value, size, dim) =>
      builder.sizes.same(size, shape[dim - lead] ?? int(1))
        ? value
        : builder.call('slice', [value], { dim, start: 0, end: 1, step: 1 }),
    written,
  );
  return builder.call('reshape', [first], { shape: sizesAttr(shape) });
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
  // What is written at its place in the base; or, in steps, the nearest element of it at each place.
  const padded = (): ValueRef =>
    builder.call('pad', [written], {
      padding: shape.map((_, axis) =>
        (axis === dim ? [start, subtract(size, add(start, length))] : [int(0), int(0)]).map(sizeAttr),
      ),
      value: scalar(0),
    });
  const spreadOut = (): ValueRef =>
    builder.call('indexSelect', [written, op('minimum', op('maximum', slot, 0), full(subtract(length, int(1))))], {
      dim,
    });
  const shown = step === 1 ? inside : op('logicalAnd', inside, op('eq', op('mul', slot, step), from));
  const spread = step === 1 ? padded() : spreadOut();
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
