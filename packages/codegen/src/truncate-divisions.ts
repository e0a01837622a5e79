// Divisions as machines have them. In: an index expression of a bound kernel. Out: the same, in which quotients and remainders of what is
// never negative round toward zero, as those of C do: there both ways to round are one. The others stay floor divisions, which printers
// spell by a function.
import { rangeOf } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';

export function truncateDivisions(index: Index): Index {
  switch (index.kind) {
    case 'int':
    case 'size':
    case 'axis':
    case 'indirect':
      return index;
    case 'sum':
    case 'product':
    case 'min':
    case 'max': {
      const items = index.items.map(truncateDivisions);
      return items.every((item, position) => item === index.items[position]) ? index : { ...index, items };
    }
    case 'floorDiv':
    case 'mod': {
      const [dividend, divisor] = [truncateDivisions(index.dividend), truncateDivisions(index.divisor)];
      if (isNonNegative(index.dividend)) return { ...index, dividend, divisor, rounding: 'toZero' };
      return dividend === index.dividend && divisor === index.divisor ? index : { ...index, dividend, divisor };
    }
  }
}

function isNonNegative(index: Index): boolean {
  const { min } = rangeOf(index);
  return min !== null && min >= 0;
}
