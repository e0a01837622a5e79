// Inputs that the program changes: the new value is written over the old one, where nothing needs that any more. In: the program, its groups
// in order, and results whose memory is lent to temporaries. Out: for each result that may take its input's memory, that input.
//
// A run that fails has to leave its inputs as they were, because it is done again operator by operator: so nothing is checked from the
// group on that writes.
import { at } from '@tsinductor/base';
import { bodiesOf, cannotOverwrite, equal, hasChecks } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Group, LoopProgram } from '@tsinductor/ir';

export function updatesInPlace(
  program: LoopProgram,
  groups: readonly Group[],
  lent: ReadonlySet<BufferId>,
): ReadonlyMap<BufferId, BufferId> {
  const { updates = [] } = program;
  const found = new Map<BufferId, BufferId>();
  if (updates.length === 0) return found;
  const uses = usesOf(groups);
  const decls = new Map(program.buffers.map((decl) => [decl.id, decl]));
  const taken = new Set<BufferId>();
  for (const { input, output } of updates) {
    const [old, fresh] = [decls.get(input), decls.get(output)];
    if (old === undefined || fresh === undefined || taken.has(input) || lent.has(output)) continue;
    if (!isAlike(old, fresh) || !mayTake(groups, uses, { input, output })) continue;
    taken.add(input);
    found.set(output, input);
  }
  return found;
}

/** The same elements at the same places, without gaps. */
const isAlike = (old: BufferDecl, fresh: BufferDecl): boolean =>
  old.dtype === fresh.dtype &&
  equal(old.size, fresh.size) &&
  old.strides.length === fresh.strides.length &&
  old.strides.every((stride, axis) => equal(stride, at(fresh.strides, axis)));

interface Uses {
  readonly lastRead: ReadonlyMap<BufferId, number>;
  /** Where a buffer is written; -1 if by several groups. */
  readonly written: ReadonlyMap<BufferId, number>;
  /** The last group that checks anything, or -1. */
  readonly lastCheck: number;
}

function usesOf(groups: readonly Group[]): Uses {
  const [lastRead, written] = [new Map<BufferId, number>(), new Map<BufferId, number>()];
  let lastCheck = -1;
  groups.forEach(({ reads, writes, nodes }, position) => {
    for (const buffer of reads) lastRead.set(buffer, position);
    for (const buffer of writes) written.set(buffer, written.has(buffer) ? -1 : position);
    if (nodes.some((node) => bodiesOf(node).some(hasChecks))) lastCheck = position;
  });
  return { lastRead, written, lastCheck };
}

function mayTake(
  groups: readonly Group[],
  { lastRead, written, lastCheck }: Uses,
  { input, output }: { readonly input: BufferId; readonly output: BufferId },
): boolean {
  const position = written.get(output) ?? -1;
  if (position <= lastCheck || position < (lastRead.get(input) ?? -1)) return false;
  return cannotOverwrite(at(groups, position), input, output) === undefined;
}
