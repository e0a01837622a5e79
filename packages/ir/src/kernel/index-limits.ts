// How far 32-bit index arithmetic reaches. In: a kernel. Out: expressions over sizes that ranges alone do not show to be within 32
// bits: how many elements its buffers have, and the values on the way to its indices. For sizes at which none of them is above
// `largestIndex`, the arithmetic gives what it would give with any number of bits, in the order in which it is printed: products
// factor by factor, and of a sum first what is added, then what is subtracted.
//
// Lanes that `count` or a mask leaves out may wrap: nothing is made of them.
import { floorDivide } from '../arithmetic/divide.ts';
import { maximum, minimum } from '../arithmetic/extremum.ts';
import { equal } from '../arithmetic/order.ts';
import { add, int, multiply, negate, product, subtract, sum } from '../arithmetic/polynomial.ts';
import { isSubtracted } from '../arithmetic/query.ts';
import { boundsOf, isAtMost } from '../arithmetic/range.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { Kernel, Stmt, Value } from './kernel.ts';
import { statementIndexes, statementValues, valueIndexes, visitStatements, visitValue } from './traverse-kernel.ts';

/** The largest number that 32-bit index arithmetic may come to. */
export const largestIndex: number = 2 ** 31 - 1;

/** Expressions over sizes that must not be above `largestIndex`. */
export function indexLimits(kernel: Kernel): readonly Index[] {
  const reach = new IndexReach(launchNames(kernel));
  for (const { size } of kernel.buffers) reach.note(size);
  const isNarrow = kernel.indexDType === 'i32';
  const visit = (value: Value): void => {
    if (isNarrow || (value.kind === 'index' && value.type.dtype === 'i32')) valueIndexes(value).forEach(reach.of);
  };
  visitStatements(kernel.body, (statement) => {
    for (const value of statementValues(statement)) visitValue(value, visit);
    if (isNarrow) visitIndexes(statement, reach);
  });
  return withoutDominated(reach.limits);
}

function visitIndexes(statement: Stmt, reach: IndexReach): void {
  const [, to, step] = statementIndexes(statement).map(reach.of);
  // A loop's variable goes past the end by its last step.
  if (statement.kind !== 'for' || to === undefined) return;
  const past = typeof statement.step === 'number' ? int(statement.step) : (step?.high ?? int(0));
  reach.note(add(to.high, past));
}

/** What the names of a launch are below. */
function launchNames({ launch }: Kernel): ReadonlyMap<string, Index> {
  if (launch === undefined) return new Map();
  const { names, blocks, threads } = launch;
  return new Map([
    [names.block, blocks],
    [names.blocks, add(blocks, int(1))],
    [names.thread, int(threads)],
  ]);
}

/** The largest ones, each once. */
function withoutDominated(limits: readonly Index[]): readonly Index[] {
  return limits.reduce<readonly Index[]>((kept, limit) => {
    if (kept.some((other) => equal(limit, other) || isAtMost(limit, other))) return kept;
    return [...kept.filter((other) => !isAtMost(other, limit)), limit];
  }, []);
}

/** Both ends inclusive, over sizes. */
interface Reach {
  readonly low: Index;
  readonly high: Index;
}

const zero = int(0);
const isNonNegative = (index: Index): boolean => boundsOf(index).low >= 0;

/** Between which expressions indices lie, and what is passed on the way to them. */
class IndexReach {
  readonly limits: Index[] = [];
  readonly #below: ReadonlyMap<string, Index>;

  /** `below`: what names are below, where that is not the extent by which an index knows them. */
  constructor(below: ReadonlyMap<string, Index>) {
    this.#below = below;
  }

  readonly note = (index: Index): void => {
    if (boundsOf(index).high > largestIndex) this.limits.push(index);
  };

  /** Notes what an index is made of, and how; the result of a choice or a division is never beyond its operands. */
  readonly of = (index: Index): Reach => {
    switch (index.kind) {
      case 'int':
      case 'size':
        return this.#leaf({ low: index, high: index });
      case 'axis':
        return this.#leaf({ low: zero, high: subtract(this.#extent(index.axis), int(1)) });
      case 'indirect':
        return this.#leaf({ low: zero, high: subtract(this.#most(index.extent), int(1)) });
      case 'sum':
        return this.#sum(index.items);
      case 'product':
        return this.#product(index.items);
      case 'min':
      case 'max':
        return this.#extremum(index.items, index.kind === 'min' ? minimum : maximum);
      case 'floorDiv':
        return this.#quotient(this.of(index.dividend), this.of(index.divisor));
      case 'mod':
        this.of(index.dividend);
        return { low: zero, high: subtract(this.of(index.divisor).high, int(1)) };
    }
  };

  #leaf(reach: Reach): Reach {
    this.note(reach.high);
    this.note(negate(reach.low));
    return reach;
  }

  #extent({ name, extent }: Axis): Index {
    return this.#below.get(name) ?? this.#most(extent);
  }

  #most(extent: Index): Index {
    return new IndexReach(this.#below).of(extent).high;
  }

  #sum(items: readonly Index[]): Reach {
    const terms = items.map((item) => ({ ...this.of(item), isSubtracted: isSubtracted(item) }));
    const added = terms.filter((term) => !term.isSubtracted);
    this.note(sum(added.map(({ high }) => (isNonNegative(high) ? high : maximum(high, zero)))));
    this.note(negate(sum(terms.map(({ low, isSubtracted: first }) => (first ? low : minimum(low, zero))))));
    return { low: sum(terms.map(({ low }) => low)), high: sum(terms.map(({ high }) => high)) };
  }

  #product(items: readonly Index[]): Reach {
    const coefficient = items.reduce((value, item) => (item.kind === 'int' ? value * item.value : value), 1);
    const factors = items.filter(({ kind }) => kind !== 'int');
    const reaches = factors.map(this.of);
    // No factor takes away from what the others come to: those before it are multiplied first.
    const most = factors.map((factor, position) => covering(factor, reaches[position]));
    const all = product([...most, int(Math.abs(coefficient))]);
    this.note(all);
    if (!reaches.every(({ low }) => isNonNegative(low))) return { low: negate(all), high: all };
    const ends = [product(reaches.map(({ low }) => low)), product(reaches.map(({ high }) => high))] as const;
    const [low, high] = coefficient < 0 ? [ends[1], ends[0]] : ends;
    return { low: multiply(low, int(coefficient)), high: multiply(high, int(coefficient)) };
  }

  #extremum(items: readonly Index[], pick: (a: Index, b: Index) => Index): Reach {
    const reaches = items.map(this.of);
    return { low: reaches.map(({ low }) => low).reduce(pick), high: reaches.map(({ high }) => high).reduce(pick) };
  }

  #quotient(dividend: Reach, divisor: Reach): Reach {
    if (!isNonNegative(dividend.low)) return { low: dividend.low, high: maximum(dividend.high, zero) };
    const by = boundsOf(divisor.low).low >= 1 ? divisor.low : int(1);
    return { low: zero, high: floorDivide(dividend.high, by) };
  }
}

/** At least 1, and at least the absolute value of a factor; of an axis its extent. */
function covering(factor: Index, reach: Reach | undefined): Index {
  if (reach === undefined) return int(1);
  const end = factor.kind === 'size' ? reach.high : add(reach.high, int(1));
  const most = isNonNegative(reach.low) ? end : maximum(end, negate(reach.low));
  return boundsOf(most).low >= 1 ? most : maximum(most, int(1));
}
