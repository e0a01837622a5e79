// Bodies of loops and branches, for whoever records them.
import { invariant } from '@tsinductor/base';
import { withoutGradients } from '../autograd/grad-mode.ts';
import { processState } from '../process-state.ts';
import type { BodyRun, Formal, OpenBody, Recorder } from '../recorder.ts';

type FlowRecorder = Required<Pick<Recorder, 'flow' | 'openBody'>>;

/** The recorder, where it records loops and branches. */
export function flowRecorder(): FlowRecorder {
  const { recorder } = processState;
  invariant(recorder?.flow !== undefined && recorder.openBody !== undefined, 'no recorder takes loops and branches');
  return recorder as FlowRecorder;
}

/** Runs the body of a loop or a branch on stand-ins. */
export const openBody = (name: string, formals: readonly Formal[], run: BodyRun): OpenBody =>
  withoutGradients(() => flowRecorder().openBody(name, formals, run));
