// bmm as a contract node: its operands are read through their views, so that a transposed matrix stays where it is.
// An operand whose index is not affine is copied first, unless it becomes affine where its axes are divided: the rows of a
// convolution into images, rows of places and places, of which the outer ones are a batch of the product; what is summed over
// into places of the window and channels; the batch, where an operand is the same for some of its points, as for heads that share keys. So
// windows, and what is repeated, are read where they lie.
import { at, dtypeInfo } from '@tsinductor/base';
import { add, axisIndex, coefficientOf, freeAxes, int, multiply } from '@tsinductor/ir';
import type { Axis, ContractOperand, Index } from '@tsinductor/ir';
import type { CallNode } from './attributes.ts';
import type { Lowering, Rule } from './lowering.ts';
import { divide, isAffine, isInt, locate, one, zero } from './view.ts';
import type { Shape, View } from './view.ts';

/** Fewer places in a row are too few rows for a tile: a copy, whose rows are those of all images, is faster. */
const FEW_PLACES = 4;

const operand = (view: View, coordinates: Shape): ContractOperand => ({
  buffer: view.buffer,
  at: locate(view, coordinates),
});

/** An axis of a view as several, outermost first, and which of its points theirs is. */
interface Parts {
  readonly axes: readonly Axis[];
  readonly at: Index;
}

/** An axis of the node that is appended next: of no letter that sizes have (s). */
type NewAxis = (letter: string, extent: Index) => Axis;

/** Axes of such extents, of which the innermost is named by the first of `letters`. */
function partsOf(extents: readonly Index[], letters: string, newAxis: NewAxis): Parts {
  const axes = extents.map((extent, position) => newAxis(letters[extents.length - 1 - position] ?? 'p', extent));
  const index = axes.reduce<Index>((outer, axis) => add(multiply(outer, axis.extent), axisIndex(axis)), zero);
  return { axes, at: index };
}

/** The loops over the batch: one, or several where an operand's index is affine over these only; none over a batch of one. */
function batchOf(views: readonly View[], newAxis: NewAxis): Parts {
  const whole = views.map(({ axes }) => at(axes, 0));
  const divisions = views.map(({ at: index }, operand) => divide(index, at(whole, operand)));
  const extents = divisions.toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0] ?? [at(whole, 0).extent];
  if (extents.length === 1 && isInt(at(extents, 0), 1)) return { axes: [], at: zero };
  return partsOf(extents.length > 4 ? [at(whole, 0).extent] : extents, 'bghv', newAxis);
}

/** Parts of which each of both is some, where all extents are known and one of them divides the other. */
function commonParts(left: readonly Index[], right: readonly Index[]): readonly Index[] | undefined {
  const ends = [...new Set([...spansOf(left), ...spansOf(right)])].toSorted((a, b) => b - a);
  const extents = ends.map((span, position) => span / (ends[position + 1] ?? 1));
  return extents.every(Number.isInteger) ? extents.map((extent) => int(extent)) : undefined;
}

/** How many points an axis has from each of its parts on; not a number where that is not known. */
const spansOf = (parts: readonly Index[]): readonly number[] =>
  parts.map((_, position) =>
    parts.slice(position).reduce((span, part) => span * (part.kind === 'int' ? part.value : NaN), 1),
  );

/** A copy of the operand, which has once what the operand repeats along an axis, as panels of a frozen weight repeat rows. */
function copyOf(lowering: Lowering, node: CallNode, view: View): View {
  const free = freeAxes(view.at);
  const axes = view.axes.map((axis) => (free.has(axis.name) ? axis : { ...axis, extent: one }));
  const copy = lowering.program.copy({ ...view, axes }, lowering.origin(node));
  const places = view.axes.map((axis) => (free.has(axis.name) ? axisIndex(axis) : zero));
  return { ...copy, axes: view.axes, at: locate(copy, places) };
}

/** The argument, such that its index over the loops is affine. */
function affineView(lowering: Lowering, node: CallNode, { view, batch }: InBatch): View {
  const others = view.axes.slice(1);
  const index = locate(view, [batch.at, ...others.map(axisIndex)]);
  return isAffine(index, [...batch.axes, ...others]) ? view : copyOf(lowering, node, view);
}

interface InBatch {
  readonly view: View;
  readonly batch: Parts;
}

/** How the first operand is read: its rows and what is summed over, each as one axis or as several. */
interface Reading {
  readonly view: View;
  readonly rows: Parts;
  readonly over: Parts;
  /** Whether the second operand is to be read over the same parts. */
  readonly isForBoth: boolean;
}

function readingOf(lowering: Lowering, node: CallNode, { first, second, batch, newAxis }: Operands): Reading {
  const [rowAxis, overAxis] = [at(first.axes, 1), at(first.axes, 2)];
  const [rowParts, ownParts] = [divide(first.at, rowAxis), divide(first.at, overAxis)];
  const bothParts = ownParts && partsForBoth(lowering, ownParts, second);
  const [overParts, isForBoth] = [bothParts ?? ownParts, bothParts !== undefined];
  if (rowParts !== undefined && overParts !== undefined && rowParts.length <= 4 && overParts.length <= 4) {
    const [rows, over] = [partsOf(rowParts, 'mrqo', newAxis), partsOf(overParts, 'ktwu', newAxis)];
    const index = locate(first, [batch.at, rows.at, over.at]);
    const isRead = isAffine(index, [...batch.axes, ...rows.axes, ...over.axes]);
    const reading = { view: first, rows, over, isForBoth };
    if (isRead && isWorthIt(lowering, reading)) return reading;
  }
  const view = affineView(lowering, node, { view: first, batch });
  const whole = (position: number, letter: string): Parts => partsOf([at(view.axes, position).extent], letter, newAxis);
  return { view, rows: whole(1, 'm'), over: whole(2, 'k'), isForBoth: false };
}

/** Of fewer channels, places of a row of the window are summed over together with them. */
const FEW_CHANNELS = 16;

/** The most places of a window of which a panel has all for some channels. */
const MOST_PLACES = 64;

/**
 * Parts over which both operands are affine, for a weight of [outputs, channels, window]: channels are summed over by themselves, and it is
 * packed from where it lies instead of being turned first.
 */
function partsForBoth(
  { options }: Lowering,
  own: readonly Index[],
  { at: index, axes, dtype }: View,
): Shape | undefined {
  if (!options.hasLanes || own.length === 1 || dtype !== dtypeInfo[dtype].compute) return undefined;
  const parts = divide(index, at(axes, 1));
  const common = parts && parts.length > 1 ? commonParts(own, parts) : undefined;
  if (common === undefined) return undefined;
  const [all = 0] = spansOf(common);
  const [channels = 0] = spansOf(common.slice(-1));
  return channels >= FEW_CHANNELS && all <= MOST_PLACES * channels ? common : undefined;
}

interface Operands {
  readonly first: View;
  readonly second: View;
  readonly batch: Parts;
  readonly newAxis: NewAxis;
}

const innermost = ({ axes }: Parts): Axis => at(axes, axes.length - 1);

/** Whether the operand had better be read where it lies than copied. */
function isWorthIt({ options }: Lowering, { view, rows, over }: Reading): boolean {
  if (rows.axes.length === 1 && over.axes.length === 1) return true;
  if (over.axes.length === 1 && rows.axes.length === 2) return options.divideRows;
  const places = innermost(rows).extent;
  const channels = coefficientOf(locate(view, [zero, zero, over.at]), innermost(over));
  const isMany = places.kind !== 'int' || places.value >= FEW_PLACES;
  return isMany && channels !== undefined && isInt(channels, 1);
}

const bmm: Rule = (lowering, node) => {
  const { program } = lowering;
  const [first, second] = [0, 1].map((position) => lowering.argument(node, position)) as [View, View];
  const newAxis: NewAxis = (letter, extent) => ({ name: `${letter}${program.nextNumber}`, extent });
  const batch = batchOf([first, second], newAxis);
  const { view: left, rows, over, isForBoth } = readingOf(lowering, node, { first, second, batch, newAxis });
  const columns = columnsOf(lowering, node, { second, batch, over, isForBoth });
  const target = lowering.target(node);
  const [m, n] = [innermost(rows), newAxis('n', at(second.axes, 2).extent)];
  const outer = [...batch.axes, ...rows.axes.slice(0, -1)];
  return program.append(
    target,
    {
      kind: 'contract',
      axes: [...outer, m, n],
      batch: outer,
      m,
      n,
      over: over.axes,
      a: operand(left, [batch.at, rows.at, over.at]),
      b: operand(columns, [batch.at, over.at, axisIndex(n)]),
      accumulate: dtypeInfo[target.dtype].compute,
    },
    [batch.at, rows.at, axisIndex(n)],
  );
};

interface Columns extends Pick<Reading, 'over' | 'isForBoth'> {
  readonly second: View;
  readonly batch: Parts;
}

/** The second operand, such that it is affine over the batch and what is summed over. */
function columnsOf(lowering: Lowering, node: CallNode, { second, batch, over, isForBoth }: Columns): View {
  const isRead = (view: View): boolean => {
    const column = at(view.axes, 2);
    return isAffine(locate(view, [batch.at, over.at, axisIndex(column)]), [...batch.axes, ...over.axes, column]);
  };
  if (isForBoth && isRead(second)) return second;
  const right = affineView(lowering, node, { view: second, batch });
  return isRead(right) ? right : copyOf(lowering, node, right);
}

export const contractRules: Readonly<Record<string, Rule>> = { bmm };
