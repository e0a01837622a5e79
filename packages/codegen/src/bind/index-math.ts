// Index arithmetic as the strategies use it: rebuilding an expression over other names, rounding, static values.
import { at } from '@tsinductor/base';
import {
  axisIndex,
  ceilDivide,
  coefficientOf,
  equal,
  floorDivide,
  indexOperands,
  int,
  maximum,
  minimum,
  modulo,
  multiply,
  rangeOf,
  subtract,
  sum,
} from '@tsinductor/ir';
import type { Axis, Index, ScalarId } from '@tsinductor/ir';

interface IndexMap {
  axis(axis: Axis): Index;
  indirect(value: ScalarId, extent: Index): Index;
  /** What quotients and remainders of what has been replaced become; undefined, or absent: what they are everywhere. */
  readonly floorDivide?: (dividend: Index, divisor: Index) => Index | undefined;
  readonly modulo?: (dividend: Index, divisor: Index) => Index | undefined;
}

/** `index` with its axes and loaded indices replaced; canonical again. What does not change is returned as it was. */
export function mapIndex(index: Index, map: IndexMap): Index {
  switch (index.kind) {
    case 'int':
    case 'size':
      return index;
    case 'axis':
      return unlessSame(index, map.axis(index.axis));
    case 'indirect':
      return map.indirect(index.value, mapIndex(index.extent, map));
    case 'sum':
    case 'product':
    case 'min':
    case 'max': {
      const items = index.items.map((item) => mapIndex(item, map));
      return items.every((item, place) => item === index.items[place]) ? index : rebuild[index.kind](items);
    }
    case 'floorDiv':
    case 'mod':
      return mapDivision(index, map);
  }
}

const unlessSame = (before: Index, after: Index): Index => (equal(before, after) ? before : after);

const rebuild = {
  sum,
  product: (items: readonly Index[]) => items.reduce((left, right) => multiply(left, right)),
  min: (items: readonly Index[]) => items.reduce((left, right) => minimum(left, right)),
  max: (items: readonly Index[]) => items.reduce((left, right) => maximum(left, right)),
} as const;

function mapDivision(index: Index & { readonly kind: 'floorDiv' | 'mod' }, map: IndexMap): Index {
  const [dividend, divisor] = [mapIndex(index.dividend, map), mapIndex(index.divisor, map)];
  const mapped = (index.kind === 'mod' ? map.modulo : map.floorDivide)?.(dividend, divisor);
  if (mapped !== undefined) return mapped;
  if (dividend === index.dividend && divisor === index.divisor) return index;
  return (index.kind === 'mod' ? modulo : floorDivide)(dividend, divisor);
}

/** Whether a loaded index occurs in `index`. */
export function hasIndirect(index: Index): boolean {
  switch (index.kind) {
    case 'int':
    case 'size':
    case 'axis':
      return false;
    case 'indirect':
      return true;
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return index.items.some(hasIndirect);
    case 'floorDiv':
    case 'mod':
      return hasIndirect(index.dividend) || hasIndirect(index.divisor);
  }
}

/** A kernel's name (of a loop, of a scalar) as an index. `extent` bounds it: 0 <= name < extent. */
export const named = (name: string, extent: Index): Index => axisIndex({ name, extent });

export const staticValue = (index: Index): number | undefined => (index.kind === 'int' ? index.value : undefined);

/** What to reckon with for an index that may be symbolic. */
export function typicalValue(index: Index): number {
  const reckoned = index.kind === 'int' ? undefined : reckonedValue(index);
  const { min, max } = rangeOf(index);
  if (reckoned !== undefined) return Math.min(max ?? Infinity, Math.max(min ?? 0, reckoned));
  if (max !== null && max < 4096) return max;
  return Math.max(min ?? 0, 256);
}

/** The value for the typical values of its sizes; undefined where one has none, and where it depends on axes. */
function reckonedValue(index: Index): number | undefined {
  if (index.kind === 'int') return index.value;
  if (index.kind === 'size') return index.typical;
  if (index.kind === 'axis' || index.kind === 'indirect') return undefined;
  const values = indexOperands(index).map(reckonedValue);
  const known = values.filter((value) => value !== undefined);
  if (known.length < values.length) return undefined;
  const [first = 0, divisor = 1] = known;
  // Divisors are positive for all sizes that there can be.
  const second = Math.max(1, divisor);
  switch (index.kind) {
    case 'sum':
      return known.reduce((left, right) => left + right, 0);
    case 'product':
      return known.reduce((left, right) => left * right, 1);
    case 'min':
      return Math.min(...known);
    case 'max':
      return Math.max(...known);
    case 'floorDiv':
      return Math.floor(first / second);
    case 'mod':
      return first % second;
  }
}

/** The step of `index` along an axis, where it is the same number everywhere; undefined where it is not. */
export function strideAlong(index: Index, axis: string): number | undefined {
  const step = coefficientOf(index, axis);
  if (step?.kind !== 'int') return undefined;
  return step.value === 0 && hasIndirect(index) ? undefined : step.value;
}

/** The largest multiple of `unit` that is not above `index`. */
export const roundDown = (index: Index, unit: number): Index =>
  unit === 1 ? index : multiply(floorDivide(index, int(unit)), int(unit));

export const roundUp = (index: Index, unit: number): Index =>
  unit === 1 ? index : multiply(ceilDivide(index, int(unit)), int(unit));

export const product = (items: readonly Index[]): Index => items.reduce((left, right) => multiply(left, right), int(1));

/** Whether every value of `index` is a multiple of `unit`, as far as its form and what is known of names show. */
export function isMultipleOf(index: Index, unit: number, units: ReadonlyMap<string, number> = new Map()): boolean {
  const of = (item: Index): boolean => isMultipleOf(item, unit, units);
  switch (index.kind) {
    case 'int':
      return index.value % unit === 0;
    case 'axis':
      return (units.get(index.axis.name) ?? 1) % unit === 0;
    case 'sum':
    case 'min':
    case 'max':
      return index.items.every(of);
    case 'product': {
      const constant = index.items.reduce((left, item) => left * (item.kind === 'int' ? item.value : 1), 1);
      return constant % unit === 0 || index.items.some((item) => item.kind !== 'int' && of(item));
    }
    case 'size':
    case 'indirect':
    case 'floorDiv':
    case 'mod':
      return unit === 1;
  }
}

export const nextPowerOfTwo = (value: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, value)));

export const difference = (left: Index, right: Index): Index => subtract(left, right);

/** What is added to the rest of an index: the last item of a sum, where that is a number. */
export function constantTerm(index: Index): number {
  const last = index.kind === 'sum' ? at(index.items, index.items.length - 1) : index;
  return last.kind === 'int' ? last.value : 0;
}
