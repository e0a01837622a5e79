// Fused multiply-add, exact: the product and the sum are rounded once, at f32 and at f64.
//
// Note [round to odd]: a sum that is first rounded to odd at a wider precision (two bits or more) and then rounded to
// nearest gives the correctly rounded result: the odd last bit remembers that something was cut off.

const word = new Float64Array(1);
const halves = new Uint32Array(word.buffer);

/** The double next to `value` in the direction of `direction` (not zero), where `value` is finite and not zero. */
function nudge(value: number, direction: number): number {
  word[0] = value;
  const away = value > 0 === direction > 0;
  const low = halves[0] ?? 0;
  const high = halves[1] ?? 0;
  if (away) {
    halves[0] = low + 1;
    if (low === 0xffffffff) halves[1] = high + 1;
  } else {
    halves[0] = low - 1;
    if (low === 0) halves[1] = high - 1;
  }
  return word[0];
}

/** a + b rounded to odd, in double precision. */
function addToOdd(a: number, b: number): number {
  const sum = a + b;
  const bb = sum - a;
  const error = a - (sum - bb) + (b - bb);
  // Also leaves infinities and NaN alone: their error is NaN.
  if (!(error < 0 || error > 0)) return sum;
  word[0] = sum;
  return ((halves[0] ?? 0) & 1) === 1 ? sum : nudge(sum, error);
}

/** x * y + z for float32 values, rounded once to float32. The product of two float32 is exact in double precision. */
export function fma32(x = 0, y = 0, z = 0): number {
  return Math.fround(addToOdd(x * y, z));
}

/** The exponents between which Dekker's splitting neither overflows nor loses bits. */
const safe = 2 ** 480;
const tiny = 2 ** -400;
const splitter = 2 ** 27 + 1;

/** x * y + z for doubles, rounded once. */
export function fma64(x = 0, y = 0, z = 0): number {
  const product = x * y;
  if (product === 0 || !Number.isFinite(product) || !Number.isFinite(z)) return fmaAtEdges(x, y, z);
  const inRange = (value: number): boolean => Math.abs(value) < safe && (value === 0 || Math.abs(value) > tiny);
  if (!inRange(x) || !inRange(y) || !inRange(z) || Math.abs(product) < tiny) return fmaByIntegers(x, y, z);
  const xHigh = x * splitter - (x * splitter - x);
  const yHigh = y * splitter - (y * splitter - y);
  const xLow = x - xHigh;
  const yLow = y - yHigh;
  const error = xLow * yLow - (product - xHigh * yHigh - xLow * yHigh - xHigh * yLow);
  // z + error exactly, then product + that exactly; what is left over is rounded to odd.
  const [tail, rest] = twoSum(z, error);
  const [head, middle] = twoSum(product, tail);
  return head + addToOdd(middle, rest);
}

function twoSum(a: number, b: number): [number, number] {
  const sum = a + b;
  const bb = sum - a;
  return [sum, a - (sum - bb) + (b - bb)];
}

/** A zero or infinite operand, an overflowing or underflowing product. */
function fmaAtEdges(x: number, y: number, z: number): number {
  const exact = x === 0 || y === 0 || !Number.isFinite(x) || !Number.isFinite(y) || !Number.isFinite(z);
  return exact
    ? Number.isFinite(z)
      ? x * y + z
      : Number.isFinite(x) && Number.isFinite(y)
        ? z
        : x * y + z
    : fmaByIntegers(x, y, z);
}

/** value = mantissa * 2^exponent, for a finite value. */
function decompose(value: number): [mantissa: bigint, exponent: number] {
  word[0] = value;
  const high = halves[1] ?? 0;
  const biased = (high >>> 20) & 0x7ff;
  const fraction = (BigInt(high & 0xfffff) << 32n) | BigInt(halves[0] ?? 0);
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  return [high >>> 31 === 1 ? -mantissa : mantissa, (biased === 0 ? 1 : biased) - 1075];
}

function fmaByIntegers(x: number, y: number, z: number): number {
  const [mx, ex] = decompose(x);
  const [my, ey] = decompose(y);
  const [mz, ez] = decompose(z);
  const exponent = Math.min(ex + ey, ez);
  const sum = ((mx * my) << BigInt(ex + ey - exponent)) + (mz << BigInt(ez - exponent));
  return sum === 0n ? x * y + z : roundBigint(sum, exponent);
}

/** mantissa * 2^exponent rounded to the nearest double, for a mantissa that is not zero. */
function roundBigint(mantissa: bigint, exponent: number): number {
  const negative = mantissa < 0n;
  const magnitude = negative ? -mantissa : mantissa;
  const length = magnitude.toString(2).length;
  // Bits below the last one of the result, which lies no lower than 2^-1074.
  const drop = Math.max(length - 53, -1074 - exponent, 0);
  let kept = magnitude >> BigInt(drop);
  if (drop > 0) {
    const rest = magnitude & ((1n << BigInt(drop)) - 1n);
    const half = 1n << BigInt(drop - 1);
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
  }
  const scaled = scale(Number(kept), exponent + drop);
  return negative ? -scaled : scaled;
}

/** value * 2^exponent, exact where the result is representable. */
function scale(value: number, exponent: number): number {
  let [result, left] = [value, exponent];
  while (left > 1000) [result, left] = [result * 2 ** 1000, left - 1000];
  while (left < -1000) [result, left] = [result * 2 ** -1000, left + 1000];
  return result * 2 ** left;
}
