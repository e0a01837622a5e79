// Integer operations whose edges C leaves open, with the edges defined. `int` results are wrapped to the dtype's width by
// the caller, so a left shift by 8 to 31 is 0 at 8 bits; arithmetic right shifts saturate at 31.
import type { Evaluators } from '../define.ts';

export const shiftLeft: Evaluators = {
  int: (x = 0, y = 0) => (y >= 0 && y < 32 ? x << y : 0),
  bigint: (x = 0n, y = 0n) => (y >= 0n && y < 64n ? x << y : 0n),
};

export const shiftRight: Evaluators = {
  int: (x = 0, y = 0) => x >> (y >= 0 && y < 32 ? y : 31),
  bigint: (x = 0n, y = 0n) => x >> (y >= 0n && y < 64n ? y : 63n),
};

function powerOfNegative(base: number | bigint, odd: boolean): number {
  if (Number(base) === 1) return 1;
  return Number(base) === -1 ? (odd ? -1 : 1) : 0;
}

/** x to the power of y by repeated squaring; products wrap at 32 bits, which the caller cuts to the width. */
export const integerPower: Evaluators = {
  int: (x = 0, y = 0) => {
    if (y < 0) return powerOfNegative(x, (y & 1) === 1);
    let [result, base] = [1, x];
    for (let left = y; left > 0; left >>= 1) {
      if ((left & 1) === 1) result = Math.imul(result, base);
      base = Math.imul(base, base);
    }
    return result;
  },
  bigint: (x = 0n, y = 0n) => {
    if (y < 0n) return BigInt(powerOfNegative(x, (y & 1n) === 1n));
    let [result, base] = [1n, x];
    for (let left = y; left > 0n; left >>= 1n) {
      if ((left & 1n) === 1n) result = BigInt.asIntN(64, result * base);
      base = BigInt.asIntN(64, base * base);
    }
    return result;
  },
};
