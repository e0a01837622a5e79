// References of the error function's family in double precision, for the accuracy tests: other formulas than the table's.
// A series whose terms have one sign near 0, a continued fraction far from it, Newton's method for the inverses. Relative
// errors stay below 1e-12 (1e-11 for the inverses). Formulas: DLMF, chapter 7.

const TWO_OVER_ROOT_PI = 1.1283791670955126;
const ROOT_PI = 1.7724538509055159;
/** From here on the continued fraction is used. */
const FAR = 2.5;

/** erf near 0: 2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (1 3 5 ... 2n+1). */
function erfSeries(x: number): number {
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-18; n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return TWO_OVER_ROOT_PI * Math.exp(-x * x) * sum;
}

/** exp(x^2) erfc(x) for x >= FAR. */
function erfcxFraction(x: number): number {
  let fraction = x;
  for (let k = 120; k >= 1; k -= 1) fraction = x + k / 2 / fraction;
  return 1 / (ROOT_PI * fraction);
}

export const referenceErf = (x = 0): number =>
  Math.abs(x) < FAR ? erfSeries(x) : Math.sign(x) * (1 - referenceErfc(Math.abs(x)));

export function referenceErfc(x = 0): number {
  if (x < 0) return 1 + referenceErf(-x);
  return x < FAR ? 1 - erfSeries(x) : Math.exp(-x * x) * (x === Infinity ? 0 : erfcxFraction(x));
}

export function referenceErfcx(x = 0): number {
  if (x === Infinity) return 0;
  if (x > FAR) return erfcxFraction(x);
  return Math.exp(x * x) * referenceErfc(x);
}

export const referenceNdtr = (x = 0): number => referenceErfc(-x * Math.SQRT1_2) / 2;

export function referenceLogNdtr(x = 0): number {
  if (x === -Infinity) return -Infinity;
  if (x > 1) return Math.log1p(-referenceErfc(x * Math.SQRT1_2) / 2);
  return x > -1 ? Math.log(referenceNdtr(x)) : Math.log(referenceErfcx(-x * Math.SQRT1_2) / 2) - (x * x) / 2;
}

/** The x with log(ndtr(x)) = target <= log(1/2): a concave function, on which Newton's method cannot leave the root. */
function lowerQuantile(target: number): number {
  let x = -Math.sqrt(Math.max(-2 * target - 1.3, 0));
  for (let step = 0; step < 100; step += 1) {
    const ratio = ROOT_PI * Math.SQRT1_2 * referenceErfcx(-x * Math.SQRT1_2);
    const change = (referenceLogNdtr(x) - target) * ratio;
    x -= change;
    if (Math.abs(change) <= Math.abs(x) * 1e-16) break;
  }
  return x;
}

export function referenceNdtri(p = 0): number {
  if (!(p >= 0 && p <= 1)) return NaN;
  if (p === 0 || p === 1) return p === 0 ? -Infinity : Infinity;
  // Near 1/2 the distance from it is what counts.
  if (Math.abs(p - 0.5) < 0.3) return Math.SQRT2 * referenceErfinv(2 * (p - 0.5));
  return p < 0.5 ? lowerQuantile(Math.log(p)) : -lowerQuantile(Math.log1p(-p));
}

export function referenceErfinv(y = 0): number {
  if (!(Math.abs(y) <= 1)) return NaN;
  if (Math.abs(y) === 1) return y * Infinity;
  if (Math.abs(y) > 0.7) return -Math.sign(y) * Math.SQRT1_2 * lowerQuantile(Math.log((1 - Math.abs(y)) / 2));
  let x = y / TWO_OVER_ROOT_PI;
  for (let step = 0; step < 60; step += 1) {
    const change = (erfSeries(x) - y) / (TWO_OVER_ROOT_PI * Math.exp(-x * x));
    x -= change;
    if (Math.abs(change) <= Math.abs(x) * 1e-17) break;
  }
  return x;
}
