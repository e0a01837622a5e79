// Gradients of what moves elements: a view, a cut or a border is linear, and its gradient is its transpose.
import { at } from '@tsinductor/base';
import { add, int, multiply, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isSizeAttr } from '../argument-reader.ts';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import type { Attr, ValueRef } from '../graph.ts';
import { range, zero } from '../shape.ts';
import { addWhereShown, ofFirst, sumTo } from './rule.ts';
import type { GradientRule } from './rule.ts';

const inputOf = (a: ArgumentReader): ValueRef => a.tensor('input');

const permute = ofFirst((c, { a }, g) => {
  const dims = a.ints('dims');
  return [
    c.permute(
      g,
      dims.map((_, axis) => dims.indexOf(axis)),
    ),
  ];
});

/** Steps of a slice as an axis of their own: all but the first element of each step are zeros. */
function slice(c: Composer, a: ArgumentReader, g: ValueRef): ValueRef {
  const [dim, step, start] = [a.int('dim'), a.int('step'), a.size('start')];
  const extent = at(c.shape(inputOf(a)), dim);
  const border = (x: ValueRef, axis: number, pair: readonly [Index, Index]): ValueRef =>
    c.pad(
      x,
      range(c.rank(x)).map((each) => (each === axis ? pair : [zero, zero])),
    );
  const count = at(c.shape(g), dim);
  if (step === 1) return border(g, dim, [start, subtract(extent, add(start, count))]);
  const spaced = border(c.unsqueeze(g, dim + 1), dim + 1, [zero, int(step - 1)]);
  const covered = multiply(count, int(step));
  const flat = c.reshape(spaced, c.shape(g).with(dim, covered));
  return border(flat, dim, [start, subtract(extent, add(start, covered))]);
}

const asIndex = (attr: Attr): Index => (isSizeAttr(attr) ? attr.size : int(Number(attr)));

function pad(c: Composer, a: ArgumentReader, g: ValueRef): ValueRef {
  const pairs = a.attr('padding') as readonly (readonly [Attr, Attr])[];
  return c.pad(
    g,
    pairs.map(([before, after]) => [subtract(zero, asIndex(before)), subtract(zero, asIndex(after))]),
  );
}

/** The part of each tensor that was joined. */
function cat(c: Composer, a: ArgumentReader, g: ValueRef): readonly ValueRef[] {
  const dim = a.int('dim');
  let start: Index = zero;
  return a.tensors('tensors').map((item) => {
    const end = add(start, c.size(item, dim));
    const part = c.slice(g, dim, { start, end });
    start = end;
    return part;
  });
}

/** Of a view that may show an element several times, or skip some. */
const shown = (target: string): GradientRule =>
  ofFirst((c, { a }, g) => [
    addWhereShown(c, g, { x: inputOf(a), view: (positions) => c.call(target, [positions], a.attrs) }),
  ]);

export const viewRules: Readonly<Record<string, GradientRule>> = {
  permute,
  expand: ofFirst((c, { a }, g) => [sumTo(c, g, c.shape(inputOf(a)))]),
  reshape: ofFirst((c, { a }, g) => [c.reshape(g, c.shape(inputOf(a)))]),
  slice: ofFirst((c, { a }, g) => [slice(c, a, g)]),
  flip: ofFirst((c, { a }, g) => [c.flip(g, a.ints('dims'))]),
  diagonal: shown('diagonal'),
  unfold: shown('unfold'),
  asStrided: shown('asStrided'),
  pad: ofFirst((c, { a }, g) => [pad(c, a, g)]),
  cat: ofFirst((c, { a }, g) => [cat(c, a, g)]),
  require: ofFirst((_c, _call, g) => [g]),
  full: ofFirst((c, { a }, g) => {
    const value = a.operand('value');
    return value.kind === 'value' ? [c.cast(sumTo(c, g, c.shape(value)), c.dtype(value))] : [];
  }),
};
