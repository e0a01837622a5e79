// Slots: temporaries that have one place between them, each written over the one before by the kernel that reads it last.
// A slot lives from its first owner's making to its last owner's last use.
import { at, dtypeInfo } from '@tsinductor/base';
import { cannotOverwrite, equal } from '@tsinductor/ir';
import type { BufferId, Group, Index } from '@tsinductor/ir';
import type { Lifetime } from './lifetimes.ts';

export interface Slot {
  readonly owners: readonly Lifetime[];
  readonly bytes: Index;
  readonly first: number;
  readonly last: number;
}

/** The lifetimes in slots, in the order of their first use; every one in its own unless `inPlace`. */
export function slotsOf(lifetimes: readonly Lifetime[], groups: readonly Group[], inPlace: boolean): readonly Slot[] {
  const slotOf = new Map<BufferId, { owners: Lifetime[] }>();
  const byBuffer = new Map(lifetimes.map((lifetime) => [lifetime.decl.id, lifetime]));
  const slots: { owners: Lifetime[] }[] = [];
  for (const lifetime of lifetimes) {
    const before = inPlace ? overwritten(lifetime, at(groups, lifetime.first), { byBuffer, slotOf }) : undefined;
    const slot = before ?? { owners: [] };
    slot.owners.push(lifetime);
    slotOf.set(lifetime.decl.id, slot);
    if (before === undefined) slots.push(slot);
  }
  return slots.map(({ owners }) => {
    const [first, last] = [at(owners, 0), at(owners, owners.length - 1)];
    return { owners, bytes: first.bytes, first: first.first, last: last.last };
  });
}

interface Known {
  readonly byBuffer: ReadonlyMap<BufferId, Lifetime>;
  readonly slotOf: ReadonlyMap<BufferId, { owners: Lifetime[] }>;
}

/** The slot whose last owner dies where `lifetime` begins, and may be overwritten by it. */
function overwritten(
  lifetime: Lifetime,
  group: Group,
  { byBuffer, slotOf }: Known,
): { owners: Lifetime[] } | undefined {
  for (const buffer of group.reads) {
    const dying = byBuffer.get(buffer);
    const slot = slotOf.get(buffer);
    if (dying === undefined || slot?.owners.at(-1) !== dying) continue;
    const isSameSize =
      equal(dying.bytes, lifetime.bytes) && dtypeInfo[dying.decl.dtype].bytes === dtypeInfo[lifetime.decl.dtype].bytes;
    const isLast = dying.last === lifetime.first && dying.first < lifetime.first;
    if (isLast && isSameSize && cannotOverwrite(group, buffer, lifetime.decl.id) === undefined) return slot;
  }
  return undefined;
}
