// Symbolic sizes with hints. Every question about sizes that has no canonical answer is answered for the hints, and
// the answer is recorded as a guard, to be checked against the actual sizes at call time. A size that a guard makes equal
// to a number or to an earlier size is that from then on (`resolve`), so that what it decides is not asked again.
//
// Invariants: two environments that are asked the same questions in the same order record the same guards; a guard is
// recorded once; questions about sizes that are known record nothing; what a size resolves to needs no resolving.
import {
  compileSize,
  equal,
  evaluateIndex,
  freeSizes,
  fromTerm,
  int,
  printIndex,
  rangeOf,
  sizeSymbol,
  substitute,
  subtract,
  termOf,
} from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { argumentValue } from './errors.ts';

/** What was assumed: `left relation right`, on actual sizes. */
export interface SizeGuard {
  readonly relation: '==' | '!=' | '<=' | '>';
  readonly left: Index;
  readonly right: Index;
}

export class SizeEnvironment {
  readonly #hints = new Map<string, number>();
  readonly #guards = new Map<string, SizeGuard>();
  /** What sizes are by the guards: a number, or the size of theirs that was declared first. */
  readonly #known = new Map<string, Index>();

  /** A symbolic size. Sizes 0 and 1 change what operators do, so that a symbol is at least 2 unless told otherwise. */
  declare(name: string, hint: number, range: { readonly min?: number; readonly max?: number | null } = {}): Index {
    this.#hints.set(name, hint);
    return sizeSymbol(name, range.min ?? 2, range.max ?? null);
  }

  hints(): ReadonlyMap<string, number> {
    return this.#hints;
  }

  /** The value for the hints. Records nothing: for heuristics and messages only. */
  hint(index: Index): number {
    if (index.kind === 'int') return index.value;
    return evaluateIndex(index, { sizes: this.#hints });
  }

  /** `index` with every size that a guard has made a number, or another size, replaced by that. */
  resolve(index: Index): Index {
    return substitute(index, this.#known);
  }

  /** Whether the size stands for itself: no guard made it a number, or another size. */
  isFree(name: string): boolean {
    return !this.#known.has(name);
  }

  same(one: Index, other: Index): boolean {
    const [left, right] = [this.resolve(one), this.resolve(other)];
    if (equal(left, right)) return true;
    if (isStatic(left) && isStatic(right)) return this.hint(left) === this.hint(right);
    if (areApart(...withoutShared(left, right))) return false;
    const answer = this.hint(left) === this.hint(right);
    this.#record({ relation: answer ? '==' : '!=', left, right });
    return answer;
  }

  /** left <= right. */
  atMost(one: Index, other: Index): boolean {
    const [left, right] = [this.resolve(one), this.resolve(other)];
    const [low, high] = withoutShared(left, right).map(rangeOf) as [Range, Range];
    if (low.max !== null && high.min !== null && low.max <= high.min) return true;
    if (low.min !== null && high.max !== null && low.min > high.max) return false;
    const ahead = rangeOf(subtract(right, left));
    if (ahead.min !== null && ahead.min >= 0) return true;
    if (ahead.max !== null && ahead.max < 0) return false;
    const answer = this.hint(left) <= this.hint(right);
    this.#record({ relation: answer ? '<=' : '>', left, right });
    return answer;
  }

  isOne(index: Index): boolean {
    return this.same(index, int(1));
  }

  isZero(index: Index): boolean {
    return this.same(index, int(0));
  }

  /** The size two axes have together when broadcast, or undefined where they do not fit. */
  broadcast(one: Index, other: Index): Index | undefined {
    const [left, right] = [this.resolve(one), this.resolve(other)];
    if (equal(left, right) || this.isOne(right)) return left;
    if (this.isOne(left)) return right;
    return this.same(left, right) ? this.resolve(left) : undefined;
  }

  /** Specialises: the size becomes the number it is now, and the guard says so. */
  toNumber(index: Index): number {
    const value = this.hint(index);
    this.same(index, int(value));
    return value;
  }

  /** What was assumed so far, in the order of the questions. */
  guards(): readonly SizeGuard[] {
    return [...this.#guards.values()];
  }

  /** How many there are. */
  get guardCount(): number {
    return this.#guards.size;
  }

  /** Assumes what another environment was asked, which must hold here. */
  assume(guards: readonly SizeGuard[]): void {
    for (const guard of guards) this.#record(guard);
  }

  /** Forgets sizes and guards: what was asked of it is about to be asked again. */
  clear(): void {
    this.#hints.clear();
    this.#guards.clear();
    this.#known.clear();
  }

  /** Whether a guard holds for actual sizes. */
  static holds(guard: SizeGuard, sizes: ReadonlyMap<string, number>): boolean {
    return relations[guard.relation](evaluateIndex(guard.left, { sizes }), evaluateIndex(guard.right, { sizes }));
  }

  /** The same for sizes by their positions in `names`. */
  static check(guard: SizeGuard, names: readonly string[]): (sizes: readonly number[]) => boolean {
    const [left, right] = [compileSize(guard.left, names), compileSize(guard.right, names)];
    const isSo = relations[guard.relation];
    return (sizes) => isSo(left(sizes), right(sizes));
  }

  #record(guard: SizeGuard): void {
    for (const name of [...freeSizes(guard.left), ...freeSizes(guard.right)]) {
      if (!this.#hints.has(name)) throw argumentValue('SizeEnvironment', `size ${name} was not declared`);
    }
    const key = `${printIndex(guard.left)} ${guard.relation} ${printIndex(guard.right)}`;
    if (!this.#guards.has(key)) this.#guards.set(key, guard);
    if (guard.relation === '==') this.#unify(guard);
  }

  /** Of two sizes the one that was declared later becomes the other; a size becomes a number. */
  #unify({ left, right }: SizeGuard): void {
    const [one, other] = left.kind === 'size' ? [left, right] : [right, left];
    if (one.kind !== 'size' || (other.kind !== 'size' && other.kind !== 'int')) return;
    const isLater = other.kind === 'int' || this.#order(one.name) > this.#order(other.name);
    const [name, value] = isLater ? [one.name, other] : [other.name, one];
    const step = new Map([[name, value]]);
    for (const [known, index] of this.#known) this.#known.set(known, substitute(index, step));
    this.#known.set(name, value);
  }

  /** When a size was declared, among all. */
  #order(name: string): number {
    return [...this.#hints.keys()].indexOf(name);
  }
}

const relations: Readonly<Record<SizeGuard['relation'], (left: number, right: number) => boolean>> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
};

const isStatic = (index: Index): boolean => index.kind === 'int';

type Range = ReturnType<typeof rangeOf>;

/** Products without the sizes that both have, which are positive: what is left of them compares as they do. */
function withoutShared(left: Index, right: Index): [Index, Index] {
  const [one, other] = [termOf(left), termOf(right)];
  const rest = [...other.factors];
  const factors = one.factors.filter((factor) => {
    const shared = isPositive(factor) ? rest.findIndex((own) => equal(own, factor)) : -1;
    if (shared !== -1) rest.splice(shared, 1);
    return shared === -1;
  });
  return [fromTerm({ ...one, factors }), fromTerm({ ...other, factors: rest })];
}

const isPositive = (index: Index): boolean => (rangeOf(index).min ?? 0) > 0;

/** Known to differ whatever the sizes are. */
function areApart(left: Index, right: Index): boolean {
  const { min, max } = rangeOf(subtract(right, left));
  return (min !== null && min > 0) || (max !== null && max < 0);
}
