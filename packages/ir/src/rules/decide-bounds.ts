// What bounds of integers decide: comparisons of coordinates that hold at every point or at none, and with `values` checks
// of indices that cannot fail. Masks and choices that rest on them go, and so do loads that nobody makes. Arithmetic on
// coordinates becomes index expressions, whose bounds decide more.
//
// In: a node. Out: one that computes the same bits at every point; the node itself where nothing is decided.
import { at } from '@tsinductor/base';
import { BodyBuilder } from '../body/body-builder.ts';
import { mapNodeBodies } from '../body/map-node.ts';
import { replayBody } from '../body/replay-body.ts';
import { indexOfOp } from '../body/index-arithmetic.ts';
import { BoundsFinder, decidedBy, liesWithin } from '../body/scalar-bounds.ts';
import type { BoundsReach } from '../body/scalar-bounds.ts';
import type { Index } from '../index-expr.ts';
import type { LoopNode } from '../loop.ts';
import type { Body } from '../scalar.ts';
import { bodiesOf } from '../verify/verify-program.ts';
import { ruleSet } from './rule.ts';
import type { RuleSet } from './rule.ts';
import { choiceRules, comparisonRules } from './scalar-rules.ts';

const logic: RuleSet = ruleSet([...comparisonRules, ...choiceRules]);

export const decideBounds = (node: LoopNode, reach: BoundsReach): LoopNode =>
  bodiesOf(node).some((body) => isDecided(body, reach))
    ? mapNodeBodies(node, {}, { bounds: reach, rules: logic })
    : node;

/** A body at some points of its axes only: `map` says where these are. */
export function decideBodyAt(body: Body, map: ReadonlyMap<string, Index>): Body {
  const builder = new BodyBuilder({ bounds: 'indices', rules: logic });
  return builder.finish(replayBody(body, builder, { map }).results);
}

function isDecided({ nodes }: Body, reach: BoundsReach): boolean {
  const finder = new BoundsFinder((id) => at(nodes, id), reach);
  return nodes.some((node) => {
    if (node.kind === 'apply') {
      const coordinate = indexOfOp((id) => at(nodes, id), node.op, node.args);
      return coordinate !== undefined || decidedBy(finder, node.op, node.args) !== undefined;
    }
    return node.kind === 'check' && liesWithin(finder, node.value, node.extent);
  });
}
