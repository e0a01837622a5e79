// Other values for the numbers and sizes of a call, at which it is traced to see what follows from them. In: a value, the number of
// the trace, and the order of the value among those of its kind. Out: the value in that trace.

/** How many other values are thought of. */
export const ways = 10;

/** Multiples first, which divide as the size does; then sizes around it. */
export function otherSize(size: number, round: number, order: number): number {
  if (round === 0) return size;
  if (round <= 4) return size * (1 + round * (1 + order));
  return Math.max(2, size + (round % 2 === 0 ? 1 : -1) * (Math.ceil(round / 2) - 2) * (1 + order));
}

/** Whole numbers stay whole, fractions stay fractions; upwards and downwards in turn. */
export function otherNumber(value: number, round: number, order: number): number {
  if (round === 0) return value;
  const distance = (round % 2 === 1 ? 1 : -1) * Math.ceil(round / 2);
  if (!Number.isFinite(value)) return 1.7 + distance * (0.31 + 0.07 * order);
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value + distance * (1 + order);
  return value * (1 + distance * (0.02374611 + 0.00718123 * order));
}
