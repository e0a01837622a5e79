// Places for temporaries of known size in one block: offsets that are multiples of 64, such that no two of them overlap
// while both live. One after another as they come to life, each in the hole that fits best; or all together, the largest
// first, each at the lowest offset that is free throughout its life.
import { at } from '@tsinductor/base';

/** Something to place. */
export interface Item {
  readonly name: string;
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

interface Places {
  /** In the order of the items. */
  readonly offsets: readonly number[];
  readonly end: number;
  /** For each item whose place it takes, if any: the name of the last owner. */
  readonly owners: readonly (string | undefined)[];
}

export type Policy = (items: readonly Item[]) => Places;

const ALIGNMENT = 64;

const roundUp = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** Each at a place of its own. */
export const placeApart: Policy = (items) => {
  let end = 0;
  const offsets = items.map(({ bytes }) => {
    const offset = end;
    end += roundUp(bytes);
    return offset;
  });
  return { offsets, end, owners: items.map(() => undefined) };
};

/** Each at the place of a dead one of the same size, or at one of its own. */
export const placeBySize: Policy = (items) => {
  const slots = new Map<number, { readonly offset: number; last: number; owner: string }[]>();
  let end = 0;
  const owners: (string | undefined)[] = [];
  const offsets = items.map(({ name, bytes, first, last }) => {
    const size = roundUp(bytes);
    const same = slots.get(size) ?? [];
    slots.set(size, same);
    const free = same.find((slot) => slot.last < first);
    owners.push(free?.owner);
    if (free !== undefined) {
      Object.assign(free, { last, owner: name });
      return free.offset;
    }
    same.push({ offset: end, last, owner: name });
    end += size;
    return end - size;
  });
  return { offsets, end, owners };
};

interface Hole {
  readonly offset: number;
  readonly bytes: number;
  /** Who was there last. */
  readonly owner?: string;
}

/** Each in the smallest hole that it fits into when it comes to life. */
export const placeInOrder: Policy = (items) => {
  let holes: Hole[] = [];
  let end = 0;
  let live: { readonly item: Item; readonly offset: number; readonly bytes: number }[] = [];
  const owners: (string | undefined)[] = [];
  const offsets = items.map((item) => {
    for (const gone of live.filter((other) => other.item.last < item.first))
      holes = withHole(holes, { offset: gone.offset, bytes: gone.bytes, owner: gone.item.name });
    live = live.filter((other) => other.item.last >= item.first);
    const bytes = roundUp(item.bytes);
    const hole = bestFit(holes, bytes, end);
    const offset = hole?.offset ?? end;
    owners.push(hole?.owner);
    if (hole !== undefined) holes = withoutPart(holes, hole, bytes);
    end = Math.max(end, offset + bytes);
    live.push({ item, offset, bytes });
    return offset;
  });
  return { offsets, end, owners };
};

function withoutPart(holes: readonly Hole[], hole: Hole, bytes: number): Hole[] {
  const rest: Hole = { ...hole, offset: hole.offset + bytes, bytes: hole.bytes - bytes };
  const others = holes.filter((other) => other !== hole);
  return [...others, ...(rest.bytes > 0 ? [rest] : [])].sort((a, b) => a.offset - b.offset);
}

/** The smallest hole that is large enough, or the last one if it reaches the end and can grow. */
function bestFit(holes: readonly Hole[], bytes: number, end: number): Hole | undefined {
  let best: Hole | undefined;
  for (const hole of holes) if (hole.bytes >= bytes && hole.bytes < (best?.bytes ?? Infinity)) best = hole;
  const last = holes.at(-1);
  return best ?? (last !== undefined && last.offset + last.bytes === end ? last : undefined);
}

/** Holes by offset, neighbours joined. */
function withHole(holes: readonly Hole[], hole: Hole): Hole[] {
  if (hole.bytes === 0) return [...holes];
  const joined: Hole[] = [];
  for (const next of [...holes, hole].sort((a, b) => a.offset - b.offset)) {
    const last = joined.at(-1);
    if (last !== undefined && last.offset + last.bytes === next.offset)
      joined.splice(-1, 1, { ...last, bytes: last.bytes + next.bytes });
    else joined.push(next);
  }
  return joined;
}

/** More items than this are placed in order: comparing all with all would take longer than it saves. */
const MOST_TOGETHER = 2000;

/** The largest first, each at the lowest offset at which nothing lies that lives at the same time. */
export const placeTogether: Policy = (items) => {
  if (items.length > MOST_TOGETHER) return placeInOrder(items);
  const order = items
    .map((_, index) => index)
    .sort((a, b) => (at(items, a).bytes === at(items, b).bytes ? a - b : at(items, b).bytes - at(items, a).bytes));
  const offsets = items.map(() => 0);
  const owners: (string | undefined)[] = items.map(() => undefined);
  const placed: number[] = [];
  let end = 0;
  for (const index of order) {
    const item = at(items, index);
    const bytes = roundUp(item.bytes);
    const inTheWay = placed
      .filter((other) => overlaps(at(items, other), item))
      .sort((a, b) => at(offsets, a) - at(offsets, b));
    let offset = 0;
    for (const other of inTheWay) {
      if (at(offsets, other) - offset >= bytes) break;
      offset = Math.max(offset, at(offsets, other) + roundUp(at(items, other).bytes));
    }
    offsets[index] = offset;
    owners[index] = lastOwner(items, { offsets, placed }, { item, offset });
    placed.push(index);
    end = Math.max(end, offset + bytes);
  }
  const best = placeInOrder(items);
  return best.end < end ? best : { offsets, end, owners };
};

const overlaps = (a: Item, b: Item): boolean => a.first <= b.last && b.first <= a.last;

/** Who was at the start of a place last before its new owner came to life. */
function lastOwner(
  items: readonly Item[],
  { offsets, placed }: { readonly offsets: readonly number[]; readonly placed: readonly number[] },
  { item, offset }: { readonly item: Item; readonly offset: number },
): string | undefined {
  const before = placed
    .filter((other) => at(items, other).last < item.first)
    .filter((other) => at(offsets, other) <= offset && offset < at(offsets, other) + at(items, other).bytes)
    .sort((a, b) => at(items, b).last - at(items, a).last);
  return before[0] === undefined ? undefined : at(items, before[0]).name;
}
