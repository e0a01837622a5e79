// Axes of a tensor that a user knows to change. In: a tensor, axes, and the sizes that they may have. Out: marks on the tensor
// itself, which compiled functions read: such an axis is symbolic from the first compilation on. Views have none.
import { largestIndex } from '@tsinductor/ir';
import { badArgument } from './errors.ts';
import { isRecording } from './process-state.ts';
import type { Tensor } from './tensor.ts';

/** The sizes that a symbolic axis may have; `max` is null where there is no limit. */
export interface SizeRange {
  readonly min: number;
  readonly max: number | null;
}

/** What `markDynamic` is told of an axis. */
export interface DynamicRange {
  readonly min?: number;
  readonly max?: number;
}

const marks: unique symbol = Symbol.for('tsinductor.dynamicAxes') as never;
interface Marked {
  [marks]?: ReadonlyMap<number, SizeRange>;
}

const noMarks: ReadonlyMap<number, SizeRange> = Object.freeze(new Map());

/** The marked axes of a tensor, with their ranges. */
export const dynamicAxesOf = (tensor: Tensor): ReadonlyMap<number, SizeRange> => (tensor as Marked)[marks] ?? noMarks;

/**
 * Says that sizes of a tensor change from call to call: functions compiled for it take them as symbols at once, rather than
 * after the second size was met. A call whose size lies outside `min` to `max` compiles again. A function that needs the size
 * to be one number (because a loop runs over `x.shape[0]`, or it adds a tensor of fixed size) is refused when it is compiled.
 *
 * Shapes: any; axes count from the end where negative. Dtypes: all. The mark stays on this tensor, and its views have none.
 *
 * @param axes An axis or several.
 * @param range Sizes that are allowed, both ends included: `min` is 2 unless given, since 0 and 1 mean something else.
 * @throws UserError ARGUMENT_VALUE for an axis that is not there, a range without the size that the axis has, a minimum below
 *   2, a tensor that is not contiguous, and inside a compiled function; MARKED_SIZE_FIXED when a function is compiled that
 *   fixes the size
 * @example
 * const step = compile((x: Tensor) => x.softmax(-1));
 * for (const batch of batches) {
 *   markDynamic(batch, 0, { max: 512 });
 *   step(batch); // compiled once, whatever the sizes are
 * }
 * @see torch._dynamo.mark_dynamic
 */
export function markDynamic(tensor: Tensor, axes: number | readonly number[], range: DynamicRange = {}): void {
  if (isRecording())
    throw refused('it is called inside a compiled function', 'mark a tensor before it is passed to the function');
  if (!tensor.isContiguous())
    throw refused('the tensor is not contiguous', 'mark x.contiguous(), and pass that to the function');
  const checked = checkRange(range);
  const known = new Map(dynamicAxesOf(tensor));
  for (const axis of typeof axes === 'number' ? [axes] : axes) known.set(checkAxis(tensor, axis, checked), checked);
  (tensor as Marked)[marks] = known;
}

function checkRange({ min = 2, max }: DynamicRange): SizeRange {
  const isValid = Number.isSafeInteger(min) && min >= 2;
  if (!isValid || (max !== undefined && !(Number.isSafeInteger(max) && max >= min)))
    throw refused(`the range is ${String(min)} to ${String(max)}`, 'give whole numbers with 2 <= min <= max');
  return { min, max: max ?? null };
}

/** The axis, counted from the start. */
function checkAxis({ shape, ndim }: Tensor, axis: number, range: SizeRange): number {
  const size = Number.isInteger(axis) ? shape.at(axis) : undefined;
  if (size === undefined)
    throw refused(`axis ${String(axis)} is not one of shape [${shape.join(', ')}]`, 'name axes that it has');
  if (size < range.min || size > (range.max ?? Infinity))
    throw refused(
      `axis ${String(axis)} is ${String(size)}, and its range is ${printRange(range)}`,
      'widen the range, or do not mark it: 0 and 1 are never symbolic',
    );
  return axis < 0 ? axis + ndim : axis;
}

const refused = (what: string, hint: string): Error => badArgument('markDynamic', what, hint);

/** `2..512`; or `≥2` where there is no limit but that of positions of 32 bits. */
export const printRange = ({ min, max }: SizeRange): string =>
  max === null || max === largestIndex ? `≥${String(min)}` : `${String(min)}..${String(max)}`;
