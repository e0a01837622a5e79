// Loops that are known to be empty. A node over no points writes nothing, and a reduction over no elements writes its
// initial state; neither reads anything, so that what only they read is not computed. After this step, divisions by
// extents of what is read are divisions by something.
import { at, dtypeInfo } from '@tsinductor/base';
import { BodyBuilder, replayBody } from '@tsinductor/ir';
import type { Axis, Body, BufferId, LoopNode, LoopProgram, ScalarId } from '@tsinductor/ir';
import { buffersRead, loopsOf, overOf } from './node-access.ts';

export const isEmptyAxis = (axis: Axis): boolean => axis.extent.kind === 'int' && axis.extent.value === 0;

/** With `dropUnread`, also without nodes that nobody read to begin with. */
export function resolveEmptyNodes(
  program: LoopProgram,
  { dropUnread }: { readonly dropUnread: boolean },
): readonly LoopNode[] {
  const dtypes = new Map(program.buffers.map(({ id, dtype }) => [id, dtype]));
  const resolved = program.nodes.map((node) => resolveEmpty(node, (body) => zeros(body, node, dtypes)));
  const isSame = resolved.every((node, position) => node === program.nodes[position]);
  return isSame && !dropUnread ? resolved : withoutUnread(resolved, program);
}

function resolveEmpty(node: LoopNode, zero: (body: BodyBuilder) => readonly ScalarId[]): LoopNode {
  if (node.kind === 'scatter' || !loopsOf(node).some(isEmptyAxis)) return node;
  const isScanned = node.kind === 'scan';
  const axes = isScanned ? loopsOf(node) : node.axes;
  const isFinished = node.kind === 'reduce' && overOf(node).some(isEmptyAxis);
  const body = new BodyBuilder();
  const results = isFinished ? finished(node, body) : zero(body);
  const { id, outs, writes, origins } = node;
  return { kind: 'map', id, outs, writes, origins, axes, body: body.finish(results) };
}

/** What a reduction over nothing gives. */
function finished(
  { init, finish }: { readonly init: Body; readonly finish: Body },
  body: BodyBuilder,
): readonly ScalarId[] {
  const states = replayBody(init, body).results;
  return replayBody(finish, body, { carried: (slot) => at(states, slot) }).results;
}

function zeros(
  body: BodyBuilder,
  node: LoopNode,
  dtypes: ReadonlyMap<BufferId, keyof typeof dtypeInfo>,
): readonly ScalarId[] {
  return node.outs.map((out) => {
    const dtype = dtypes.get(out) ?? 'f32';
    return body.cast(body.constant(0, dtypeInfo[dtype].compute), dtype);
  });
}

/** Without nodes whose results nobody needs any more. */
export function withoutUnread(nodes: readonly LoopNode[], { outputs }: LoopProgram): readonly LoopNode[] {
  const needed = new Set<BufferId>(outputs);
  const kept: LoopNode[] = [];
  for (const node of nodes.toReversed()) {
    if (!node.outs.some((out) => needed.has(out))) continue;
    kept.push(node);
    for (const buffer of buffersRead(node)) needed.add(buffer);
  }
  return kept.reverse();
}
