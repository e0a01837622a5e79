// A node made ready to be written as loops: primitives only, sizes as numbers, and of every index what a step along each axis
// adds to it.
import { at } from '@tsinductor/base';
import { bodiesOf, constantToValue, evaluateIndex, expandNode, int, substitute } from '@tsinductor/ir';
import type { Axis, Body, Index, LoopNode, Scalar } from '@tsinductor/ir';
import type { KernelText } from './kernel-text.ts';
import { joinAxes, placeOf } from './linear.ts';
import type { Extent, Linear, LoopAxes, Place } from './linear.ts';
import type { Loop, Placed } from './nest.ts';

type Sizes = ReadonlyMap<string, number>;

/** Of a node, whose bodies have primitives and numbers only. */
export interface LoopForm<Node extends LoopNode> {
  readonly node: Node;
  /** Those of the outputs, then those that are reduced. */
  readonly axes: readonly Extent[];
  readonly place: (index: Index) => Place;
  /** Whether a constant is the user's: it may be another one next time. */
  readonly isGiven: (value: number) => boolean;
}

/** `over` are the axes of the node beyond those of its outputs. */
export function formOf<Node extends LoopNode>(node: Node, over: readonly Axis[], sizes: Sizes): LoopForm<Node> {
  const given = new Set(bodiesOf(node).flatMap(({ nodes }) => nodes.flatMap(floatsOf)));
  const numbers = new Map([...sizes].map(([name, size]) => [name, int(size)]));
  const expanded = expandNode(node, { map: numbers, ops: 'guarded' }) as Node;
  const axes = [...node.axes, ...over].map(({ name, extent }) => ({ name, extent: evaluateIndex(extent, { sizes }) }));
  const places = new Map<Index, Place>();
  const place = (index: Index): Place => {
    const known = places.get(index);
    if (known !== undefined) return known;
    const found = placeOf(index, axes);
    places.set(index, found);
    return found;
  };
  return { node: expanded, axes, place, isGiven: (value) => given.has(value) };
}

/** The form at one point of its last axes, of which places are offsets from the first one. */
export function pointOf<Node extends LoopNode>(
  form: LoopForm<Node>,
  point: ReadonlyMap<string, number>,
): LoopForm<Node> {
  const fixed = new Map([...point].map(([name, value]) => [name, int(value)]));
  const first = new Map([...point.keys()].map((name) => [name, int(0)]));
  const place = (index: Index): Place => {
    const { linear } = placeOf(substitute(index, first), form.axes);
    const own = placeOf(substitute(index, fixed), form.axes);
    // A quotient may be linear at one point and not at another.
    const isParallel = linear.strides.every((stride, axis) => stride === own.linear.strides[axis]);
    return isParallel ? { linear, rest: own.rest, offset: own.linear.base - linear.base } : own;
  };
  return { ...form, place };
}

/** Constants of floats, but for those that shape what an op does. */
const floatsOf = (node: Scalar): readonly number[] => {
  if (node.kind !== 'constant' || node.dtype === 'i64') return [];
  const value = Number(constantToValue(node.value, node.dtype));
  return [0, 1, -1, 2, 0.5].includes(value) ? [] : [value];
};

/** The indexes of a node: those of its bodies, and its writes. */
export const indexesOf = (bodies: readonly Body[], writes: readonly Index[]): readonly Index[] => [
  ...bodies.flatMap(({ nodes }) => nodes.flatMap(indexesOfScalar)),
  ...writes,
];

function indexesOfScalar(node: Scalar): readonly Index[] {
  if (node.kind === 'index') return [node.value];
  if (node.kind === 'load') return [node.at];
  return node.kind === 'check' ? [node.extent] : [];
}

/** Which axes are one loop: of those before `kept`, and of those from there on. */
export function loopsOf(form: LoopForm<LoopNode>, indexes: readonly Index[], kept: number): readonly LoopAxes[] {
  const places = indexes.map(form.place);
  const { axes } = form;
  const part = (from: number, to: number): readonly LoopAxes[] => {
    const own = places.map(({ linear, rest }) => ({
      linear: { ...linear, strides: linear.strides.slice(from, to) },
      rest,
    }));
    return joinAxes(axes.slice(from, to), own).map((loop) => loop.map((axis) => axis + from));
  };
  return [...part(0, kept), ...part(kept, axes.length)];
}

/** How often a loop over some axes runs. */
export const countOf = (axes: readonly Extent[], loop: LoopAxes): number =>
  loop.reduce((count, axis) => count * at(axes, axis).extent, 1);

/** A loop over neighbouring axes. */
export function loopOver(kernel: KernelText, axes: readonly Extent[], loop: LoopAxes): Loop {
  const last = at(loop, loop.length - 1);
  return {
    variable: kernel.name('i'),
    count: kernel.integer(countOf(axes, loop)),
    stepOf: ({ strides }: Linear) => at(strides, last),
  };
}

/** The coordinates of axes that are loops of their own; those of one element are 0. */
export function coordinatesOf(
  axes: readonly Extent[],
  loops: readonly { readonly axes: LoopAxes; readonly placed: Placed }[],
): ReadonlyMap<string, Placed> {
  const coordinates = new Map<string, Placed>(axes.map(({ name }) => [name, { text: '0', level: 0 }]));
  for (const loop of loops) if (loop.axes.length === 1) coordinates.set(at(axes, at(loop.axes, 0)).name, loop.placed);
  return coordinates;
}
