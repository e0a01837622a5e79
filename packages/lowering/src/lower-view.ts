// View primitives: each turns the index map of its argument into that of its result. Nothing is copied, but for the
// base of `asStrided` where that is no buffer of its own.
import { at } from '@tsinductor/base';
import { add, axisIndex, equal, int, multiply, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { numberAttr, numbersAttr, sizeAttr, sizesAttr } from './attributes.ts';
import type { CallNode } from './attributes.ts';
import type { Rule } from './lowering.ts';
import { reshaped } from './reshape.ts';
import { dot, isInt, locate, zero } from './view.ts';
import type { Shape, View } from './view.ts';

/** Coordinates of the source's element that stands at `coordinates` of the result. */
type CoordinateMap = (node: CallNode, source: View, coordinates: Shape) => Shape;

const viewRule =
  (map: CoordinateMap): Rule =>
  (lowering, node) => {
    const source = lowering.argument(node, 0);
    const axes = lowering.program.viewAxes(lowering.meta(node).shape);
    return { ...source, axes, at: locate(source, map(node, source, axes.map(axisIndex))) };
  };

const permute = viewRule((node, source, coordinates) => {
  const dims = numbersAttr(node, 'dims');
  return source.axes.map((_, axis) => at(coordinates, dims.indexOf(axis)));
});

const slice = viewRule((node, _, coordinates) => {
  const dim = numberAttr(node, 'dim');
  const step = multiply(at(coordinates, dim), int(numberAttr(node, 'step')));
  return coordinates.with(dim, add(sizeAttr(node, 'start'), step));
});

const flip = viewRule((node, source, coordinates) => {
  const dims = numbersAttr(node, 'dims');
  const reverse = (coordinate: Index, axis: number): Index =>
    subtract(subtract(at(source.axes, axis).extent, int(1)), coordinate);
  return coordinates.map((coordinate, axis) => (dims.includes(axis) ? reverse(coordinate, axis) : coordinate));
});

const diagonal = viewRule((node, source, coordinates) => {
  const [offset, dim1, dim2] = [numberAttr(node, 'offset'), numberAttr(node, 'dim1'), numberAttr(node, 'dim2')];
  const along = at(coordinates, coordinates.length - 1);
  const rest = coordinates.slice(0, -1);
  return source.axes.map((_, axis) => {
    if (axis === dim1) return add(along, int(Math.max(-offset, 0)));
    if (axis === dim2) return add(along, int(Math.max(offset, 0)));
    return at(
      rest,
      [dim1, dim2].reduce((place, dim) => (axis > dim ? place - 1 : place), axis),
    );
  });
});

const unfold = viewRule((node, source, coordinates) => {
  const dim = numberAttr(node, 'dim');
  if (source.axes.length === 0) return [];
  const [windows, within] = [coordinates.slice(0, -1), at(coordinates, coordinates.length - 1)];
  return windows.with(dim, add(multiply(at(windows, dim), int(numberAttr(node, 'step'))), within));
});

/** A repeated axis has stride 0 in the result's meta, which knows what the sizes were assumed to be. */
const expand: Rule = (lowering, node) => {
  const source = lowering.argument(node, 0);
  const { shape, strides } = lowering.meta(node);
  const axes = lowering.program.viewAxes(shape);
  const lead = axes.length - source.axes.length;
  const coordinates = source.axes.map(({ extent }, axis) => {
    const wanted = at(axes, lead + axis);
    const isRepeated = isInt(extent, 1) || (!equal(extent, wanted.extent) && isInt(at(strides, lead + axis), 0));
    return isRepeated ? zero : axisIndex(wanted);
  });
  return { ...source, axes, at: locate(source, coordinates) };
};

const reshape: Rule = (lowering, node) =>
  reshaped(lowering.argument(node, 0), lowering.program.viewAxes(lowering.meta(node).shape));

const asStrided: Rule = (lowering, node) => {
  const base = lowering.program.rowMajor(lowering.argument(node, 0), lowering.origin(node));
  const axes = lowering.program.viewAxes(sizesAttr(node, 'size'));
  const steps = dot(axes.map(axisIndex), sizesAttr(node, 'stride'));
  return { ...base, axes, at: add(sizeAttr(node, 'storageOffset'), steps) };
};

export const viewRules: Readonly<Record<string, Rule>> = {
  permute,
  expand,
  reshape,
  slice,
  flip,
  diagonal,
  unfold,
  asStrided,
};
