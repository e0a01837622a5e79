// An operator's call in the graph that is being recorded: one node, or the primitives that it comes to where tensors stand for some of
// its numbers. In: the call, and what its tensors stand for. Out: its results.
import type { SourceLocation } from '@tsinductor/base';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { markedByMode } from '../autograd/origin-marks.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { recordOpened } from './opened-call.ts';
import { withRefs } from './record-host.ts';
import type { AdaptedCall } from './trace-options.ts';

interface Surroundings {
  /** What the call's tensors stand for, in their order. */
  readonly refs: readonly ValueRef[];
  readonly refOf: (tensor: Tensor) => ValueRef;
  readonly locate: () => SourceLocation | undefined;
}

export const recordCall = (builder: GraphBuilder, call: AdaptedCall, around: Surroundings): readonly ValueRef[] =>
  markedByMode(() => recordInMode(builder, call, around));

function recordInMode(
  builder: GraphBuilder,
  { operator, args, attrs, opened }: AdaptedCall,
  { refs, refOf, locate }: Surroundings,
): readonly ValueRef[] {
  if (opened === undefined)
    return builder.callAll(
      operator.name,
      args.map((arg) => withRefs(arg, refs)),
      attrs,
    );
  const inputs = new Map([...opened.inputs].map(([place, tensor]) => [place, refOf(tensor)]));
  const location = locate();
  const { marks } = processState.gradients;
  return builder.withOrigin({ ...marks, from: [operator.name], ...(location === undefined ? {} : { location }) }, () =>
    recordOpened(builder, opened.call, { refs, inputs }),
  );
}
