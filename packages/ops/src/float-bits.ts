// The parts of a double: exponent, significand, multiplication by powers of two. A float32 is a double, so these serve both.

const word = new Float64Array(1);
const halves = new Uint32Array(word.buffer);

/** 2^exponent for -1022 <= exponent <= 1023. */
function powerOfTwo(exponent: number): number {
  halves[0] = 0;
  halves[1] = (exponent + 1023) << 20;
  return word[0] ?? 0;
}

/** x * 2^n for integral n up to 2040 in magnitude; rounds once where x is neither huge nor tiny (see scalb_). */
export function scaleByPowerOfTwo(x = 0, n = 0): number {
  if (n !== n) return NaN;
  const half = Math.floor(n / 2);
  return x * powerOfTwo(half) * powerOfTwo(n - half);
}

/** The least n for which x * 2^n need not be 0 for x below 2: half of the least subnormal number is a tie, and goes to 0. */
export const leastScale = { f32: -150, f64: -1075 } as const;

/** What `scalborzero_` says, with the least n of a dtype at which x * 2^n need not be 0. */
export const scaleOrZero =
  (least: number) =>
  (x = 0, n = 0): number =>
    n < least ? 0 : scaleByPowerOfTwo(x, n);

/** The significand of |x| in [0.75, 1.5): 1 at 0 and infinities. */
export function significandOf(x = 0): number {
  if (x !== x) return NaN;
  if (x === 0 || x === Infinity || x === -Infinity) return 1;
  setNormal(x);
  const high = (halves[1] ?? 0) & 0xfffff;
  halves[1] = high | ((high >= 0x80000 ? 1022 : 1023) << 20);
  return word[0] ?? 0;
}

/** The e for which |x| = significandOf(x) * 2^e; infinite at 0 and infinities. */
export function exponentOf(x = 0): number {
  if (x !== x) return NaN;
  if (x === 0) return -Infinity;
  if (x === Infinity || x === -Infinity) return Infinity;
  const added = setNormal(x);
  const high = halves[1] ?? 0;
  return ((high >>> 20) & 0x7ff) - 1023 - added + ((high & 0xfffff) >= 0x80000 ? 1 : 0);
}

/** Puts x into the word, a subnormal one multiplied by 2^54; gives the exponent that this added. */
function setNormal(x: number): number {
  const subnormal = Math.abs(x) < 2 ** -1022;
  word[0] = subnormal ? x * 2 ** 54 : x;
  return subnormal ? 54 : 0;
}
