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

/** For people: of one size, or of the geometric mean of several, as hints are. */
export function rangeText({ sizes, from, below }: SizeRange): string {
  const [name = ''] = sizes;
  const what = sizes.length === 1 ? `for ${name}` : `for a geometric mean of ${sizes.join(', ')}`;
  const bound = (points: number): string => String(Math.ceil(points ** (1 / sizes.length) - 1e-6));
  if (below === null) return `${what} from ${bound(from)} on`;
  return from === 0 ? `${what} below ${bound(below)}` : `${what} from ${bound(from)} to below ${bound(below)}`;
}

/** One of the kernels, or lists of them, that were made of a group. */
interface Made<Kernels> {
  readonly made: Kernels;
  /** For which sizes; for all, if absent. */
  readonly range?: SizeRange;
}

/** What `make` makes of each variant of a group; neighbours that are equal are one. */
export function madeForSizes<Kernels>(
  variants: readonly Variant[],
  {
    make,
    areEqual,
  }: { readonly make: (alone: LoneGroup) => Kernels; readonly areEqual: (one: Kernels, other: Kernels) => boolean },
): readonly Made<Kernels>[] {
  const all: Made<Kernels>[] = [];
  for (const { alone, range } of variants) {
    const made = make(alone);
    const last = all.at(-1);
    if (range !== undefined && last?.range !== undefined && areEqual(last.made, made))
      all[all.length - 1] = { made: last.made, range: { ...last.range, below: range.below } };
    else all.push({ made, ...(range && { range }) });
  }
  return all.length > 1 ? all : all.map(({ made }) => ({ made }));
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
