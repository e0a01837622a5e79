// Temporaries that lie in the memory of a result until that is written: the caller owns it anyway, and it is idle.
import { at, dtypeInfo } from '@tsinductor/base';
import { cannotOverwrite, isAtMost } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Group, LoopProgram } from '@tsinductor/ir';
import { bytesOf } from './lifetimes.ts';
import type { Slot } from './slots.ts';

/** A result's memory: free until the group that writes it, except for the slots that it hosts. */
interface Host {
  readonly decl: BufferDecl;
  readonly written: number;
  readonly guests: Slot[];
}

/** For each slot that some result can lend its memory, that result; the largest slots choose first. */
export function hostInOutputs(
  slots: readonly Slot[],
  program: LoopProgram,
  groups: readonly Group[],
): ReadonlyMap<Slot, BufferId> {
  const written = new Map<BufferId, number>();
  groups.forEach(({ writes }, position) =>
    writes.forEach((buffer) => written.set(buffer, written.get(buffer) ?? position)),
  );
  const outputs = new Set(program.outputs);
  const hosts = program.buffers
    .filter(({ id }) => outputs.has(id))
    .map((decl): Host => ({ decl, written: written.get(decl.id) ?? -1, guests: [] }));
  const hosted = new Map<Slot, BufferId>();
  for (const slot of [...slots].sort((a, b) => sizeOf(b) - sizeOf(a))) {
    const host = hosts.find((candidate) => canHost(candidate, slot, groups));
    if (host === undefined) continue;
    host.guests.push(slot);
    hosted.set(slot, host.decl.id);
  }
  return hosted;
}

const sizeOf = ({ bytes }: Slot): number => (bytes.kind === 'int' ? bytes.value : Infinity);

function canHost({ decl, written, guests }: Host, slot: Slot, groups: readonly Group[]): boolean {
  if (!isAtMost(slot.bytes, bytesOf(decl))) return false;
  if (guests.some((guest) => guest.first <= slot.last && slot.first <= guest.last)) return false;
  if (slot.last < written) return true;
  const { decl: last, first } = at(slot.owners, slot.owners.length - 1);
  const isSameWidth = dtypeInfo[last.dtype].bytes === dtypeInfo[decl.dtype].bytes;
  // What the writing group makes itself is not known to be read before the result's elements are written.
  return (
    slot.last === written &&
    first < written &&
    isSameWidth &&
    cannotOverwrite(at(groups, written), last.id, decl.id) === undefined
  );
}
