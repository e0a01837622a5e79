// Several kernels for one group whose sizes are symbols: what pays for small ones is not what pays for large ones. In: a group by itself, and sizes
// to reckon with. Out: the group once for each of them, and for which calls each is taken. All of them are right for all sizes.
import { at } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import type { LoneGroup } from './lone-group.ts';

/** A kernel is taken where the product of these sizes is in [from, below). */
export interface SizeRange {
  readonly sizes: readonly string[];
  readonly from: number;
  /** Null: there is no such bound. */
  readonly below: number | null;
}

interface Variant {
  readonly alone: LoneGroup;
  /** Undefined: always. */
  readonly range?: SizeRange;
}

/** In a program. Sizes are multiplied as floating-point numbers, since their product may leave 64 bits. */
export function rangeTest({ sizes, from, below }: SizeRange, nameOf: (size: string) => string): string {
  const points = sizes.map((size) => `(double)${nameOf(size)}`).join(' * ');
  const tests = [
    ...(from === 0 ? [] : [`${points} >= ${from.toExponential()}`]),
    ...(below === null ? [] : [`${points} < ${below.toExponential()}`]),
  ];
  return tests.join(' && ');
}

/** For people. */
export function rangeText({ sizes, from, below }: SizeRange): string {
  const points = sizes.join(' * ');
  if (below === null) return `for ${points} from ${String(from)} on`;
  return from === 0
    ? `for ${points} below ${String(below)}`
    : `for ${points} from ${String(from)} to below ${String(below)}`;
}

type Size = Index & { readonly kind: 'size' };

/**
 * The group as it is, if it has no symbolic sizes or there is nothing to choose between; else once for each hint, in their order. The nearest hint is taken,
 * by ratio, for the geometric mean of the sizes.
 */
export function variantsOf(alone: LoneGroup, hints: readonly number[]): readonly Variant[] {
  const ordered = [...new Set(hints)].sort((left, right) => left - right);
  const sizes = ordered.length === 0 ? [] : namesIn([alone.group, alone.schedule.program.buffers]);
  if (sizes.length === 0) return [{ alone }];
  return ordered.map((hint, position) => {
    const border = (index: number): number =>
      Math.min(Number.MAX_VALUE, Math.ceil((at(ordered, index) * at(ordered, index + 1)) ** (sizes.length / 2)));
    const from = position === 0 ? 0 : border(position - 1);
    const below = position === ordered.length - 1 ? null : border(position);
    return { alone: reckonedWith(alone, hint), ...(ordered.length > 1 && { range: { sizes, from, below } }) };
  });
}

/** The group, with a typical value for each of its sizes. */
function reckonedWith(alone: LoneGroup, hint: number): LoneGroup {
  const { group, schedule, key } = withSizes(alone, (size) => ({
    ...size,
    typical: Math.min(size.max ?? hint, Math.max(size.min, hint)),
  }));
  return { ...alone, group, schedule, key: `${key} ${String(hint)}`, isReckoned: true };
}

/** What was bound of a group, without what its sizes were reckoned with: kernels that came out equal are equal then. */
export const withoutHints = <Bound>({ isReckoned }: LoneGroup, bound: Bound): Bound =>
  isReckoned === true ? withSizes(bound, ({ kind, name, min, max }) => ({ kind, name, min, max })) : bound;

/** The names of the sizes that occur, in order. */
function namesIn(value: unknown): readonly string[] {
  const names = new Set<string>();
  withSizes(value, (size) => {
    names.add(size.name);
    return size;
  });
  return [...names].sort();
}

/** Plain data with other sizes in it. */
function withSizes<Data>(data: Data, replace: (size: Size) => Size): Data {
  const made = new Map<object, unknown>();
  const visit = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const before = made.get(value);
    if (before !== undefined) return before;
    const after = Array.isArray(value)
      ? value.map(visit)
      : isSize(value)
        ? replace(value)
        : Object.fromEntries(Object.entries(value).map(([name, part]) => [name, visit(part)]));
    made.set(value, after);
    return after;
  };
  return visit(data) as Data;
}

const isSize = (value: object): value is Size => 'kind' in value && value.kind === 'size' && 'min' in value;
