// For tests: graphs scheduled under a patch of the configuration, verified, with the questions that tests ask of them.
import { at, verifying } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resolveConfig, withConfig } from '@tsinductor/config';
import type { Config, ConfigPatch } from '@tsinductor/config';
import { contiguousMeta, GraphBuilder, optimize } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import { evaluateIndex, int, printIndex } from '@tsinductor/ir';
import type { Group, Index, LoopTree, NodeRef, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '../index.ts';

export type Build = (b: GraphBuilder) => ValueRef | readonly ValueRef[];

export const configOf = (patch: ConfigPatch = {}): Config => withConfig(resolveConfig({ env: {} }), patch);

export function scheduled(build: Build, patch: ConfigPatch = {}, forTarget: ForTarget = {}): Schedule {
  const b = new GraphBuilder({ expand: true });
  const results = build(b);
  b.output(...('kind' in results ? [results] : results));
  return schedule(lowerGraph(optimize(b.finish())), { config: configOf(patch), watch: verifying, ...forTarget });
}

type ForTarget = Pick<Parameters<typeof schedule>[1], 'chains' | 'updates'>;

export const input = (b: GraphBuilder, shape: readonly number[], dtype: DType = 'f32'): ValueRef =>
  b.placeholder(`x${String(shape.length)}`, contiguousMeta(shape.map(int), dtype));

/** A nest in one line: loops with their extents (r: reducing), nodes by the operator of their buffer. */
function sketch({ program }: Schedule, group: Group): string {
  const nameOf = (ref: NodeRef): string => {
    const buffer = at(at(group.nodes, ref.node).outs, 0);
    return (program.buffers.find(({ id }) => id === buffer)?.name ?? '').replace(/_\d+$/, '');
  };
  const draw = (tree: LoopTree | NodeRef): string => {
    if (tree.kind === 'node') return nameOf(tree);
    const loops = tree.loops.map(({ axis, role }) => `${printIndex(axis.extent)}${role === 'reduction' ? 'r' : ''}`);
    return `${loops.join(' ')}(${tree.children.map(draw).join(' ')})`;
  };
  return draw(group.nest);
}

export const sketches = (plan: Schedule): readonly string[] => plan.groups.map((group) => sketch(plan, group));

/** A number that does not depend on symbolic sizes. */
export const known = (index: Index): number => evaluateIndex(index, {});
