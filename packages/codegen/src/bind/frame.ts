// Points of a nest while its loops are written: which axes are open, as which names of the kernel, and how bodies are evaluated there.
import type { Index, Value } from '@tsinductor/ir';
import { BodyEvaluator } from './evaluate-body.ts';
import type { Evaluation, Lane } from './evaluate-body.ts';
import type { GroupMemory } from './group-memory.ts';
import type { KernelWriter } from './kernel-writer.ts';

export interface Frame {
  readonly axes: ReadonlyMap<string, Index>;
  readonly lane?: Lane;
}

export const emptyFrame: Frame = { axes: new Map() };

export const bindAxis = (frame: Frame, axis: string, value: Index): Frame => ({
  ...frame,
  axes: new Map(frame.axes).set(axis, value),
});

/** What statements and values are written to. */
interface Written {
  readonly writer: KernelWriter;
  readonly memory: GroupMemory;
}

/** How a body is evaluated at a point, by which what it carries has these values. */
export const evaluationAt = ({ writer, memory }: Written, frame: Frame, carried?: readonly Value[]): Evaluation => ({
  writer,
  point: { ...frame, ...(carried === undefined ? {} : { carried }) },
  units: memory.multiples,
  source: (buffer, position, resolve) => memory.source(buffer, position, resolve),
});

/** What tells where positions lie at a point; it has no body. */
export const placesAt = (written: Written, frame: Frame): BodyEvaluator =>
  new BodyEvaluator({ nodes: [], results: [] }, evaluationAt(written, frame));
