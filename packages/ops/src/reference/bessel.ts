// References of the modified Bessel functions in double precision, for the accuracy tests: the power series, whose terms
// have one sign, up to 40, and the asymptotic series beyond (DLMF 10.25, 10.40). Relative errors stay below 1e-12.

const FAR = 40;

/** exp(-x) I_order(x), x >= 0. */
function scaled(order: 0 | 1, x: number): number {
  return x < FAR ? Math.exp(-x) * series(order, x) : asymptotic(order, x);
}

function series(order: 0 | 1, x: number): number {
  let term = order === 0 ? 1 : x / 2;
  let sum = term;
  for (let k = 1; term > sum * 1e-18; k += 1) {
    term *= (x / 2 / k) * (x / 2 / (k + order));
    sum += term;
  }
  return sum;
}

function asymptotic(order: 0 | 1, x: number): number {
  let [term, sum] = [1, 1];
  for (let k = 1; k < 40; k += 1) {
    term *= -(4 * order - (2 * k - 1) ** 2) / (8 * k * x);
    sum += term;
  }
  return x === Infinity ? 0 : sum / Math.sqrt(2 * Math.PI * x);
}

/** exp(x) y without overflow on the way. */
const grown = (x: number, y: number): number => (x === Infinity ? Infinity : Math.exp(x / 2) * y * Math.exp(x / 2));

export const referenceI0e = (x = 0): number => scaled(0, Math.abs(x));
export const referenceI1e = (x = 0): number => (x < 0 ? -scaled(1, -x) : scaled(1, x));
export const referenceI0 = (x = 0): number => grown(Math.abs(x), referenceI0e(x));
export const referenceI1 = (x = 0): number =>
  Math.abs(x) === Infinity ? x : Math.exp(Math.abs(x) / 2) * referenceI1e(x) * Math.exp(Math.abs(x) / 2);
