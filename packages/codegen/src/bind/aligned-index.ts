// Quotients and remainders of coordinates at the lanes of a vector that stands at a known multiple: with lane 0 at a multiple of 32
// and 8 lanes, (i + 8) mod 8 is the number of the lane, (i + 8) / 32 is i / 32, and (i / 8 + 1) mod 4 is 1. So what neighbouring
// vectors have in common reads the same, and is computed once.
//
// In: an index in the kernel's names, and what they are multiples of. Out: an index with the same value in every lane.
import { floorDivide, int, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { isMultipleOf, mapIndex, named, staticValue } from './index-math.ts';

export interface Alignment {
  /** The name that lanes are counted from: its value is that of lane 0 in `units`, and up to `lanes` - 1 more in the others. */
  readonly axis: string;
  readonly lanes: number;
  /** What names are multiples of, where that is more than 1. */
  readonly units: ReadonlyMap<string, number>;
}

/** `index` with its quotients and remainders as simple as `alignment` allows. */
export const alignIndex = (index: Index, alignment: Alignment): Index =>
  mapIndex(index, {
    axis: ({ name, extent }) => named(name, extent),
    indirect: (value, extent) => ({ kind: 'indirect', value, extent }),
    floorDivide: (dividend, divisor) => alignedQuotient(dividend, divisor, alignment),
    modulo: (dividend, divisor) => alignedRemainder(dividend, divisor, alignment),
  });

/** Whether an index has one value in all lanes, as `i / 16` has in 8 lanes from a multiple of 8 on. */
export function isUniform(index: Index, alignment: Alignment): boolean {
  const of = (item: Index): boolean => isUniform(item, alignment);
  switch (index.kind) {
    case 'int':
    case 'size':
      return true;
    case 'axis':
      return index.axis.name !== alignment.axis;
    case 'indirect':
      return false;
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return index.items.every(of);
    case 'floorDiv': {
      // No lane reaches the next multiple of the divisor where none reaches that of a part of it.
      const by = staticValue(index.divisor) ?? 0;
      const parts = by % alignment.lanes === 0 ? [by, alignment.lanes] : [by];
      const isWithinOne = parts.some((part) => part > 0 && residueOf(index.dividend, part, alignment) !== undefined);
      return isWithinOne || (of(index.dividend) && of(index.divisor));
    }
    case 'mod':
      return of(index.dividend) && of(index.divisor);
  }
}

/** A constant that carries no multiple of the divisor over is left out; undefined where there is none. */
function alignedQuotient(dividend: Index, divisor: Index, alignment: Alignment): Index | undefined {
  const by = staticValue(divisor);
  const constant = dividend.kind === 'sum' ? (dividend.items.find(({ kind }) => kind === 'int') ?? int(0)) : int(0);
  const term = staticValue(constant) ?? 0;
  if (by === undefined || term <= 0) return undefined;
  const rest = subtract(dividend, constant);
  const [before, after] = [residueOf(rest, by, alignment), residueOf(dividend, by, alignment)];
  const isWhole = before !== undefined && before.low + term === after?.low;
  return isWhole ? floorDivide(rest, divisor) : undefined;
}

/** The remainder where it is the same number in all lanes, else undefined. */
function alignedRemainder(dividend: Index, divisor: Index, alignment: Alignment): Index | undefined {
  const by = staticValue(divisor);
  const residue = by === undefined ? undefined : residueOf(dividend, by, alignment);
  return residue !== undefined && residue.low === residue.high ? int(residue.low) : undefined;
}

/** Both ends inclusive. */
interface Interval {
  readonly low: number;
  readonly high: number;
}

const nothing: Interval = { low: 0, high: 0 };

/** Between which numbers below `modulus` the remainders by it lie, in all lanes; undefined where that is not known. */
function residueOf(index: Index, modulus: number, alignment: Alignment): Interval | undefined {
  switch (index.kind) {
    case 'int': {
      const rest = ((index.value % modulus) + modulus) % modulus;
      return { low: rest, high: rest };
    }
    case 'axis': {
      if (!isMultipleOf(index, modulus, alignment.units)) return undefined;
      return index.axis.name === alignment.axis ? within({ low: 0, high: alignment.lanes - 1 }, modulus) : nothing;
    }
    case 'sum':
      return residueOfSum(index.items, modulus, alignment);
    case 'product':
      return residueOfProduct(index.items, modulus, alignment);
    case 'floorDiv': {
      const by = staticValue(index.divisor);
      const rest = by === undefined ? undefined : residueOf(index.dividend, modulus * by, alignment);
      if (by === undefined || rest === undefined) return undefined;
      return { low: Math.floor(rest.low / by), high: Math.floor(rest.high / by) };
    }
    case 'mod': {
      const by = staticValue(index.divisor);
      if (by === undefined || (by % modulus !== 0 && modulus % by !== 0)) return undefined;
      return residueOf(index.dividend, Math.min(by, modulus), alignment);
    }
    case 'size':
    case 'indirect':
    case 'min':
    case 'max':
      return undefined;
  }
}

const within = (interval: Interval, modulus: number): Interval | undefined =>
  interval.high < modulus ? interval : undefined;

function residueOfSum(items: readonly Index[], modulus: number, alignment: Alignment): Interval | undefined {
  let sum = nothing;
  for (const item of items) {
    const next = residueOf(item, modulus, alignment);
    if (next === undefined) return undefined;
    sum = { low: sum.low + next.low, high: sum.high + next.high };
  }
  return within(sum, modulus);
}

function residueOfProduct(items: readonly Index[], modulus: number, alignment: Alignment): Interval | undefined {
  const factor = items.reduce((left, item) => left * (staticValue(item) ?? 1), 1);
  if (factor % modulus === 0) return nothing;
  const [only, ...others] = items.filter((item) => item.kind !== 'int');
  if (only === undefined || others.length > 0 || factor < 1 || modulus % factor !== 0) return undefined;
  const rest = residueOf(only, modulus / factor, alignment);
  return rest && { low: rest.low * factor, high: rest.high * factor };
}
