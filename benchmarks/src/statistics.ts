// Medians and spreads.

/** The median of some numbers; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/**
 * Between which numbers the median lies, of what some numbers are a sample of: 95 times in 100, whatever their distribution, by the
 * order of the numbers (the sign test; W. J. Conover, Practical Nonparametric Statistics, 3.2). All there are of fewer than six.
 */
export function medianInterval(values: readonly number[]): readonly [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  let [left, term, below] = [0, 0.5 ** sorted.length, 0];
  // How many may be left out at each end: as few as chance puts there once in forty times.
  while (below + term <= 0.025) {
    below += term;
    term = (term * (sorted.length - left)) / (left + 1);
    left += 1;
  }
  const ends = Math.max(0, left - 1);
  return [sorted[ends] ?? Number.NaN, sorted[sorted.length - 1 - ends] ?? Number.NaN];
}

/** The geometric mean of positive numbers; NaN of none. */
export const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

/** How far rounds are apart: slowest over fastest. */
export const spreadOf = (values: readonly number[]): number => Math.max(...values) / Math.min(...values);

/** A value in three significant digits. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return value === 0 || Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** Milliseconds in the unit that reads best. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms >= 1000) return `${digits(ms / 1000)} s`;
  if (ms >= 1) return `${digits(ms)} ms`;
  return ms >= 1e-3 ? `${digits(ms * 1e3)} µs` : `${digits(ms * 1e6)} ns`;
}
