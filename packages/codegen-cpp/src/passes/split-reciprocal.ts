// The reciprocal of an f32 in two parts, by which quotients are two products that have the bits of the division. In: a divisor. Out: the
// parts and the least x that they serve, or nothing where some x would come out otherwise.
//
// The reciprocal is cut off behind 24 bits, and what is missing rounded to 24 more: x / y is fma(x, high, x * low). Both parts have
// the sign of y, so zeros, infinities and NaN come out as the division has them. (N. Brisebarre, J.-M. Muller and S. K. Raina,
// "Accelerating correctly rounded floating-point division when the divisor is known in advance", IEEE Transactions on Computers
// 53(8), 2004.) Whether a divisor allows it is decided here, for all x: only those could come out otherwise whose quotient lies
// within the error beside the middle between two floats, and these are the solutions of few congruences.
interface SplitReciprocal {
  readonly high: number;
  readonly low: number;
  /** The exponent of two from which on it serves; a lesser x is divided, but 0. */
  readonly leastExponent: number;
}

const precision = 24;

/** Divisors beyond these would leave too few x. */
const mostExponent = 40;

/** 1 / y in two parts, where their products with every x make the quotient; y is a float, but no power of two. */
export function splitReciprocal(y: number): SplitReciprocal | undefined {
  const size = Math.abs(y);
  if (!(size >= 2 ** -mostExponent && size <= 2 ** mostExponent) || Math.fround(y) !== y) return undefined;
  const exponent = Math.floor(Math.log2(size));
  const divisor = BigInt(size * 2 ** (precision - 1 - exponent));
  // Of 1 / divisor, times 2^47, and of what that leaves, times 2^(47 + shift): 24 bits each.
  const scale = 2 * precision - 1;
  const high = 2n ** BigInt(scale) / divisor;
  const rest = 2n ** BigInt(scale) % divisor;
  if (rest === 0n) return undefined;
  let shift = precision - 1;
  while ((rest << BigInt(shift)) / divisor < 2n ** BigInt(precision - 1)) shift += 1;
  const low = (2n * (rest << BigInt(shift)) + divisor) / (2n * divisor);
  const parts = { divisor, high, low, shift };
  if (!doubtful(parts).every((x) => isExact(x, parts))) return undefined;
  const unit = Math.sign(y) * 2 ** (precision - 1 - exponent - scale);
  const lowValue = Number(low) * unit * 2 ** -shift;
  return {
    high: Number(high) * unit,
    low: lowValue,
    // The lesser product and the quotient are to be normal.
    leastExponent: Math.max(-126, -126 - Math.floor(Math.log2(Math.abs(lowValue))), exponent + 1 - 125),
  };
}

interface Parts {
  readonly divisor: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly shift: number;
}

/**
 * The significands x of 24 bits whose quotient by the divisor lies so near the middle between two floats that it may come out wrong.
 * Low is within half a unit of its last place, and so is its product: together the error is less than 2^(-23 - shift). A quotient is
 * n / (2^k * divisor) away from a middle, where k is 24 if x is not less than the divisor and 25 if it is, for an n with
 * 2^k * x = n modulo the divisor.
 */
function doubtful({ divisor, shift }: Parts): readonly bigint[] {
  const one = 2n ** BigInt(precision - 1);
  const found: bigint[] = [];
  for (const [bits, from, to] of [
    [24, divisor, 2n * one],
    [25, one, divisor],
  ] as const) {
    const most = 2 ** Math.max(0, bits + 1 - shift);
    for (let n = -most; n <= most; n += 1) {
      if (n === 0) continue;
      const { first, step } = solutions(2n ** BigInt(bits), BigInt(n), divisor);
      if (first === undefined) continue;
      for (let x = first + ((from - first + step - 1n) / step) * step; x < to; x += step) found.push(x);
    }
  }
  return found;
}

/** All x with factor * x = n modulo the divisor, for a factor that is a power of two: the first one that is not negative, and their distance. */
function solutions(
  factor: bigint,
  n: bigint,
  divisor: bigint,
): { readonly first: bigint | undefined; readonly step: bigint } {
  let [common, odd] = [1n, divisor];
  while (odd % 2n === 0n) [common, odd] = [2n * common, odd / 2n];
  if (n % common !== 0n) return { first: undefined, step: odd };
  const inverse = power((odd + 1n) / 2n, factor / common, odd);
  return { first: ((((n / common) * inverse) % odd) + odd) % odd, step: odd };
}

/** half^k modulo `modulus`, where `twos` is 2^k. */
function power(half: bigint, twos: bigint, modulus: bigint): bigint {
  let value = 1n % modulus;
  for (let left = twos; left > 1n; left /= 2n) value = (value * half) % modulus;
  return value;
}

/** Whether the two products give the quotient of a significand. */
function isExact(x: bigint, { divisor, high, low, shift }: Parts): boolean {
  const sum = ((x * high) << BigInt(shift)) + rounded(x * low);
  // Doubles have the bits that make the second rounding of a quotient harmless.
  const quotient = Math.fround(Number(x) / Number(divisor));
  return rounded(sum) === BigInt(quotient * 2 ** precision) << BigInt(precision - 1 + shift);
}

/** To 24 bits, of two that are equally near the even one. */
function rounded(x: bigint): bigint {
  const extra = BigInt(Math.max(0, x.toString(2).length - precision));
  const kept = x >> extra;
  const twice = 2n * (x - (kept << extra));
  const unit = 1n << extra;
  const up = twice > unit || (twice === unit && kept % 2n === 1n);
  return (up ? kept + 1n : kept) << extra;
}
