// How far a value is from an op's reference, in the units in which the table states bounds: units of the last place of the
// reference, or of the op's scale where that is larger. In: what was computed at operands of f32 or f64; out: a number,
// infinite where a special value is another one. Used by the tests of accuracy, and by whoever measures.
import type { PointwiseOp } from './define.ts';

/** A float format: bits of the significand, the exponent of the smallest positive value, the largest value. */
interface FloatFormat {
  readonly precision: number;
  readonly lowest: number;
  readonly largest: number;
}

export const floatFormats: Readonly<Record<'f32' | 'f64', FloatFormat>> = {
  f32: { precision: 24, lowest: -149, largest: 2 ** 128 - 2 ** 103 },
  f64: { precision: 53, lowest: -1074, largest: Number.MAX_VALUE },
};

/** The distance of neighbouring values of the format at `value`. */
function ulpAt(value: number, { precision, lowest }: FloatFormat): number {
  const exponent = value === 0 ? lowest : Math.floor(Math.log2(Math.abs(value)));
  return 2 ** Math.max(exponent - precision + 1, lowest);
}

/** How close to the largest value either side of the overflow is right. */
const overflowMargin = 1 - 2 ** -20;

/**
 * The error of `actual` in units of the last place of `expected`, or of `scale` where that is larger. Infinite where one of
 * the two is NaN or infinite and the other is not.
 *
 * @example ulpError(1 + 2 ** -23, { expected: 1, scale: 0, format: floatFormats.f32 }) // 1
 */
export function ulpError(
  actual: number,
  { expected, scale, format }: { readonly expected: number; readonly scale: number; readonly format: FloatFormat },
): number {
  if (Number.isNaN(expected)) return Number.isNaN(actual) ? 0 : Infinity;
  const rounded = Math.abs(expected) > format.largest ? Math.sign(expected) * Infinity : expected;
  if (actual === rounded) return 0;
  const nearOverflow = format.largest * overflowMargin;
  if (!Number.isFinite(actual)) return Math.abs(expected) >= nearOverflow ? 0 : Infinity;
  if (!Number.isFinite(rounded)) return Math.abs(actual) >= nearOverflow ? 0 : Infinity;
  const unit = ulpAt(Math.max(Math.abs(expected), Number.isFinite(scale) ? scale : 0), format);
  return Math.abs(actual - expected) / unit;
}

/** What is said of an op's accuracy: enough to measure it. */
type Promised = Pick<PointwiseOp, 'reference' | 'scale' | 'absoluteError' | 'measured'>;

/** The error of an op's result at `args`, by its reference, scale and absolute error; undefined where it has no reference. */
export function opError(
  op: Promised,
  args: readonly number[],
  { actual, format }: { readonly actual: number; readonly format: 'f32' | 'f64' },
): number | undefined {
  const expected = op.reference?.(...args);
  if (expected === undefined) return undefined;
  if (format === 'f32' && Math.abs(actual - expected) <= (op.absoluteError ?? 0)) return 0;
  return ulpError(actual, { expected, scale: op.scale?.(...args) ?? 0, format: floatFormats[format] });
}

/** Whether accuracy is measured at these operands: special values always are, others within the op's `measured` magnitudes. */
export function isMeasured({ measured }: Promised, args: readonly number[]): boolean {
  if (measured === undefined) return true;
  const [low, high] = measured;
  return args.every((x) => x === 0 || !Number.isFinite(x) || (Math.abs(x) >= low && Math.abs(x) <= high));
}
