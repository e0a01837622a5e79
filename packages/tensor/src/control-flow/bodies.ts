// Bodies of loops and branches, for whoever records them.
import { invariant } from '@tsinductor/base';
import { withoutGradients } from '../autograd/grad-mode.ts';
import { processState } from '../process-state.ts';
import { randomState } from '../random.ts';
import type { BodyRun, FlowCall, Formal, OpenBody, Recorder } from '../recorder.ts';
import type { Tensor } from '../tensor.ts';

type FlowRecorder = Required<Pick<Recorder, 'flow' | 'openBody' | 'writesTo'>>;

/** The recorder, where it records loops and branches. */
export function flowRecorder(): FlowRecorder {
  const { recorder } = processState;
  const takes = recorder?.flow !== undefined && recorder.openBody !== undefined && recorder.writesTo !== undefined;
  invariant(takes, 'no recorder takes loops and branches');
  return recorder as FlowRecorder;
}

/** Runs the body of a loop or a branch on stand-ins. */
export const openBody = (name: string, formals: readonly Formal[], run: BodyRun): OpenBody =>
  withoutGradients(() => flowRecorder().openBody(name, formals, run));

/** What leaves the trace, for `reason`, where one of the tensors was written to since. */
function requireUnchanged(tensors: readonly Tensor[], reason: string): () => void {
  // Random numbers are saved, and drawn again.
  const kept = tensors.filter((tensor) => tensor !== randomState());
  const writes = (): readonly number[] => kept.map((tensor) => flowRecorder().writesTo(tensor));
  const before = writes();
  return () => {
    if (writes().some((count, position) => count !== before[position]))
      processState.recorder?.suspend(() => undefined, reason);
  };
}

/** The same for what a gradient computes again from. */
export const requireForGradient = (name: string, tensors: readonly Tensor[]): (() => void) =>
  requireUnchanged(tensors, `a tensor that ${name} needs for its gradient is written to`);

/** Records a loop over `given`, of which the node may have copies: eager mode would see what its functions write to them. */
export function recordLoop(call: FlowCall, given: readonly Tensor[]): readonly Tensor[] {
  const check = requireUnchanged(given, `a function that ${call.name} calls writes to what the loop goes over`);
  const results = flowRecorder().flow(call);
  check();
  return results;
}
