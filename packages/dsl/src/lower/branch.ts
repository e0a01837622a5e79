// A branch that is taken when the kernel runs: both sides are lowered, and the variables that either assigns become its
// results.
import type { Node } from 'acorn';
import { at } from '@tsinductor/base';
import type { IfNode } from '@tsinductor/ir';
import { asTest } from './coerce.ts';
import { faultAt } from './context.ts';
import type { Context } from './context.ts';
import { fromMerged, meet, sameValue, toMerged } from './merge.ts';
import { describeValue } from './value.ts';
import type { KernelValue } from './value.ts';

interface Branches {
  readonly test: KernelValue;
  readonly node: Node;
  /** What either side assigns. */
  readonly names: readonly string[];
  readonly branches: readonly [(context: Context) => void, (context: Context) => void];
}

export function lowerBranches({ test, node, names, branches }: Branches, context: Context): void {
  const { builder, scope } = context;
  const tile = asTest(test, { node, context });
  if (tile.shape.length > 0)
    throw faultAt(node, context, [
      'KERNEL_CONDITION',
      `a branch is taken on ${describeValue(test)}`,
      'choose elements with tl.where, mask loads and stores, or reduce the block to a scalar',
    ]);
  const { origin } = builder;
  const outer = names.filter((name) => scope.has(name));
  const before = outer.map((name) => valueOf(name, context));
  const restore = (): void => {
    outer.forEach((name, slot) => scope.assign(name, at(before, slot)));
  };
  const sides = branches.map((branch) => {
    const { region } = builder.region(() => {
      branch(context);
    });
    const values = outer.map((name) => valueOf(name, context));
    restore();
    return { region, values };
  });
  const [yes, no] = [at(sides, 0), at(sides, 1)];
  const changed = outer.flatMap((name, slot) => {
    const [left, right] = [at(yes.values, slot), at(no.values, slot)];
    return sameValue(left, right) ? [] : [{ name, left, right }];
  });
  outer.forEach((name, slot) => scope.assign(name, at(yes.values, slot)));
  const types = changed.map(({ name, left, right }) =>
    meet(left, right, { name, node, context, where: 'from one branch to the other' }),
  );
  const yields = (side: 'left' | 'right'): readonly number[] =>
    changed.map((variable, slot) => toMerged(variable[side], at(types, slot), { node, context }).id);
  const then = { nodes: yes.region.nodes, yields: builder.append(yes.region, () => yields('left')) };
  const otherwise = { nodes: no.region.nodes, yields: builder.append(no.region, () => yields('right')) };
  const results = types.map((type) => builder.fresh(type));
  const made: IfNode = { kind: 'if', test: tile.id, then, otherwise, results, origin };
  builder.origin = origin;
  builder.control(made);
  changed.forEach(({ name }, slot) => scope.assign(name, fromMerged(at(results, slot), at(types, slot), context)));
}

const valueOf = (name: string, { scope }: Context): KernelValue => scope.lookup(name) ?? { kind: 'undefined' };
