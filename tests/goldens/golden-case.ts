// What a golden case is: a loop program with its schedule, made anew each time, and where it began as a function over tensors, the
// stages before it.
import { resolveConfig, withConfig } from '@tsinductor/config';
import { planPipeline } from '@tsinductor/compiler';
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
  /** The graph after its passes, as text. */
  readonly graph: string;
  readonly scheduled: Schedule;
}

const config = resolveConfig({ env: {} });

/** The stages of a function, as the compiler plans them under its default settings and the case's own. */
export function stagesOf(traced: Traced): Stages {
  const primitives = primitivesOf(traced);
  const [given, context] = [{ graph: primitives, primitives }, { config: withConfig(config, traced.patch ?? {}) }];
  const graph = planPipeline().upTo('online-softmax')?.print(given, context) ?? '';
  return { graph, scheduled: planPipeline().run(given, context) };
}

export const tracedCase = (name: string, traced: Traced): GoldenCase => ({
  name,
  schedules: () => [stagesOf(traced).scheduled],
});
