// |x| = n pi/2 + r, at f64 also for f32 operands, for every finite x.
//
// Note [argument reduction]: below 2^47 by Cody and Waite's method with fused steps: pi/2 stands as three doubles, and each
// step is exact or rounds once far below r. Above by Payne and Hanek's: x times 2/pi, whose bits stand in chunks. A product
// of x (or half of it, at f64) with a chunk is exact. Leading chunks whose products are multiples of 4 are skipped, so that
// the quadrant and the fraction come from a few; which ones is chosen by comparing |x| with powers of two, without a branch.
import type { DType } from '@tsinductor/base';
import type { Term, TermLike } from '../term.ts';
import { abs, add, fma, mul, neg, sub } from './arithmetic.ts';
import { ge, lt, where } from './comparison.ts';
import { round } from './rounding.ts';

/** pi/2 as a sum of three doubles. */
const halfPi = [1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33] as const;

/** Where the short reduction by fused steps of the dtype ends: beyond, n would lose bits. */
const largeFrom = (dtype: DType): number => (dtype === 'f32' ? 2 ** 16 : 2 ** 47);

/** Whether x is large; not where it is NaN. */
export const isLarge = (x: Term, dtype: DType): Term => ge(abs(x), largeFrom(dtype));

interface Multiple {
  readonly n: Term;
  readonly r: Term;
}

/** Where Cody and Waite's method ends at f64. */
const huge = 2 ** 47;

/** For x >= 0 at f64, which holds values of `dtype`. */
export function reduceByHalfPi(x: Term, dtype: DType): Multiple {
  const near = reduceModerate(x, dtype === 'f32' ? 2 : 3);
  const far = dtype === 'f32' ? reduceHuge32(x) : reduceHuge64(x);
  const isModerate = lt(x, huge);
  return { n: where(isModerate, near.n, far.n), r: where(isModerate, near.r, far.r) };
}

/** For x in [0, 2^47) at f64. */
export function reduceModerate(x: Term, parts: number): Multiple {
  const n = round(mul(x, 2 / Math.PI));
  return { n, r: halfPi.slice(0, parts).reduce<Term>((rest, part) => fma(neg(n), part, rest), x) };
}

/** x - 4 round(x / 4): exact. */
const modulo4 = (x: Term): Term => sub(x, mul(4, round(mul(x, 0.25))));

/** a + b, and what rounding took from it. */
function twoSum(a: Term, b: Term): readonly [sum: Term, error: Term] {
  const sum = add(a, b);
  const part = sub(sum, a);
  return [sum, add(sub(a, sub(sum, part)), sub(b, part))];
}

/** 2/pi in integers of 28 bits. */
const chunks28 = [170891318, 240010261, 44024437, 131200308, 232525238, 43358524, 70845471];

/** The table from its entry 2^bit on where the test holds, cut to `length`. */
const skip = (table: readonly TermLike[], test: Term, [count, length]: readonly [number, number]): readonly Term[] =>
  Array.from({ length }, (_, k) => where(test, table[k + count] ?? 0, table[k] ?? 0));

/** |x| >= 2^47 with 24 bits. */
function reduceHuge32(x: Term): Multiple {
  const table = chunks28.map((chunk, k) => chunk * 2 ** (-28 * (k + 1)));
  const skipsTwo = ge(x, 2 ** 81);
  const five = skip(table, skipsTwo, [2, 5]);
  const skipsOne = ge(x, where(skipsTwo, 2 ** 109, 2 ** 53));
  const [p0 = x, p1 = x, p2 = x, p3 = x] = skip(five, skipsOne, [1, 4]).map((chunk) => mul(x, chunk));
  const [sum, error] = twoSum(modulo4(p0), p1);
  const n = round(add(sum, p2));
  const turns = add(add(add(sub(sum, n), p2), error), p3);
  return { n, r: mul(turns, Math.PI / 2) };
}

/** 2/pi in integers of 26 bits. */
const chunks26 = [
  42722829, 48555073, 21659401, 56087029, 13858563, 28715353, 38736100, 4324945, 26128250, 62674459, 29957006, 37899730,
  58726692, 49193117, 6588223, 35515164, 46442140, 65964067, 24988590, 54822121, 41009306, 54917092, 5137525, 37323603,
  15192690, 4585659, 58608142, 52426903, 67074070, 25231090, 63202006, 34237727, 28629499, 15891632, 40752081, 37709470,
  25143477, 55737260, 33225084, 24853767, 15195689, 19476134, 50255852, 18845021,
];
const chunksUsed = 7;

/** |x| >= 2^47 with 53 bits: x is brought under 2^80 while chunks are skipped, 32, 16, 8, 4, 2 and 1 at a time. */
function reduceHuge64(x: Term): Multiple {
  let table: readonly TermLike[] = chunks26;
  let scaled = x;
  for (let count = 32; count >= 1; count /= 2) {
    const test = ge(scaled, 2 ** (54 + 26 * count));
    scaled = where(test, mul(scaled, 2 ** (-26 * count)), scaled);
    table = skip(table, test, [count, chunksUsed + count - 1]);
  }
  const spread = mul(scaled, 2 ** 27 + 1);
  const high = sub(spread, sub(spread, scaled));
  const low = sub(scaled, high);
  const products = table.flatMap((chunk, k) => {
    const weighted = mul(chunk, 2 ** (-26 * (k + 1)));
    return [mul(high, weighted), mul(low, weighted)];
  });
  return turnsToRadians(products);
}

/** Products in turns of pi/2, largest first: all but the last ones are added without error. */
function turnsToRadians(products: readonly Term[]): Multiple {
  const exact = products.slice(0, 10).map((product, k) => (k < 6 ? modulo4(product) : product));
  const tail = products.slice(10).reduce((a, b) => add(a, b));
  const [first = tail, ...others] = exact;
  const whole = others.reduce((a, b) => add(a, b), first);
  const n = round(whole);
  // The sum less n, as high + low.
  let high: Term = first;
  let low: Term = tail;
  for (const [position, term] of [...others.slice(0, 6), neg(n), ...others.slice(6)].entries()) {
    const [sum, error] = twoSum(high, term);
    high = sum;
    low = position === 0 ? add(tail, error) : add(low, error);
  }
  return { n, r: add(mul(high, halfPi[0]), add(mul(low, halfPi[0]), mul(high, halfPi[1]))) };
}
