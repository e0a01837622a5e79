// Drops nodes that no output depends on, and buffers that nothing mentions any more. Ids stay as they are.
import type { BufferId, LoopNode, LoopProgram } from '@tsinductor/ir';
import { readsOf } from '@tsinductor/ir';

export function prune(program: LoopProgram): LoopProgram {
  const needed = new Set<BufferId>(program.outputs);
  const nodes: LoopNode[] = [];
  for (const node of program.nodes.toReversed()) {
    if (!node.outs.some((out) => needed.has(out))) continue;
    nodes.push(node);
    for (const buffer of readsOf(node)) needed.add(buffer);
  }
  if (nodes.length === program.nodes.length) return program;
  const buffers = program.buffers.filter(({ id, role }) => role === 'input' || needed.has(id));
  return { ...program, nodes: nodes.reverse(), buffers };
}
