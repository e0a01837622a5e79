// Points of several axes as one number, as units and loops over them have it: taken apart into a coordinate for each axis.
import { named, product as productOf } from '@tsinductor/codegen';
import { add, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import type { Nest } from '../write/nest.ts';

/** How many points axes have. */
export const pointsOf = (axes: readonly Axis[]): Index => productOf(axes.map(({ extent }) => extent));

/** The row-major position of a point among all of some axes. */
export const positionIn = (axes: readonly Axis[], point: ReadonlyMap<string, Index>): Index =>
  axes.reduce<Index>((sum, { name, extent }) => add(multiply(sum, extent), point.get(name) ?? int(0)), int(0));

/** The coordinates of a row-major position, each in a variable. */
export function coordinatesAt(nest: Nest, axes: readonly Axis[], position: Index): ReadonlyMap<string, Index> {
  const coordinates = new Map<string, Index>();
  let rest = position;
  for (const axis of axes.toReversed()) {
    const isOutermost = axis === axes[0];
    coordinates.set(axis.name, nameBelow(nest, axis, isOutermost ? rest : modulo(rest, axis.extent)));
    rest = isOutermost ? int(0) : floorDivide(rest, axis.extent);
  }
  return coordinates;
}

/** The value in a variable, of which it is known that it is below the extent of the axis. */
export function nameBelow(nest: Nest, axis: Axis, value: Index): Index {
  const defined = nest.writer.define(
    { kind: 'index', value, type: { dtype: 'i64', lanes: 1 } },
    axis.name,
    nest.writer.depth,
  );
  return defined.kind === 'name' ? named(defined.name, axis.extent) : value;
}
