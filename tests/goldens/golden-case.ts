// What a golden case is: a loop program with its schedule, made anew each time, and where it began as a function over tensors, the
// stages before it.
import { resolveConfig, withConfig } from '@tsinductor/config';
import { planStages } from '@tsinductor/compiler';
import type { Graph } from '@tsinductor/graph';
import type { Schedule } from '@tsinductor/ir';
import { primitivesOf } from '../structure/expect-kernels.ts';
import type { Program, StructureCase } from '../structure/expect-kernels.ts';

export interface GoldenCase {
  readonly name: string;
  readonly schedules: () => readonly Schedule[];
}

/** A function over tensors, whose inputs need no data. */
export type Traced = Program & Pick<StructureCase, 'patch'>;

export interface Stages {
  readonly graph: Graph;
  readonly scheduled: Schedule;
}

const config = resolveConfig({ env: {} });

/** The stages of a function, as the compiler plans them under its default settings and the case's own. */
export function stagesOf(traced: Traced): Stages {
  const primitives = primitivesOf(traced);
  const stages = planStages({ graph: primitives, primitives }, withConfig(config, traced.patch ?? {}));
  return { graph: stages.optimized, scheduled: stages.scheduled };
}

export const tracedCase = (name: string, traced: Traced): GoldenCase => ({
  name,
  schedules: () => [stagesOf(traced).scheduled],
});
