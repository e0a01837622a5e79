// Which buffers of a group lie in the same memory: one is written over another by the group that reads it last.
import type { BufferId, KernelBuffer, Schedule } from '@tsinductor/ir';

/** Those of `buffers` that share memory with another of them. */
export function sharedBuffers(buffers: ReadonlySet<BufferId>, schedule: Schedule): ReadonlySet<BufferId> {
  const shared = new Set<BufferId>();
  for (const plan of schedule.buffers) {
    const over = plan.kind === 'workspace' || plan.kind === 'hosted' ? plan.over : undefined;
    const host = plan.kind === 'hosted' ? plan.output : undefined;
    for (const other of [over, host]) {
      if (other === undefined || !buffers.has(other) || !buffers.has(plan.buffer)) continue;
      shared.add(plan.buffer);
      shared.add(other);
    }
  }
  return shared;
}

/** Marks buffers of which one is written over another by this kernel. */
export function markShared(buffers: readonly KernelBuffer[], schedule: Schedule): readonly KernelBuffer[] {
  const own = new Set(buffers.flatMap(({ storage }) => (storage.kind === 'buffer' ? [storage.buffer] : [])));
  const shared = sharedBuffers(own, schedule);
  const isShared = ({ storage }: KernelBuffer): boolean => storage.kind === 'buffer' && shared.has(storage.buffer);
  return buffers.map((buffer): KernelBuffer => (isShared(buffer) ? { ...buffer, shares: true } : buffer));
}
