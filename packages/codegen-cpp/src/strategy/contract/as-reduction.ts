// A matrix product with one row as what it is: a reduction of the rows of b, each scaled by an element of a, into one row of
// the result. The strategies for reductions stream b from end to end, which tiles a few columns wide would not.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { BodyBuilder, replayBody } from '@tsinductor/ir';
import type { Body, LoopBand, LoopNode, LoopTree, ScalarId } from '@tsinductor/ir';
import { fuses } from './plan.ts';
import type { Oriented } from './plan.ts';
import type { Nest } from '../write/nest.ts';
import { writeRegions } from '../write/regions.ts';

export function writeAsReduction(nest: Nest, oriented: Oriented): void {
  const { node, k } = oriented;
  const parallel = node.axes.map((axis): LoopBand => ({ axis, role: 'parallel' }));
  const tree: LoopTree = {
    kind: 'loops',
    loops: [...parallel, { axis: k, role: 'reduction' }],
    children: [{ kind: 'node', node: 0 }],
  };
  const group = { ...nest.group, nodes: [asReduction(oriented)], nest: tree, locals: [] };
  writeRegions({ ...nest, group }, tree);
}

const bodyOf = (build: (builder: BodyBuilder) => ScalarId): Body => {
  const builder = new BodyBuilder();
  return builder.finish([build(builder)]);
};

function asReduction({ node, a, b, k, outDType }: Oriented): LoopNode {
  const dtype = node.accumulate;
  const sum = (builder: BodyBuilder, slot: number): ScalarId => builder.carried(slot, dtype);
  return {
    kind: 'reduce',
    id: node.id,
    outs: node.outs,
    writes: node.writes,
    axes: node.axes,
    origins: node.origins,
    over: [k],
    state: [dtype],
    init: bodyOf((builder) => builder.constant(0, dtype)),
    step: bodyOf((builder) => {
      const factors = [a, b].map(({ buffer, dtype: stored, at: place, element }) =>
        element === undefined
          ? builder.cast(builder.load(buffer, stored, place), dtype)
          : at(replayBody(element, builder).results, 0),
      );
      return addProduct(builder, { factors, sum: sum(builder, 0), dtype });
    }),
    merge: bodyOf((builder) => builder.apply('add', [sum(builder, 0), sum(builder, 1)])),
    finish: bodyOf((builder) => builder.cast(sum(builder, 0), outDType)),
  };
}

interface Adding {
  readonly factors: readonly ScalarId[];
  readonly sum: ScalarId;
  readonly dtype: DType;
}

function addProduct(builder: BodyBuilder, { factors, sum, dtype }: Adding): ScalarId {
  if (fuses(dtype)) return builder.apply('fma', [...factors, sum]);
  return builder.apply('add', [sum, builder.apply('mul', factors)]);
}
