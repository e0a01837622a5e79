// The order of items in an epoch: a function of seed and epoch alone, so that it is the same in every run, on every machine, and in
// the middle of an epoch that is taken up again.

/** A generator of whole numbers below 2^32: sfc32 by Chris Doty-Humphrey. */
type Generator = () => number;

function generator(words: readonly [number, number, number]): Generator {
  let [a, b, c] = words;
  let counter = 1;
  const next = (): number => {
    const result = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  };
  // Seeds that differ in one bit give numbers that have nothing to do with each other from here on.
  for (let round = 0; round < 15; round += 1) next();
  return next;
}

const high = (value: number): number => Math.floor(value / 2 ** 32) | 0;

/** A seed for what a batch draws itself, drawn anew for each batch of each epoch: a whole number below 2^32. */
export const batchSeed = (seed: number, epoch: number, batch: number): number =>
  generator([seed | 0, high(seed) ^ Math.imul(batch + 1, 0x9e3779b1), epoch])();

/** The numbers from 0 to `length - 1` in the order of an epoch: every order is as likely. */
export function shuffledRows(length: number, seed: number, epoch: number): Uint32Array {
  const next = generator([seed | 0, high(seed), epoch]);
  const rows = Uint32Array.from({ length }, (_, row) => row);
  for (let last = length - 1; last > 0; last -= 1) {
    const other = below(last + 1, next);
    const kept = rows[last] ?? 0;
    rows[last] = rows[other] ?? 0;
    rows[other] = kept;
  }
  return rows;
}

/** A number below `count`, each as likely: numbers of the last, incomplete run of `count` are drawn again. */
function below(count: number, next: Generator): number {
  const end = 2 ** 32 - (2 ** 32 % count);
  for (;;) {
    const drawn = next();
    if (drawn < end) return drawn % count;
  }
}
