// Loops that are known to be empty. A node over no points writes nothing, a reduction over no elements writes its initial
// state, and a scatter of no elements what it begins with; none of them reads anything else, so that what only they read is not computed. After this step, divisions by
// extents of what is read are divisions by something.
import { at, dtypeInfo, get } from '@tsinductor/base';
import { axisIndex, BodyBuilder, hasChecks, replayBody, withoutUnreadOuts } from '@tsinductor/ir';
import type { Axis, Body, BufferDecl, BufferId, LoopNode, LoopProgram, ScalarId } from '@tsinductor/ir';
import { bodiesOf, buffersRead, loopsOf, overOf, resultAxes } from './node-access.ts';

export const isEmptyAxis = (axis: Axis): boolean => axis.extent.kind === 'int' && axis.extent.value === 0;

/** With `dropUnread`, also without nodes that nobody read to begin with. */
export function resolveEmptyNodes(
  program: LoopProgram,
  { dropUnread }: { readonly dropUnread: boolean },
): readonly LoopNode[] {
  const declared = new Map(program.buffers.map((buffer) => [buffer.id, buffer]));
  const resolved = program.nodes.map((node) => resolveEmpty(node, declared));
  const isSame = resolved.every((node, position) => node === program.nodes[position]);
  return isSame && !dropUnread ? resolved : withoutUnread(resolved, program);
}

type Declared = ReadonlyMap<BufferId, BufferDecl>;

function resolveEmpty(node: LoopNode, declared: Declared): LoopNode {
  const isEmpty = [...loopsOf(node), ...resultAxes(node)].some(isEmptyAxis);
  if (!isEmpty) return node;
  if (node.kind === 'scatter') return beginning(node, declared);
  const axes = resultAxes(node);
  const isFinished = node.kind === 'reduce' && overOf(node).some(isEmptyAxis);
  const body = new BodyBuilder();
  const results = isFinished ? finished(node, body) : zeros(body, node, declared);
  const { id, outs, writes, origins } = node;
  return { kind: 'map', id, outs, writes, origins, axes, body: body.finish(results) };
}

/** What a scatter begins with, element by element: a buffer of the same layout, or zeros. */
function beginning(node: LoopNode & { readonly kind: 'scatter' }, declared: Declared): LoopNode {
  const { id, outs, origins, initial } = node;
  const { dtype, size } = get(declared, at(outs, 0));
  const axis: Axis = { name: at(node.axes, 0).name, extent: size };
  const body = new BodyBuilder();
  const results = initial === undefined ? zeros(body, node, declared) : [body.load(initial, dtype, axisIndex(axis))];
  return { kind: 'map', id, outs, writes: [axisIndex(axis)], origins, axes: [axis], body: body.finish(results) };
}

/** What a reduction over nothing gives. */
function finished(
  { init, finish }: { readonly init: Body; readonly finish: Body },
  body: BodyBuilder,
): readonly ScalarId[] {
  const states = replayBody(init, body).results;
  return replayBody(finish, body, { carried: (slot) => at(states, slot) }).results;
}

function zeros(body: BodyBuilder, { outs }: LoopNode, declared: Declared): readonly ScalarId[] {
  return outs.map((out) => {
    const { dtype } = get(declared, out);
    return body.cast(body.constant(0, dtypeInfo[dtype].compute), dtype);
  });
}

/** Without nodes whose results nobody needs any more, but for those that check something. */
export function withoutUnread(nodes: readonly LoopNode[], { outputs }: LoopProgram): readonly LoopNode[] {
  const needed = new Set<BufferId>(outputs);
  const kept: LoopNode[] = [];
  for (const node of nodes.toReversed()) {
    const isNeeded = node.outs.some((out) => needed.has(out));
    if (!isNeeded && !bodiesOf(node).some(hasChecks)) continue;
    kept.push(isNeeded ? withoutUnreadOuts(node, needed) : node);
    for (const buffer of buffersRead(node)) needed.add(buffer);
  }
  return kept.reverse();
}
