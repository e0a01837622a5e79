// Whether what pointwise ops make of the result of a product lies as that result does: with the channels (dim 1) side by
// side in memory, as convolutions and what reads windows of them leave it. So a chain of convolutions has no transposes, and
// what follows one has the loops of its product.
//
// A result of the graph has eager execution's strides, unless the caller leaves that to us; the loops that make it transpose.
import { at } from '@tsinductor/base';
import { axisIndex, coefficientOf, equal, substitute } from '@tsinductor/ir';
import type { Axis } from '@tsinductor/ir';
import type { CallNode } from './attributes.ts';
import type { Lowering } from './lowering.ts';
import { divide, isInt, shapeOf } from './view.ts';
import type { Shape, View } from './view.ts';

/** Fewer channels than this do not fill a vector. */
const FEW_CHANNELS = 8;

/** The dims of the result in the order of memory, outermost first; undefined: row-major. */
export function memoryOrder(
  lowering: Lowering,
  node: CallNode,
  operands: readonly View[],
): readonly number[] | undefined {
  const { channelsLast, keepOutputStrides } = lowering.options;
  const { shape } = lowering.meta(node);
  if (channelsLast === 'never' || shape.length < 3) return undefined;
  if (keepOutputStrides && lowering.isOutput(node)) return undefined;
  if (shape.slice(2).every((extent) => isInt(extent, 1))) return undefined;
  const whole = operands.filter((operand) => hasShape(operand, shape));
  const isChosen =
    channelsLast === 'always' ? whole.some((operand) => isOfProduct(lowering, operand)) : gains(lowering, whole);
  return isChosen ? channelsInside(shape) : undefined;
}

/** The same for what is padded, if not along its channels. */
export function paddedOrder(lowering: Lowering, node: CallNode, source: View): readonly number[] | undefined {
  const { channelsLast, keepOutputStrides } = lowering.options;
  const { shape } = lowering.meta(node);
  if (channelsLast === 'never' || shape.length < 3 || !equal(at(shape, 1), at(source.axes, 1).extent)) return undefined;
  if (keepOutputStrides && lowering.isOutput(node)) return undefined;
  return gains(lowering, [source]) ? channelsInside(shape) : undefined;
}

const channelsInside = (shape: Shape): readonly number[] => [0, ...shape.slice(2).map((_, dim) => dim + 2), 1];

const gains = (lowering: Lowering, operands: readonly View[]): boolean =>
  operands.some((operand) => {
    const { extent } = at(operand.axes, 1);
    const isMany = extent.kind !== 'int' || extent.value >= FEW_CHANNELS;
    return isMany && isOfProduct(lowering, operand) && hasChannelsLast(operand);
  });

/** Whether it views what a product made, or what is joined of parts, as the tiles of a convolution are, or was laid out as one already. */
export const isOfProduct = ({ program }: Lowering, { buffer }: View): boolean =>
  program.isProduct(buffer) || program.isReordered(buffer) || program.joined.has(buffer);

/** Channels side by side, all of them or as many as a panel of a product has. */
const hasChannelsLast = ({ at: place, axes }: View): boolean =>
  axes.every((axis, dim) => {
    if (dim !== 1) return coefficientOf(place, axis) !== undefined;
    const run = divide(place, axis)?.at(-1);
    if (run === undefined || (run.kind === 'int' && run.value < FEW_CHANNELS)) return false;
    const within: Axis = { name: axis.name, extent: run };
    const step = coefficientOf(substitute(place, new Map([[axis.name, axisIndex(within)]])), within);
    return step !== undefined && isInt(step, 1);
  });

const hasShape = (view: View, shape: Shape): boolean => {
  const own = shapeOf(view);
  return own.length === shape.length && own.every((extent, dim) => equal(extent, at(shape, dim)));
};
