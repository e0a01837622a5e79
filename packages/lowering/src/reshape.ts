// The index map of a reshape. Both shapes are cut where their leading sizes multiply to the same number; within such a
// group, axes of the source that lie in memory like one axis are joined, so that splitting and joining axes needs no
// division. Only what is left (a reshape across a permutation) divides.
import { at, get } from '@tsinductor/base';
import {
  axisIndex,
  coefficientOf,
  equal,
  floorDivide,
  modulo,
  multiply,
  printIndex,
  product,
  substitute,
} from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import { isInt, linearize, one, shapeOf, zero } from './view.ts';
import type { View } from './view.ts';

/** Axes of the source and of the result that hold the same elements. */
interface Run {
  readonly from: readonly Axis[];
  readonly to: readonly Axis[];
}

/** The elements of `view` in row-major order, over `axes`. */
export function reshaped(view: View, axes: readonly Axis[]): View {
  const isEmpty = [...shapeOf(view), ...axes.map((axis) => axis.extent)].some((size) => isInt(size, 0));
  if (isEmpty) return { ...view, axes, at: zero };
  const unit = new Map(view.axes.filter(isUnit).map((axis) => [axis.name, zero]));
  const start: View = { ...view, at: substitute(view.at, unit) };
  const end = cut(view.axes.filter(isMany), axes.filter(isMany)).reduce(reshapeRun, start);
  return { ...end, axes };
}

const isUnit = (axis: Axis): boolean => isInt(axis.extent, 1);
const isMany = (axis: Axis): boolean => !isUnit(axis);

/** Cuts both lists of axes wherever the products of the sizes so far agree. */
function cut(from: readonly Axis[], to: readonly Axis[]): readonly Run[] {
  const ends = new Map(prefixProducts(from).map((count, position) => [printIndex(count), position + 1]));
  const runs: Run[] = [];
  let [left, right] = [0, 0];
  prefixProducts(to).forEach((count, position) => {
    const key = printIndex(count);
    if (position + 1 === to.length || !ends.has(key) || get(ends, key) === from.length) return;
    runs.push({ from: from.slice(left, get(ends, key)), to: to.slice(right, position + 1) });
    [left, right] = [get(ends, key), position + 1];
  });
  return [...runs, { from: from.slice(left), to: to.slice(right) }];
}

function prefixProducts(axes: readonly Axis[]): readonly Index[] {
  let count = one;
  return axes.map((axis) => (count = multiply(count, axis.extent)));
}

function reshapeRun(view: View, run: Run): View {
  const joined = joinAxes(view, run.from);
  const coordinates = new Map<string, Index>();
  let rest = linearize(
    run.to.map((axis) => axis.extent),
    run.to.map(axisIndex),
  );
  for (let position = joined.axes.length - 1; position >= 0; position -= 1) {
    const { name, extent } = at(joined.axes, position);
    coordinates.set(name, position === 0 ? rest : modulo(rest, extent));
    if (position > 0) rest = floorDivide(rest, extent);
  }
  return { ...view, at: substitute(joined.view.at, coordinates) };
}

/** Joins neighbours among `axes` through which the view steps as through one axis. */
function joinAxes(view: View, axes: readonly Axis[]): { readonly view: View; readonly axes: readonly Axis[] } {
  const joined: Axis[] = [];
  let index = view.at;
  for (const axis of axes) {
    const outer = joined.at(-1);
    if (outer === undefined || !stepsAsOne(index, outer, axis)) {
      joined.push(axis);
      continue;
    }
    const both: Axis = { name: `${outer.name}_${axis.name}`, extent: product([outer.extent, axis.extent]) };
    index = substitute(
      index,
      new Map([
        [outer.name, zero],
        [axis.name, axisIndex(both)],
      ]),
    );
    joined.splice(-1, 1, both);
  }
  return { view: { ...view, at: index }, axes: joined };
}

function stepsAsOne(index: Index, outer: Axis, inner: Axis): boolean {
  const [wide, narrow] = [coefficientOf(index, outer), coefficientOf(index, inner)];
  return wide !== undefined && narrow !== undefined && equal(wide, multiply(narrow, inner.extent));
}
