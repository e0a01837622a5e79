// Between which expressions the integer values of a body lie. In: nodes by id. Out: an index expression that is at most,
// and one that is at least, what a node has at each point; so `clamp(x, 0, s0 - 1)` lies between 0 and s0 - 1.
//
// With `indices` only what is an index expression or a constant is known; with `values` also what loads of narrow dtypes,
// checks and arithmetic on such values give. Nothing is concluded where arithmetic could wrap.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { PointwiseName } from '@tsinductor/ops';
import { floorDivide } from '../arithmetic/divide.ts';
import { maximum, minimum } from '../arithmetic/extremum.ts';
import { add, int, multiply, subtract } from '../arithmetic/polynomial.ts';
import { boundsOf, isAtMost } from '../arithmetic/range.ts';
import type { Index } from '../index-expr.ts';
import type { Scalar, ScalarId } from '../scalar.ts';
import { constantToValue } from './constant.ts';

/** Both ends inclusive; absent where nothing is known. */
interface ScalarBounds {
  readonly low?: Index;
  readonly high?: Index;
}

export type BoundsReach = 'indices' | 'values';

const unknown: ScalarBounds = {};
const exactly = (value: Index): ScalarBounds => ({ low: value, high: value });
const between = (low: Index | undefined, high: Index | undefined): ScalarBounds => ({
  ...(low !== undefined && { low }),
  ...(high !== undefined && { high }),
});

/** Both, where both are known. */
const both = (a: Index | undefined, b: Index | undefined, join: (a: Index, b: Index) => Index): Index | undefined =>
  a === undefined || b === undefined ? undefined : join(a, b);
/** Both, or the one that is known. */
const either = (a: Index | undefined, b: Index | undefined, join: (a: Index, b: Index) => Index): Index | undefined =>
  a === undefined ? b : b === undefined ? a : join(a, b);

const hull = (x: ScalarBounds, y: ScalarBounds): ScalarBounds =>
  between(both(x.low, y.low, minimum), both(x.high, y.high, maximum));
const greater = (x: ScalarBounds, y: ScalarBounds): ScalarBounds =>
  between(either(x.low, y.low, maximum), both(x.high, y.high, maximum));
const lesser = (x: ScalarBounds, y: ScalarBounds): ScalarBounds =>
  between(both(x.low, y.low, minimum), either(x.high, y.high, minimum));

/** A divisor that is a positive number. */
const positive = ({ low, high }: ScalarBounds): Index | undefined =>
  low?.kind === 'int' && high?.kind === 'int' && low.value === high.value && low.value > 0 ? low : undefined;

const notNegative = ({ low }: ScalarBounds): boolean => low !== undefined && isAtMost(int(0), low);

function quotient(x: ScalarBounds, y: ScalarBounds): ScalarBounds {
  const divisor = positive(y);
  if (divisor === undefined) return unknown;
  return between(x.low && floorDivide(x.low, divisor), x.high && floorDivide(x.high, divisor));
}

function rest(_: ScalarBounds, y: ScalarBounds): ScalarBounds {
  const divisor = positive(y);
  return divisor === undefined ? unknown : between(int(0), subtract(divisor, int(1)));
}

function scaled(x: ScalarBounds, y: ScalarBounds): ScalarBounds {
  const factor = positive(y);
  if (factor === undefined) return unknown;
  return between(x.low && multiply(x.low, factor), x.high && multiply(x.high, factor));
}

/** Bits that a number without a sign lets through. */
const masked = (x: ScalarBounds, y: ScalarBounds): ScalarBounds =>
  notNegative(y) ? between(int(0), y.high) : notNegative(x) ? between(int(0), x.high) : unknown;

type Rule = (x: ScalarBounds, y: ScalarBounds) => ScalarBounds;

/** What arithmetic gives that wraps where its result does not fit. */
const wrapping: Readonly<Partial<Record<PointwiseName, Rule>>> = {
  add: (x, y) => between(both(x.low, y.low, add), both(x.high, y.high, add)),
  sub: (x, y) => between(both(x.low, y.high, subtract), both(x.high, y.low, subtract)),
  mul: (x, y) => (positive(x) === undefined ? scaled(x, y) : scaled(y, x)),
};

/** What choices give, whose result is between their operands, or between 0 and one of them. */
const choosing: Readonly<Partial<Record<PointwiseName, Rule>>> = {
  maximum: greater,
  minimum: lesser,
  clampMin: greater,
  clampMax: lesser,
  divFloor: quotient,
  remainder: rest,
  bitwiseAnd: masked,
};

/** The values of a dtype of at most 32 bits. */
function dtypeBounds(dtype: DType): ScalarBounds {
  const { category, bytes, signed } = dtypeInfo[dtype];
  if (category === 'bool') return between(int(0), int(1));
  if (category === 'float' || bytes > 4) return unknown;
  const span = 2 ** (8 * bytes);
  return signed ? between(int(-span / 2), int(span / 2 - 1)) : between(int(0), int(span - 1));
}

/** What the values of a body lie between, found once for each node. */
export class BoundsFinder {
  readonly #nodeOf: (id: ScalarId) => Scalar;
  readonly #reach: BoundsReach;
  readonly #known = new Map<ScalarId, ScalarBounds>();

  constructor(nodeOf: (id: ScalarId) => Scalar, reach: BoundsReach) {
    this.#nodeOf = nodeOf;
    this.#reach = reach;
  }

  of(id: ScalarId): ScalarBounds {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const bounds = this.#find(this.#nodeOf(id));
    this.#known.set(id, bounds);
    return bounds;
  }

  #find(node: Scalar): ScalarBounds {
    if (isFloat(node.dtype)) return unknown;
    if (node.kind === 'index') return exactly(node.value);
    if (node.kind === 'constant') {
      const value = Number(constantToValue(node.value, node.dtype));
      return Number.isSafeInteger(value) ? exactly(int(value)) : unknown;
    }
    return this.#reach === 'indices' ? unknown : this.#ofValue(node);
  }

  #ofValue(node: Scalar): ScalarBounds {
    switch (node.kind) {
      case 'check':
        return between(int(0), subtract(node.extent, int(1)));
      case 'cast':
        return unwrapped(this.of(node.value), node.dtype);
      case 'apply':
        return this.#ofResult(node);
      case 'constant':
      case 'index':
      case 'carried':
      case 'load':
      case 'bitcast':
        return dtypeBounds(node.dtype);
    }
  }

  #ofResult({ op, args, dtype }: Scalar & { readonly kind: 'apply' }): ScalarBounds {
    const operands = args.map((id) => this.of(id));
    if (op === 'where') return hull(at(operands, 1), at(operands, 2));
    const [x = unknown, y = unknown] = operands;
    const wraps = wrapping[op];
    return wraps === undefined ? (choosing[op]?.(x, y) ?? dtypeBounds(dtype)) : unwrapped(wraps(x, y), dtype);
  }
}

/** Bounds of a result that wraps at its dtype where it does not fit. */
function unwrapped(bounds: ScalarBounds, dtype: DType): ScalarBounds {
  const { low, high } = bounds;
  const all = dtypeBounds(dtype);
  if (low === undefined || high === undefined) return all;
  const { low: least, high: most } = all;
  const fits =
    least === undefined || most === undefined
      ? boundsOf(low).low >= -(2 ** 53) && boundsOf(high).high <= 2 ** 53
      : isAtMost(least, low) && isAtMost(high, most);
  return fits ? bounds : all;
}

type Order = (x: ScalarBounds, y: ScalarBounds) => boolean | undefined;

const isLess = (x: ScalarBounds, y: ScalarBounds): boolean =>
  x.high !== undefined && y.low !== undefined && isAtMost(add(x.high, int(1)), y.low);
const isNotGreater = (x: ScalarBounds, y: ScalarBounds): boolean =>
  x.high !== undefined && y.low !== undefined && isAtMost(x.high, y.low);

const less: Order = (x, y) => (isLess(x, y) ? true : isNotGreater(y, x) ? false : undefined);
const differ: Order = (x, y) => (isLess(x, y) || isLess(y, x) ? true : undefined);
const not = (order: Order, x: ScalarBounds, y: ScalarBounds): boolean | undefined => {
  const answer = order(x, y);
  return answer === undefined ? undefined : !answer;
};

const orders: Readonly<Partial<Record<PointwiseName, Order>>> = {
  lt: less,
  ge: (x, y) => not(less, x, y),
  gt: (x, y) => less(y, x),
  le: (x, y) => not(less, y, x),
  ne: differ,
  eq: (x, y) => not(differ, x, y),
};

/** What a comparison answers at every point, where bounds decide it. */
export function decidedBy(finder: BoundsFinder, op: PointwiseName, args: readonly ScalarId[]): boolean | undefined {
  const order = orders[op];
  return order?.(finder.of(at(args, 0)), finder.of(at(args, 1)));
}

/** Whether an index lies in [0, extent) for certain. */
export function liesWithin(finder: BoundsFinder, id: ScalarId, extent: Index): boolean {
  const { low, high } = finder.of(id);
  if (low === undefined || high === undefined) return false;
  return isAtMost(int(0), low) && isAtMost(high, subtract(extent, int(1)));
}
