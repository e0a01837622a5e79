// Which objects of a call are different ones. A function may compare its arguments by identity (`a === b`, a Set, indexOf):
// what was one object when it was traced is one in every call that the code serves, and what were several are several.
//
// In: groups of slots that one object could fill, and a call's slots. Out: whether their objects differ.

export interface DistinctGroup {
  readonly slots: readonly number[];
  /** What was found to be different last: the same objects need not be compared again. */
  readonly met: unknown[];
}

/** Whether the objects in the slots of each group differ. */
export function areDistinct(groups: readonly DistinctGroup[], slots: readonly unknown[]): boolean {
  for (const { slots: own, met } of groups) if (!isKnown(own, met, slots) && !differ(own, met, slots)) return false;
  return true;
}

function isKnown(own: readonly number[], met: readonly unknown[], slots: readonly unknown[]): boolean {
  if (met.length === 0) return false;
  for (let index = 0; index < own.length; index += 1) if (met[index] !== slots[own[index] ?? 0]) return false;
  return true;
}

/** Few objects are compared with each other, which takes less than a set of them. */
const fewObjects = 6;

function differ(own: readonly number[], met: unknown[], slots: readonly unknown[]): boolean {
  if (own.length > fewObjects) {
    if (new Set(own.map((slot) => slots[slot])).size < own.length) return false;
  } else {
    for (let one = 1; one < own.length; one += 1) {
      for (let other = 0; other < one; other += 1) {
        if (slots[own[one] ?? 0] === slots[own[other] ?? 0]) return false;
      }
    }
  }
  for (let index = 0; index < own.length; index += 1) met[index] = slots[own[index] ?? 0];
  return true;
}
