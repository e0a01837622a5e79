// What is said of the operators that are recorded in a graph now: whether a backward pass makes them, within which checkpoint, and
// whether noGrad holds. The partition of a graph into forward and backward goes by it, and gradients of the graph as a whole do.
import type { OriginMarks } from '@tsinductor/graph';
import { processState } from '../process-state.ts';

function withMarks<T>(marks: OriginMarks, work: () => T): T {
  const { gradients } = processState;
  const before = gradients.marks;
  gradients.marks = marks;
  try {
    return work();
  } finally {
    gradients.marks = before;
  }
}

/** Runs `work`, which records a call of the program: within noGrad no gradient flows through it. */
export function markedByMode<T>(work: () => T): T {
  const { marks, isSuspended } = processState.gradients;
  return isSuspended ? withMarks({ ...marks, isConstant: true }, work) : work();
}

/** Runs `work` as a part of a backward pass: what it makes belongs to no checkpoint, as nothing of it is kept. */
export const markedBackward = <T>(work: () => T): T => withMarks({ pass: 'backward' }, work);

/** Runs `work`, of which the backward pass is to compute everything again but for what it gives. */
export function markedRegion<T>(work: () => T): T {
  const { gradients } = processState;
  if (gradients.marks.region !== undefined) return work();
  return withMarks({ ...gradients.marks, region: gradients.regions++ }, work);
}

/** Runs `work`, which is done for a backward pass but follows from values of the forward pass alone. */
export const markedResidual = <T>(work: () => T): T => withMarks({ pass: 'residual' }, work);
