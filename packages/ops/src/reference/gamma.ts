// References of the gamma family in double precision, for the accuracy tests: other formulas than the table's. Stirling's
// series behind a recurrence, Taylor's around 1 and 2, reflection below 0; the incomplete functions by their series and
// continued fraction, zeta by Euler-Maclaurin summation. Relative errors stay below 1e-12 away from the zeros of lgamma
// and digamma, absolute ones below 1e-14 next to them. Formulas: DLMF, chapters 5, 8 and 25.

/** B(2k), k from 1. */
const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798];
const EULER = 0.5772156649015329;
/** From where the asymptotic series are exact to double precision. */
const FAR = 16;

/** sum B(2k) factor(k), smallest terms first. */
const bernoulliSum = (factor: (k: number) => number): number =>
  BERNOULLI.reduceRight((sum, number, index) => sum + number * factor(index + 1), 0);

/** sin(pi x) with an exact reduction. */
function sinPi(x: number): number {
  const rest = x - Math.round(x);
  return (Math.abs(Math.round(x)) % 2 === 0 ? 1 : -1) * Math.sin(Math.PI * rest);
}
const tanPi = (x: number): number => Math.tan(Math.PI * (x - Math.round(x)));

/** log(gamma(1 + t)) for |t| <= 1/2: the sum of zeta(k) (-t)^k / k. */
function lgammaNearOne(t: number): number {
  let sum = 0;
  for (let k = 60; k >= 2; k -= 1) sum += ((ZETA[k] ?? 1) * (-t) ** k) / k;
  return sum - EULER * t;
}

function stirling(x: number): number {
  const series = bernoulliSum((k) => x ** (1 - 2 * k) / (2 * k * (2 * k - 1)));
  return (x - 0.5) * (Math.log(x) - 1) - 0.5 + 0.9189385332046727 + series;
}

export function referenceLgamma(x = 0): number {
  if (Number.isNaN(x)) return NaN;
  if (Math.abs(x) === Infinity || (x <= 0 && Number.isInteger(x))) return Infinity;
  if (x < -0.5) return Math.log(Math.PI / Math.abs(sinPi(x))) - referenceLgamma(1 - x);
  if (x < 0.5) return referenceLgamma(1 + x) - Math.log(Math.abs(x));
  if (x <= 1.5) return lgammaNearOne(x - 1);
  if (x <= 2.5) return Math.log1p(x - 2) + lgammaNearOne(x - 2);
  let [shifted, product] = [x, 1];
  while (shifted < FAR) {
    product *= shifted;
    shifted += 1;
  }
  return stirling(shifted) - Math.log(product);
}

export function referenceDigamma(x = 0): number {
  if (x === 0) return Object.is(x, 0) ? -Infinity : Infinity;
  if (x === Infinity) return Infinity;
  if (x < 0) return Number.isInteger(x) || x === -Infinity ? NaN : referenceDigamma(1 - x) - Math.PI / tanPi(x);
  let [shifted, sum] = [x, 0];
  while (shifted < FAR) {
    sum += 1 / shifted;
    shifted += 1;
  }
  const series = bernoulliSum((k) => shifted ** (-2 * k) / (2 * k));
  return Math.log(shifted) - 0.5 / shifted - series - sum;
}

export function referenceTrigamma(x = 0): number {
  if (x === Infinity) return 0;
  if (x <= 0 && Number.isInteger(x)) return Infinity;
  if (x < 0) return (Math.PI / sinPi(x)) ** 2 - referenceTrigamma(1 - x);
  let [shifted, sum] = [x, 0];
  while (shifted < FAR) {
    sum += 1 / shifted ** 2;
    shifted += 1;
  }
  return sum + 1 / shifted + 0.5 / shifted ** 2 + bernoulliSum((k) => shifted ** (-1 - 2 * k));
}

/** sum over k of (q + k)^-x, x > 1; as in Cephes, q below 0 takes whole x only. */
export function referenceZeta(x = 0, q = 1): number {
  const pole = isPole(q);
  // A pole comes before what is no number.
  if (x === 1 || (pole && (x > 1 || Number.isNaN(x)))) return Infinity;
  // At q = Infinity as Cephes and PyTorch have it.
  if (!(x > 1) || Number.isNaN(q) || q === Infinity) return NaN;
  return q > 0 || Number.isInteger(x) ? eulerMaclaurin(x, q) : NaN;
}

const isPole = (q: number): boolean => q <= 0 && Math.floor(q) === q;

function eulerMaclaurin(x: number, q: number): number {
  // What each addition rounds off is kept: terms of both signs may cancel but for a small rest (Neumaier 1974).
  let [sum, lost, at] = [0, 0, q];
  for (let k = 0; k < FAR || at < FAR; k += 1) {
    const term = at ** -x;
    const next = sum + term;
    lost += Math.abs(sum) >= Math.abs(term) ? sum - next + term : term - next + sum;
    sum = next;
    at += 1;
  }
  let rising = x;
  const tail = BERNOULLI.reduce((total, number, index) => {
    const k = index + 1;
    const term = (number * rising * at ** (1 - 2 * k - x)) / factorial(2 * k);
    rising *= (x + 2 * k - 1) * (x + 2 * k);
    return total + term;
  }, 0);
  return sum + (Number.isFinite(lost) ? lost : 0) + at ** (1 - x) / (x - 1) + at ** -x / 2 + tail;
}

/** zeta(k). */
const ZETA: readonly number[] = Array.from({ length: 61 }, (_, k) => (k < 2 ? 0 : eulerMaclaurin(k, 1)));

function factorial(n: number): number {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

/** x^a e^-x / gamma(a + 1). */
const front = (a: number, x: number): number => Math.exp(a * Math.log(x) - x - referenceLgamma(a + 1));

function lowerSeries(a: number, x: number): number {
  let [term, sum] = [1, 1];
  for (let n = 1; term > sum * 1e-17; n += 1) {
    term *= x / (a + n);
    sum += term;
  }
  return front(a, x) * sum;
}

/** The upper function by its continued fraction, evaluated by Lentz's method. */
function upperFraction(a: number, x: number): number {
  let b = x + 1 - a;
  let [c, d] = [1e300, 1 / b];
  let fraction = d;
  for (let n = 1; n < 100_000; n += 1) {
    const step = -n * (n - a);
    b += 2;
    d = 1 / (step * d + b);
    c = b + step / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return front(a, x) * a * fraction;
}

/** What both incomplete functions are at the ends of their domain, in PyTorch's order; undefined inside. */
function atEnds(a: number, x: number, [low, high]: readonly [number, number]): number | undefined {
  if (a < 0 || x < 0) return NaN;
  if (a === 0) return x > 0 ? high : NaN;
  if (x === 0) return low;
  if (a === Infinity) return x === Infinity ? NaN : low;
  if (x === Infinity) return high;
  return Number.isNaN(a) || Number.isNaN(x) ? NaN : undefined;
}

export const referenceIgamma = (a = 0, x = 0): number =>
  atEnds(a, x, [0, 1]) ?? (x < a + 1 ? lowerSeries(a, x) : 1 - upperFraction(a, x));

export const referenceIgammac = (a = 0, x = 0): number =>
  atEnds(a, x, [1, 0]) ?? (x < a + 1 ? 1 - lowerSeries(a, x) : upperFraction(a, x));
