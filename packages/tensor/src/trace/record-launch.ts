// A launch of a kernel, in the graph that is being recorded. In: the launch, and what its tensors stand for. Out: one node, of
// which what is written to are new values. Its arguments are whole memories, as a kernel computes with pointers: two views
// of one memory see each other's writes, and elements between those of a view are there.
import { at } from '@tsinductor/base';
import type { KernelLaunch } from '../recorder.ts';
import type { TraceSession } from './session.ts';
import type { TracedView } from './traced-memory.ts';

/** Throws UserError ALIASED_MUTATION where it writes to memory that two inputs share. */
export function recordLaunch(
  session: TraceSession,
  { name, operands, attrs }: KernelLaunch,
  views: readonly TracedView[],
): void {
  const memories = [...new Set(views.map(({ memory }) => memory))];
  const targets = operands.map((operand, position) => (operand.isWritten ? at(views, position).memory : undefined));
  const written = memories.filter((memory) => targets.includes(memory));
  for (const memory of written) session.requireOwn(memory, name);
  const launch = {
    operands: operands.map((operand, position) => {
      const { memory, layout } = at(views, position);
      return { name: operand.name, memory: memories.indexOf(memory), layout };
    }),
    homes: memories.map(({ placeholder }) => placeholder ?? null),
    written: written.map((memory) => memories.indexOf(memory)),
  };
  const args = memories.map(({ current }) => current);
  const metas = written.map(({ meta }) => meta);
  const results = session.builder.host({ target: name, args, attrs, launch }, metas);
  written.forEach((memory, position) => {
    memory.current = at(results, position);
    memory.version += 1;
    memory.isWrittenWithGradients = true;
  });
}
