// Drops nodes that no output depends on, but for those that check something, and buffers that nothing mentions any more. Ids stay as
// they are.
import { bodiesOf, hasChecks, loadsOf, sortOperands, withoutUnreadOuts } from '@tsinductor/ir';
import type { Body, BufferId, LoopNode, LoopProgram } from '@tsinductor/ir';

export function prune(program: LoopProgram): LoopProgram {
  const needed = new Set<BufferId>(program.outputs);
  const nodes: LoopNode[] = [];
  for (const node of program.nodes.toReversed()) {
    const isNeeded = node.outs.some((out) => needed.has(out));
    if (!isNeeded && !bodiesOf(node).some(hasChecks)) continue;
    nodes.push(isNeeded ? withoutUnreadOuts(node, needed) : node);
    for (const buffer of [...(isNeeded ? [] : node.outs), ...buffersRead(node)]) needed.add(buffer);
  }
  if (nodes.length === program.nodes.length && nodes.every((node) => program.nodes.includes(node))) return program;
  const buffers = program.buffers.filter(({ id, role }) => role === 'input' || needed.has(id));
  return { ...program, nodes: nodes.reverse(), buffers };
}

const inBodies = (...bodies: readonly Body[]): readonly BufferId[] =>
  bodies.flatMap(loadsOf).map((load) => load.buffer);

function buffersRead(node: LoopNode): readonly BufferId[] {
  switch (node.kind) {
    case 'map':
      return inBodies(node.body);
    case 'scatter':
      return [...inBodies(node.body), ...(node.initial === undefined ? [] : [node.initial])];
    case 'reduce':
    case 'scan':
      return inBodies(node.init, node.step, node.merge, node.finish);
    case 'contract':
      return [node.a.buffer, node.b.buffer];
    case 'sort':
      return sortOperands(node).map(({ buffer }) => buffer);
  }
}
