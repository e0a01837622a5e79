// Scans of f32 elements whose state is f64, as running sums and products are. Within a few neighbouring points they need no such state:
// what these join to is computed in f32, and joined with the state before them. In: a node. Out: the scan without the wider
// dtype, where it is a scan of that kind.
import { at } from '@tsinductor/base';
import { BodyBuilder, replayBody, scalarOperands } from '@tsinductor/ir';
import type { Body, Scalar } from '@tsinductor/ir';
import type { Carrying } from './work.ts';

const [wide, narrow] = ['f64', 'f32'] as const;

/** The same node with an f32 state; undefined where its state is no wider than its elements, or does more than to join them. */
export function narrowed(node: Carrying): Carrying | undefined {
  const [state, ...others] = node.state;
  if (node.kind !== 'scan' || state !== wide || others.length > 0 || !isRounding(node.finish)) return undefined;
  if (!node.step.nodes.every((scalar) => isNarrowable(node.step, scalar))) return undefined;
  const { init, step, merge, finish } = node;
  return {
    ...node,
    state: [narrow],
    init: inNarrow(init),
    step: inNarrow(step),
    merge: inNarrow(merge),
    finish: inNarrow(finish),
  };
}

/** Whether a body rounds its state, and nothing else. */
const isRounding = ({ nodes, results }: Body): boolean =>
  nodes.map(({ kind }) => kind).join() === 'carried,cast' && results.join() === '1' && nodes[1]?.dtype === narrow;

/** Whether a node is of another dtype, or one that f64 is used for because the state is of it. */
function isNarrowable({ nodes }: Body, scalar: Scalar): boolean {
  if (scalar.dtype !== wide) return scalarOperands(scalar).every((id) => at(nodes, id).dtype !== wide);
  if (scalar.kind === 'cast') return at(nodes, scalar.value).dtype === narrow;
  return scalar.kind === 'carried' || scalar.kind === 'constant' || scalar.kind === 'apply';
}

/** A body with f32 for f64, rebuilt: casts that change nothing then are no longer in it. */
function inNarrow(body: Body): Body {
  const nodes = body.nodes.map((node): Scalar => (node.dtype === wide ? { ...node, dtype: narrow } : node));
  const builder = new BodyBuilder();
  return builder.finish(replayBody({ ...body, nodes }, builder).results);
}
